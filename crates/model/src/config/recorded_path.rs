//! Paths into recorded values, as authors write them: `payload.cards[0].number`, `body["a.b"]`.

/// Roots of the paths of a recording.
const RECORDED_ROOTS: [&str; 5] = ["payload", "metadata", "data", "input", "answer"];

/// Splits a path into the names and indexes that it goes through, the root first. An index is in brackets or behind a
/// dot; a name with dots or brackets is quoted, in brackets.
///
/// # Errors
/// The reason, which names the path and the part that is none.
pub fn split_path(path: &str) -> Result<Vec<String>, String> {
    let (root, mut rest) = path.split_at(path.find(['.', '[', ']']).unwrap_or(path.len()));
    let mut segments = vec![root.to_owned()];
    while !rest.is_empty() {
        let (segment, after) = take_segment(rest).ok_or_else(|| {
            format!("'{path}' is no path from '{rest}' on: parts are .name, [2] and [\"any name\"]")
        })?;
        segments.push(segment);
        rest = after;
    }
    Ok(segments)
}

/// Splits a path below `payload`, `metadata`, `data`, `input` or `answer`.
///
/// # Errors
/// The reason, for the author.
pub fn split_recorded_path(path: &str) -> Result<Vec<String>, String> {
    let segments = split_path(path)?;
    let is_rooted = segments.first().is_some_and(|root| RECORDED_ROOTS.contains(&root.as_str()));
    if is_rooted && segments.len() > 1 {
        return Ok(segments);
    }
    Err(format!("a path begins with one of {}, and names a member of it", RECORDED_ROOTS.join(", ")))
}

/// Takes the first part off the rest of a path; `None` if it begins with none.
fn take_segment(text: &str) -> Option<(String, &str)> {
    if let Some(text) = text.strip_prefix('.') {
        let (name, rest) = text.split_at(text.find(['.', '[', ']']).unwrap_or(text.len()));
        return (!name.trim().is_empty()).then(|| (name.to_owned(), rest));
    }
    let text = text.strip_prefix('[')?;
    if text.starts_with('"') {
        let mut names = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let name = names.next()?.ok()?;
        let rest = text.get(names.byte_offset()..)?.strip_prefix(']')?;
        return Some((name, rest));
    }
    let (digits, rest) = text.split_once(']')?;
    let is_index = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<usize>().is_ok();
    is_index.then(|| (digits.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_split_into_names_and_indexes() {
        for (path, expected) in [
            ("data", &["data"][..]),
            ("data.a-b.c d", &["data", "a-b", "c d"]),
            ("payload.cards[0].number", &["payload", "cards", "0", "number"]),
            ("input.params.1", &["input", "params", "1"]),
            ("body[\"a.b\"][\"]\"].c", &["body", "a.b", "]", "c"]),
        ] {
            assert_eq!(split_path(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn malformed_path_is_named() {
        for path in [
            "data.",
            "data..a",
            "data. ",
            "data.a[",
            "data.a[]",
            "data.a[x]",
            "data.a[+1]",
            "data.a[-1]",
            "data.a]",
            "data.a[1]b",
            "data[\"a]",
            "data[\"a\"",
            "data[1",
            "input.params[1.5]",
        ] {
            let refused = split_path(path).unwrap_err();
            assert!(refused.starts_with(&format!("'{path}' is no path from ")), "{refused}");
        }
    }

    #[test]
    fn recorded_path_has_a_root_and_a_member() {
        assert!(split_recorded_path("payload.a[0]").is_ok());
        for path in ["", "payload", "card.number", "[0].a", "payload..x"] {
            assert!(split_recorded_path(path).is_err(), "{path}");
        }
    }
}
