//! The guards that remember: rates, claims, answers. In the memory of this process; nothing survives its end.

pub(crate) mod cache;
pub(crate) mod claims;
pub(crate) mod limiter;
