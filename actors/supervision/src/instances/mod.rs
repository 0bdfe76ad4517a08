//! Instances of actors: what one is built of, what it runs, and how it ends.

pub(crate) mod context;
pub(crate) mod draining;
pub(crate) mod instance;
pub(crate) mod instance_count;
pub(crate) mod panic;
mod tasks;
