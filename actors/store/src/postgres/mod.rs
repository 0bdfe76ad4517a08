//! Connections to a PostgreSQL server: encrypted as `sslmode` says, their errors marked with codes.

mod negotiation;
mod protection;
mod tls_mode;
mod verification;

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection as _};
use slog::{Discard, Logger, o};
use svc_pooler::{PoolerLink, PoolerStream, TlsNegotiation, TlsRequest};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Connection, NoTls, SimpleQueryMessage, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use self::negotiation::{StoreNegotiation, StoreStream, TlsFailure};
use self::protection::{LinkProtection, ProtectionLog};
pub(crate) use self::tls_mode::TlsMode;
use crate::connections::sqlstate::MarkedStream;
use crate::error::{StoreError, with_causes};

/// Limits the time for which a process that stops inside a transaction, without closing its connection, holds its
/// locks. The isolation is the one that the transactions are made for, whatever the defaults of the server, the database
/// and the user: a statement after the wait for a lock must see what its holder has written.
const SESSION: &str = "SET idle_in_transaction_session_timeout = '5s'; \
                       SET default_transaction_isolation = 'read committed'";

/// Port of a server whose URL names none.
const POSTGRES_PORT: u16 = 5432;

/// Opens connections to a server. Clones share the log of their encryption.
#[derive(Clone)]
pub(crate) struct PostgresDialer {
    settings: Config,
    mode: TlsMode,
    tls: Option<MakeRustlsConnect>,
    limit: Duration,
    protection: Arc<ProtectionLog>,
    /// The last connection went through a pooler.
    is_pooled: Arc<AtomicBool>,
}

impl PostgresDialer {
    /// Prepares connections with these settings, each of whose steps ends within `limit`.
    ///
    /// # Errors
    /// A text that names the parameter whose value is unusable.
    pub(crate) fn new(settings: &Config, mode: &TlsMode, limit: Duration) -> Result<Self, String> {
        let mut settings = settings.clone();
        // These settings detect a vanished server earlier than the two hours of the kernel.
        settings
            .connect_timeout(limit)
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3)
            .tcp_user_timeout(Duration::from_secs(30));
        if is_over_tcp(&settings) {
            TlsNegotiation::configure(&mut settings);
        }
        let tls = verification::client_config(mode)?.map(MakeRustlsConnect::new);
        let protection = Arc::new(ProtectionLog::new(Logger::root(Discard, o!()), mode.name()));
        Ok(Self { settings, mode: mode.clone(), tls, limit, protection, is_pooled: Arc::default() })
    }

    /// Logs whether connections are encrypted: the first, and at every change.
    pub(crate) fn log_protection(&mut self, log: Logger) {
        self.protection = Arc::new(ProtectionLog::new(log, self.mode.name()));
    }

    /// Returns `true` if announcements arrive: the driver passes them on over TCP only, and a pooler passes on none.
    pub(crate) fn announces(&self) -> bool {
        is_over_tcp(&self.settings) && !self.is_pooled()
    }

    /// Returns whether the last connection went through a pooler.
    pub(crate) fn is_pooled(&self) -> bool {
        self.is_pooled.load(Ordering::Relaxed)
    }

    /// Opens a connection, with settings of its session unless it goes through a pooler: that would hand them to others.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] with the reason.
    pub(crate) async fn open(&self, settings: &str) -> Result<AsyncPgConnection, StoreError> {
        let (mut conn, is_pooled) = match is_over_tcp(&self.settings) {
            true => self.open_tcp().await?,
            false => {
                // The driver applies TLS, and so the marks of errors, to no Unix socket.
                let (client, link) = connect_unix(&self.settings).await?;
                self.protection.record(LinkProtection::UnixSocket);
                let is_pooled = link.observe(backend_of(&client).await?.as_deref());
                let conn = AsyncPgConnection::try_from(client).await;
                (conn.map_err(|error| unavailable(error.to_string()))?, is_pooled)
            }
        };
        self.is_pooled.store(is_pooled, Ordering::Relaxed);
        if !is_pooled {
            conn.batch_execute(SESSION).await?;
            conn.batch_execute(settings).await?;
        }
        Ok(conn)
    }

    async fn open_tcp(&self) -> Result<(AsyncPgConnection, bool), StoreError> {
        let Some(tls) = &self.tls else {
            let (conn, _) = self.connect(None).await.map_err(|attempt| connect_failure(&attempt.error))?;
            self.protection.record(LinkProtection::Disabled);
            return conn_of(conn).await;
        };
        let (connected, protection) = match self.connect(Some(tls)).await {
            Ok((connected, true)) => (connected, LinkProtection::Encrypted),
            Ok((connected, false)) => (connected, LinkProtection::NotOffered),
            Err(attempt) if matches!(self.mode, TlsMode::Prefer) && attempt.may_succeed_plain() => {
                let detail = with_causes(&attempt.error);
                // Where this fails too, the first reason is the one to know.
                let plain = self.connect(None).await.map_err(|_| unavailable(detail.clone()))?;
                (plain.0, LinkProtection::Failed(detail))
            }
            Err(attempt) => return Err(connect_failure(&attempt.error)),
        };
        self.protection.record(protection);
        conn_of(connected).await
    }

    /// Connects once; the flag is true if the connection is encrypted.
    async fn connect(&self, tls: Option<&MakeRustlsConnect>) -> Result<(Connected, bool), FailedAttempt> {
        let request = match self.mode {
            TlsMode::Prefer => TlsRequest::Preferred,
            _ => TlsRequest::Required,
        };
        let tls = TlsNegotiation::new(tls.map(|tls| (tls.clone(), request)));
        let link = tls.link().clone();
        let connected = self.settings.connect(StoreNegotiation { tls, limit: self.limit }).await;
        let is_encrypted = link.is_encrypted();
        match connected {
            Ok((client, connection)) => Ok((Connected { client, connection, link }, is_encrypted)),
            Err(error) => Err(FailedAttempt { error, is_encrypted }),
        }
    }
}

