//! Checks of one entity: those of a create and of an import, and the warnings that documents alone give rise to.

use std::sync::Arc;

use serde_json::Value;
use svc_engine::catalogue::{Catalogue, DefaultOutput};
use svc_engine::{Engine, recorded_secrets};
use svc_model::documents::STEP_LISTS;
use svc_model::{
    EntityKind, FieldCode, FieldError, Issue, WorkflowContent, channel_warnings, excluded_instants,
    parse_new_channel, parse_new_connector, parse_new_workflow, validate_connector, workflow_warnings,
};

use super::placed::{document_path, finding_at, finding_at_key, finding_from};
use super::set::SetMembers;
use crate::checks::Check;
use crate::content::EntityContent;
use crate::finding::Finding;
use crate::project::AuthoredEntity;
use crate::rules::{ChannelRules, ConnectorRules, check_directives, check_topics, import_body};

/// Checks one entity of a set as an import does. Returns its content if it is accepted.
pub(super) fn check(
    entity: &AuthoredEntity,
    engine: &Arc<Engine>,
    members: &SetMembers<'_>,
) -> (Option<EntityContent>, Vec<Finding>) {
    let imported = import_body(entity.kind, &entity.document)
        .and_then(|body| create(entity.kind, &body, engine, |name| members.names_topic(name)));
    let (content, refused) = match imported {
        Ok(content) => (Some(content), Vec::new()),
        Err(errors) => (None, errors),
    };
    let mut findings: Vec<_> =
        reportable_errors(entity, &refused).map(|error| refusal(entity, error)).collect();
    let directives = check_directives(entity.kind, &entity.document);
    findings.extend(reportable_errors(entity, &directives).map(|error| refusal(entity, error)));
    findings.extend(warnings(entity, content.as_ref(), engine));
    (content, findings)
}

/// Returns the content that a create body holds.
///
/// # Errors
/// All problems for which the admin API refuses it.
pub(super) fn create(
    kind: EntityKind,
    body: &Value,
    engine: &Arc<Engine>,
    names_topic: impl Fn(&str) -> Option<bool>,
) -> Result<EntityContent, Vec<FieldError>> {
    Ok(match kind {
        EntityKind::Connector => {
            EntityContent::Connector(Box::new(parse_new_connector(body, &ConnectorRules)?.1))
        }
        EntityKind::Channel => {
            let rules = ChannelRules::new(Arc::clone(engine), false);
            EntityContent::Channel(Box::new(parse_new_channel(body, &rules)?.1))
        }
        EntityKind::Workflow => {
            let content = parse_new_workflow(body, &**engine)?.1;
            check_topics(engine, &content, names_topic)?;
            EntityContent::Workflow(Box::new(content))
        }
    })
}

/// Returns the refusals that are no consequence of something that could not be expanded.
pub(super) fn reportable_errors<'e>(
    entity: &'e AuthoredEntity,
    refused: &'e [FieldError],
) -> impl Iterator<Item = &'e FieldError> {
    refused.iter().filter(|error| !entity.expansion.is_broken(document_path(entity.kind, &error.path)))
}

/// Returns the finding for a refusal.
pub(super) fn refusal(entity: &AuthoredEntity, error: &FieldError) -> Finding {
    let path = document_path(entity.kind, error.member.as_deref().unwrap_or(&error.path));
    let is_top_level = error.path.starts_with("body") || error.path == "loop";
    let check = match error.code {
        FieldCode::UnresolvedSecretRef => Check::EnvUnresolved,
        FieldCode::TypeMismatch if is_top_level => Check::parse(entity.kind),
        _ => Check::schema(entity.kind),
    };
    let message = format!("{} ({})", error.message, error.code.name());
    // The tasks of a fragment are unique; the call that repeats them is not.
    let call = Some(path).filter(|_| error.code == FieldCode::DuplicateTaskId);
    let finding = match call.and_then(|path| entity.expansion.origins.call(path)) {
        Some(call) => finding_from(check, entity, call, &message),
        None if error.is_about_key() => finding_at_key(check, entity, path, &message),
        None => finding_at(check, entity, path, &message),
    };
    match check {
        Check::EnvUnresolved => finding,
        _ => Finding { fix: Some(remedy(error)), ..finding },
    }
}

/// Returns the remedy for a refusal.
fn remedy(error: &FieldError) -> String {
    let expected = error.expected.as_deref().map(|expected| match expected {
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" or "),
        other => plain(other),
    });
    match (error.code, expected) {
        (FieldCode::Required, _) => "add the field".to_owned(),
        (FieldCode::RequiredForProtocol, _) => "add the field, or choose another `protocol`".to_owned(),
        (FieldCode::TypeMismatch, Some(kind)) => format!("make it of type {kind}"),
        (FieldCode::Invalid, Some(expected)) => format!("write {expected}"),
        (FieldCode::Invalid, None) => "change it as the message says".to_owned(),
        (FieldCode::TooLong, Some(limit)) => format!("shorten it to {limit}"),
        (FieldCode::UnknownField, Some(meant)) => format!("write '{meant}', or remove the key"),
        (FieldCode::UnknownField, None) => "remove the key, or begin it with `x-`".to_owned(),
        (FieldCode::UnknownOperator, Some(meant)) => format!("write '{meant}'"),
        (FieldCode::UncompiledSource, _) => "lint the directory, or name it with --definitions".to_owned(),
        (code, _) => to_clause(code.entry().remedy),
    }
}

