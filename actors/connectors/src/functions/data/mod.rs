//! `data_query` and `data_write`: one document, whatever database a connector leads to.
//!
//! A document is read when its task is compiled, bound to the message when it runs, and carried out by the
//! backend of its connector: one file for each.

mod document;
#[cfg(feature = "es")]
mod es;
#[cfg(feature = "mongo")]
mod mongo;
mod query;
#[cfg(feature = "sql")]
mod sql;
mod write;

pub(crate) use query::DataQuery;
pub(crate) use write::DataWrite;
