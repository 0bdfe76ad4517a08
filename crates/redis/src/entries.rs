//! Entries with a time to live and an owner, and counts by the second: what caches and guards keep in a server.
//!
//! Each operation is one round trip, and one step for the server.

use redis::{Cmd, FromRedisValue, Value, cmd};

use crate::client::RedisClient;
use crate::failure::RedisFailure;
use crate::slots::with_hash_tag;

/// Longest life of an entry in seconds, a hundred years: of a longer one the server cannot compute the end.
const LONGEST_SECS: u64 = 100 * 365 * 86_400;

/// Gives a key that is free, or that this owner has, to the owner.
const CLAIM: &str = "local owner = redis.call('GET', KEYS[1]) \
     if owner and owner ~= ARGV[1] then return 0 end \
     redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2]) return 1";

/// Gives a key of an owner to its successor.
const TRANSFER: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
     redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) return 1 end return 0";

/// Deletes a key of an owner, so that a key that expired and was claimed by another owner meanwhile stays.
const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// Counts in the current second of the server. The count outlives its second by one.
const COUNT: &str = "local window = KEYS[1] .. ':' .. redis.call('TIME')[1] \
     local count = redis.call('INCR', window) \
     if count == 1 then redis.call('EXPIRE', window, 2) end return count";

/// A server's entries.
///
/// Every operation fails with [`Failure`](Self::Failure) when the server did not answer or refused.
pub trait RedisEntries {
    /// The failure of an operation.
    type Failure;

    /// Runs a command on a key.
    fn run<T: FromRedisValue>(
        &self,
        key: &str,
        command: Cmd,
    ) -> impl Future<Output = Result<T, Self::Failure>>;

    /// Returns `true` for a Redis Cluster: there the keys of one operation must be in one slot.
    fn is_cluster(&self) -> bool {
        false
    }

    /// Returns the text of a key; bytes that are no text are replaced.
    fn read(&self, key: &str) -> impl Future<Output = Result<Option<String>, Self::Failure>> {
        let command = cmd("GET").arg(key).to_owned();
        async move {
            let bytes: Option<Vec<u8>> = self.run(key, command).await?;
            Ok(bytes.map(|bytes| match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }))
        }
    }

    /// Stores a text, for ever or for so many seconds. With 0 seconds nothing is stored.
    fn write(
        &self,
        key: &str,
        text: &str,
        ttl_secs: Option<u64>,
    ) -> impl Future<Output = Result<(), Self::Failure>> {
        let mut command = Cmd::new();
        match ttl_secs {
            None => command.arg("SET").arg(key).arg(text),
            Some(0) => command.arg("DEL").arg(key),
            Some(seconds) => command.arg("SET").arg(key).arg(text).arg("EX").arg(seconds.min(LONGEST_SECS)),
        };
        async move { self.run::<Value>(key, command).await.map(drop) }
    }

    /// Gives a key that is free, or that `owner` has, to `owner` for so many seconds; `false` if another owner has it.
    /// With 0 seconds nothing is stored, and every claim succeeds.
    fn claim(
        &self,
        key: &str,
        owner: &str,
        ttl_secs: u64,
    ) -> impl Future<Output = Result<bool, Self::Failure>> {
        let command = script(CLAIM, key).arg(owner).arg(ttl_secs.min(LONGEST_SECS)).to_owned();
        async move { Ok(ttl_secs == 0 || self.run::<i64>(key, command).await? == 1) }
    }

    /// Gives a key that `owner` has to `successor` for so many seconds; `false` if `owner` does not have it. With 0
    /// seconds nothing is stored, and every transfer succeeds.
    fn transfer(
        &self,
        key: &str,
        owner: &str,
        successor: &str,
        ttl_secs: u64,
    ) -> impl Future<Output = Result<bool, Self::Failure>> {
        let mut command = script(TRANSFER, key);
        command.arg(owner).arg(successor).arg(ttl_secs.min(LONGEST_SECS));
        async move { Ok(ttl_secs == 0 || self.run::<i64>(key, command).await? == 1) }
    }

    /// Removes a key that `owner` has.
    fn release(&self, key: &str, owner: &str) -> impl Future<Output = Result<(), Self::Failure>> {
        let command = script(RELEASE, key).arg(owner).to_owned();
        async move { self.run::<Value>(key, command).await.map(drop) }
    }

    /// Adds one to the number under a key, 0 if there is none, and returns the sum.
    fn increment(&self, key: &str) -> impl Future<Output = Result<u64, Self::Failure>> {
        let command = cmd("INCR").arg(key).to_owned();
        async move { self.run(key, command).await }
    }

    /// Counts one event of a key in the current second of the server's clock, under `key:second`; in a Redis Cluster all
    /// of the key but its first word is a hash tag. Returns the number of events in that second, this one included.
    fn count_in_second(&self, key: &str) -> impl Future<Output = Result<u64, Self::Failure>> {
        let key = if self.is_cluster() { with_hash_tag(key) } else { key.to_owned() };
        async move { self.run(&key, script(COUNT, &key)).await }
    }
}

impl RedisEntries for RedisClient {
    type Failure = RedisFailure;

    async fn run<T: FromRedisValue>(&self, key: &str, command: Cmd) -> Result<T, RedisFailure> {
        self.query(key, &command).await
    }

    fn is_cluster(&self) -> bool {
        self.is_cluster()
    }
}

/// Returns the call of a script on one key.
fn script(text: &str, key: &str) -> Cmd {
    let mut command = cmd("EVAL");
    command.arg(text).arg(1).arg(key);
    command
}

#[cfg(test)]
mod tests;
