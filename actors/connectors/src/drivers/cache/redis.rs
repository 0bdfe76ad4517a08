//! The connection to a Redis server, shared by all calls and opened again after it broke.
//!
//! Only checked addresses are dialled. A call without an answer in time drops the connection: calls that wait on it go on to their
//! own end, the next call opens another.

use std::sync::Arc;
use std::time::Duration;

use svc_outbound::Outbound;
use svc_redis::{Cmd, FromRedisValue, RedisConnection, RedisEntries, RedisFailure, RedisTarget, cmd};
use tokio::time::timeout;

use crate::drivers::failure::CallFailure;
use crate::drivers::pool::PoolSlot;

/// Time limit of opening a connection, and of an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Adds to a number, and gives a key that did not exist its time to live. The sum is read back as a text: a number of
/// the script has 53 bits.
const ADD: &str = "local is_new = redis.call('EXISTS', KEYS[1]) == 0 \
     redis.call('INCRBY', KEYS[1], ARGV[1]) \
     if is_new and ARGV[2] ~= '' then redis.call('EXPIRE', KEYS[1], ARGV[2]) end \
     return redis.call('GET', KEYS[1])";

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

    /// Returns the texts of keys in their order; bytes that are no text are replaced.
    pub(super) async fn read_all(&self, keys: &[String]) -> Result<Vec<Option<String>>, CallFailure> {
        let Some(first) = keys.first() else { return Ok(Vec::new()) };
        let values: Vec<Option<Vec<u8>>> = self.run(first, cmd("MGET").arg(keys).to_owned()).await?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(values.into_iter().map(|value| value.map(text)).collect())
    }

    /// Removes keys in one step, and returns the number of those that existed.
    pub(super) async fn remove_all(&self, keys: &[String]) -> Result<u64, CallFailure> {
        let Some(first) = keys.first() else { return Ok(0) };
        self.run(first, cmd("DEL").arg(keys).to_owned()).await
    }

    /// Adds to the number under a key, in one step, and returns the sum. A key that it creates lives for ever or for so
    /// many seconds.
    pub(super) async fn add(&self, key: &str, by: i64, ttl_secs: Option<u64>) -> Result<i64, CallFailure> {
        let ttl_secs = ttl_secs.map(|seconds| seconds.to_string()).unwrap_or_default();
        let command = cmd("EVAL").arg(ADD).arg(1).arg(key).arg(by).arg(ttl_secs).to_owned();
        self.run(key, command).await
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
