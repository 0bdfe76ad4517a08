//! Errors of calls, starts and commands, and the end of a tree.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::path::NodePath;

/// The error of a call that got no answer.
pub struct CallError<M> {
    /// The reason.
    pub kind: CallErrorKind,
    /// The message, if and only if it was never handled: sending it again is safe.
    pub message: Option<M>,
}

impl<M> CallError<M> {
    /// Returns `true` if the message was never handled, so that sending it again cannot do its work twice.
    pub fn is_retryable(&self) -> bool {
        self.message.is_some()
    }
}

impl<M> fmt::Debug for CallError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallError")
            .field("kind", &self.kind)
            .field("handled", &self.message.is_none())
            .finish()
    }
}

impl<M> fmt::Display for CallError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl<M> std::error::Error for CallError<M> {}

/// The reason why a call got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallErrorKind {
    /// The node has as many calls in flight as it admits.
    Full,
    /// The node finishes what it admitted and admits nothing more.
    Draining,
    /// The node has no instance and gets none without a command, or is gone.
    Stopped,
    /// The node waits before its next start.
    Restarting {
        /// Time until the next start.
        retry_after: Duration,
    },
    /// The node is quarantined.
    Quarantined {
        /// Reason, for people.
        reason: Arc<str>,
    },
    /// The message was being handled when the instance, or the read, ended.
    Crashed,
    /// The time limit of the caller passed first.
    Expired,
}

impl fmt::Display for CallErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the mailbox is full"),
            Self::Draining => f.write_str("the actor is draining"),
            Self::Stopped => f.write_str("the actor is stopped"),
            Self::Restarting { retry_after } => {
                write!(f, "the actor is restarting; retry in {} ms", retry_after.as_millis())
            }
            Self::Quarantined { reason } => write!(f, "the actor is quarantined: {reason}"),
            Self::Crashed => f.write_str("the actor ended before it answered"),
            Self::Expired => f.write_str("no answer in time"),
        }
    }
}

/// The reason why a factory built no actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "reason", rename_all = "snake_case")]
pub enum StartError {
    /// The cause may pass, such as an unreachable database: the start is retried within the budget.
    Transient(String),
    /// The configuration is wrong, so that a retry is useless: the node is quarantined at once.
    Config(String),
    /// The tree cannot work without this child, and it cannot start: the tree ends.
    Fatal(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Transient(reason) | Self::Config(reason) | Self::Fatal(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for StartError {}

/// The end of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "exit", rename_all = "snake_case")]
pub enum TreeExit {
    /// It was shut down.
    Shutdown,
    /// An essential node failed for good.
    Escalated {
        /// The path of the node.
        path: NodePath,
        /// Reason, for people.
        reason: String,
    },
}

/// The reason why a node was not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// The path has an empty segment or a control character.
    #[error("'{path}' is no path of a node")]
    BadPath {
        /// The path given.
        path: String,
    },
    /// A node with this path exists.
    #[error("there is already a node at '{path}'")]
    Duplicate {
        /// The path given.
        path: String,
    },
    /// The group that would hold it does not exist, or is being retired.
    #[error("there is no group to hold '{path}'")]
    NoParent {
        /// The path given.
        path: String,
    },
    /// The node needs a node that does not exist, or a group that it belongs to.
    #[error("it needs '{need}', which is no other node of the tree")]
    UnknownNeed {
        /// The path of the missing need.
        need: String,
    },
    /// The thread it was to run on has ended.
    #[error("the thread it was to run on has ended")]
    ArbiterGone,
    /// The tree is ending or has ended.
    #[error("the tree has ended")]
    TreeEnded,
}

/// The reason why a node does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRunningError {
    /// There is no such node.
    #[error("there is no such node")]
    Unknown,
    /// It is quarantined.
    #[error("quarantined: {reason}")]
    Quarantined {
        /// Reason, for people.
        reason: Arc<str>,
    },
    /// It is stopped, or about to be.
    #[error("stopped")]
    Stopped,
    /// The tree is ending or has ended.
    #[error("the tree has ended")]
    TreeEnded,
}

/// The reason why a command was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// There is no such node.
    #[error("there is no such node")]
    Unknown,
    /// The node is being retired.
    #[error("the node is being retired")]
    Draining,
    /// The node's thread has ended.
    #[error("the node's thread has ended")]
    Gone,
    /// The prepared instance no longer exists.
    #[error("the prepared instance no longer exists")]
    Discarded,
    /// The tree is ending or has ended.
    #[error("the tree has ended")]
    TreeEnded,
}

/// The reason why a retirement was not clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RetireError {
    /// There is no such node.
    #[error("there is no such node")]
    Unknown,
    /// It is gone, but not all of it drained in time.
    #[error("ended by force at the deadline")]
    Forced,
    /// The tree is ending or has ended.
    #[error("the tree has ended")]
    TreeEnded,
}
