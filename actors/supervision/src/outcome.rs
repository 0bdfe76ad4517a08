//! What orders come to, and why not.

use std::sync::Arc;

use serde::Serialize;

use crate::path::NodePath;

/// How a tree has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "exit", rename_all = "snake_case")]
pub enum TreeExit {
    /// It was shut down.
    Shutdown,
    /// A node it cannot do without failed for good.
    Escalated {
        /// Which.
        path: NodePath,
        /// Why.
        reason: String,
    },
}

/// Why a node was not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// The path has an empty segment or a control character.
    #[error("'{path}' is no path of a node")]
    BadPath {
        /// The path given.
        path: String,
    },
    /// A node stands there already.
    #[error("there is already a node at '{path}'")]
    Duplicate {
        /// The path given.
        path: String,
    },
    /// There is no group to hold it, or it is being retired.
    #[error("there is no group to hold '{path}'")]
    NoParent {
        /// The path given.
        path: String,
    },
    /// It needs a node that does not exist, or a group it belongs to.
    #[error("it needs '{need}', which is no other node of the tree")]
    UnknownNeed {
        /// What it needs.
        need: String,
    },
    /// The thread it was to run on has ended.
    #[error("the thread it was to run on has ended")]
    ArbiterGone,
    /// The tree is ending or has ended.
    #[error("the tree has ended")]
    TreeEnded,
}

/// Why a node does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRunningError {
    /// There is no such node.
    #[error("there is no such node")]
    Unknown,
    /// It is quarantined.
    #[error("quarantined: {reason}")]
    Quarantined {
        /// Why.
        reason: Arc<str>,
    },
    /// It is stopped, or about to be.
    #[error("stopped")]
    Stopped,
    /// The tree is ending or has ended.
    #[error("the tree has ended")]
    TreeEnded,
}

/// Why an order was not carried out.
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

/// Why a retirement did not go as it should.
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
