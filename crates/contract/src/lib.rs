//! The contract of a channel with its callers: schemas of messages, in JSON Schema 2020-12, and the documents made of
//! them, OpenAPI and AsyncAPI; and the answers that workflows shape.
//!
//! A [`MessageSchema`] is compiled once, when a channel is written or loaded, and is cheap to check with. It is
//! bounded: the document in its size, patterns to those that match in linear time, references to the document itself,
//! and a report in the number and length of its entries. The crate reads no files and no network.

mod application;
mod asyncapi;
mod channel;
mod components;
mod effort;
mod events;
mod faults;
mod guard_truth;
mod openapi;
mod page;
mod schema;
mod shaped_answer;

pub use application::SchemaApplicationError;
pub use asyncapi::asyncapi_document;
pub use channel::DocumentedChannel;
pub use guard_truth::is_truthy;
pub use openapi::openapi_document;
pub use page::documents_page;
pub use schema::{MAX_SCHEMA_BYTES, MessageSchema, SchemaError};
pub use shaped_answer::{
    DroppedPart, ResponseControl, ResponseShaper, ShapedAnswer, remove_response_control,
};

#[cfg(test)]
mod tests;
