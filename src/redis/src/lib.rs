//! The one Redis client: connections to checked addresses, with a time limit for everything.
//!
//! A [`RedisConnection`] is one socket that many callers share; answers come in the order of the commands. A
//! [`RedisClient`] keeps one connection and opens another after it broke. Both live on the runtime that opened them.
//! [`RedisEntries`] are the operations of caches and guards.
//!
//! Texts of failures name the place and the event, never an argument of a command or a part of the URL that may hold a
//! password.

mod client;
mod connection;
mod entries;
mod failure;
mod target;

pub use client::RedisClient;
pub use connection::{RedisConnection, RedisQueryError};
pub use entries::RedisEntries;
pub use failure::RedisFailure;
pub use redis::{Cmd, FromRedisValue, Pipeline, Value, cmd, pipe};
pub use target::RedisTarget;
