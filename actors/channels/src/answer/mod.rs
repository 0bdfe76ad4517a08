//! Answers to callers: their bodies and their rendering.

pub(crate) mod error_body;
pub(crate) mod rate_headers;
pub(crate) mod response;
