//! A client of one server, which opens its connection again after it broke.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Cmd, FromRedisValue};
use svc_outbound::Outbound;
use tokio::runtime::Handle;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, timeout};

use crate::connection::{RedisConnection, RedisQueryError};
use crate::failure::RedisFailure;
use crate::target::{RedisTarget, ServerPlace};

/// Time after a failed attempt to connect during which calls fail at once, with its failure. A server that is away
/// slows one call each time, and one that is back meets one connection, not one for each waiting call.
const COOLDOWN: Duration = Duration::from_millis(250);

/// A client of one server, with one connection. Cheap to clone; clones share the connection. Calls may come from any
/// thread.
#[derive(Clone)]
pub(crate) struct ServerClient {
    shared: Arc<Shared>,
}

struct Shared {
    target: Arc<RedisTarget>,
    outbound: Outbound,
    /// Drives the connection, whichever thread calls.
    runtime: Handle,
    /// Time limit of opening a connection, and of an answer.
    limit: Duration,
    state: Mutex<ConnectionState>,
    /// Held by the caller that opens.
    opening: AsyncMutex<()>,
}

enum ConnectionState {
    Open(RedisConnection),
    /// None is open; after a failure with the instant until which calls fail at once.
    Closed(Option<(Instant, RedisFailure)>),
}

impl ServerClient {
    /// Makes a client that connects at its first call. An operation ends within twice `limit`.
    pub(crate) fn new(target: RedisTarget, outbound: Outbound, runtime: Handle, limit: Duration) -> Self {
        let shared = Shared {
            target: Arc::new(target),
            outbound,
            runtime,
            limit,
            state: Mutex::new(ConnectionState::Closed(None)),
            opening: AsyncMutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Runs a command.
    ///
    /// # Errors
    /// A [`RedisFailure`] that names the place, with the redirection that the server answered with.
    pub(crate) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisQueryError> {
        let connection = self.connection().await?;
        let answer = connection.query(command).await;
        answer.map_err(|error| self.discard(&connection, error))
    }

    /// Runs a command that the server redirected here for this once, because its key is on the move.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) async fn query_asking<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisQueryError> {
        let connection = self.connection().await?;
        let answer = connection.query_asking(command).await;
        answer.map_err(|error| self.discard(&connection, error))
    }

    /// Returns `true` for clones of one client.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns `true` while a connection is open.
    pub(crate) fn is_connected(&self) -> bool {
        matches!(self.shared.ready(), Some(Ok(_)))
    }

    /// Returns `true` while calls fail at once.
    pub(crate) fn is_failing(&self) -> bool {
        matches!(self.shared.ready(), Some(Err(_)))
    }

    /// Returns a client of another server of the same Redis Cluster.
    pub(crate) fn sibling(&self, place: &ServerPlace) -> Self {
        let shared = &self.shared;
        Self::new(
            shared.target.with_place(place),
            shared.outbound.clone(),
            shared.runtime.clone(),
            shared.limit,
        )
    }

    /// Returns the place of the server.
    pub(crate) fn target(&self) -> &RedisTarget {
        &self.shared.target
    }

    /// Returns the time limit of opening a connection, and of an answer.
    pub(crate) fn limit(&self) -> Duration {
        self.shared.limit
    }

    /// Returns the connection, opened if none is. One caller opens; the others wait for it, or fail at once if the server
    /// was away before.
    async fn connection(&self) -> Result<RedisConnection, RedisFailure> {
        if let Some(ready) = self.shared.ready() {
            return ready;
        }
        let limit = self.shared.limit;
        let late = |_| self.shared.target.late(limit).into_unsent();
        let _opening = match (self.shared.opening.try_lock(), self.shared.last_failure()) {
            (Ok(opening), _) => opening,
            (Err(_), Some(failure)) => return Err(failure.into_unsent()),
            (Err(_), None) => timeout(limit, self.shared.opening.lock()).await.map_err(late)?,
        };
        if let Some(ready) = self.shared.ready() {
            return ready;
        }
        let shared = Arc::clone(&self.shared);
        let opened = self.shared.runtime.spawn(async move { shared.open().await });
        opened.await.unwrap_or_else(|error| Err(self.shared.target.unreachable(error)))
    }

    /// Forgets a connection that must not be used again.
    fn discard(&self, used: &RedisConnection, error: RedisQueryError) -> RedisQueryError {
        if error.is_broken {
            let mut state = self.shared.state.lock();
            if matches!(&*state, ConnectionState::Open(open) if open.is_same(used)) {
                let hangs = matches!(error.failure, RedisFailure::Timeout(_));
                *state = ConnectionState::Closed(hangs.then(|| (Instant::now(), error.failure.clone())));
            }
        }
        error
    }
}

impl Shared {
    /// Returns the open connection, or the failure that still counts; `None` if a connection is to be opened.
    fn ready(&self) -> Option<Result<RedisConnection, RedisFailure>> {
        match &*self.state.lock() {
            ConnectionState::Open(connection) if !connection.is_closed() => Some(Ok(connection.clone())),
            ConnectionState::Closed(Some((until, failure))) if Instant::now() < *until => {
                Some(Err(failure.clone().into_unsent()))
            }
            _ => None,
        }
    }

