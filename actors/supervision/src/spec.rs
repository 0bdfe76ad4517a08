//! The supervision of a node, as data.

use std::time::Duration;

use crate::decide::{ExhaustedAction, Restart, RestartPolicy};

/// The supervision of an actor. Built by chaining: `ChildSpec::new().mailbox(64).needs(["store"])`.
///
/// ```
/// use std::time::Duration;
///
/// use actix_supervision::{ChildSpec, Restart, RestartPolicy};
///
/// let policy = RestartPolicy { max_restarts: 2, ..RestartPolicy::default() };
/// let spec = ChildSpec::new()
///     .mailbox(64)
///     .needs(["store"])
///     .policy(policy)
///     .restart(Restart::OnFailure)
///     .drain_deadline(Duration::from_secs(5));
/// ```
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
    /// Creates a spec with a mailbox of 1024, no needs, the default policy, permanent restarts and 10 s to
    /// drain.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of calls admitted at the same time, queued and unanswered ones included; at least 1.
    #[must_use]
    pub fn mailbox(mut self, bound: usize) -> Self {
        self.mailbox = bound.max(1);
        self
    }

    /// Adds nodes that must run before the first start: siblings, or nodes of an outer group. A path with a
    /// leading slash starts at the root, which is the only safe form if others choose the names of
    /// siblings. A needed group runs when none of its actors is starting, restarting or waiting. Needed nodes
    /// are drained after this one.
    #[must_use]
    pub fn needs<I, S>(mut self, needs: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.needs.extend(needs.into_iter().map(Into::into));
        self
    }

    /// Sets the restart budget and its backoff.
    #[must_use]
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the exits that are followed by a restart.
    #[must_use]
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// Marks the actor as essential: if it would be quarantined for its exits, the tree ends instead.
    #[must_use]
    pub fn essential(mut self) -> Self {
        self.essential = true;
        self
    }

    /// Counts the exits in the budget of the parent group, by the policy of the group; once that is used up,
    /// the whole group is quarantined.
    #[must_use]
    pub fn shared_budget(mut self) -> Self {
        self.shared_budget = true;
        self
    }

    /// Sets the identifier of the configuration that the actor is built from.
    #[must_use]
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.fingerprint = Some(fingerprint.into());
        self
    }

    /// Sets the time that an instance may take to finish its work when it is replaced or restarted by a
    /// command.
    #[must_use]
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.drain_deadline = deadline;
        self
    }
}

/// The siblings that restart with a failed child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// None.
    #[default]
    OneForOne,
    /// Every node of the group.
    OneForAll,
    /// The nodes of the group that need it, directly or through others.
    RestForOne,
}

/// The supervision of a group. Built by chaining.
///
/// ```
/// use actix_supervision::{ExhaustedAction, GroupSpec, Strategy};
///
/// let spec = GroupSpec::new().strategy(Strategy::RestForOne).exhausted(ExhaustedAction::Escalate);
/// ```
#[derive(Debug, Clone, Default)]
pub struct GroupSpec {
    pub(crate) strategy: Strategy,
    pub(crate) policy: RestartPolicy,
}

impl GroupSpec {
    /// Creates a spec with one-for-one restarts and the default policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// The siblings that restart with a failed child.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Sets the budget for failures that children escalate or share.
    #[must_use]
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the action when that budget is used up; replaces the one of the policy.
    #[must_use]
    pub fn exhausted(mut self, exhausted: ExhaustedAction) -> Self {
        self.policy.exhausted = exhausted;
        self
    }
}
