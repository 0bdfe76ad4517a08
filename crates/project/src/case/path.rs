//! Paths into the document of an offline run.

use serde_json::Value;

/// The roots of a run document that a case may look at.
pub(super) const ROOTS: [&str; 5] = ["data", "metadata", "temp_data", "calls", "audit_trail"];

/// A path: its root and the segments below it. `a.b[0]` is `a.b.0`; a key with dots is in quotes, as in `a["b.c"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocumentPath {
    text: String,
    root: &'static str,
    segments: Vec<String>,
}

impl DocumentPath {
    /// Parses a path.
    ///
    /// # Errors
    /// The problem and its remedy.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let Some(root) = ROOTS.into_iter().find(|root| *root == name) else {
            let below =
                if text.starts_with(['.', '[']) { format!("data{text}") } else { format!("data.{text}") };
            return Err(format!(
                "must begin with data, metadata, temp_data, calls or audit_trail; did you mean {below}?"
            ));
        };
        let segments = segments(rest).ok_or("malformed: write names between dots and indexes in brackets")?;
        Ok(Self { text: text.to_owned(), root, segments })
    }

    /// Returns the path as it was written.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the name of the root.
    pub(super) fn root(&self) -> &'static str {
        self.root
    }

    /// Returns the value below the root; `None` if the path leads nowhere.
    pub(super) fn read<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.segments.iter().try_fold(root, |value, segment| match value {
            // As in workflows, a leading `#` marks a key.
            Value::Object(members) => {
                members.get(segment).or_else(|| members.get(segment.strip_prefix('#')?))
            }
            Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

/// Splits `.a[0].b` into its names and indexes; `None` for a malformed text.
fn segments(mut rest: &str) -> Option<Vec<String>> {
    let mut segments = Vec::new();
    while !rest.is_empty() {
        if rest.starts_with("[\"") {
            let (key, after) = quoted_key(rest)?;
            segments.push(key);
            rest = after;
        } else if let Some(indexed) = rest.strip_prefix('[') {
            let (index, after) = indexed.split_once(']')?;
            if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            segments.push(index.to_owned());
            rest = after;
        } else {
            let name = rest.strip_prefix('.')?;
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at(end);
            if name.is_empty() {
                return None;
            }
            segments.push(name.to_owned());
            rest = after;
        }
    }
    Some(segments)
}

/// Splits `["key"]` off the beginning of a text.
fn quoted_key(text: &str) -> Option<(String, &str)> {
    let quoted = text.strip_prefix('[')?;
    let mut texts = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
    let key = texts.next()?.ok()?;
    let after = quoted.get(texts.byte_offset()..)?.strip_prefix(']')?;
    Some((key, after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(path: &str, root: &Value) -> Option<Value> {
        DocumentPath::parse(path).unwrap().read(root).cloned()
    }

    #[test]
    fn brackets_and_dots_name_the_same_element() {
        let root = json!({"a": {"b": [{"c": 7}]}, "20": {"x": 1}, "0": "zero"});
        for path in ["data.a.b[0].c", "data.a.b.0.c"] {
            assert_eq!(read(path, &root), Some(json!(7)), "{path}");
        }
        assert_eq!(read("data", &root), Some(root.clone()));
        assert_eq!(read("data.20.x", &root), Some(json!(1)));
        assert_eq!(read("data.#20.x", &root), Some(json!(1)));
        assert_eq!(read("data.0", &root), Some(json!("zero")));
        assert_eq!(read("data[0]", &json!(["first"])), Some(json!("first")));
        let dotted = json!({"a.b": {"c\"]": [1]}});
        assert_eq!(read(r#"data["a.b"]["c\"]"][0]"#, &dotted), Some(json!(1)));
        for nowhere in ["data.a.b[1]", "data.a.x.y", "data.a.b.c", "data.0.x"] {
            assert_eq!(read(nowhere, &root), None, "{nowhere}");
        }
    }

    #[test]
    fn path_without_root_is_refused_with_hint() {
        for (path, hint) in [
            ("state", "data.state"),
            ("payload.x", "data.payload.x"),
            ("dataset[0]", "data.dataset[0]"),
            ("", "data."),
            ("[0]", "data[0]"),
        ] {
            let error = DocumentPath::parse(path).unwrap_err();
            assert!(error.contains(hint), "{path}: {error}");
        }
        for malformed in
            ["data.", "data..a", "data[", "data[x]", "data[]", "data[0]x", "data[-1]", "data[\"a"]
        {
            assert!(DocumentPath::parse(malformed).is_err(), "{malformed}");
        }
    }
}
