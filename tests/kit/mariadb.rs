//! A real MariaDB, installed where it is missing: one that all tests share, or one of its own that a test may stop.

use std::ops::Deref;

use crate::daemon::Daemon;
use crate::tls::IssuedCertificate;

/// A server.
#[derive(Debug)]
pub struct MariaDb(Daemon);

impl MariaDb {
    /// The one for the processes of this user and this checkout; it ends after the last of them. Where there is none,
    /// says so as [`report_missing`](crate::peer::report_missing) does.
    pub fn shared() -> Option<Self> {
        Daemon::shared("mariadb").map(Self)
    }

    /// A new one. Where there is none, says so as [`report_missing`](crate::peer::report_missing) does.
    pub fn own() -> Option<Self> {
        Daemon::own("mariadb", None).map(Self)
    }

    /// A new one that offers TLS.
    pub fn with_tls(certificate: &IssuedCertificate) -> Option<Self> {
        Daemon::own("mariadb", Some(certificate)).map(Self)
    }

    /// Where a database of it would be.
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
