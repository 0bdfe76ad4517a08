//! One connection, shared by many callers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, ErrorKind, FromRedisValue, RedisError, ServerErrorKind, pipe};
use rustls::pki_types::ServerName;
use svc_outbound::Outbound;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use crate::failure::{RedisFailure, is_wrong_server};
use crate::target::{RedisTarget, ServerPlace};

/// Age below which a connection is kept although its server says that it is the wrong one: while no other server has
/// taken its place, calls open few connections.
const SETTLED: Duration = Duration::from_millis(250);

/// A connection. Cheap to clone; closed with its last clone, or by the server.
#[derive(Clone)]
pub struct RedisConnection {
    redis: MultiplexedConnection,
    target: Arc<RedisTarget>,
    limit: Duration,
    opened: Instant,
    driver: Arc<SocketTask>,
}

/// The task that reads and writes the socket; ends with the last clone of its connection, or with the socket.
struct SocketTask(JoinHandle<()>);

impl Drop for SocketTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RedisConnection {
    /// Opens a connection on the current runtime, logs in, and selects the database. `limit` bounds the opening, and
    /// later each answer.
    ///
    /// # Errors
    /// A [`RedisFailure`] that names the place.
    pub async fn open(
        target: &Arc<RedisTarget>,
        outbound: &Outbound,
        limit: Duration,
    ) -> Result<Self, RedisFailure> {
        match timeout(limit, connect(target, outbound, limit)).await {
            Ok(opened) => opened,
            Err(_) => Err(target.late(limit)),
        }
    }

    /// Runs a command.
    ///
    /// # Errors
    /// A [`RedisFailure`] that names the place. After a timeout, a broken connection, or the answer of a server that is
    /// the wrong one, the caller opens another one.
    pub async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisQueryError> {
        let answer = command.query_async(&mut self.redis.clone()).await;
        answer.map_err(|error| self.query_error(&error))
    }

    /// Runs a command that another server of a Redis Cluster redirected here for this once.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) async fn query_asking<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisQueryError> {
        let mut commands = pipe();
        commands.cmd("ASKING").ignore().add_command(command.clone());
        let answer: Result<(T,), _> = commands.query_async(&mut self.redis.clone()).await;
        answer.map(|(answer,)| answer).map_err(|error| self.query_error(&error))
    }

    /// Returns `true` once no command can succeed any more.
    pub fn is_closed(&self) -> bool {
        self.driver.0.is_finished()
    }

    /// Returns `true` for clones of one connection.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.driver, &other.driver)
    }

    fn query_error(&self, error: &RedisError) -> RedisQueryError {
        RedisQueryError {
            failure: self.target.failure(error, self.limit),
            is_broken: error.is_timeout()
                || error.is_unrecoverable_error()
                || (is_wrong_server(error) && self.opened.elapsed() >= SETTLED),
            redirect: Redirect::read(error),
        }
    }
}

/// A failed command, and the state of the connection after it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct RedisQueryError {
    pub failure: RedisFailure,
    /// True if the connection must not be used again.
    pub is_broken: bool,
    /// The server that has the key, if a server of a Redis Cluster answered with that.
    pub(crate) redirect: Option<Redirect>,
}

impl From<RedisFailure> for RedisQueryError {
    fn from(failure: RedisFailure) -> Self {
        Self { failure, is_broken: true, redirect: None }
    }
}

/// The answer of a server of a Redis Cluster that does not have a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// From now on another server has the key.
    Moved(ServerPlace),
    /// The key is on the move: this command alone goes to the other server.
    Ask(ServerPlace),
}

impl Redirect {
    fn read(error: &RedisError) -> Option<Self> {
        let place = ServerPlace::parse(error.redirect_node()?.0)?;
        match error.kind() {
            ErrorKind::Server(ServerErrorKind::Ask) => Some(Self::Ask(place)),
            _ => Some(Self::Moved(place)),
        }
    }
}

async fn connect(
    target: &Arc<RedisTarget>,
    outbound: &Outbound,
    limit: Duration,
) -> Result<RedisConnection, RedisFailure> {
    let addresses = outbound.addresses(&target.host, target.port, target.allow_private).await?;
    let broken = |error: io::Error| target.unreachable(error);
    let stream = TcpStream::connect(addresses.as_slice()).await.map_err(broken)?;
    stream.set_nodelay(true).map_err(broken)?;
    if !target.tls {
        return greet(target, stream, limit).await;
    }
    let name = ServerName::try_from(target.host.clone());
    let name = name.map_err(|error| target.unreachable(error))?;
    let tls = TlsConnector::from(Arc::new(outbound.tls()));
    greet(target, tls.connect(name, stream).await.map_err(broken)?, limit).await
}

/// Logs in, selects the database, and spawns the task that drives the socket.
async fn greet<S>(
    target: &Arc<RedisTarget>,
    stream: S,
    limit: Duration,
) -> Result<RedisConnection, RedisFailure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(limit));
    let connected = MultiplexedConnection::new_with_config(&target.login, stream, config).await;
    let (redis, driver) = connected.map_err(|error| target.failure(&error, limit))?;
    let driver = Arc::new(SocketTask(Handle::current().spawn(driver)));
    Ok(RedisConnection { redis, target: Arc::clone(target), limit, opened: Instant::now(), driver })
}
