//! Caches: in the memory of this process, or in a Redis server.
//!
//! The actor of a connector owns what it reaches: the entries themselves, or the connection to the server. Messages in:
//! [`Read`], [`Write`], [`Claim`] and [`Release`], read-only, so that calls run side by side and end with their callers. Keys go
//! to the backend as they are written.
//!
//! Entries in memory belong to one actor: no other connector and no other node sees them, and a restart of the actor or a
//! change of the connector begins with none. What is in a server stays there.

mod actor;
mod memory;
mod probe;
mod redis;
mod settings;

pub(crate) use actor::{CacheActor, CacheDriver, Claim, Read, Release, Write};
pub(crate) use probe::probe;
pub(crate) use settings::CacheSettings;
