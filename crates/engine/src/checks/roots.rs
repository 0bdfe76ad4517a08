//! The roots at which paths begin.

use svc_model::{FieldCode, FieldError, Issue, distance};

use super::literals::MESSAGE;

/// The roots that tasks write.
const WRITTEN: [&str; 3] = ["data", "metadata", "temp_data"];
/// Edits within which a root was likely meant to be another.
const NEAR: usize = 2;

/// Checks the first segment of a written path. One that is `alone` below its root has to be a root itself.
pub(super) fn check_target(
    path: &str,
    alone: bool,
    at: &str,
    errors: &mut Vec<FieldError>,
    warnings: &mut Vec<Issue>,
) {
    if let Some(meant) = bracketed_index(path) {
        warnings.push(Issue::new(at, describe_index(&meant)));
    }
    let (root, rest) = path.split_once('.').map_or((path, None), |(root, rest)| (root, Some(rest)));
    if WRITTEN.contains(&root) || root == "payload" || root.is_empty() {
        return;
    }
    if let Some(meant) = near(root, &WRITTEN) {
        return errors.push(misspelt_root(root, meant, path, at));
    }
    if rest.is_none() && alone {
        let message = format!("a path begins with data, metadata or temp_data, did you mean 'data.{path}'?");
        return errors.push(FieldError::invalid(at, message).with_expected(format!("data.{path}")));
    }
    let message = format!(
        "'{root}' is none of data, metadata and temp_data: later tasks can read it, no caller gets it"
    );
    warnings.push(Issue::new(at, message).with_code(FieldCode::PathRoot));
}

/// Checks the first segment of a read path.
pub(super) fn check_source(path: &str, at: &str) -> Option<FieldError> {
    let root = path.split('.').next().unwrap_or_default();
    if MESSAGE.contains(&root) {
        return None;
    }
    near(root, &MESSAGE).map(|meant| misspelt_root(root, meant, path, at))
}

/// Returns the path that was likely meant by one with an index in brackets, which is a part of a key there.
pub(super) fn bracketed_index(path: &str) -> Option<String> {
    let mut segments = Vec::new();
    let mut has_index = false;
    for segment in path.split('.') {
        match segment.strip_suffix(']').and_then(|segment| segment.split_once('[')) {
            Some((name, index)) if is_indexed(name, index) => {
                has_index = true;
                segments.extend([name, index]);
            }
            _ => segments.push(segment),
        }
    }
    has_index.then(|| segments.join("."))
}

/// `#` before a name says that a key is meant.
fn is_indexed(name: &str, index: &str) -> bool {
    let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    is_number && !name.is_empty() && !name.starts_with('#')
}

/// Returns the message of such a path.
pub(super) fn describe_index(meant: &str) -> String {
    format!("an index is a segment of its own, did you mean '{meant}'?")
}

fn misspelt_root(root: &str, meant: &str, path: &str, at: &str) -> FieldError {
    let whole = format!("{meant}{}", path.strip_prefix(root).unwrap_or_default());
    let message = format!("no part of a message has the name '{root}', did you mean '{whole}'?");
    FieldError::invalid(at, message).with_expected(whole)
}

fn near<'r>(root: &str, roots: &[&'r str]) -> Option<&'r str> {
    let near = roots.iter().map(|known| (distance(root, known), *known));
    near.filter(|(edits, _)| *edits <= NEAR).min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_in_brackets_has_the_path_meant() {
        for (path, expected) in [
            ("data.rows[0].id", Some("data.rows.0.id")),
            ("data.rows[10]", Some("data.rows.10")),
            ("data.#rows[0]", None),
            ("data.rows[x]", None),
            ("data.[0]", None),
            ("data.rows.0", None),
        ] {
            assert_eq!(bracketed_index(path).as_deref(), expected, "{path}");
        }
    }

    fn target(path: &str) -> (Vec<String>, Vec<Option<FieldCode>>) {
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        check_target(path, true, "p", &mut errors, &mut warnings);
        let meant = errors.into_iter().map(|error| error.expected.unwrap().as_str().unwrap().to_owned());
        (meant.collect(), warnings.into_iter().map(|warning| warning.code).collect())
    }

    #[test]
    fn misspelt_root_is_refused_unknown_is_warned_of() {
        for (path, meant) in [
            ("dta.x", "data.x"),
            ("metdata.a.b", "metadata.a.b"),
            ("temp-data.n", "temp_data.n"),
            ("total", "data.total"),
        ] {
            assert_eq!(target(path), (vec![meant.to_owned()], vec![]), "{path}");
        }
        assert_eq!(target("orders.total"), (vec![], vec![Some(FieldCode::PathRoot)]));
        for path in ["data", "data.x", "metadata", "temp_data.x.0"] {
            assert_eq!(target(path), (vec![], vec![]), "{path}");
        }
        assert_eq!(check_source("paylod.x", "s").unwrap().expected.unwrap().as_str(), Some("payload.x"));
        assert_eq!(check_source("orders.x", "s"), None);
    }
}
