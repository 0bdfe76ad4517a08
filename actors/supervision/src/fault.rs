//! Planned faults for tests, as data.

use std::collections::HashMap;

use crate::error::StartError;
use crate::mailbox::names::short_name;
use crate::path::NodePath;
use parking_lot::Mutex;

/// A fault that occurs once per matching node.
#[derive(Debug, Clone)]
pub struct PlannedFault {
    /// Path of the affected nodes; one `*` matches any text.
    pub path: String,
    /// The last segment of the message's type name, or `*` for every message. Ignored by
    /// [`FaultKind::FailStart`].
    pub message: String,
    /// Number of the matching message (or start) that fails, from 1, counted per node over its life.
    pub nth: u64,
    /// The kind of the fault.
    pub kind: FaultKind,
}

/// The kind of a planned fault.
#[derive(Debug, Clone)]
pub enum FaultKind {
    /// The handler panics.
    Panic,
    /// The handler never ends and blocks the instance; a read-only message hangs alone.
    Hang,
    /// The factory fails.
    FailStart(StartError),
}

/// A fault of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageFault {
    Panic,
    Hang,
}

impl MessageFault {
    #[expect(clippy::panic, reason = "the fault that was planned")]
    pub(crate) fn panic() {
        std::panic::panic_any("injected fault".to_owned())
    }
}

/// The faults of a tree.
#[derive(Debug, Default)]
pub(crate) struct FaultPlan(Vec<PlannedFault>);

impl FaultPlan {
    pub(crate) fn new(faults: Vec<PlannedFault>) -> Self {
        Self(faults)
    }

    /// Returns the faults of the node at `path`; `None` if there are none, so that messages pay nothing.
    pub(crate) fn for_node(&self, path: &NodePath) -> Option<NodeFaults> {
        let faults: Vec<_> = self.0.iter().filter(|f| glob(&f.path, path.as_str())).cloned().collect();
        (!faults.is_empty()).then(|| NodeFaults { faults, counts: Mutex::default() })
    }
}

/// The faults of one node, with the number of matches so far.
#[derive(Debug)]
pub(crate) struct NodeFaults {
    faults: Vec<PlannedFault>,
    counts: Mutex<HashMap<usize, u64>>,
}

impl NodeFaults {
    /// Counts a message and returns the fault that is due for it.
    pub(crate) fn message(&self, type_name: &'static str) -> Option<MessageFault> {
        let name = short_name(type_name);
        let struck = self.take_due(|fault| {
            !matches!(fault.kind, FaultKind::FailStart(_)) && (fault.message == "*" || fault.message == name)
        })?;
        match struck {
            FaultKind::Panic => Some(MessageFault::Panic),
            FaultKind::Hang => Some(MessageFault::Hang),
            FaultKind::FailStart(_) => None,
        }
    }

    /// Counts a start and returns the fault that is due for it.
    pub(crate) fn start(&self) -> Option<StartError> {
        match self.take_due(|fault| matches!(fault.kind, FaultKind::FailStart(_)))? {
            FaultKind::FailStart(error) => Some(error),
            FaultKind::Panic | FaultKind::Hang => None,
        }
    }

    /// Counts one occurrence for every matching fault and returns the first that is due.
    fn take_due(&self, matches: impl Fn(&PlannedFault) -> bool) -> Option<FaultKind> {
        let mut counts = self.counts.lock();
        let mut struck = None;
        for (index, fault) in self.faults.iter().enumerate().filter(|(_, fault)| matches(fault)) {
            let count = counts.entry(index).or_default();
            *count += 1;
            if *count == fault.nth && struck.is_none() {
                struck = Some(fault.kind.clone());
            }
        }
        struck
    }
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => {
            text.len() >= head.len() + tail.len() && text.starts_with(head) && text.ends_with(tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_star_stands_for_any_text() {
        assert!(glob("channels/*", "channels/orders"));
        assert!(glob("*/writer", "store/writer"));
        assert!(glob("*", "anything"));
        assert!(glob("store", "store"));
        assert!(!glob("store", "store/writer"));
        assert!(!glob("aa*aa", "aaa"));
    }

    #[test]
    fn a_fault_strikes_once_at_its_turn() {
        let plan = FaultPlan::new(vec![PlannedFault {
            path: "a".to_owned(),
            message: "Ping".to_owned(),
            nth: 2,
            kind: FaultKind::Panic,
        }]);
        let node = plan.for_node(&NodePath::parse("a").unwrap()).unwrap();
        let strikes: Vec<_> =
            ["x::Ping", "x::Pong", "x::Ping", "x::Ping"].map(|m| node.message(m).is_some()).into();
        assert_eq!(strikes, [false, false, true, false]);
        assert!(plan.for_node(&NodePath::parse("b").unwrap()).is_none());
    }
}
