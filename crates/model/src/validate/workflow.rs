//! Validation of workflows on create and update.

use serde_json::Value;

use super::body::BodyReader;
use super::{WorkflowChecks, distinct, scan, steps};
use crate::entity::{EntityKind, Workflow, WorkflowContent};
use crate::field::{FieldError, Issue, ValidationReport};

/// Reads the body of a create request. Returns the id if the caller chose one, and the content. `null` counts
/// as absent: an optional field takes its default, a required one is missing. A `null` condition of a group
/// or task likewise means `true`.
///
/// # Errors
/// All problems.
pub fn parse_new_workflow(
    body: &Value,
    checks: &dyn WorkflowChecks,
) -> Result<(Option<String>, WorkflowContent), Vec<FieldError>> {
    read(body, None, checks).map(|(id, content, _)| (id, content))
}

/// Reads the body of an update request and merges it into the draft. An absent field keeps its value; `null`
/// removes `description` and `loop` and keeps every other field.
///
/// # Errors
/// All problems of the merged document.
pub fn parse_workflow_update(
    body: &Value,
    current: &WorkflowContent,
    checks: &dyn WorkflowChecks,
) -> Result<WorkflowContent, Vec<FieldError>> {
    read(body, Some(current), checks).map(|(_, content, _)| content)
}

/// Reports the problems for which a create request with this body would be refused, and warnings.
pub fn validate_workflow(body: &Value, checks: &dyn WorkflowChecks) -> ValidationReport {
    match read(body, None, checks) {
        Ok((_, _, warnings)) => ValidationReport { errors: Vec::new(), warnings },
        Err(errors) => errors.into(),
    }
}

/// Returns warnings about probable mistakes in a stored document that can be run.
pub fn workflow_warnings(content: &WorkflowContent, checks: &dyn WorkflowChecks) -> Vec<Issue> {
    let mut warnings = Vec::new();
    scan::embedded_in_workflow(content, &mut warnings);
    checks.check(content, &mut Vec::new(), &mut warnings);
    warnings
}

type Parsed = (Option<String>, WorkflowContent, Vec<Issue>);

fn read(
    body: &Value,
    current: Option<&WorkflowContent>,
    checks: &dyn WorkflowChecks,
) -> Result<Parsed, Vec<FieldError>> {
    let mut body = BodyReader::open(EntityKind::Workflow, body)?;
    let id = if current.is_none() { body.id("workflow_id") } else { None };
    let content = merge(&mut body, current);
    body.refuse_unknown(
        &Workflow::ONLY_READ,
        &[("tasks[]", &["function"]), ("loop", &["counter", "increment", "max", "over", "setup", "scratch"])],
    );
    let mut errors = body.errors;
    let mut warnings = Vec::new();
    steps::check(&content, &mut errors);
    scan::workflow(&content, checks, &mut errors);
    scan::nul(EntityKind::Workflow, &content.hashable(), &mut errors);
    scan::embedded_in_workflow(&content, &mut warnings);
    checks.check(&content, &mut errors, &mut warnings);
    if errors.is_empty() { Ok((id, content, warnings)) } else { Err(distinct(errors)) }
}

fn merge(body: &mut BodyReader<'_>, current: Option<&WorkflowContent>) -> WorkflowContent {
    WorkflowContent {
        name: body.name(current.map(|c| c.name.as_str())),
        description: body.description(current.and_then(|c| c.description.as_deref())),
        priority: body.integer("priority").unwrap_or_else(|| current.map_or(0, |c| c.priority)),
        condition: body
            .value("condition")
            .cloned()
            .unwrap_or_else(|| current.map_or(Value::Bool(true), |c| c.condition.clone())),
        tasks: tasks(body, current),
        tags: body.strings("tags").unwrap_or_else(|| current.map_or_else(Vec::new, |c| c.tags.clone())),
        loop_: loop_block(body, current),
        continue_on_error: body
            .boolean("continue_on_error")
            .unwrap_or_else(|| current.is_some_and(|c| c.continue_on_error)),
    }
}

fn tasks(body: &mut BodyReader<'_>, current: Option<&WorkflowContent>) -> Vec<Value> {
    match (body.value("tasks"), current) {
        (Some(_), _) => {
            let tasks = body.array("tasks").cloned();
            if tasks.as_ref().is_some_and(Vec::is_empty) {
                body.errors.push(FieldError::invalid("tasks", "a workflow has at least one task"));
            }
            tasks.unwrap_or_default()
        }
        (None, Some(current)) => current.tasks.clone(),
        (None, None) => {
            body.errors.push(FieldError::required("tasks"));
            Vec::new()
        }
    }
}

fn loop_block(body: &mut BodyReader<'_>, current: Option<&WorkflowContent>) -> Option<Value> {
    if body.is_null("loop") {
        return None;
    }
    match body.value("loop") {
        None => current.and_then(|c| c.loop_.clone()),
        Some(block @ Value::Object(_)) => Some(block.clone()),
        // Uses the path of all other problems of the block.
        Some(other) => {
            body.errors.push(FieldError::type_mismatch("loop", "object", other));
            None
        }
    }
}
