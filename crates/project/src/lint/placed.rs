//! Findings about the elements of an entity, at their authored places.

use svc_model::EntityKind;

use crate::checks::Check;
use crate::finding::Finding;
use crate::project::AuthoredEntity;
use crate::shared::Origin;

/// Returns the path of an element in its document, from the path that a validator gives it.
pub(super) fn document_path(kind: EntityKind, path: &str) -> &str {
    let rooted = |root: &str| {
        let rest = path.strip_prefix(root)?;
        rest.strip_prefix('.').or_else(|| rest.is_empty().then_some(rest))
    };
    if path == "(root)" {
        return "";
    }
    rooted("body").or_else(|| rooted(kind.name())).unwrap_or(path)
}

/// Creates a finding about the element at a path of the expanded document.
pub(super) fn finding_at(check: Check, entity: &AuthoredEntity, path: &str, message: &str) -> Finding {
    finding_from(check, entity, &entity.expansion.origins.trace(path), message)
}

/// Creates a finding about the key of the element at a path of the expanded document.
pub(super) fn finding_at_key(check: Check, entity: &AuthoredEntity, path: &str, message: &str) -> Finding {
    let origin = entity.expansion.origins.trace_key(path);
    Finding { place: origin.key_place(), ..finding_from(check, entity, &origin, message) }
}

/// Creates a finding about an authored element.
pub(super) fn finding_from(check: Check, entity: &AuthoredEntity, origin: &Origin, message: &str) -> Finding {
    let root = entity.expansion.origins.root();
    let path = match (&origin.source, origin.shares_file(root)) {
        (Some(source), false) => format!("{} in {}", origin.path, source.name),
        _ => relative(&origin.path, &root.path).to_owned(),
    };
    let message = if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") };
    Finding { place: origin.place(), ..check.finding(entity.label.as_str(), message) }
}

/// Returns a path below a root without the root.
fn relative<'p>(path: &'p str, root: &str) -> &'p str {
    let rest = path.strip_prefix(root).unwrap_or(path);
    rest.strip_prefix('.').unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_validators_become_paths_of_the_document() {
        let kind = EntityKind::Workflow;
        for (path, expected) in [
            ("body", ""),
            ("(root)", ""),
            ("body.name", "name"),
            ("workflow.tags[1]", "tags[1]"),
            ("tasks[0].name", "tasks[0].name"),
            ("bodyguard", "bodyguard"),
            ("loop.max", "loop.max"),
        ] {
            assert_eq!(document_path(kind, path), expected, "{path}");
        }
    }
}
