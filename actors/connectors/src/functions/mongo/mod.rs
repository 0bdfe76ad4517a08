//! The functions over MongoDB collections.
//!
//! Documents cross as extended JSON, in both directions. What a message brings never becomes an operator, see
//! [`operator_guard`].

mod aggregate;
mod common;
mod content;
mod operator_guard;
mod read;
mod write;

pub(crate) use aggregate::MongoAggregate;
pub(crate) use common::{document, insert_output};
pub(crate) use read::MongoRead;
pub(crate) use write::MongoWrite;
