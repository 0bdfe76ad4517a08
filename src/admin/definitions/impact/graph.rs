//! References between definitions, and the definitions that a change of one touches. Pure.

use std::collections::{HashMap, HashSet, VecDeque};

use svc_engine::Engine;
use svc_model::{Channel, EntityKind, Workflow};

use crate::admin::definitions::references::{config_connectors, failure_channel};

/// The kind of a definition of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReferencedKind {
    /// A workflow, channel or connector.
    Entity(EntityKind),
    /// A plugin.
    Plugin,
}

impl ReferencedKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Entity(kind) => kind.name(),
            Self::Plugin => "plugin",
        }
    }
}

impl From<EntityKind> for ReferencedKind {
    fn from(kind: EntityKind) -> Self {
        Self::Entity(kind)
    }
}

impl PartialEq<EntityKind> for ReferencedKind {
    fn eq(&self, other: &EntityKind) -> bool {
        *self == Self::Entity(*other)
    }
}

/// A definition of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DefinitionNode {
    pub(super) kind: ReferencedKind,
    /// Its id; of a connector its name, by which others refer to it.
    pub(super) id: String,
}

impl DefinitionNode {
    pub(super) fn new(kind: impl Into<ReferencedKind>, id: impl Into<String>) -> Self {
        Self { kind: kind.into(), id: id.into() }
    }

    /// Returns the definition as the API names it.
    pub(super) fn describe(&self) -> String {
        format!("{} {}", self.kind.name(), self.id)
    }
}

/// The form of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceKind {
    /// A channel runs a workflow.
    Runs,
    /// A workflow calls a channel.
    Calls,
    /// A workflow or a channel uses a connector, a workflow a plugin.
    Uses,
    /// A channel reports its failures to another one.
    OnFailure,
}

impl ReferenceKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Calls => "calls",
            Self::Uses => "uses",
            Self::OnFailure => "on_failure",
        }
    }
}

/// A definition that a change touches, with the reference that leads to the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TouchedNode {
    pub(super) node: DefinitionNode,
    pub(super) how: ReferenceKind,
    pub(super) through: DefinitionNode,
}

/// A reference as one of its ends has it: its form, and the other end.
type HalfReference = (ReferenceKind, DefinitionNode);

/// The references between definitions.
#[derive(Debug, Default)]
pub(super) struct ReferenceGraph {
    /// The definitions that refer to each.
    users: HashMap<DefinitionNode, Vec<HalfReference>>,
    /// The definitions to which each refers.
    needs: HashMap<DefinitionNode, Vec<HalfReference>>,
    /// Ids of the workflows that compute the name of a channel that they call.
    pub(super) dynamic_callers: Vec<String>,
}

impl ReferenceGraph {
    /// Reads the references of versions; several versions of one definition count together.
    pub(super) fn read(engine: &Engine, workflows: &[Workflow], channels: &[Channel]) -> Self {
        let mut graph = Self::default();
        let ids: HashMap<&str, &str> = channels
            .iter()
            .map(|channel| (channel.content.name.as_str(), channel.channel_id.as_str()))
            .collect();
        let to_channel =
            |name: &str| DefinitionNode::new(EntityKind::Channel, ids.get(name).copied().unwrap_or(name));
        for channel in channels {
            let from = DefinitionNode::new(EntityKind::Channel, &*channel.channel_id);
            if let Some(workflow) = &channel.content.workflow_id {
                let to = DefinitionNode::new(EntityKind::Workflow, &**workflow);
                graph.add(&from, ReferenceKind::Runs, to);
            }
            for connector in config_connectors(&channel.content) {
                graph.add(&from, ReferenceKind::Uses, DefinitionNode::new(EntityKind::Connector, connector));
            }
            if let Some(name) = failure_channel(&channel.content) {
                graph.add(&from, ReferenceKind::OnFailure, to_channel(name));
            }
        }
        for workflow in workflows {
            let from = DefinitionNode::new(EntityKind::Workflow, &*workflow.workflow_id);
            let named = engine.dependencies(&workflow.content);
            for name in &named.channels {
                graph.add(&from, ReferenceKind::Calls, to_channel(name));
            }
            for used in named.connectors {
                let to = DefinitionNode::new(EntityKind::Connector, used.connector);
                graph.add(&from, ReferenceKind::Uses, to);
            }
            for plugin in named.plugins {
                graph.add(&from, ReferenceKind::Uses, DefinitionNode::new(ReferencedKind::Plugin, plugin));
            }
            if named.has_dynamic_channel_calls && !graph.dynamic_callers.contains(&workflow.workflow_id) {
                graph.dynamic_callers.push(workflow.workflow_id.clone());
            }
        }
        graph
    }

    fn add(&mut self, from: &DefinitionNode, how: ReferenceKind, to: DefinitionNode) {
        let needs = self.needs.entry(from.clone()).or_default();
        if !needs.contains(&(how, to.clone())) {
            needs.push((how, to.clone()));
            self.users.entry(to).or_default().push((how, from.clone()));
        }
    }

    fn users_of(&self, node: &DefinitionNode) -> &[HalfReference] {
        self.users.get(node).map_or(&[][..], Vec::as_slice)
    }