    /// Returns the failure for which no connection is open.
    fn last_failure(&self) -> Option<RedisFailure> {
        match &*self.state.lock() {
            ConnectionState::Closed(Some((_, failure))) => Some(failure.clone()),
            _ => None,
        }
    }

    async fn open(&self) -> Result<RedisConnection, RedisFailure> {
        let opened = RedisConnection::open(&self.target, &self.outbound, self.limit).await;
        let opened = opened.map_err(RedisFailure::into_unsent);
        *self.state.lock() = match &opened {
            Ok(connection) => ConnectionState::Open(connection.clone()),
            Err(failure) => ConnectionState::Closed(Some((Instant::now() + COOLDOWN, failure.clone()))),
        };
        opened
    }
}

impl fmt::Debug for ServerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerClient").field("target", &self.shared.target).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use svc_outbound::Trust;
    use svc_testkit::state::eventually;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn client_of(port: u16) -> ServerClient {
        let target = RedisTarget::new(&format!("redis://127.0.0.1:{port}"), true).unwrap();
        let outbound = Outbound::new(&Trust::System).unwrap();
        ServerClient::new(target, outbound, Handle::current(), Duration::from_secs(5))
    }

    async fn ping(client: &ServerClient) -> Result<(), RedisFailure> {
        client.query(&redis::cmd("PING")).await.map_err(|error| error.failure)
    }

    /// Accepts one connection and answers its first `answers` commands with PONG.
    async fn serve(listener: &TcpListener, answers: usize) {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 256];
        for _ in 0..answers {
            if socket.read(&mut buffer).await.unwrap() == 0 {
                return;
            }
            socket.write_all(b"+PONG\r\n").await.unwrap();
        }
    }

    #[tokio::test]
    async fn broken_connection_is_opened_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = client_of(listener.local_addr().unwrap().port());
        for _ in 0..2 {
            let (served, answered) = tokio::join!(serve(&listener, 1), ping(&client));
            assert_eq!(((), answered), (served, Ok(())));
            // The connection was closed by the server. A call may meet it before that is known.
            eventually("the end of the connection is known", async || client.shared.ready().is_none()).await;
        }
    }

    #[tokio::test]
    async fn calls_fail_at_once_after_a_failed_connect() {
        let client = client_of(svc_testkit::server::free_port().unwrap());
        let first = ping(&client).await.unwrap_err();
        assert!(matches!(&first, RedisFailure::Unreachable(text) if text.contains("127.0.0.1")), "{first}");
        assert_eq!(client.shared.ready().and_then(Result::err), Some(first));
    }

    #[tokio::test]
    async fn calls_do_not_queue_behind_a_hanging_server() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = client_of(listener.local_addr().unwrap().port());
        let hangs = client.shared.target.late(client.shared.limit);
        *client.shared.state.lock() = ConnectionState::Closed(Some((Instant::now(), hangs.clone())));
        let _opening = client.shared.opening.lock().await;
        assert_eq!(ping(&client).await, Err(hangs.into_unsent()));
    }
}
