//! The content of a write when it runs: the problem for its task, filters that match everything.

use bson::{Bson, Document, doc};
use svc_engine::TaskError;
use svc_model::FieldError;

/// A problem of a message, for its task.
pub(super) fn at_run_time(problem: FieldError) -> TaskError {
    let FieldError { path, code, message, .. } = problem;
    TaskError::validation(format!("{path}: {}: {message}", code.name()))
}

/// Returns true if the shape of a filter shows that every document matches it.
pub(super) fn matches_all(filter: &Document) -> bool {
    filter.iter().all(|(key, condition)| match key.as_str() {
        "$and" => parts(condition).all(matches_all),
        "$or" => parts(condition).any(matches_all),
        "$nor" => parts(condition).all(matches_none),
        "$expr" => *condition == Bson::Boolean(true),
        // No document is without one.
        "_id" => *condition == doc! {"$exists": true}.into() || *condition == doc! {"$ne": null}.into(),
        "$comment" => true,
        _ => false,
    })
}

fn matches_none(filter: &Document) -> bool {
    filter.iter().any(|(key, condition)| match key.as_str() {
        "$and" => parts(condition).any(matches_none),
        "$or" => parts(condition).all(matches_none),
        "$nor" => parts(condition).any(matches_all),
        "$expr" => *condition == Bson::Boolean(false),
        _ => false,
    })
}

fn parts(condition: &Bson) -> impl Iterator<Item = &Document> {
    condition.as_array().into_iter().flatten().filter_map(Bson::as_document)
}

#[cfg(test)]
mod tests {
    use serde_json::Map;
    use svc_functions::declarations::mongo::content::operators;

    use super::*;

    #[test]
    fn filter_matching_everything_is_recognised_in_every_form() {
        for all in [
            doc! {},
            doc! {"$and": [{}]},
            doc! {"$and": [{}, {"$or": [{"a": 1}, {}]}]},
            doc! {"$nor": [{"$nor": [{}]}]},
            doc! {"$nor": [{"$and": [{"a": 1}, {"$expr": false}]}]},
            doc! {"_id": {"$exists": true}},
            doc! {"_id": {"$ne": null}, "$comment": "all"},
            doc! {"$expr": true},
        ] {
            assert!(matches_all(&all), "{all}");
        }
        for some in [
            doc! {"a": 1},
            doc! {"$or": [{"a": 1}]},
            doc! {"$and": [{}, {"a": 1}]},
            doc! {"$nor": [{"a": 1}]},
            doc! {"$nor": [{}]},
            doc! {"_id": {"$exists": false}},
            doc! {"_id": 1},
        ] {
            assert!(!matches_all(&some), "{some}");
        }
    }

    #[test]
    fn a_message_is_told_the_place_and_the_code() {
        let error = at_run_time(operators(&Map::new()).unwrap_err());
        assert_eq!(error.message, "update: empty_update: name at least one operator, such as $set");
    }
}
