//! Connectors against real servers on the loopback interface.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod breakers;
mod caches;
mod confidence;
mod documents;
mod failover;
mod failures;
mod kafka;
mod kit;
mod lifecycle;
mod load;
mod mail;
mod mail_failures;
mod mongo;
mod mongo_failures;
mod oauth;
mod outgoing;
mod redis;
mod requests;
mod retries;
mod scripted;
mod search;
mod sql;
mod storage;
