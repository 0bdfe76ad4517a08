//! Answers to callers: their bodies, the shape that a workflow gives them, and their rendering.

pub(crate) mod error_body;
pub(crate) mod rate_headers;
pub(crate) mod response;
pub(crate) mod response_shape;
