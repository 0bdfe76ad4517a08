//! The portable dialect: one document that reads and one that writes, whatever database answers.
//!
//! The way of a document, each step pure:
//!
//! 1. **read** ([`QueryDocument::read`], [`WriteDocument::read`]): its shape and names are checked against the schema, every problem at its
//!    place. Nothing but values is left open: names, operators and the shape of the filter are fixed here, so that no
//!    message can change them.
//! 2. **bind** ([`QueryDocument::bind`], [`WriteDocument::bind`]): parameters and what the message put in become [`Constant`]s; the filter
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
pub use extent::{DialectPolicy, DocumentExtent};
pub use operand::Bindings;
pub use predicate::{Comparison, Predicate, Quantifier, TextPosition};
pub use query::{Included, Projection, QueryBounds, QueryDocument, Select, SortKey};
pub use refusal::DialectRefusal;
pub use schema::{ColumnKind, InElastic, InMongo, SchemaColumn, SchemaEntity, SchemaRelation, Through};
pub use write::{Conflict, ConflictAction, WriteChange, WriteDocument, WriteLimits, WriteOperation};
