//! The stages that a pipeline may have. Their names are literal, so a pipeline is checked when its task is
//! stored.

use serde_json::{Map, Value};
use svc_model::{FieldCode, FieldError};

/// Stages that read.
const READS: [&str; 29] = [
    "$addFields",
    "$bucket",
    "$bucketAuto",
    "$count",
    "$densify",
    "$facet",
    "$fill",
    "$geoNear",
    "$graphLookup",
    "$group",
    "$limit",
    "$lookup",
    "$match",
    "$project",
    "$redact",
    "$replaceRoot",
    "$replaceWith",
    "$sample",
    "$search",
    "$searchMeta",
    "$set",
    "$setWindowFields",
    "$skip",
    "$sort",
    "$sortByCount",
    "$unionWith",
    "$unset",
    "$unwind",
    "$vectorSearch",
];
/// Stages that write. They end a pipeline that is in no other.
const WRITES: [&str; 2] = ["$merge", "$out"];

/// Adds what is wrong with a pipeline as it is written.
pub(super) fn check(pipeline: &Value, at: &str, errors: &mut Vec<FieldError>) {
    stages(pipeline, at, true, errors);
}

/// Returns true if a pipeline writes.
#[must_use]
pub fn writes(pipeline: &Value) -> bool {
    let last = pipeline.as_array().and_then(|stages| stages.last()).and_then(Value::as_object);
    last.is_some_and(|stage| stage.keys().any(|name| WRITES.contains(&name.as_str())))
}

fn stages(pipeline: &Value, at: &str, outermost: bool, errors: &mut Vec<FieldError>) {
    let Value::Array(stages) = pipeline else {
        return problem(at, "a pipeline is an array of stages that are written out", errors);
    };
    if stages.is_empty() && outermost {
        return problem(at, "a pipeline needs a stage", errors);
    }
    for (index, stage) in stages.iter().enumerate() {
        let at = format!("{at}[{index}]");
        match stage.as_object().map(stage_operator) {
            Some(Some((name, body))) if READS.contains(&name) => check_nested(name, body, &at, errors),
            Some(Some((name, _))) if WRITES.contains(&name) => {
                if !outermost || index + 1 < stages.len() {
                    problem(&at, &format!("{name} ends a pipeline that is in no other"), errors);
                }
            }
            Some(Some((name, _))) if name.starts_with('$') => {
                problem(&at, &format!("the stage {name} is not allowed"), errors);
            }
            _ => problem(&at, "a stage is an object with one key, its name, that begins with $", errors),
        }
    }
}

fn stage_operator(stage: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut members = stage.iter();
    let (name, body) = members.next()?;
    members.next().is_none().then_some((name.as_str(), body))
}

/// The pipelines inside a stage.
fn check_nested(name: &str, body: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(body) = body.as_object() else { return };
    match name {
        "$facet" => {
            for (facet, pipeline) in body {
                stages(pipeline, &format!("{at}.$facet.{facet}"), false, errors);
            }
        }
        "$lookup" | "$unionWith" => {
            if let Some(pipeline) = body.get("pipeline") {
                stages(pipeline, &format!("{at}.{name}.pipeline"), false, errors);
            }
        }
        _ => {}
    }
}

fn problem(at: &str, why: &str, errors: &mut Vec<FieldError>) {
    errors.push(FieldError::new(at, FieldCode::InvalidPipeline, why));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(pipeline: Value) -> Vec<String> {
        let mut errors = Vec::new();
        check(&pipeline, "p", &mut errors);
        errors.into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn stages_that_read_may_stand_anywhere() {
        let fine = json!([
            {"$match": {"a": {"var": "data.a"}}},
            {"$lookup": {"from": "b", "pipeline": [{"$match": {}}], "as": "b"}},
            {"$facet": {"x": [{"$count": "n"}], "y": []}},
            {"$unionWith": "c"},
            {"$vectorSearch": {}},
        ]);
        assert_eq!(problems(fine.clone()), Vec::<String>::new());
        assert!(!writes(&fine));
    }

    #[test]
    fn invalid_stage_is_refused_at_its_path() {
        for (pipeline, at) in [
            (json!([]), "p"),
            (json!({"var": "data.p"}), "p"),
            (json!([{"var": "data.stage"}]), "p[0]"),
            (json!([{}]), "p[0]"),
            (json!([{"$match": {}, "$limit": 1}]), "p[0]"),
            (json!([{"$match": {}}, {"$currentOp": {}}]), "p[1]"),
            (json!([{"$listSessions": {}}]), "p[0]"),
            (json!([{"$changeStream": {}}]), "p[0]"),
            (json!(["$match"]), "p[0]"),
            (json!([{"$facet": {"x": [{"$out": "c"}]}}]), "p[0].$facet.x[0]"),
            (json!([{"$lookup": {"pipeline": [{"$merge": "c"}]}}]), "p[0].$lookup.pipeline[0]"),
            (json!([{"$lookup": {"pipeline": {"var": "data.p"}}}]), "p[0].$lookup.pipeline"),
            (
                json!([{"$unionWith": {"coll": "c", "pipeline": [{"$indexStats": {}}]}}]),
                "p[0].$unionWith.pipeline[0]",
            ),
            (
                json!([{"$facet": {"x": [{"$lookup": {"pipeline": [{"$where": 1}]}}]}}]),
                "p[0].$facet.x[0].$lookup.pipeline[0]",
            ),
            (json!([{"$out": "c"}, {"$match": {}}]), "p[0]"),
        ] {
            assert_eq!(problems(pipeline.clone()), [at], "{pipeline}");
        }
    }

    #[test]
    fn pipeline_may_end_with_a_stage_that_writes() {
        for stage in ["$out", "$merge"] {
            let pipeline = json!([{"$match": {}}, {stage: "c"}]);
            assert!(problems(pipeline.clone()).is_empty() && writes(&pipeline), "{stage}");
        }
    }
}
