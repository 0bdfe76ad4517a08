//! Routes of channels: patterns, their conflicts, and the paths that are matched against them.

mod pattern;
mod request;

pub use pattern::{METHODS, RoutePattern, methods_overlap};
pub use request::RequestPath;
