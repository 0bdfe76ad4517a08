//! A real MariaDB, installed on demand: one that all tests share, or one that a single test may stop.

use std::ops::Deref;

use crate::daemon::Daemon;
use crate::tls::IssuedCertificate;

/// A running server.
#[derive(Debug)]
pub struct MariaDb(Daemon);

impl MariaDb {
    /// Returns the server that all test processes of this user and this checkout share; it ends after the
    /// last of them. Reports a missing server with [`report_missing`](crate::peer::report_missing).
    pub fn shared() -> Option<Self> {
        Daemon::shared("mariadb").map(Self)
    }

    /// Starts a server of the test's own. Reports a missing one with
    /// [`report_missing`](crate::peer::report_missing).
    pub fn own() -> Option<Self> {
        Daemon::own("mariadb", None).map(Self)
    }

    /// Starts a server of the test's own that offers TLS.
    pub fn with_tls(certificate: &IssuedCertificate) -> Option<Self> {
        Daemon::own("mariadb", Some(certificate)).map(Self)
    }

    /// The URL of a database of this server.
    pub fn database(&self, name: &str) -> String {
        let (server, _) = self.url().rsplit_once('/').unwrap_or((self.url(), ""));
        format!("{server}/{name}")
    }
}

impl Deref for MariaDb {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.0
    }
}
