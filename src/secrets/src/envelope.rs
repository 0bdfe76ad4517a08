//! Secrets at rest: AES-256-GCM under a key that the envelope names.
//!
//! `enc:v2:{key id}:` and the base64 of nonce (12 bytes), ciphertext and tag (16 bytes). A key is known by its id, so it can be
//! replaced: the new one writes, the former ones still read. Table, row and column are authenticated with the ciphertext (the
//! additional data of the cipher): an envelope that was copied to another place is not opened.
//!
//! Two older forms are read, and are bound to no place: `enc:v1:{key id}:` and the base64, and `enc:v1:` and the base64, which
//! is opened by whichever key fits. Only the current form is written.

use std::fmt;

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload, Tag};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// First characters of an envelope that is bound to its place.
const PREFIX: &str = "enc:v2:";
/// First characters of an envelope of the older forms, which are bound to no place.
const UNBOUND_PREFIX: &str = "enc:v1:";
/// First part of the additional data; tells it from any other use of the key.
const DOMAIN: &str = "svc:envelope:v2";
/// Bytes of a key.
const KEY: usize = 32;
/// Bytes of a nonce.
pub const NONCE: usize = 12;
/// Bytes of an id of a key; twice as many characters.
const ID: usize = 8;

/// Why an envelope cannot be opened, or a key not used. Never names a key or a content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// A key is not 64 hexadecimal digits.
    #[error("an encryption key is 64 hexadecimal digits")]
    Key,
    /// The envelope names a key that is not among the configured ones.
    #[error("it is encrypted under the key {id}, which is not configured")]
    UnknownKey {
        /// The id of the key.
        id: String,
    },
    /// No configured key opens an envelope that names none.
    #[error("it is encrypted, and no configured key opens it")]
    NoKey,
    /// The envelope was changed or cut off, is none, or belongs to another row or column. The cipher does not tell which.
    #[error("it is encrypted, and was changed, damaged or copied from another row or field since")]
    Damaged,
    /// The content could not be encrypted.
    #[error("it cannot be encrypted")]
    Seal,
}

/// The column of a row that an envelope is kept in. The row is named by an id that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvelopePlace<'p> {
    /// Name of the table.
    pub table: &'static str,
    /// Id of the row.
    pub row: &'p str,
    /// Name of the column.
    pub column: &'static str,
}

impl EnvelopePlace<'_> {
    /// The additional data of the cipher; no two places have the same.
    fn associated_data(&self) -> Vec<u8> {
        let mut data = Vec::new();
        for part in [DOMAIN, self.table, self.row, self.column] {
            data.extend_from_slice(&(part.len() as u64).to_be_bytes());
            data.extend_from_slice(part.as_bytes());
        }
        data
    }
}

/// The keys of a service. Not printable.
#[derive(Clone, Default)]
pub struct EnvelopeKeys {
    /// The one that writes; where there is none, texts stay as they are.
    current: Option<Key>,
    /// Those that only read.
    previous: Vec<Key>,
}

#[derive(Clone)]
struct Key {
    id: String,
    cipher: Aes256Gcm,
}

impl Key {
    fn parse(text: &str) -> Result<Self, EnvelopeError> {
        let mut bytes = [0; KEY];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| EnvelopeError::Key)?;
        let digest = Sha256::new().chain_update("svc:connector-key-id:v1").chain_update(bytes).finalize();
        Ok(Self { id: hex::encode(&digest[..ID]), cipher: Aes256Gcm::new(&bytes.into()) })
    }

    fn open(&self, sealed: &[u8], associated_data: &[u8]) -> Option<String> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: sealed, aad: associated_data };
        let plain = self.cipher.decrypt(&Nonce::<Aes256Gcm>::from(*nonce), payload).ok()?;
        String::from_utf8(plain).ok()
    }
}

/// Whether a text is an envelope.
#[must_use]
pub fn is_sealed(text: &str) -> bool {
    text.starts_with(PREFIX) || text.starts_with(UNBOUND_PREFIX)
}

