//! What an update may say.

use std::collections::BTreeSet;

use bson::{Bson, Document};
use svc_engine::TaskError;

/// Refuses an update that is none, and array filters that do not belong to it.
///
/// # Errors
/// `VALIDATION_ERROR`.
pub(super) fn check(update: &Document, array_filters: &[Document]) -> Result<(), TaskError> {
    if update.is_empty() {
        return Err(TaskError::validation("update: empty_update: name at least one operator, such as $set"));
    }
    if let Some(key) = update.keys().find(|key| !key.starts_with('$')) {
        let why = format!("update: \"{key}\" is no operator; use $set, or replace_one for a whole document");
        return Err(TaskError::validation(why));
    }
    let named = named(update);
    let mut filtered = BTreeSet::new();
    for (index, filter) in array_filters.iter().enumerate() {
        let mut of_this = BTreeSet::new();
        collect(filter, &mut of_this);
        if of_this.is_empty() {
            let why = format!("array_filters[{index}]: it names no identifier");
            return Err(TaskError::validation(why));
        }
        filtered.extend(of_this);
    }
    if let Some(unused) = filtered.difference(&named).next() {
        let why = format!("array_filters: the identifier \"{unused}\" is not in the update as $[{unused}]");
        return Err(TaskError::validation(why));
    }
    if let Some(open) = named.difference(&filtered).next() {
        let why = format!("update: no array filter has the identifier \"{open}\" of $[{open}]");
        return Err(TaskError::validation(why));
    }
    Ok(())
}

/// The identifiers in the paths of an update: `a.$[this].b`.
fn named(update: &Document) -> BTreeSet<String> {
    let bodies = update.values().filter_map(Bson::as_document);
    let segments = bodies.flat_map(|fields| fields.keys().flat_map(|path| path.split('.')));
    let identifier = |segment: &str| Some(segment.strip_prefix("$[")?.strip_suffix(']')?.to_owned());
    segments.filter_map(identifier).filter(|identifier| !identifier.is_empty()).collect()
}

/// The identifiers that a filter is about: the first segments of its paths.
fn collect(filter: &Document, into: &mut BTreeSet<String>) {
    for (path, condition) in filter {
        if !path.starts_with('$') {
            into.insert(path.split('.').next().unwrap_or_default().to_owned());
        } else if let Bson::Array(conditions) = condition {
            conditions.iter().filter_map(Bson::as_document).for_each(|filter| collect(filter, into));
        }
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    fn refusal(update: Document, array_filters: &[Document]) -> Option<String> {
        check(&update, array_filters).err().map(|error| error.message)
    }

    #[test]
    fn an_update_has_operators_alone() {
        assert!(refusal(doc! {}, &[]).is_some_and(|why| why.contains("empty_update")));
        assert!(refusal(doc! {"a": 1}, &[]).is_some_and(|why| why.contains("\"a\"")));
        assert!(refusal(doc! {"$set": {"a": 1}, "b": 2}, &[]).is_some());
        assert_eq!(refusal(doc! {"$set": {"a": 1}, "$inc": {"n": 1}}, &[]), None);
        assert_eq!(refusal(doc! {"$set": {"a.$[].b": 1, "a.$.c": 2}}, &[]), None);
    }

    #[test]
    fn identifiers_occur_on_both_sides() {
        let update = || doc! {"$set": {"grades.$[low].mean": 1}, "$inc": {"x.$[big]": 1}};
        let low = doc! {"low.grade": {"$lt": 5}};
        let big = doc! {"$or": [{"big": 1}, {"$and": [{"big.x": 2}]}]};
        assert_eq!(refusal(update(), &[low.clone(), big.clone()]), None);
        assert!(refusal(update(), std::slice::from_ref(&low)).is_some_and(|why| why.contains("$[big]")));
        assert!(refusal(doc! {"$set": {"a": 1}}, &[low]).is_some_and(|why| why.contains("$[low]")));
        assert!(refusal(update(), &[big, doc! {}]).is_some_and(|why| why.contains("array_filters[1]")));
    }
}
