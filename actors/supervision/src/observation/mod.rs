//! The state of a tree as it is seen from outside: events, snapshots, vital signs.

pub(crate) mod recorder;
pub(crate) mod view;
pub(crate) mod vitals;
