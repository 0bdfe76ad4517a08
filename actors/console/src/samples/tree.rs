//! The supervision tree: its sums, the nodes that are shown, and their changes.

use std::collections::BTreeMap;

use actix_supervision::{NodeGauges, NodeState};
use svc_api::{LiveActor, LiveTree, LiveTreeChanges, LiveTreeTotals};

/// Nodes that are shown at most.
const MOST_SHOWN: usize = 500;
/// Segments of the path of a node that is shown although it has nothing to report.
const SHALLOW: usize = 2;
/// The group with a node for each channel, which are many.
const CHANNELS: &str = "channels/";

/// The nodes that were shown last.
#[derive(Debug, Default)]
pub(crate) struct TreeState {
    shown: BTreeMap<String, LiveActor>,
    totals: LiveTreeTotals,
    left_out: usize,
}

/// Reads a tree node by node.
#[derive(Debug, Default)]
pub(crate) struct TreeReading {
    totals: LiveTreeTotals,
    reporting: Vec<LiveActor>,
    quiet: Vec<LiveActor>,
    left_out: usize,
}

impl TreeReading {
    /// Takes a node.
    pub(crate) fn add(&mut self, node: NodeGauges<'_>) {
        let totals = &mut self.totals;
        totals.nodes += 1;
        totals.running += usize::from(node.state == NodeState::Running);
        totals.quarantined += usize::from(node.state == NodeState::Quarantined);
        totals.restarts += node.restarts;
        totals.mailbox_depth += node.mailbox_depth;
        let reports = node.state != NodeState::Running || node.mailbox_depth > 0 || node.restarts > 0;
        let path = node.path.as_str();
        let is_shallow = path.split('/').count() <= SHALLOW && !path.starts_with(CHANNELS);
        let list = match (reports, is_shallow) {
            (true, _) => &mut self.reporting,
            (false, true) => &mut self.quiet,
            (false, false) => {
                self.left_out += 1;
                return;
            }
        };
        if list.len() == MOST_SHOWN {
            self.left_out += 1;
            return;
        }
        list.push(LiveActor {
            path: path.to_owned(),
            state: node.state.name().to_owned(),
            generation: node.generation,
            restarts: node.restarts,
            mailbox_depth: node.mailbox_depth,
            mailbox_bound: node.mailbox_bound,
            reason: None,
        });
    }

    /// Returns the sums.
    pub(crate) fn totals(&self) -> LiveTreeTotals {
        self.totals
    }
}

impl TreeState {
    /// Takes a reading, and returns what differs from the last one. `reason` gives the reason of a quarantine.
    pub(crate) fn advance(
        &mut self,
        reading: TreeReading,
        reason: impl Fn(&str) -> Option<String>,
    ) -> LiveTreeChanges {
        let TreeReading { totals, mut reporting, quiet, mut left_out } = reading;
        let room = MOST_SHOWN - reporting.len();
        left_out += quiet.len().saturating_sub(room);
        reporting.extend(quiet.into_iter().take(room));
        let mut shown = BTreeMap::new();
        let mut changed = Vec::new();
        for mut actor in reporting {
            let known = self.shown.remove(&actor.path);
            if actor.state == NodeState::Quarantined.name() {
                let is_same =
                    |known: &LiveActor| known.state == actor.state && known.generation == actor.generation;
                let kept =
                    known.as_ref().filter(|known| is_same(known)).and_then(|known| known.reason.clone());
                actor.reason = kept.or_else(|| reason(&actor.path));
            }
            if known.as_ref() != Some(&actor) {
                changed.push(actor.clone());
            }
            shown.insert(actor.path.clone(), actor);
        }
        let gone = std::mem::replace(&mut self.shown, shown).into_keys().collect();
        (self.totals, self.left_out) = (totals, left_out);
        LiveTreeChanges { totals, changed, gone, left_out }
    }

    /// Returns the whole of the last reading, nodes with something to report first.
    pub(crate) fn to_tree(&self) -> LiveTree {
        let mut nodes: Vec<LiveActor> = self.shown.values().cloned().collect();
        nodes.sort_by_key(|node| node.state == NodeState::Running.name());
        LiveTree { totals: self.totals, nodes, left_out: self.left_out }
    }
}

#[cfg(test)]
mod tests {
    use actix_supervision::{NodeKind, NodePath};

    use super::*;

    fn read(nodes: &[(&str, NodeState, usize)]) -> TreeReading {
        let mut reading = TreeReading::default();
        for (path, state, mailbox_depth) in nodes {
            reading.add(NodeGauges {
                path: &NodePath::parse(path).unwrap(),
                kind: NodeKind::Actor,
                state: *state,
                generation: 1,
                restarts: 0,
                mailbox_depth: *mailbox_depth,
                mailbox_bound: 8,
            });
        }
        reading
    }

    fn paths(actors: &[LiveActor]) -> Vec<&str> {
        actors.iter().map(|actor| actor.path.as_str()).collect()
    }

    #[test]
    fn quiet_channels_are_only_in_the_sums() {
        let mut state = TreeState::default();
        let nodes = [("channels/a/1", NodeState::Running, 0), ("store/writer", NodeState::Running, 0)];
        let changes = state.advance(read(&nodes), |_| None);
        assert_eq!((paths(&changes.changed), changes.left_out), (vec!["store/writer"], 1));
        assert_eq!((changes.totals.nodes, changes.totals.running), (2, 2));
        let nodes = [("channels/a/1", NodeState::Running, 3), ("store/writer", NodeState::Running, 0)];
        let changes = state.advance(read(&nodes), |_| None);
        assert_eq!((paths(&changes.changed), changes.totals.mailbox_depth), (vec!["channels/a/1"], 3));
        let changes = state.advance(read(&nodes[1..]), |_| None);
        assert_eq!((changes.gone, changes.changed), (vec!["channels/a/1".to_owned()], Vec::new()));
    }

    #[test]
    fn quarantined_node_shows_its_reason_first() {
        let mut state = TreeState::default();
        let nodes = [("a", NodeState::Running, 0), ("b", NodeState::Quarantined, 0)];
        state.advance(read(&nodes), |path| Some(format!("{path} broke")));
        let tree = state.to_tree();
        assert_eq!((paths(&tree.nodes), tree.nodes[0].reason.as_deref()), (vec!["b", "a"], Some("b broke")));
        let changes = state.advance(read(&nodes), |_| None);
        assert!(changes.changed.is_empty(), "the reason is kept");
    }

    #[test]
    fn shown_nodes_are_bounded() {
        let names: Vec<String> = (0..=MOST_SHOWN).map(|number| format!("n{number}")).collect();
        let nodes: Vec<_> = names.iter().map(|name| (name.as_str(), NodeState::Running, 0)).collect();
        let mut state = TreeState::default();
        let mut reading = read(&nodes);
        reading.add(NodeGauges {
            path: &NodePath::parse("broken").unwrap(),
            kind: NodeKind::Actor,
            state: NodeState::Restarting,
            generation: 1,
            restarts: 1,
            mailbox_depth: 0,
            mailbox_bound: 8,
        });
        let changes = state.advance(reading, |_| None);
        assert_eq!((changes.changed.len(), changes.left_out), (MOST_SHOWN, 2));
        assert_eq!(changes.changed[0].path, "broken");
    }
}
