//! The one Redis client: connections to checked addresses, with a time limit for everything.
//!
//! A [`RedisConnection`] is one socket that many callers share; answers come in the order of the commands. A
//! [`RedisClient`] keeps one connection to a server, or to each server of a Redis Cluster, and opens another after it
//! broke. Both live on the runtime that opened them. [`RedisEntries`] are the operations of caches and guards.
//!
//! Texts of failures name the place and the event, never an argument of a command or a part of the URL that may hold a
//! password.

mod client;
mod connection;
mod entries;
mod failure;
mod server_client;
mod slots;
mod target;

pub use client::RedisClient;
pub use connection::{RedisConnection, RedisQueryError};
pub use entries::RedisEntries;
pub use failure::RedisFailure;
pub use redis::{Cmd, FromRedisValue, Value, cmd};
pub use target::RedisTarget;
