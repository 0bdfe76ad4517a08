//! The place of this process among those that share a database: the lease under which it owns work, and the watcher of
//! what the others change.

pub mod epoch;
pub mod nodes;
