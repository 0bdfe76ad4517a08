//! New connections to a PostgreSQL.

use bb8::ManageConnection;
use svc_pooler::{PoolerLink, TlsNegotiation};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_postgres::{Client, Error, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error;
use super::session::PostgresSession;
use super::target::PostgresTarget;
use crate::drivers::sql::encryption::{Encryption, EncryptionLog, REMEDIES};
use crate::drivers::sql::error::SqlError;
use crate::drivers::sql::pool::PoolError;
use crate::drivers::sql::settings::DialContext;

/// Sets the session's time zone to UTC, so that results do not depend on the server's zone.
const SETUP: &str = "SET TIME ZONE 'UTC'";

/// Makes connections.
pub(crate) struct PostgresManager {
    target: PostgresTarget,
    dial: DialContext,
    tls: MakeRustlsConnect,
    encryption: EncryptionLog,
}

impl PostgresManager {
    pub(crate) fn new(target: &PostgresTarget, dial: DialContext) -> Self {
        let tls = MakeRustlsConnect::new(dial.outbound.tls());
        let encryption = EncryptionLog::new(dial.log.clone(), target.encryption);
        Self { target: target.clone(), dial, tls, encryption }
    }

    /// Tries one address of one host.
    async fn session(&self, host: &str, address: std::net::SocketAddr) -> Result<PostgresSession, SqlError> {
        let request = self.target.tls_request();
        let tls = TlsNegotiation::new(request.map(|request| (self.tls.clone(), request)));
        match timeout(self.dial.limit, self.client(host, address, tls.clone())).await {
            Ok(Ok(client)) => {
                self.encryption.record(tls.link().is_encrypted());
                Ok(PostgresSession::new(client, tls))
            }
            Ok(Err(error)) => {
                // Once a server has offered TLS it is not gone without, whatever fails at it.
                let is_refused =
                    tls.link().is_tls_offered() && self.target.encryption == Encryption::Preferred;
                Err(error::connecting(&error, if is_refused { REMEDIES } else { "" }))
            }
            Err(_) => {
                let limit = self.dial.limit.as_millis();
                Err(SqlError::Unreachable(format!(
                    "the database did not take the connection within {limit} ms"
                )))
            }
        }
    }

    async fn client(
        &self,
        host: &str,
        address: std::net::SocketAddr,
        tls: TlsNegotiation,
    ) -> Result<Client, Error> {
        let config = self.target.config(host, address.ip(), address.port());
        let link = tls.link().clone();
        let (client, connection) = config.connect(tls).await?;
        // Ends with its client.
        Handle::current().spawn(connection);
        let answer = client.simple_query(PoolerLink::query()).await?;
        let backend = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        link.observe(backend);
        client.batch_execute(SETUP).await?;
        Ok(client)
    }
}

impl ManageConnection for PostgresManager {
    type Connection = PostgresSession;
    type Error = PoolError;

    async fn connect(&self) -> Result<PostgresSession, PoolError> {
        let mut failed = SqlError::Unreachable("the database has no host".to_owned());
        let mut ways = Vec::new();
        for (host, port) in &self.target.hosts {
            match self.dial.addresses(host, *port).await {
                Ok(addresses) => ways.extend(addresses.into_iter().map(|address| (host, address))),
                // One forbidden address refuses them all.
                Err(error) if error.is_refusal() => return Err(error.into()),
                Err(error) => failed = error,
            }
        }
        for (host, address) in ways {
            match self.session(host, address).await {
                Ok(session) => return Ok(session),
                Err(error) => failed = error,
            }
        }
        Err(failed.into())
    }

    async fn is_valid(&self, session: &mut PostgresSession) -> Result<(), PoolError> {
        if session.is_broken() { Err(PoolError::Stale) } else { Ok(()) }
    }

    fn has_broken(&self, session: &mut PostgresSession) -> bool {
        session.is_broken()
    }
}
