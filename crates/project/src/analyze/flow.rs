//! The rules about the order of steps: what never runs, what changes nothing, what runs at the same time.

use serde_json::Value;
use svc_engine::Engine;
use svc_model::documents::STEP_LISTS;

use super::AnalysisReport;
use super::rules::AnalysisRule;
use super::steps::{StepList, always_ends, is_unconditional, members, overlap, written_paths};
use crate::project::AuthoredEntity;

/// Operators whose result depends on the message or the moment, or that may fail on purpose.
const INCONSTANT: [&str; 11] =
    ["var", "val", "missing", "missing_some", "exists", "secret", "random", "uuid", "now", "throw", "try"];

/// Returns the value of an expression that has the same one for every message.
pub(super) fn constant_value(engine: &Engine, source: &Value) -> Option<Value> {
    if !source.is_object() && !source.is_array() {
        return Some(source.clone());
    }
    if reads_something(source) {
        return None;
    }
    let expression = engine.compile_expression(source).ok()?;
    engine.evaluate(&expression, &[]).ok()
}

fn reads_something(source: &Value) -> bool {
    match source {
        Value::Object(members) => {
            let is_read =
                members.len() == 1 && members.keys().any(|name| INCONSTANT.contains(&name.as_str()));
            is_read || members.values().any(reads_something)
        }
        Value::Array(items) => items.iter().any(reads_something),
        _ => false,
    }
}

/// Looks at one list of steps.
pub(super) fn check_list(
    engine: &Engine,
    entity: &AuthoredEntity,
    list: &StepList<'_>,
    report: &mut AnalysisReport<'_>,
) {
    for (n, step) in list.steps.iter().enumerate() {
        check_condition(engine, entity, list, n, step, report);
    }
    // The members of a parallel group begin at the same time.
    let is_parallel = list.group.is_some_and(|(group, key)| key == "tasks" && group["parallel"] == true);
    if is_parallel {
        return check_race(engine, entity, list, report);
    }
    let end = list.steps.iter().position(always_ends);
    if let Some(end) = end.filter(|end| end + 1 < list.steps.len()) {
        let id = list.steps[end]["id"].as_str().unwrap_or_default();
        let message = format!("the step '{id}' always ends the workflow before this one");
        report.add(AnalysisRule::UnreachableStep, entity, &format!("{}[{}]", list.path, end + 1), &message);
    }
}

fn check_condition(
    engine: &Engine,
    entity: &AuthoredEntity,
    list: &StepList<'_>,
    n: usize,
    step: &Value,
    report: &mut AnalysisReport<'_>,
) {
    let Some(condition) = step.get("condition") else { return };
    let path = format!("{}[{n}].condition", list.path);
    // Between the condition of a group and its first member nothing changes the message.
    if let Some((group, "tasks")) = list.group.filter(|_| n == 0)
        && group["condition"] == *condition
        && group["for_each"].is_null()
        && !is_unconditional(condition)
    {
        let message = "the condition of the group is true already";
        return report.add(AnalysisRule::RedundantCondition, entity, &path, message);
    }
    check_constant(engine, entity, &path, condition, report);
}

/// Reports a condition that is the same for every message.
pub(super) fn check_constant(
    engine: &Engine,
    entity: &AuthoredEntity,
    path: &str,
    condition: &Value,
    report: &mut AnalysisReport<'_>,
) {
    if *condition == true {
        return report.add_removable(entity, path, "the condition is always true");
    }
    match constant_value(engine, condition).filter(|_| !condition.is_null()) {
        None => {}
        Some(Value::Bool(true)) => {
            report.add(AnalysisRule::RedundantCondition, entity, path, "the condition is always true");
        }
        Some(_) => {
            report.add(AnalysisRule::TaskNeverRuns, entity, path, "the condition is never true");
        }
    }
}

/// Compares what each member of a parallel group reads with what the others write.
fn check_race(
    engine: &Engine,
    entity: &AuthoredEntity,
    list: &StepList<'_>,
    report: &mut AnalysisReport<'_>,
) {
    let written: Vec<Vec<String>> = list.steps.iter().map(|step| written_paths(engine, step)).collect();
    for (n, step) in list.steps.iter().enumerate() {
        let place = format!("{}[{n}]", list.path);
        let (own, over) = (element_paths(engine, step), format!("{place}.for_each.over"));
        let is_own =
            |at: &str, read: &str| !at.starts_with(&over) && own.iter().any(|path| overlap(path, read));
        let reads = engine.literal_reads(&place, step).into_iter().chain(source_reads(&place, step));
        for (at, read) in reads.filter(|(at, read)| !is_own(at, read)) {
            let others = written.iter().enumerate().filter(|(other, _)| *other != n);
            let writer = others
                .filter(|(_, paths)| paths.iter().any(|path| overlap(path, &read)))
                .find_map(|(other, _)| list.steps[other]["id"].as_str());
            if let Some(writer) = writer {
                let message = format!(
                    "reads {read}, which '{writer}' writes at the same time: it sees the value from before the group"
                );
                report.add(AnalysisRule::RaceInParallel, entity, &at, &message);
            }
        }
    }
}

/// Returns the paths that an element of a `for_each` writes on its own view, which it reads there again.
fn element_paths(engine: &Engine, step: &Value) -> Vec<String> {
    let block = &step["for_each"];
    if !block.is_object() {
        return Vec::new();
    }
    let mut body = step.clone();
    body["for_each"] = Value::Null;
    let keys = [block["as"].as_str().or(Some("item")), block["index_as"].as_str()];
    let mut paths = written_paths(engine, &body);
    paths.extend(keys.into_iter().flatten().map(|key| format!("temp_data.{key}")));
    paths
}

/// Returns the paths that tasks name as their source, and those that are kept of elements, with their places.
fn source_reads(at: &str, step: &Value) -> Vec<(String, String)> {
    let mut reads = Vec::new();
    for key in STEP_LISTS {
        for (n, member) in members(step, key).iter().enumerate() {
            reads.extend(source_reads(&format!("{at}.{key}[{n}]"), member));
        }
    }
    if let Some(path) = step["for_each"]["collect"].as_str() {
        reads.push((format!("{at}.for_each.collect"), path.to_owned()));
    }
    let function = &step["function"];
    if let Some(source) = function["input"]["source"].as_str() {
        let place = format!("{at}.function.input.source");
        match function["name"].as_str() {
            Some("parse_csv" | "parse_json" | "parse_xml") => reads.push((place, source.to_owned())),
            Some("publish_csv" | "publish_json" | "publish_xml") => {
                reads.push((place, format!("data.{source}")));
            }
            _ => {}
        }
    }
    reads
}
