//! How a node is to be supervised, as data.

use std::time::Duration;

use crate::decide::{ExhaustedAction, Restart, RestartPolicy};

/// How an actor is supervised. Built by chaining: `ChildSpec::new().mailbox(64).needs(["store"])`.
#[derive(Debug, Clone)]
pub struct ChildSpec {
    pub(crate) mailbox: usize,
    pub(crate) needs: Vec<String>,
    pub(crate) policy: RestartPolicy,
    pub(crate) restart: Restart,
    pub(crate) essential: bool,
    pub(crate) shared_budget: bool,
    pub(crate) fingerprint: Option<String>,
    pub(crate) drain_deadline: Duration,
}

impl Default for ChildSpec {
    fn default() -> Self {
        Self {
            mailbox: 1024,
            needs: Vec::new(),
            policy: RestartPolicy::default(),
            restart: Restart::default(),
            essential: false,
            shared_budget: false,
            fingerprint: None,
            drain_deadline: Duration::from_secs(10),
        }
    }
}

impl ChildSpec {
    /// A mailbox of 1024, no needs, the default policy, permanent, 10 s to drain.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls admitted at the same time at most, counting queued and unanswered ones; at least 1.
    #[must_use]
    pub fn mailbox(mut self, bound: usize) -> Self {
        self.mailbox = bound.max(1);
        self
    }

    /// Nodes that must run before the first start: siblings, or nodes of an outer group. A path after a slash is one
    /// from the root: the only safe way where siblings are named by others. A needed group runs when none of its actors
    /// is on the way up. They are drained after this node.
    #[must_use]
    pub fn needs<I, S>(mut self, needs: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.needs.extend(needs.into_iter().map(Into::into));
        self
    }

    /// Restart budget and backoff.
    #[must_use]
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Which exits are followed by a restart.
    #[must_use]
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// The tree cannot do without it: where it would be quarantined for its exits, the tree ends instead.
    #[must_use]
    pub fn essential(mut self) -> Self {
        self.essential = true;
        self
    }

    /// Its exits count in the parent group's budget, by the group's policy; once that is used up the whole group is
    /// quarantined.
    #[must_use]
    pub fn shared_budget(mut self) -> Self {
        self.shared_budget = true;
        self
    }

    /// Identifies the configuration the actor is built from.
    #[must_use]
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.fingerprint = Some(fingerprint.into());
        self
    }

    /// How long an instance may take to finish what it began when it is replaced or restarted by order.
    #[must_use]
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.drain_deadline = deadline;
        self
    }
}

/// What restarts with a failed child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Nothing else.
    #[default]
    OneForOne,
    /// Every node of the group.
    OneForAll,
    /// The nodes of the group that need it, directly or through others.
    RestForOne,
}

/// How a group is supervised. Built by chaining.
#[derive(Debug, Clone, Default)]
pub struct GroupSpec {
    pub(crate) strategy: Strategy,
    pub(crate) policy: RestartPolicy,
}

impl GroupSpec {
    /// One for one, the default policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// What restarts with a failed child.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The budget for failures that children escalate or share.
    #[must_use]
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// What follows when that budget is used up; replaces the policy's own.
    #[must_use]
    pub fn exhausted(mut self, exhausted: ExhaustedAction) -> Self {
        self.policy.exhausted = exhausted;
        self
    }
}
