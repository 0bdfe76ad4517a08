//! Reads of parameters that no route has.

use std::collections::BTreeSet;

use svc_engine::Engine;
use svc_model::{RoutePattern, nearest};

use super::CheckedEntity;
use super::placed::finding_at;
use crate::checks::Check;
use crate::content::EntityContent;
use crate::finding::Finding;

/// The part of the message that has the parameters of a route.
const PARAMETERS: &str = "metadata.params.";

/// Returns a finding for each read of a parameter that no route of the set has, in a workflow whose channels all have
/// others: their callers cannot send it.
pub(super) fn check(entities: &[CheckedEntity<'_>], engine: &Engine) -> Vec<Finding> {
    let routes: Vec<(Option<&str>, RoutePattern)> = entities
        .iter()
        .filter_map(|checked| checked.content.as_ref()?.channel())
        .filter(|channel| channel.protocol.is_http())
        .filter_map(|channel| {
            let route = RoutePattern::parse(channel.route_pattern.as_deref()?).ok()?;
            Some((channel.workflow_id.as_deref(), route))
        })
        .collect();
    let known: BTreeSet<&str> = routes.iter().flat_map(|(_, route)| route.params()).collect();
    let mut findings = Vec::new();
    for checked in entities {
        let Some(EntityContent::Workflow(workflow)) = &checked.content else { continue };
        let mut own = routes.iter().filter(|(id, _)| id.is_some() && *id == checked.entity.key()).peekable();
        if own.peek().is_none() || own.any(|(_, route)| route.params().next().is_none()) {
            continue;
        }
        for (list, steps) in workflow.step_lists() {
            for (n, step) in steps.iter().enumerate() {
                for (at, path) in engine.literal_reads(&format!("{list}[{n}]"), step) {
                    let name = path.strip_prefix(PARAMETERS).and_then(|below| below.split('.').next());
                    let Some(name) = name.filter(|name| !known.contains(name)) else { continue };
                    let hint = nearest(name, known.iter().copied());
                    let hint = hint.map(|meant| format!(", did you mean '{meant}'?")).unwrap_or_default();
                    let message = format!("no route has the parameter '{name}', so that it is null{hint}");
                    findings.push(finding_at(Check::SuspectWorkflow, checked.entity, &at, &message));
                }
            }
        }
    }
    findings
}
