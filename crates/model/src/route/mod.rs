//! Routes of channels: patterns, conflicts between them, and matching of request paths.

mod pattern;
mod request;

pub use pattern::{METHODS, RoutePattern, methods_overlap};
pub use request::RequestPath;
