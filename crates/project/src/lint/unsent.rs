//! Answers that a workflow shapes and none of its channels sends.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_model::ChannelContent;
use svc_model::documents::STEP_LISTS;

use super::CheckedEntity;
use super::placed::finding_at;
use crate::checks::Check;
use crate::content::EntityContent;
use crate::finding::Finding;

/// The place at which a workflow shapes its answer.
const ANSWER: &str = "data._svc.response";

/// The beginning of a reference to a value that an instance declares.
const DECLARED: &str = "var://";

/// Returns a finding for each channel whose workflow shapes an answer, if no channel of that workflow sends it.
pub(super) fn check(entities: &[CheckedEntity<'_>]) -> Vec<Finding> {
    let mut shaping: BTreeSet<&str> = BTreeSet::new();
    for checked in entities {
        if let Some(EntityContent::Workflow(workflow)) = &checked.content
            && workflow.step_lists().into_iter().any(|(_, steps)| shapes_answer(steps))
        {
            shaping.extend(checked.entity.key());
        }
    }
    let channels: Vec<_> = entities
        .iter()
        .filter_map(|checked| Some((checked.entity, checked.content.as_ref()?.channel()?)))
        .collect();
    let answers = |channel: &ChannelContent| {
        channel.protocol.is_http() && !may_be(&channel.config["request"]["mode"], "accept")
    };
    let mut findings = Vec::new();
    for (entity, channel) in channels.iter().filter(|(_, channel)| answers(channel)) {
        let Some(workflow) = channel.workflow_id.as_deref().filter(|id| shaping.contains(id)) else {
            continue;
        };
        let is_sent = channels.iter().any(|(_, other)| {
            other.workflow_id.as_deref() == Some(workflow)
                && may_be(&other.config["response"]["mode"], "shaped")
        });
        if !is_sent {
            let message = format!(
                "the workflow '{workflow}' writes {ANSWER}, and no channel sends it: set config.response.mode to \
                 shaped"
            );
            findings.push(finding_at(Check::SuspectChannel, entity, "workflow_id", &message));
        }
    }
    findings
}

/// Returns true for this mode, and for one that an instance declares.
fn may_be(mode: &Value, word: &str) -> bool {
    mode.as_str().is_some_and(|mode| mode == word || mode.starts_with(DECLARED))
}

/// Returns true if a mapping of the steps writes the answer, or a part of it.
fn shapes_answer(steps: &[Value]) -> bool {
    steps.iter().any(|step| {
        let lists = STEP_LISTS.into_iter().filter_map(|key| step[key].as_array());
        let mappings = step["function"]["input"]["mappings"].as_array();
        let writes = |mapping: &Value| {
            let below = mapping["path"].as_str().and_then(|path| path.strip_prefix(ANSWER));
            below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
        };
        mappings.into_iter().flatten().any(writes)
            || lists.into_iter().any(|members| shapes_answer(members.as_slice()))
    })
}
