//! Checks of the content of a write. Authored parts are checked when a task is stored, the whole when it runs; problems
//! are at paths inside the input.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use svc_model::{FieldCode, FieldError};

/// Refuses an update that is none.
///
/// # Errors
/// `empty_update` or `update_requires_operators`.
pub fn operators(update: &Map<String, Value>) -> Result<(), FieldError> {
    let wrong = |code, message: &str| Err(FieldError::new("update", code, message));
    if update.is_empty() {
        return wrong(FieldCode::EmptyUpdate, "name at least one operator, such as $set");
    }
    match update.keys().find(|key| !key.starts_with('$')) {
        None => Ok(()),
        Some(key) => {
            let why = format!("\"{key}\" is no operator; use $set, or replace_one for a whole document");
            wrong(FieldCode::UpdateRequiresOperators, &why)
        }
    }
}

/// Refuses array filters that do not belong to an update: each identifier is in the update as
/// `$[identifier]`, and each of the update has a filter.
///
/// # Errors
/// `unusable_array_filters`.
pub fn identifiers(update: &Map<String, Value>, array_filters: &[Value]) -> Result<(), FieldError> {
    let wrong = |path: &str, why: String| Err(FieldError::new(path, FieldCode::UnusableArrayFilters, why));
    let named = update_identifiers(update);
    let mut filtered = BTreeSet::new();
    for (index, filter) in array_filters.iter().enumerate() {
        let mut of_this = BTreeSet::new();
        collect(filter, &mut of_this);
        if of_this.is_empty() {
            return wrong(&format!("array_filters[{index}]"), "it names no identifier".to_owned());
        }
        filtered.extend(of_this);
    }
    if let Some(unused) = filtered.difference(&named).next() {
        return wrong(
            "array_filters",
            format!("the identifier \"{unused}\" is not in the update as $[{unused}]"),
        );
    }
    if let Some(open) = named.difference(&filtered).next() {
        let why = format!("none has the identifier \"{open}\", which the update names as $[{open}]");
        return wrong("array_filters", why);
    }
    Ok(())
}

/// Refuses operators in a whole document.
///
/// # Errors
/// `replace_document_is_plain`.
pub fn plain(document: &Map<String, Value>) -> Result<(), FieldError> {
    let Some(key) = document.keys().find(|key| key.starts_with('$')) else { return Ok(()) };
    let why = format!("\"{key}\" is an operator; use update_one for those");
    Err(FieldError::new("document", FieldCode::ReplaceDocumentIsPlain, why))
}

/// Refuses a batch that is empty or too large.
///
/// # Errors
/// `INVALID`.
pub fn batch(documents: &[Value], most: u64) -> Result<(), FieldError> {
    let wrong = |why| Err(FieldError::invalid("documents", why));
    match documents.len() as u64 {
        0 => wrong("there is no document".to_owned()),
        count if count > most => wrong(format!("{count} documents; at most {most} can be inserted")),
        _ => Ok(()),
    }
}

/// The identifiers in the paths of an update: `a.$[this].b`.
fn update_identifiers(update: &Map<String, Value>) -> BTreeSet<&str> {
    let bodies = update.values().filter_map(Value::as_object);
    let segments = bodies.flat_map(|fields| fields.keys().flat_map(|path| path.split('.')));
    let identifiers = segments.filter_map(|segment| segment.strip_prefix("$[")?.strip_suffix(']'));
    identifiers.filter(|identifier| !identifier.is_empty()).collect()
}

/// The identifiers that a filter is about: the first segments of its paths.
fn collect<'f>(filter: &'f Value, into: &mut BTreeSet<&'f str>) {
    for (path, condition) in filter.as_object().into_iter().flatten() {
        if !path.starts_with('$') {
            into.extend(path.split('.').next());
        } else if let Value::Array(conditions) = condition {
            conditions.iter().for_each(|filter| collect(filter, into));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn code(checked: Result<(), FieldError>) -> Option<&'static str> {
        checked.err().map(|problem| problem.code.name())
    }

    #[test]
    fn an_update_has_operators_alone() {
        for (update, expected) in [
            (json!({}), Some("empty_update")),
            (json!({"a": 1}), Some("update_requires_operators")),
            (json!({"$set": {"a": 1}, "b": 2}), Some("update_requires_operators")),
            (json!({"$set": {"a": 1}, "$inc": {"n": 1}}), None),
        ] {
            assert_eq!(code(operators(&map(update.clone()))), expected, "{update}");
        }
    }

    #[test]
    fn identifiers_occur_on_both_sides() {
        let both = json!({"$set": {"grades.$[low].mean": 1}, "$inc": {"x.$[big]": 1}});
        let low = json!({"low.grade": {"$lt": 5}});
        let big = json!({"$or": [{"big": 1}, {"$and": [{"big.x": 2}]}]});
        let place = |update: &Value, filters: &[Value]| {
            identifiers(&map(update.clone()), filters).err().map(|problem| problem.path)
        };
        assert_eq!(place(&both, &[low.clone(), big.clone()]), None);
        assert_eq!(place(&both, std::slice::from_ref(&low)).as_deref(), Some("array_filters"));
        assert_eq!(place(&both, &[big, json!({})]).as_deref(), Some("array_filters[1]"));
        assert_eq!(place(&json!({"$set": {"a": 1}}), &[low]).as_deref(), Some("array_filters"));
        assert_eq!(place(&json!({"$set": {"a.$[].b": 1, "a.$.c": 2}}), &[]), None);
    }

    #[test]
    fn whole_document_refuses_operators_batch_is_bounded() {
        assert_eq!(code(plain(&map(json!({"a": {"$oid": "x"}})))), None);
        assert_eq!(code(plain(&map(json!({"a": 1, "$set": {}})))), Some("replace_document_is_plain"));
        let of = |count| code(batch(&vec![json!({}); count], 2));
        assert_eq!([of(0), of(1), of(2), of(3)], [Some("INVALID"), None, None, Some("INVALID")]);
    }
}