    /// Lists the definitions whose runs a change may alter, the nearest first, and then the channels that report failures
    /// to one of them: a report is a run of its own, so that the callers of those are untouched.
    pub(super) fn find_touched(&self, changed: &DefinitionNode) -> Vec<TouchedNode> {
        let mut seen = HashSet::from([changed.clone()]);
        let mut reached = vec![changed.clone()];
        let mut touched = Vec::new();
        let mut front = VecDeque::from([changed.clone()]);
        while let Some(through) = front.pop_front() {
            for (how, user) in self.users_of(&through) {
                if *how != ReferenceKind::OnFailure && seen.insert(user.clone()) {
                    touched.push(TouchedNode { node: user.clone(), how: *how, through: through.clone() });
                    reached.push(user.clone());
                    front.push_back(user.clone());
                }
            }
        }
        for through in reached {
            for (how, user) in self.users_of(&through) {
                if seen.insert(user.clone()) {
                    touched.push(TouchedNode { node: user.clone(), how: *how, through: through.clone() });
                }
            }
        }
        touched
    }

    /// Lists the definitions of a kind that runs of a definition reach: the workflows of channels, the channels and
    /// connectors of workflows. Reports of failures are other runs.
    pub(super) fn find_needed(&self, of: &DefinitionNode, kind: EntityKind) -> Vec<String> {
        let mut seen = HashSet::from([of.clone()]);
        let mut front = VecDeque::from([of.clone()]);
        let mut found = Vec::new();
        while let Some(user) = front.pop_front() {
            for (how, needed) in self.needs.get(&user).map_or(&[][..], Vec::as_slice) {
                if *how != ReferenceKind::OnFailure && seen.insert(needed.clone()) {
                    if needed.kind == kind {
                        found.push(needed.id.clone());
                    }
                    front.push_back(needed.clone());
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> DefinitionNode {
        let (kind, id) = text.split_once(' ').unwrap();
        let kinds =
            [EntityKind::Workflow, EntityKind::Channel, EntityKind::Connector].map(ReferencedKind::Entity);
        let mut kinds = kinds.into_iter().chain([ReferencedKind::Plugin]);
        DefinitionNode::new(kinds.find(|known| known.name() == kind).unwrap(), id)
    }

    /// Two routes run `price`; `orders` is called by the workflow of `shop`; failures of `orders` go to `alarm`.
    fn graph() -> ReferenceGraph {
        let mut graph = ReferenceGraph::default();
        for (from, how, to) in [
            ("channel orders", ReferenceKind::Runs, "workflow price"),
            ("channel offers", ReferenceKind::Runs, "workflow price"),
            ("channel shop", ReferenceKind::Runs, "workflow checkout"),
            ("workflow checkout", ReferenceKind::Calls, "channel orders"),
            ("workflow price", ReferenceKind::Calls, "channel stock"),
            ("channel stock", ReferenceKind::Runs, "workflow stock"),
            ("workflow stock", ReferenceKind::Uses, "connector erp"),
            ("workflow price", ReferenceKind::Uses, "connector crm"),
            ("workflow stock", ReferenceKind::Uses, "plugin ids"),
            ("channel orders", ReferenceKind::OnFailure, "channel alarm"),
            ("channel alarm", ReferenceKind::Runs, "workflow tell"),
            // A circle, as rules permit one that ends.
            ("workflow price", ReferenceKind::Calls, "channel shop"),
        ] {
            graph.add(&node(from), how, node(to));
        }
        graph
    }

    fn touched(changed: &str) -> Vec<(String, &'static str, String)> {
        let touched = graph().find_touched(&node(changed));
        touched.into_iter().map(|one| (one.node.describe(), one.how.name(), one.through.describe())).collect()
    }

    #[test]
    fn callers_of_callers_are_touched_once() {
        let expected = [
            ("channel orders", "runs", "workflow price"),
            ("channel offers", "runs", "workflow price"),
            ("workflow checkout", "calls", "channel orders"),
            ("channel shop", "runs", "workflow checkout"),
        ];
        let expected = expected.map(|(node, how, through)| (node.to_owned(), how, through.to_owned()));
        assert_eq!(touched("workflow price"), expected);
    }

    #[test]
    fn callers_of_a_plugin_are_touched() {
        let first: Vec<_> = touched("plugin ids").into_iter().take(2).collect();
        let expected =
            [("workflow stock", "uses", "plugin ids"), ("channel stock", "runs", "workflow stock")];
        assert_eq!(first, expected.map(|(node, how, through)| (node.to_owned(), how, through.to_owned())));
    }

    #[test]
    fn reporters_of_failures_end_the_way() {
        let expected =
            [("channel alarm", "runs", "workflow tell"), ("channel orders", "on_failure", "channel alarm")];
        let expected = expected.map(|(node, how, through)| (node.to_owned(), how, through.to_owned()));
        assert_eq!(touched("workflow tell"), expected);
    }

    #[test]
    fn needs_of_called_channels_are_found() {
        let of = node("channel offers");
        assert_eq!(graph().find_needed(&of, EntityKind::Connector), ["crm", "erp"]);
        assert_eq!(graph().find_needed(&of, EntityKind::Channel), ["stock", "shop", "orders"]);
        assert_eq!(graph().find_needed(&node("connector crm"), EntityKind::Connector), [""; 0]);
    }
}
