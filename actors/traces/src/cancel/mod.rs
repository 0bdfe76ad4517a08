//! Cancellation of accepted work, and reruns.
//!
//! The order is in the database, which notifies the nodes. The node that has the run drops it at its next await, and in the
//! middle of a computation at the next look of the engine; its end is written once no part of it runs any more. A job that
//! runs for less than some milliseconds looks for no order: it ends by itself.

pub(crate) mod job_cancellation;
mod orders;
pub(crate) mod requests;
pub(crate) mod watch;
