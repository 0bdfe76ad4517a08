//! Bounds of a run: on its time, its bytes and its depth.

pub(crate) mod bounded_json;
pub(crate) mod budget;
pub(crate) mod evaluation_budget;
pub(crate) mod extent;
pub(crate) mod limits;
pub(crate) mod refused_growth;
