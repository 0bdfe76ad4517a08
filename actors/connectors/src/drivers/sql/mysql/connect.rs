//! New connections to a MySQL.

use std::net::SocketAddr;

use bb8::ManageConnection;
use mysql_async::{Conn, DriverError, Error, SslOpts};
use tokio::time::timeout;

use super::error;
use super::session::MySqlSession;
use super::target::MySqlTarget;
use crate::drivers::sql::encryption::{Encryption, EncryptionLog};
use crate::drivers::sql::error::SqlError;
use crate::drivers::sql::pool::PoolError;
use crate::drivers::sql::settings::DialContext;

/// Makes connections.
pub(crate) struct MySqlManager {
    target: MySqlTarget,
    dial: DialContext,
    trust: SslOpts,
    encryption: EncryptionLog,
}

impl MySqlManager {
    pub(crate) fn new(target: &MySqlTarget, dial: DialContext) -> Self {
        let anchors = dial.outbound.anchor_certificates();
        let trust = SslOpts::default()
            .with_root_certs(anchors.iter().map(|anchor| anchor.to_vec().into()).collect())
            .with_disable_built_in_roots(true);
        let encryption = EncryptionLog::new(dial.log.clone(), target.encryption);
        Self { target: target.clone(), dial, trust, encryption }
    }

    /// Tries one address.
    async fn session(&self, address: SocketAddr) -> Result<MySqlSession, SqlError> {
        let connect = async {
            if self.target.encryption == Encryption::Never {
                return Ok((self.open_session(address, None).await?, false));
            }
            match self.open_session(address, Some(self.trust.clone())).await {
                // The greeting of the server says so, before anything is sent to it. A certificate that is
                // refused never leads here.
                Err(Error::Driver(DriverError::NoClientSslFlagFromServer))
                    if self.target.encryption == Encryption::Preferred =>
                {
                    Ok((self.open_session(address, None).await?, false))
                }
                tried => Ok((tried?, true)),
            }
        };
        match timeout(self.dial.limit, connect).await {
            Ok(Ok((session, encrypted))) => {
                self.encryption.record(encrypted);
                Ok(session)
            }
            Ok(Err(error)) => Err(error::connecting(&error, self.target.encryption)),
            Err(_) => {
                let limit = self.dial.limit.as_millis();
                Err(SqlError::Unreachable(format!(
                    "the database did not take the connection within {limit} ms"
                )))
            }
        }
    }

    async fn open_session(&self, address: SocketAddr, trust: Option<SslOpts>) -> Result<MySqlSession, Error> {
        let options = self.target.options(address, trust);
        Ok(MySqlSession::new(Conn::new(options.clone()).await?, options))
    }
}

impl ManageConnection for MySqlManager {
    type Connection = MySqlSession;
    type Error = PoolError;

    async fn connect(&self) -> Result<MySqlSession, PoolError> {
        let mut failed = SqlError::Unreachable("the database has no host".to_owned());
        for address in self.dial.addresses(&self.target.host, self.target.port).await? {
            match self.session(address).await {
                Ok(session) => return Ok(session),
                Err(error) => failed = error,
            }
        }
        Err(failed.into())
    }

    async fn is_valid(&self, session: &mut MySqlSession) -> Result<(), PoolError> {
        if session.is_alive().await { Ok(()) } else { Err(PoolError::Stale) }
    }

    fn has_broken(&self, session: &mut MySqlSession) -> bool {
        session.is_broken()
    }
}
