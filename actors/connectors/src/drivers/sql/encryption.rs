//! Encryption of connections to a database server.

use std::sync::atomic::{AtomicU8, Ordering};

use slog::Logger;

/// The encryption that a connection string asks for.
///
/// A certificate is never believed unverified: if one is required, it must lead to the trust anchors and
/// name the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// `disable`.
    Never,
    /// `prefer`, and the default: if the server offers it, and then its certificate must be
    /// believed. A server that offers none is spoken to without.
    Preferred,
    /// `require`, `verify-ca`, `verify-full`.
    Required,
}

impl Encryption {
    /// Reads the spellings of PostgreSQL (`verify-full`) and MySQL (`VERIFY_IDENTITY`).
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "disable" | "disabled" => Ok(Self::Never),
            "allow" | "prefer" | "preferred" => Ok(Self::Preferred),
            "require" | "required" | "verify-ca" | "verify-full" | "verify-identity" => Ok(Self::Required),
            _ => Err("use one of disable, prefer, require, verify-full".to_owned()),
        }
    }
}

/// The remedies of a failed handshake whose encryption is a preference.
pub(super) const REMEDIES: &str = "where the server offers TLS its certificate must be trusted (SSL_CERT_FILE); to go \
                                   without encryption is asked for by the mode 'disable'";

/// States of a pool: none is known yet, or connections are plain, or encrypted.
const UNKNOWN: u8 = 0;
const PLAIN: u8 = 1;
const ENCRYPTED: u8 = 2;

/// Logs whether the connections of a pool are encrypted: of the first, and at every change.
pub(super) struct EncryptionLog {
    log: Logger,
    wanted: Encryption,
    last: AtomicU8,
}

impl EncryptionLog {
    pub(super) const fn new(log: Logger, wanted: Encryption) -> Self {
        Self { log, wanted, last: AtomicU8::new(UNKNOWN) }
    }

    /// Records a new connection.
    pub(super) fn record(&self, encrypted: bool) {
        let state = if encrypted { ENCRYPTED } else { PLAIN };
        if self.last.swap(state, Ordering::Relaxed) == state {
            return;
        }
        match (encrypted, self.wanted) {
            (true, _) => slog::info!(self.log, "connections to the database are encrypted"),
            (false, Encryption::Never) => {
                slog::info!(self.log, "connections to the database are not encrypted")
            }
            (false, _) => slog::warn!(
                self.log,
                "connections to the database are not encrypted: the server offers no TLS"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spellings_of_both_worlds_are_known() {
        for (name, expected) in [
            ("disable", Encryption::Never),
            ("DISABLED", Encryption::Never),
            ("prefer", Encryption::Preferred),
            ("PREFERRED", Encryption::Preferred),
            ("require", Encryption::Required),
            ("verify-full", Encryption::Required),
            ("VERIFY_IDENTITY", Encryption::Required),
        ] {
            assert_eq!(Encryption::parse(name), Ok(expected), "{name}");
        }
        assert!(Encryption::parse("no-verify").is_err());
    }
}