impl EnvelopeKeys {
    /// Keys of 64 hexadecimal digits each: the one that writes, if there is one, and those that only read.
    ///
    /// # Errors
    /// One of them is no key.
    pub fn new<'k>(
        current: Option<&str>,
        previous: impl IntoIterator<Item = &'k str>,
    ) -> Result<Self, EnvelopeError> {
        Ok(Self {
            current: current.map(Key::parse).transpose()?,
            previous: previous.into_iter().map(Key::parse).collect::<Result<_, _>>()?,
        })
    }

    /// Whether texts are encrypted.
    #[must_use]
    pub fn seals(&self) -> bool {
        self.current.is_some()
    }

    /// Whether a text is as [`seal`](Self::seal) would leave it now.
    #[must_use]
    pub fn is_current(&self, text: &str) -> bool {
        match &self.current {
            None => !is_sealed(text),
            Some(key) => {
                let named = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(key.id.as_str()));
                named.is_some_and(|rest| rest.starts_with(':'))
            }
        }
    }

    /// The text as it is kept: in an envelope bound to its place, where there is a key. No nonce may be used twice.
    ///
    /// # Errors
    /// The text is longer than the cipher takes.
    pub fn seal(
        &self,
        text: &str,
        place: EnvelopePlace<'_>,
        nonce: [u8; NONCE],
    ) -> Result<String, EnvelopeError> {
        let Some(key) = &self.current else { return Ok(text.to_owned()) };
        let payload = Payload { msg: text.as_bytes(), aad: &place.associated_data() };
        let sealed = key.cipher.encrypt(&Nonce::<Aes256Gcm>::from(nonce), payload);
        let sealed = sealed.map_err(|_| EnvelopeError::Seal)?;
        Ok(format!("{PREFIX}{}:{}", key.id, STANDARD.encode([&nonce[..], &sealed].concat())))
    }

    /// The text that was kept at a place. One that is in no envelope is returned as it is.
    ///
    /// # Errors
    /// No key fits, or the envelope is damaged or belongs to another place.
    pub fn open(&self, kept: &str, place: EnvelopePlace<'_>) -> Result<String, EnvelopeError> {
        if let Some(envelope) = kept.strip_prefix(PREFIX) {
            let (id, encoded) = envelope.split_once(':').ok_or(EnvelopeError::Damaged)?;
            return self.open_named(id, &sealed_bytes(encoded)?, &place.associated_data());
        }
        let Some(envelope) = kept.strip_prefix(UNBOUND_PREFIX) else { return Ok(kept.to_owned()) };
        match envelope.split_once(':') {
            Some((id, encoded)) => self.open_named(id, &sealed_bytes(encoded)?, &[]),
            None => {
                let sealed = sealed_bytes(envelope)?;
                self.keys().find_map(|key| key.open(&sealed, &[])).ok_or(EnvelopeError::NoKey)
            }
        }
    }

    fn open_named(&self, id: &str, sealed: &[u8], associated_data: &[u8]) -> Result<String, EnvelopeError> {
        match self.keys().find(|key| key.id == id) {
            Some(key) => key.open(sealed, associated_data).ok_or(EnvelopeError::Damaged),
            // The text in its place may be anything: it is shown only if it can be an id.
            None if id.len() == 2 * ID && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Err(EnvelopeError::UnknownKey { id: id.to_owned() })
            }
            None => Err(EnvelopeError::Damaged),
        }
    }

    fn keys(&self) -> impl Iterator<Item = &Key> {
        self.current.iter().chain(&self.previous)
    }
}

/// Nonce, ciphertext and tag of an envelope.
fn sealed_bytes(encoded: &str) -> Result<Vec<u8>, EnvelopeError> {
    let sealed = STANDARD.decode(encoded).map_err(|_| EnvelopeError::Damaged)?;
    let shortest = NONCE + size_of::<Tag<Aes256Gcm>>();
    if sealed.len() < shortest { Err(EnvelopeError::Damaged) } else { Ok(sealed) }
}

/// By the ids alone.
impl fmt::Debug for EnvelopeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = |keys: &[Key]| keys.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
        f.debug_struct("EnvelopeKeys")
            .field("current", &self.current.as_ref().map(|key| &key.id))
            .field("previous", &ids(&self.previous))
            .finish()
    }
}

#[cfg(test)]
mod tests;