/// Returns a sentence as the other remedies are written: a small letter first, unless it begins an abbreviation, and no
/// full stop.
fn to_clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    let Some(first) = letters.next() else { return String::new() };
    if letters.clone().next().is_some_and(char::is_lowercase) {
        return first.to_lowercase().chain(letters).collect();
    }
    std::iter::once(first).chain(letters).collect()
}

/// Returns a text without quotation marks, and another value as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the warnings about an entity that its document alone gives rise to.
pub(super) fn warnings(
    entity: &AuthoredEntity,
    content: Option<&EntityContent>,
    engine: &Arc<Engine>,
) -> Vec<Finding> {
    let issues = match (entity.kind, content) {
        (EntityKind::Connector, _) => {
            judged(entity.kind, validate_connector(&entity.document, &ConnectorRules).warnings)
        }
        (EntityKind::Channel, _) => {
            let rules = ChannelRules::new(Arc::clone(engine), false);
            let mut issues = judged(entity.kind, channel_warnings(&entity.document, &rules));
            let excluded = excluded_instants(&entity.document);
            issues.extend(excluded.map(|issue| (Check::CronExcludedInstants, issue)));
            issues
        }
        (EntityKind::Workflow, Some(EntityContent::Workflow(workflow))) => workflow_issues(workflow, engine),
        (EntityKind::Workflow, _) => workflow_issues(&readable_workflow(&entity.document), engine),
    };
    let is_broken = |path: &str| entity.expansion.is_broken(document_path(entity.kind, path));
    let told = issues.iter().filter(|(_, issue)| !is_broken(&issue.field));
    told.map(|(check, issue)| warning(*check, entity, issue)).collect()
}

/// Returns the warnings of validation about a workflow, and those about secrets that would be recorded and results that
/// replace all data.
fn workflow_issues(workflow: &WorkflowContent, engine: &Engine) -> Vec<(Check, Issue)> {
    let mut whole = Vec::new();
    for (path, steps) in workflow.step_lists() {
        replaced_data(engine.catalogue(), path, steps, &mut whole);
    }
    let message = "the task has no output, so its result replaces the whole of data";
    let whole = whole.into_iter().map(|path| (Check::OutputDefault, Issue::new(path, message)));
    let recorded = recorded_secrets(workflow).into_iter().map(|issue| (Check::SuspectWorkflow, issue));
    let judged = judged(EntityKind::Workflow, workflow_warnings(workflow, engine));
    judged.into_iter().chain(recorded).chain(whole).collect()
}

/// Returns the warnings of validation that a document alone gives rise to, each with its check.
fn judged(kind: EntityKind, issues: Vec<Issue>) -> Vec<(Check, Issue)> {
    issues.into_iter().filter_map(|issue| Some((warning_check(kind, &issue)?, issue))).collect()
}

fn warning(check: Check, entity: &AuthoredEntity, issue: &Issue) -> Finding {
    let path = document_path(entity.kind, &issue.field);
    match issue.code {
        Some(code) if code.is_about_key() => finding_at_key(check, entity, path, &issue.message),
        _ => finding_at(check, entity, path, &issue.message),
    }
}

/// Returns the check that a warning of validation belongs to; `None` for those that only a server can judge.
fn warning_check(kind: EntityKind, issue: &Issue) -> Option<Check> {
    match issue.code {
        Some(FieldCode::NotLoadable) => None,
        Some(FieldCode::PathRoot) => Some(Check::PathRoot),
        Some(FieldCode::SuspectOperator) => Some(Check::LogicUnknownOperator),
        Some(FieldCode::UnresolvableLogic) => Some(Check::LogicUnresolvable),
        Some(FieldCode::EmbeddedReference) => Some(Check::EnvEmbedded),
        _ => Some(Check::suspect(kind)),
    }
}

/// Reads the parts of a refused workflow that say what it calls, as far as they are there.
pub(super) fn readable_workflow(document: &Value) -> WorkflowContent {
    WorkflowContent {
        name: String::new(),
        description: None,
        priority: 0,
        condition: document.get("condition").cloned().unwrap_or(Value::Bool(true)),
        tasks: document.get("tasks").and_then(Value::as_array).cloned().unwrap_or_default(),
        tags: Vec::new(),
        loop_: document.get("loop").filter(|block| block.is_object()).cloned(),
        continue_on_error: false,
    }
}

/// Collects the inputs of tasks whose result replaces the whole of `data` without saying so.
fn replaced_data(catalogue: &Catalogue, at: &str, steps: &[Value], found: &mut Vec<String>) {
    for (index, step) in steps.iter().enumerate() {
        let at = format!("{at}[{index}]");
        if step.get("tasks").is_some() {
            for key in STEP_LISTS {
                let members = step[key].as_array().map_or(&[][..], Vec::as_slice);
                replaced_data(catalogue, &format!("{at}.{key}"), members, found);
            }
            continue;
        }
        // What an element writes is not kept.
        if step["for_each"].is_object() {
            continue;
        }
        let function = &step["function"];
        let Some(entry) = function["name"].as_str().and_then(|name| catalogue.find(name)) else { continue };
        let Some(output) = entry.field("output") else { continue };
        let is_named =
            std::iter::once(output.name).chain(output.alias).any(|name| !function["input"][name].is_null());
        if entry.default_output == DefaultOutput::ReplacesData && !is_named {
            found.push(format!("{at}.function.input"));
        }
    }
}
