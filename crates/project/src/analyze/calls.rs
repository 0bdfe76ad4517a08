//! The rule about channels that call each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use svc_model::EntityKind;

use super::AnalysisReport;
use super::rules::AnalysisRule;
use super::steps::{function_name, is_unconditional, step_lists};
use crate::project::{AuthoredEntity, Project};

/// A call that a channel makes whenever it runs.
struct CertainCall<'p> {
    workflow: &'p AuthoredEntity,
    /// The path of the name of the called channel.
    path: String,
    callee: &'p str,
}

/// The certain calls of each channel, by its name.
type CallGraph<'p> = BTreeMap<&'p str, Vec<CertainCall<'p>>>;

/// Reports the first call of each circle.
pub(super) fn check_calls(project: &Project, report: &mut AnalysisReport<'_>) {
    let graph = read_calls(project);
    let mut done = BTreeSet::new();
    for channel in graph.keys().copied() {
        let mut chain = Vec::new();
        follow(&graph, channel, &mut chain, &mut done, report);
    }
}

fn read_calls(project: &Project) -> CallGraph<'_> {
    let workflows: BTreeMap<&str, &AuthoredEntity> = project
        .entities(EntityKind::Workflow)
        .filter_map(|workflow| Some((workflow.key()?, workflow)))
        .collect();
    let mut graph = CallGraph::new();
    for channel in project.entities(EntityKind::Channel) {
        let workflow = channel.text("workflow_id").and_then(|id| workflows.get(id).copied());
        if let (Some(name), Some(workflow)) = (channel.text("name"), workflow) {
            graph.insert(name, certain_calls(workflow));
        }
    }
    graph
}

fn certain_calls(workflow: &AuthoredEntity) -> Vec<CertainCall<'_>> {
    let mut calls = Vec::new();
    for list in step_lists(&workflow.document) {
        for (n, step) in list.steps.iter().take(list.certain).enumerate() {
            let runs = is_unconditional(&step["condition"]) && step["for_each"].is_null();
            let callee = step["function"]["input"]["channel"].as_str();
            if let (true, Some("channel_call"), Some(callee)) = (runs, function_name(step), callee) {
                let path = format!("{}[{n}].function.input.channel", list.path);
                calls.push(CertainCall { workflow, path, callee });
            }
        }
    }
    calls
}

/// Follows the calls of a channel. `chain` are the channels that led here, `done` those whose calls were followed.
fn follow<'p>(
    graph: &CallGraph<'p>,
    channel: &'p str,
    chain: &mut Vec<&'p str>,
    done: &mut BTreeSet<&'p str>,
    report: &mut AnalysisReport<'_>,
) {
    if !done.insert(channel) {
        return;
    }
    chain.push(channel);
    for call in graph.get(channel).into_iter().flatten() {
        match chain.iter().position(|caller| *caller == call.callee) {
            Some(begin) => {
                let circle = [&chain[begin..], &[call.callee]].concat().join(" → ");
                let message = format!("this call closes the circle {circle}, and no condition ends it");
                report.add(AnalysisRule::UnconditionalCallCycle, call.workflow, &call.path, &message);
            }
            None => follow(graph, call.callee, chain, done, report),
        }
    }
    chain.pop();
}
