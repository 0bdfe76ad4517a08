//! Accepted work that waits in the database: its acceptance, and the task that claims it.
//!
//! Work that may not run yet takes no place in the queue of this process. Its row has no owner; of all nodes, the
//! one that has a free worker when the work may run claims it. The task looks when something changed here, when the
//! next row is due, and once in a while for what other nodes changed.

mod accept;
mod batch;
mod claimer;
mod pace;
mod room;
mod tally;
mod terms;

pub use batch::BatchedJob;
pub(crate) use claimer::WaitingClaimer;
pub use room::ReservedRoom;
pub(crate) use room::no_room;
pub(crate) use tally::WaitingTally;
pub use terms::JobTerms;
