//! The data of the cancellation of accepted work.

use std::sync::Arc;

use uuid::Uuid;

use crate::repo::traces::{NewTrace, TraceEnd};

/// An order to cancel accepted work.
#[derive(Clone, Debug, PartialEq)]
pub struct CancelOrder {
    /// Id of the work, or of a later attempt at it.
    pub id: String,
    /// The principal who gives it.
    pub principal: String,
    /// The node that carries it out. Its own runs are live, whether or not its lease must be proven.
    pub node: Arc<str>,
    /// The failure that the work leaves in spite of it; `None` for work that ends without a trace beyond its own.
    pub failure: Option<CancelFailure>,
}

/// The failure that cancelled work leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct CancelFailure {
    /// Retries that its dead letter has used up.
    pub max_retries: i64,
    /// The report of the failure, if its channel names a receiver.
    pub report: Option<Box<NewTrace>>,
}

/// The effect of an order to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelEffect {
    /// The work has ended.
    Ended,
    /// A node runs the work, or is about to. It learns of the order, and ends the run.
    Requested {
        /// Id of the trace of the run.
        run: Uuid,
        /// Id of the node.
        owner: String,
    },
}

/// A run that a node dropped because its work was cancelled.
#[derive(Clone, Debug, PartialEq)]
pub struct CancelledRun {
    pub end: TraceEnd,
    /// The calls that had left, as JSON; `None` if there were none.
    pub in_flight_json: Option<String>,
    /// Retries that a dead letter has used up, if the order asks for one.
    pub max_retries: i64,
    /// The report of the failure, accepted in the same transaction if the order asks for one.
    pub report: Option<Box<NewTrace>>,
}

/// The record of a cancelled run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CancelledEnd {
    /// True if the run had not ended before, and still had its claim.
    pub is_news: bool,
    /// True if its report was accepted.
    pub is_reported: bool,
}

/// An order that is not carried out yet, as far as it concerns one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCancel {
    /// Id of the trace that has the order.
    pub id: Uuid,
    /// The principal who gave it.
    pub principal: String,
    /// True if the work is to leave its failure.
    pub reports: bool,
    /// The next step.
    pub step: CancelStep,
}

/// The next step of an order that is not carried out yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelStep {
    /// The node has the run, and drops it.
    DropRun,
    /// No node has it any more: the order is given again.
    GiveAgain,
}
