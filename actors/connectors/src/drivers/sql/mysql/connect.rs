//! New connections to a MySQL.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use bb8::ManageConnection;
use mysql_async::{Conn, Error, SslOpts};
use tokio::time::timeout;

use super::error;
use super::session::Session;
use super::target::MySqlTarget;
use crate::drivers::sql::encryption::Encryption;
use crate::drivers::sql::message::SqlError;
use crate::drivers::sql::pool::Trouble;
use crate::drivers::sql::settings::Dial;

/// Makes connections.
pub(crate) struct Manager {
    target: MySqlTarget,
    dial: Dial,
    trust: SslOpts,
    /// Encryption is a mere preference, and this server has none that is believed.
    plain: AtomicBool,
}

impl Manager {
    pub(crate) fn new(target: &MySqlTarget, dial: Dial) -> Self {
        let anchors = dial.outbound.anchor_certificates();
        let trust = SslOpts::default()
            .with_root_certs(anchors.iter().map(|anchor| anchor.to_vec().into()).collect())
            .with_disable_built_in_roots(true);
        let plain = AtomicBool::new(target.encryption == Encryption::Never);
        Self { target: target.clone(), dial, trust, plain }
    }

    /// Tries one address.
    async fn session(&self, address: SocketAddr) -> Result<Session, SqlError> {
        let connect = async {
            if self.plain.load(Ordering::Relaxed) {
                return self.dialled(address, None).await;
            }
            match self.dialled(address, Some(self.trust.clone())).await {
                Err(Error::Driver(_) | Error::Io(_)) if self.target.encryption == Encryption::Preferred => {
                    let session = self.dialled(address, None).await?;
                    // Servers count handshakes that were broken off: once is enough.
                    self.plain.store(true, Ordering::Relaxed);
                    Ok(session)
                }
                tried => tried,
            }
        };
        match timeout(self.dial.limit, connect).await {
            Ok(connected) => connected.map_err(|error| error::connecting(&error)),
            Err(_) => {
                let limit = self.dial.limit.as_millis();
                Err(SqlError::Unreachable(format!(
                    "the database did not take the connection within {limit} ms"
                )))
            }
        }
    }

    async fn dialled(&self, address: SocketAddr, trust: Option<SslOpts>) -> Result<Session, Error> {
        let options = self.target.options(address, trust);
        Ok(Session::new(Conn::new(options.clone()).await?, options))
    }
}

impl ManageConnection for Manager {
    type Connection = Session;
    type Error = Trouble;

    async fn connect(&self) -> Result<Session, Trouble> {
        let mut failed = SqlError::Unreachable("the database has no host".to_owned());
        for address in self.dial.addresses(&self.target.host, self.target.port).await? {
            match self.session(address).await {
                Ok(session) => return Ok(session),
                Err(error) => failed = error,
            }
        }
        Err(failed.into())
    }

    async fn is_valid(&self, session: &mut Session) -> Result<(), Trouble> {
        if session.is_there().await { Ok(()) } else { Err(Trouble::Stale) }
    }

    fn has_broken(&self, session: &mut Session) -> bool {
        session.is_broken()
    }
}
