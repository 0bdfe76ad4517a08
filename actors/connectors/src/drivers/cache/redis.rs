//! The connection to a Redis server, shared by all calls and opened again after it broke.
//!
//! Only checked addresses are dialled. A call without an answer in time drops the connection: calls that wait on it go on to their
//! own end, the next call opens another.

use std::sync::Arc;
use std::time::Duration;

use svc_outbound::Outbound;
use svc_redis::{Cmd, FromRedisValue, RedisConnection, RedisFailure, RedisTarget, Value, cmd};
use tokio::time::timeout;

use crate::drivers::failure::CallFailure;
use crate::drivers::pool::PoolSlot;

/// Time limit of opening a connection, and of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Deletes a key of an owner in one step, so that a key that expired and was claimed by another owner meanwhile stays.
const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// Gives a key of an owner to its successor in one step.
const TRANSFER: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
     redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) return 1 end return 0";

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

    /// Returns the text of a key.
    pub(super) async fn read(&self, key: &str) -> Result<Option<String>, CallFailure> {
        let bytes: Option<Vec<u8>> = self.ask(cmd("GET").arg(key)).await?;
        Ok(bytes.map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }))
    }

    /// Stores a text, for ever or for so many seconds. With 0 seconds nothing is stored.
    pub(super) async fn write(
        &self,
        key: &str,
        text: &str,
        ttl_secs: Option<u64>,
    ) -> Result<(), CallFailure> {
        let mut command = Cmd::new();
        match ttl_secs {
            None => command.arg("SET").arg(key).arg(text),
            Some(0) => command.arg("DEL").arg(key),
            Some(seconds) => command.arg("SET").arg(key).arg(text).arg("EX").arg(seconds),
        };
        self.ask::<Value>(&command).await.map(drop)
    }

    /// Claims a free key for `owner` for so many seconds; `false` where it has an owner. With 0 seconds every claim succeeds.
    pub(super) async fn claim(&self, key: &str, owner: &str, ttl_secs: u64) -> Result<bool, CallFailure> {
        if ttl_secs == 0 {
            return Ok(true);
        }
        let mut command = cmd("SET");
        command.arg(key).arg(owner).arg("NX").arg("EX").arg(ttl_secs);
        Ok(self.ask::<Value>(&command).await? != Value::Nil)
    }

    /// Gives a key that `owner` has to `successor` for so many seconds; `false` where `owner` does not have it. With 0 seconds
    /// nothing is stored, and every transfer succeeds.
    pub(super) async fn transfer(
        &self,
        key: &str,
        owner: &str,
        successor: &str,
        ttl_secs: u64,
    ) -> Result<bool, CallFailure> {
        if ttl_secs == 0 {
            return Ok(true);
        }
        let mut command = cmd("EVAL");
        command.arg(TRANSFER).arg(1).arg(key).arg(owner).arg(successor).arg(ttl_secs);
        Ok(self.ask::<i64>(&command).await? == 1)
    }

    /// Removes a key that `owner` has.
    pub(super) async fn release(&self, key: &str, owner: &str) -> Result<(), CallFailure> {
        let mut command = cmd("EVAL");
        command.arg(RELEASE).arg(1).arg(key).arg(owner);
        self.ask::<Value>(&command).await.map(drop)
    }

    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, CallFailure> {
        self.slot.discard(RedisConnection::is_closed);
        let open = || RedisConnection::open(&self.target, &self.outbound, PATIENCE);
        // Bounds the wait for others who open as well.
        let connection = match timeout(PATIENCE, self.slot.get(open)).await {
            Ok(opened) => opened?,
            Err(_) => return Err(self.late()),
        };
        let answer = connection.query(command).await;
        answer.map_err(|error| {
            if error.is_broken {
                self.slot.discard(|held| held.is_same(&connection));
            }
            error.failure.into()
        })
    }

    fn late(&self) -> CallFailure {
        let (place, limit) = (self.target.place(), PATIENCE.as_millis());
        CallFailure::Timeout(format!("no answer from '{place}' within {limit} ms"))
    }
}

impl From<RedisFailure> for CallFailure {
    fn from(failure: RedisFailure) -> Self {
        match failure {
            RedisFailure::Address(error) => Self::Address(error),
            RedisFailure::Unreachable(text) => Self::Unreachable(text),
            RedisFailure::Timeout(text) => Self::Timeout(text),
            RedisFailure::Refused(text) => Self::Refused(text),
        }
    }
}
