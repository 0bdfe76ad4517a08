//! The rules about single tasks and documents: mappings, queries, statements, secrets, references.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_engine::Engine;
use svc_model::EntityKind;

use super::AnalysisReport;
use super::flow::constant_value;
use super::placeholders::count_placeholders;
use super::rules::AnalysisRule;
use super::steps::{StepList, function_name, overlap};
use crate::project::{AuthoredEntity, Project};

/// The beginnings of references that are replaced where they are the whole of a text.
const REFERENCES: [&str; 3] = ["env://", "vault://", "var://"];

/// Looks at the inputs of the tasks of a list.
pub(super) fn check_inputs(
    engine: &Engine,
    project: &Project,
    entity: &AuthoredEntity,
    list: &StepList<'_>,
    report: &mut AnalysisReport<'_>,
) {
    for (n, step) in list.steps.iter().enumerate() {
        let (input, at) = (&step["function"]["input"], format!("{}[{n}].function.input", list.path));
        match function_name(step) {
            Some("map") => check_mappings(engine, entity, input, &at, report),
            Some("data_query") => check_page(entity, &input["query"], &format!("{at}.query"), report),
            Some("mongo_read") => check_page(entity, input, &at, report),
            Some("db_read" | "db_write") => check_binds(project, entity, input, &at, report),
            _ => {}
        }
    }
}

fn check_mappings(
    engine: &Engine,
    entity: &AuthoredEntity,
    input: &Value,
    at: &str,
    report: &mut AnalysisReport<'_>,
) {
    let mappings = input["mappings"].as_array().map_or(&[][..], Vec::as_slice);
    for (n, mapping) in mappings.iter().enumerate() {
        let at = format!("{at}.mappings[{n}]");
        let Some(logic) = mapping.get("logic") else { continue };
        let skips_null = matches!(mapping["on_null"].as_str(), None | Some("skip"));
        if skips_null && constant_value(engine, logic) == Some(Value::Null) {
            let message = "the result is always null, so that the mapping writes nothing";
            report.add(AnalysisRule::MappingAlwaysNull, entity, &format!("{at}.logic"), message);
        }
        if let Some(later) = overwriting(engine, mapping, &mappings[n + 1..]) {
            let message = format!(
                "mappings[{}] always overwrites this value, and nothing reads it before",
                n + 1 + later
            );
            report.add(AnalysisRule::MappingOverwritten, entity, &format!("{at}.path"), &message);
        }
    }
}

/// Returns the position of the mapping that overwrites what another one writes before anything reads it.
fn overwriting(engine: &Engine, mapping: &Value, later: &[Value]) -> Option<usize> {
    let path = mapping["path"].as_str().filter(|path| replaces(mapping) && path.contains('.'))?;
    for (n, next) in later.iter().enumerate() {
        if may_read(engine, next, path) {
            return None;
        }
        match next["path"].as_str() {
            Some(same) if same == path => {
                return (replaces(next) && is_never_null(engine, next)).then_some(n);
            }
            // A part of it is changed, or something around it.
            Some(other) if overlap(other, path) => return None,
            _ => {}
        }
    }
    None
}

/// Returns `true` for a mapping that replaces what is at its path.
fn replaces(mapping: &Value) -> bool {
    mapping["mode"].is_null() && mapping["unset"] != true
}

/// Returns `true` if an expression may read a path: by its name, or in a way that names none.
fn may_read(engine: &Engine, mapping: &Value, path: &str) -> bool {
    let logic = &mapping["logic"];
    names_no_path(logic) || engine.literal_reads("", logic).iter().any(|(_, read)| overlap(read, path))
}

