//! The log of the encryption of connections.

use parking_lot::Mutex;
use slog::{Logger, info, warn};

/// The protection of a new connection against readers of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkProtection {
    Encrypted,
    /// Plain, as the mode asks for.
    Disabled,
    /// Plain, since the server offers no TLS.
    NotOffered,
    /// Plain, since an encrypted connection failed for this reason.
    Failed(String),
    /// On this machine.
    UnixSocket,
}

/// Logs the protection of the first connection, and each change of it.
pub(super) struct ProtectionLog {
    log: Logger,
    mode: &'static str,
    last: Mutex<Option<LinkProtection>>,
}

impl ProtectionLog {
    pub(super) fn new(log: Logger, mode: &'static str) -> Self {
        Self { log, mode, last: Mutex::new(None) }
    }

    /// Records a new connection.
    pub(super) fn record(&self, now: LinkProtection) {
        let mut last = self.last.lock();
        if last.as_ref() == Some(&now) {
            return;
        }
        let log = self.log.new(slog::o!("sslmode" => self.mode));
        match &now {
            LinkProtection::Encrypted => info!(log, "connections to the storage are encrypted"),
            LinkProtection::Disabled => info!(log, "connections to the storage are not encrypted"),
            LinkProtection::NotOffered => {
                warn!(log, "connections to the storage are not encrypted: the server offers no TLS");
            }
            LinkProtection::Failed(detail) => {
                warn!(log, "connections to the storage are not encrypted: TLS failed"; "detail" => detail);
            }
            LinkProtection::UnixSocket => info!(log, "connections to the storage use a Unix socket"),
        }
        *last = Some(now);
    }
}
