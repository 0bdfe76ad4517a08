//! The portable query dialect: one document format for reads and one for writes, the same for every database.
//!
//! A document passes through three steps, each a pure function:
//!
//! 1. **read** ([`QueryDocument::read`], [`WriteDocument::read`]) checks shape and names against the schema
//!    and reports every problem with its path. Names, operators and the shape of the filter are fixed here;
//!    only values stay open, so that no message can change anything else.
//! 2. **bind** ([`QueryDocument::bind`], [`WriteDocument::bind`]) replaces parameters and open values with
//!    [`Constant`]s and turns the filter into a [`Predicate`], which settles nulls, empty lists and negations
//!    alike for every database.
//! 3. **render** produces what the driver sends: [`sql`] makes statements with every value as a statement
//!    parameter, [`mongo`] makes operations in extended JSON, [`es`] makes requests.
//!
//! The crate owns no connection and no state, does no I/O and logs nothing. Error texts name paths, never
//! values of a message.

mod constant;
pub mod es;
mod extent;
mod filter;
mod keyset;
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
pub use schema::{
    InElastic, InMongo, RelationCardinality, SchemaColumn, SchemaEntity, SchemaRelation, Through,
};
pub use write::{Conflict, ConflictAction, WriteChange, WriteDocument, WriteLimits, WriteOperation};
