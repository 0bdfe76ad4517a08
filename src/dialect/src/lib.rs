//! The portable dialect: one document that reads and one that writes, whatever database answers.
//!
//! The way of a document, each step pure:
//!
//! 1. **read** ([`Query::read`], [`Write::read`]): its shape and names are checked against the schema, every problem at its
//!    place. Nothing but values is left open: names, operators and the shape of the filter are fixed here, so that no
//!    message can change them.
//! 2. **bind** ([`Query::bind`], [`Write::bind`]): parameters and what the message put in become [`Constant`]s; the filter
//!    becomes a [`Predicate`], in which nulls, empty lists and negations are settled alike for every database.
//! 3. **render**: [`sql`] makes statements of what is bound, every value as a parameter of the statement; [`mongo`] makes
//!    operations in extended JSON, [`es`] requests.
//!
//! Owns no connection and no state, opens nothing, logs nothing. Texts of errors name places, never values of the message.

mod constant;
pub mod es;
mod extent;
mod filter;
pub mod mongo;
mod name;
mod operand;
mod predicate;
mod query;
mod reader;
mod refusal;
mod schema;
pub mod sql;
mod write;

pub use constant::Constant;
pub use extent::{Extent, Guard};
pub use operand::Bindings;
pub use predicate::{Comparison, Place, Predicate, Quantifier};
pub use query::{Bounds, Fields, Included, Query, Select, Sort};
pub use refusal::Refusal;
pub use schema::{Column, Entity, InElastic, InMongo, Kind, Relation, Through};
pub use write::{Action, Change, Conflict, Limits, Operation, Write};
