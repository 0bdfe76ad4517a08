//! The idempotency key of a message.

use svc_model::key_part;

use super::shared_keys;
use crate::digest::{self, Digest, DigestBuilder};

/// An idempotency key: the text that its sender or an expression chose, and the principal that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IdempotencyKey {
    /// At most 256 bytes.
    text: String,
    /// Digest of the principal; `None` for a key that all callers of the channel share.
    principal: Option<Digest>,
}

impl IdempotencyKey {
    /// Creates a key of a principal. A long text counts by its digest.
    pub(super) fn new(text: &str, principal: Option<Digest>) -> Self {
        Self { text: shared_keys::limit_key_length(text), principal }
    }

    /// Creates a key that all senders share of bytes that need not be text.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::new(text, None),
            Err(_) => Self { text: shared_keys::digest_key(bytes), principal: None },
        }
    }

    /// Returns the text, as it is shown to the sender.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name under which a store keeps the claim of the key. No channel has an empty name, so that the name of a
    /// principal's key is none of a shared key.
    pub(super) fn store_name(&self, channel: &str) -> String {
        let (channel, text) = (key_part(channel), &self.text);
        match self.principal {
            None => format!("dedup:{channel}:{text}"),
            Some(principal) => format!("dedup::{channel}:{}:{text}", digest::hex(principal)),
        }
    }

    /// Returns the key of a run of the message: a repeat has the same, nothing else has.
    pub(super) fn run_key(&self, channel: &str) -> String {
        let mut hash = DigestBuilder::default();
        hash.text(channel);
        if let Some(principal) = self.principal {
            hash.bytes(&principal);
        }
        hash.text(&self.text);
        digest::hex(hash.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_differ_by_channel_and_principal() {
        let principal = digest::digest_bytes(b"tenant");
        let own = IdempotencyKey::new("order-1", Some(principal));
        let claimed = format!("{}:order-1", digest::hex(principal));
        let keys = [
            ("pay:eu", IdempotencyKey::new("order-1", None)),
            ("pay", IdempotencyKey::new("eu:order-1", None)),
            ("pay", own.clone()),
            ("pay", IdempotencyKey::new(&claimed, None)),
            ("pay", IdempotencyKey::new("order-1", None)),
            ("pay", IdempotencyKey::new("order-1", Some(digest::digest_bytes(b"other")))),
        ];
        for (n, (channel, key)) in keys.iter().enumerate() {
            for (other_channel, other) in &keys[..n] {
                assert_ne!(key.store_name(channel), other.store_name(other_channel));
                assert_ne!(key.run_key(channel), other.run_key(other_channel));
            }
        }
        assert_eq!(own.run_key("pay"), own.clone().run_key("pay"));
    }

    #[test]
    fn long_text_is_keyed_by_its_digest() {
        let long = "x".repeat(100_000);
        let key = IdempotencyKey::new(&long, None);
        assert!(key.store_name("orders").len() < 100, "{key:?}");
        let literal = key.text().to_owned();
        assert_ne!(IdempotencyKey::new(&literal, None), key, "a sender may spell the digest");
        let binary = IdempotencyKey::from_bytes(&[0xff, 0xfe]);
        assert_ne!(IdempotencyKey::new(binary.text(), None), binary);
        assert_eq!(IdempotencyKey::from_bytes(b"a"), IdempotencyKey::new("a", None));
        let null = IdempotencyKey::new("a\0", None);
        assert!(!null.store_name("orders").contains('\0') && null != IdempotencyKey::new("a", None));
    }
}
