//! The connection to a Redis server, shared by all calls and opened again after it broke.
//!
//! Only checked addresses are dialled. A call without an answer in time drops the connection: calls that wait on it go on to their
//! own end, the next call opens another.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind};
use rustls::pki_types::ServerName;
use svc_outbound::Outbound;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::settings::RedisTarget;
use crate::drivers::failure::CallFailure;
use crate::drivers::pool::PoolSlot;

/// Time limit of opening a connection, and of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a refusal that an error shows.
const SHOWN: usize = 200;

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

#[derive(Clone)]
pub(super) struct RedisConnection {
    redis: MultiplexedConnection,
    driver: Arc<SocketTask>,
}

/// The task that reads and writes the socket; ends with the last clone of its connection, or with the socket.
struct SocketTask(JoinHandle<()>);

impl Drop for SocketTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RedisCache {
    pub(super) fn new(target: RedisTarget, outbound: Outbound, slot: PoolSlot<RedisConnection>) -> Self {
        Self { target: Arc::new(target), outbound, slot }
    }

    /// Returns the text of a key.
    pub(super) async fn read(&self, key: &str) -> Result<Option<String>, CallFailure> {
        let bytes: Option<Vec<u8>> = self.ask(redis::cmd("GET").arg(key)).await?;
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
        self.ask::<redis::Value>(&command).await.map(drop)
    }

    /// Claims a free key for `owner` for so many seconds; `false` where it has an owner. With 0 seconds every claim succeeds.
    pub(super) async fn claim(&self, key: &str, owner: &str, ttl_secs: u64) -> Result<bool, CallFailure> {
        if ttl_secs == 0 {
            return Ok(true);
        }
        let mut command = redis::cmd("SET");
        command.arg(key).arg(owner).arg("NX").arg("EX").arg(ttl_secs);
        Ok(self.ask::<redis::Value>(&command).await? != redis::Value::Nil)
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
        let mut command = redis::cmd("EVAL");
        command.arg(TRANSFER).arg(1).arg(key).arg(owner).arg(successor).arg(ttl_secs);
        Ok(self.ask::<i64>(&command).await? == 1)
    }

    /// Removes a key that `owner` has.
    pub(super) async fn release(&self, key: &str, owner: &str) -> Result<(), CallFailure> {
        let mut command = redis::cmd("EVAL");
        command.arg(RELEASE).arg(1).arg(key).arg(owner);
        self.ask::<redis::Value>(&command).await.map(drop)
    }

    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, CallFailure> {
        self.slot.discard(|held| held.driver.0.is_finished());
        // Bounds the wait for others who open as well.
        let opened = timeout(PATIENCE, self.slot.get(async || self.target.connect(&self.outbound).await));
        let connection = opened.await.unwrap_or_else(|_| Err(self.target.late()))?;
        command.query_async(&mut connection.redis.clone()).await.map_err(|error| {
            if error.is_timeout() || error.is_unrecoverable_error() {
                self.slot.discard(|held| Arc::ptr_eq(&held.driver, &connection.driver));
            }
            self.target.failed(&error)
        })
    }
}

impl RedisTarget {
    async fn connect(&self, outbound: &Outbound) -> Result<RedisConnection, CallFailure> {
        let addresses = outbound.addresses(&self.host, self.port, self.allow_private).await?;
        let broken = |error: io::Error| self.unreachable(error);
        let stream = TcpStream::connect(addresses.as_slice()).await.map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        if !self.tls {
            return self.greet(stream).await;
        }
        let name = ServerName::try_from(self.host.clone());
        let name = name.map_err(|error| self.unreachable(error))?;
        let tls = TlsConnector::from(Arc::new(outbound.tls()));
        self.greet(tls.connect(name, stream).await.map_err(broken)?).await
    }

    /// Logs in, selects the database, and spawns the task that drives the socket.
    async fn greet<S>(&self, stream: S) -> Result<RedisConnection, CallFailure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        let made = MultiplexedConnection::new_with_config(&self.login, stream, config).await;
        let (redis, driver) = made.map_err(|error| self.failed(&error))?;
        Ok(RedisConnection { redis, driver: Arc::new(SocketTask(Handle::current().spawn(driver))) })
    }

    fn unreachable(&self, cause: impl std::fmt::Display) -> CallFailure {
        CallFailure::Unreachable(format!("no connection to '{}' ({cause})", self.place()))
    }

    fn late(&self) -> CallFailure {
        CallFailure::Timeout(format!("no answer from '{}' within {} ms", self.place(), PATIENCE.as_millis()))
    }

    fn failed(&self, error: &RedisError) -> CallFailure {
        use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, TryAgain};
        let place = self.place();
        match error.kind() {
            _ if error.is_timeout() => self.late(),
            ErrorKind::Io => self.unreachable(error),
            ErrorKind::Server(BusyLoading | ClusterDown | MasterDown | TryAgain) => {
                CallFailure::Unreachable(format!("'{place}' cannot serve now ({})", said(error)))
            }
            ErrorKind::AuthenticationFailed => CallFailure::Refused(format!(
                "'{place}' refuses the user or the password of the connector; check url"
            )),
            _ => CallFailure::Refused(format!("'{place}' refused ({})", said(error))),
        }
    }
}

/// Returns the server's text up to the first quote, where it may repeat the command.
fn said(error: &RedisError) -> String {
    let code = error.code().unwrap_or_else(|| error.category());
    let detail = error.detail().unwrap_or_default().split(['\'', '"', '`']).next().unwrap_or_default();
    let said: String = format!("{code} {detail}").chars().take(SHOWN).collect();
    said.trim_end_matches([' ', ',', ':']).to_owned()
}
