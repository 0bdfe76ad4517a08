//! Paths that a backtest does not compare, such as `data.at`, `input.params[1]` or `body["a.b"]`.

use serde_json::Value;
use svc_model::config::split_path;
use svc_model::nearest;

/// The values that a path can begin in: the data and the errors at the end, the input of a call, the parts of a shaped
/// answer.
const ROOTS: [&str; 6] = ["data", "errors", "input", "status", "headers", "body"];

/// A path that is not compared. A name goes through every element of an array that it meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredPath {
    /// The root, and the names and indexes behind it.
    segments: Vec<String>,
}

impl IgnoredPath {
    /// Reads a path.
    ///
    /// # Errors
    /// The reason, which names the path.
    pub fn parse(text: &str) -> Result<Self, String> {
        let segments = split_path(text)?;
        let root = segments.first().map(String::as_str).unwrap_or_default();
        if ROOTS.contains(&root) {
            return Ok(Self { segments });
        }
        let hint = nearest(root, ROOTS).map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(format!("'{text}' does not begin with {}{hint}", ROOTS.join(", ")))
    }

    /// Returns the path of names and indexes, if it begins in what is compared.
    pub(super) fn from_segments(segments: &[String]) -> Option<Self> {
        let root = segments.first()?;
        ROOTS.contains(&root.as_str()).then(|| Self { segments: segments.to_vec() })
    }

    /// Removes what is at the path from the value of a root. An element of an array becomes null, so that the others keep
    /// their places.
    pub(super) fn remove_from(&self, root: &str, value: &mut Value) {
        if let Some((own, rest)) = self.segments.split_first()
            && own == root
        {
            remove(value, rest);
        }
    }
}

fn remove(value: &mut Value, path: &[String]) {
    let Some((segment, rest)) = path.split_first() else {
        *value = Value::Null;
        return;
    };
    match value {
        Value::Array(items) => match segment.parse::<usize>() {
            Ok(index) => {
                if let Some(item) = items.get_mut(index) {
                    remove(item, rest);
                }
            }
            Err(_) => items.iter_mut().for_each(|item| remove(item, path)),
        },
        Value::Object(members) if rest.is_empty() => drop(members.remove(segment)),
        Value::Object(members) => {
            if let Some(member) = members.get_mut(segment) {
                remove(member, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn value_at_path_is_removed() {
        let input = json!({"params": [1, {"at": 2, "n": 3}, 4], "a.b": {"c": 5}});
        for (path, expected) in [
            ("input.params[1]", json!({"params": [1, null, 4], "a.b": {"c": 5}})),
            ("input.params[1].at", json!({"params": [1, {"n": 3}, 4], "a.b": {"c": 5}})),
            ("input.params.at", json!({"params": [1, {"n": 3}, 4], "a.b": {"c": 5}})),
            ("input.params[7]", input.clone()),
            ("input[\"a.b\"].c", json!({"params": [1, {"at": 2, "n": 3}, 4], "a.b": {}})),
            ("input", Value::Null),
            ("data.params", input.clone()),
        ] {
            let mut value = input.clone();
            IgnoredPath::parse(path).unwrap().remove_from("input", &mut value);
            assert_eq!(value, expected, "{path}");
        }
    }

    #[test]
    fn path_without_a_root_is_refused() {
        for path in ["", "dat.a", "metadata.a", "[1]"] {
            let refused = IgnoredPath::parse(path).unwrap_err();
            assert!(refused.starts_with(&format!("'{path}' does not begin with data, ")), "{refused}");
        }
        assert!(IgnoredPath::parse("inputs.a").unwrap_err().ends_with("did you mean input?"));
        assert!(IgnoredPath::parse("input.a[").is_err());
    }
}
