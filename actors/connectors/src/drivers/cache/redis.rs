//! The connection to a Redis server, shared by all calls and opened again after it broke.
//!
//! Only checked addresses are dialled. A call without an answer in time drops the connection: calls that wait on it go on to their
//! own end, the next call opens another.

use std::sync::Arc;
use std::time::Duration;

use svc_outbound::Outbound;
use svc_redis::{Cmd, FromRedisValue, RedisConnection, RedisEntries, RedisFailure, RedisTarget};
use tokio::time::timeout;

use crate::drivers::failure::CallFailure;
use crate::drivers::pool::PoolSlot;

/// Time limit of opening a connection, and of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A Redis server. Cheap to clone; clones share the connection.
#[derive(Clone)]
pub(super) struct RedisCache {
    target: Arc<RedisTarget>,
    outbound: Outbound,
    slot: PoolSlot<RedisConnection>,
}

impl RedisCache {
    pub(super) fn new(target: RedisTarget, outbound: Outbound, slot: PoolSlot<RedisConnection>) -> Self {
        Self { target: Arc::new(target), outbound, slot }
    }

    fn late(&self) -> CallFailure {
        let (place, limit) = (self.target.place(), PATIENCE.as_millis());
        CallFailure::Timeout(format!("no answer from '{place}' within {limit} ms"))
    }
}

impl RedisEntries for RedisCache {
    type Failure = CallFailure;

    async fn run<T: FromRedisValue>(&self, _key: &str, command: Cmd) -> Result<T, CallFailure> {
        self.slot.discard(RedisConnection::is_closed);
        let open = || RedisConnection::open(&self.target, &self.outbound, PATIENCE);
        // Bounds the wait for others who open as well.
        let connection = match timeout(PATIENCE, self.slot.get(open)).await {
            Ok(opened) => opened?,
            Err(_) => return Err(self.late()),
        };
        let answer = connection.query(&command).await;
        answer.map_err(|error| {
            if error.is_broken {
                self.slot.discard(|held| held.is_same(&connection));
            }
            error.failure.into()
        })
    }
}

impl From<RedisFailure> for CallFailure {
    fn from(failure: RedisFailure) -> Self {
        match failure {
            RedisFailure::Address(error) => Self::Address(error),
            RedisFailure::Unreachable(text) | RedisFailure::Broken(text) => Self::Unreachable(text),
            RedisFailure::Timeout(text) => Self::Timeout(text),
            RedisFailure::Refused(text) => Self::Refused(text),
        }
    }
}
