//! The state that a connection shares with its owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

/// The query whose answer is compared with the announced process.
const BACKEND: &str = "SELECT pg_backend_pid()";

/// Kinds of connections: not known yet, to the server itself, through a pooler.
const UNKNOWN: u8 = 0;
const DIRECT: u8 = 1;
const POOLED: u8 = 2;

/// States of TLS: not offered, offered by the server, in use.
const PLAIN: u8 = 0;
const OFFERED: u8 = 1;
const ENCRYPTED: u8 = 2;

/// The facts known of one connection. Cheap to clone; clones are one.
#[derive(Clone, Debug, Default)]
pub struct PoolerLink(Arc<LinkState>);

#[derive(Debug, Default)]
struct LinkState {
    /// The process that the session was announced with; 0 before that, and if none is.
    announced: AtomicI32,
    kind: AtomicU8,
    tls: AtomicU8,
}

impl PoolerLink {
    /// Returns the query whose answer [`observe`](Self::observe) takes.
    pub const fn query() -> &'static str {
        BACKEND
    }

    /// Compares the process that carries out queries with the announced one; if they differ, a pooler lies between, and
    /// no later statement is kept by its name. Call it once, while no query is under way. Returns `true` behind a
    /// pooler.
    pub fn observe(&self, backend: Option<&str>) -> bool {
        let backend = backend.and_then(|text| text.parse::<i32>().ok());
        let is_pooled = backend != Some(self.0.announced.load(Ordering::Relaxed));
        self.0.kind.store(if is_pooled { POOLED } else { DIRECT }, Ordering::Release);
        is_pooled
    }

    /// Returns `true` behind a pooler.
    pub fn is_pooled(&self) -> bool {
        self.0.kind.load(Ordering::Acquire) == POOLED
    }

    /// Returns `true` once the server has offered TLS, so that a handshake was begun.
    pub fn is_tls_offered(&self) -> bool {
        self.0.tls.load(Ordering::Relaxed) != PLAIN
    }

    /// Returns `true` once the connection is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.0.tls.load(Ordering::Relaxed) == ENCRYPTED
    }

    pub(crate) fn record_plain(&self) {
        self.0.tls.store(PLAIN, Ordering::Relaxed);
    }

    pub(crate) fn record_offer(&self) {
        self.0.tls.store(OFFERED, Ordering::Relaxed);
    }

    pub(crate) fn record_encryption(&self) {
        self.0.tls.store(ENCRYPTED, Ordering::Relaxed);
    }

    /// Returns `true` before [`observe`](Self::observe).
    pub(crate) fn is_unknown(&self) -> bool {
        self.0.kind.load(Ordering::Acquire) == UNKNOWN
    }

    pub(crate) fn announce(&self, process: i32) {
        self.0.announced.store(process, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_of_unannounced_process_is_pooled() {
        let link = PoolerLink::default();
        link.announce(42);
        assert!(!link.observe(Some("42")) && !link.is_pooled());
        for other in [Some("43"), Some("none"), None] {
            assert!(link.observe(other) && link.is_pooled(), "{other:?}");
        }
    }
}
