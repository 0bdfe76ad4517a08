//! Streams to a PostgreSQL that may lie behind a pooler, encrypted if its server can.
//!
//! The driver keeps prepared statements by names that every process counts from zero. A pooler in transaction mode gives
//! each transaction another server connection, with the statements that other processes have left there under the same
//! names: a query ran the statement of another process, and its rows were taken for the answer. Behind a pooler this
//! stream therefore names no statement: it prepares each one anew with its execution, within the same round trip, as
//! poolers themselves do that know prepared statements.
//!
//! A pooler is recognised by the session: it announces another process than the one that carries out the queries. Without
//! one the stream passes all bytes on.

mod incoming;
mod link;
mod negotiation;
mod outgoing;
mod stream;

pub use link::PoolerLink;
pub use negotiation::{HostNegotiation, NegotiatedStream, NegotiationFailure, TlsNegotiation, TlsRequest};
pub use stream::PoolerStream;