/// A connection that has logged in.
struct Connected {
    client: Client,
    connection: Connection<Socket, StoreStream>,
    link: PoolerLink,
}

/// Returns the connection, and whether it goes through a pooler.
async fn conn_of(connected: Connected) -> Result<(AsyncPgConnection, bool), StoreError> {
    let Connected { client, mut connection, link } = connected;
    let backend = tokio::select! {
        backend = backend_of(&client) => backend?,
        ended = &mut connection => {
            let detail = ended.err().map_or_else(|| "the connection was closed".to_owned(), |error| with_causes(&error));
            return Err(unavailable(detail));
        }
    };
    let is_pooled = link.observe(backend.as_deref());
    let conn = AsyncPgConnection::try_from_client_and_connection(client, connection).await;
    Ok((conn.map_err(|error| unavailable(error.to_string()))?, is_pooled))
}

/// Asks for the process that carries out the queries of a connection.
async fn backend_of(client: &Client) -> Result<Option<String>, StoreError> {
    let answer = client.simple_query(PoolerLink::query()).await.map_err(|error| connect_failure(&error))?;
    Ok(answer.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}

/// An attempt to connect that failed.
struct FailedAttempt {
    error: tokio_postgres::Error,
    is_encrypted: bool,
}

impl FailedAttempt {
    /// Returns whether TLS is what failed: its handshake, or the rule of the server for encrypted connections.
    fn may_succeed_plain(&self) -> bool {
        let failure = self.error.source().and_then(|cause| cause.downcast_ref::<TlsFailure>());
        let is_refused = self.error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        failure.is_some_and(TlsFailure::may_succeed_plain) || (self.is_encrypted && is_refused)
    }
}

fn is_over_tcp(settings: &Config) -> bool {
    settings.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)))
}

fn unavailable(detail: String) -> StoreError {
    StoreError::Unavailable(detail.into())
}

fn connect_failure(error: &tokio_postgres::Error) -> StoreError {
    unavailable(with_causes(error))
}

/// Connects over the first Unix socket that answers. A task drives the connection until its client is dropped.
async fn connect_unix(settings: &Config) -> Result<(Client, PoolerLink), StoreError> {
    let limit = settings.get_connect_timeout().copied().unwrap_or(Duration::MAX);
    let mut failure = unavailable("the database URL names no host".to_owned());
    for (index, host) in settings.get_hosts().iter().enumerate() {
        let Host::Unix(directory) = host else { continue };
        let ports = settings.get_ports();
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(POSTGRES_PORT);
        let socket = directory.join(format!(".s.PGSQL.{port}"));
        let connected = timeout(limit, async {
            let stream = UnixStream::connect(&socket)
                .await
                .map_err(|error| unavailable(format!("error connecting to server: {error}")))?;
            let link = PoolerLink::default();
            let stream = MarkedStream::new(PoolerStream::new(stream, link.clone()));
            let connected = settings.connect_raw(stream, NoTls).await;
            connected.map(|connected| (connected, link)).map_err(|error| connect_failure(&error))
        });
        match connected.await {
            Ok(Ok(((client, connection), link))) => {
                #[expect(clippy::disallowed_methods, reason = "ends with its client")]
                tokio::spawn(connection);
                return Ok((client, link));
            }
            Ok(Err(error)) => failure = error,
            Err(_) => failure = unavailable("the server did not answer in time".to_owned()),
        }
    }
    Err(failure)
}