/// Returns `true` if an expression may read what no literal path in it names.
fn names_no_path(source: &Value) -> bool {
    match source {
        Value::Object(members) => members.iter().any(|(name, operands)| {
            let reads = members.len() == 1
                && ["var", "val", "missing", "missing_some", "exists"].contains(&name.as_str());
            let first = operands.get(0).unwrap_or(operands);
            (reads && first.as_str().is_none_or(str::is_empty)) || names_no_path(operands)
        }),
        Value::Array(items) => items.iter().any(names_no_path),
        _ => false,
    }
}

fn is_never_null(engine: &Engine, mapping: &Value) -> bool {
    let logic = &mapping["logic"];
    let is_text = logic.as_object().is_some_and(|call| call.len() == 1 && call.contains_key("cat"));
    mapping["on_null"] == "set"
        || is_text
        || constant_value(engine, logic).is_some_and(|value| !value.is_null())
}

/// Reports a part of the rows in no order. One row may be any.
fn check_page(entity: &AuthoredEntity, query: &Value, at: &str, report: &mut AnalysisReport<'_>) {
    let is_ordered = match &query["sort"] {
        Value::Null => false,
        Value::Array(keys) => !keys.is_empty(),
        Value::Object(keys) => !keys.is_empty(),
        _ => true,
    };
    let is_page = !query["skip"].is_null() || query["limit"].as_u64().is_some_and(|limit| limit > 1);
    if is_page && !is_ordered {
        let message = "the query takes a part of the rows and has no sort";
        report.add(AnalysisRule::UnorderedPage, entity, at, message);
    }
}

fn check_binds(
    project: &Project,
    entity: &AuthoredEntity,
    input: &Value,
    at: &str,
    report: &mut AnalysisReport<'_>,
) {
    let Some(sql) = input["query"].as_str() else { return };
    let given = match &input["params"] {
        Value::Null => 0,
        Value::Array(values) => values.len(),
        _ => return,
    };
    let connector = input["connector"].as_str();
    let config = project
        .entities(EntityKind::Connector)
        .find(|connector_entity| connector_entity.text("name") == connector)
        .map(|connector_entity| &connector_entity.document["config"]["connection_string"]);
    let address = config.and_then(Value::as_str).unwrap_or_default();
    if let Some(expected) = count_placeholders(sql, address).filter(|expected| *expected != given) {
        let message = format!("the query has {expected} placeholder(s), and params has {given} value(s)");
        report.add(AnalysisRule::SqlBindCount, entity, &format!("{at}.query"), &message);
    }
}

/// Reports secrets that the values of an environment do not declare.
pub(super) fn check_secrets(
    entity: &AuthoredEntity,
    declared: &BTreeSet<String>,
    report: &mut AnalysisReport<'_>,
) {
    visit("", &entity.document, &mut |at, value| {
        let name = value.as_object().filter(|members| members.len() == 1).and_then(|call| call.get("secret"));
        let name = name.and_then(|name| name.as_str().or_else(|| name.get(0)?.as_str()));
        if let Some(name) = name.filter(|name| !declared.contains(*name)) {
            let message = format!("the secret '{name}' is not declared");
            report.add(AnalysisRule::SecretUndeclared, entity, at, &message);
        }
    });
}

/// Reports references that are a part of a text.
pub(super) fn check_references(entity: &AuthoredEntity, report: &mut AnalysisReport<'_>) {
    visit("config", &entity.document["config"], &mut |at, value| {
        let text = value.as_str().unwrap_or_default();
        let embedded = REFERENCES.iter().find(|reference| text.find(**reference).is_some_and(|at| at > 0));
        if let Some(reference) = embedded {
            let message = format!("{reference} is replaced only where it begins the text and is all of it");
            report.add(AnalysisRule::EmbeddedReference, entity, at, &message);
        }
    });
}

/// Visits every value of a document with its path.
fn visit(at: &str, value: &Value, visitor: &mut dyn FnMut(&str, &Value)) {
    visitor(at, value);
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                visit(&at, member, visitor);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                visit(&format!("{at}[{n}]"), item, visitor);
            }
        }
        _ => {}
    }
}
