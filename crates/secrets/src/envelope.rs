//! Envelopes: encryption of secrets at rest with AES-256-GCM.
//!
//! The format is `enc:v2:{key id}:` followed by the base64 of nonce (12 bytes), ciphertext and tag (16
//! bytes). The key id makes key rotation possible: the current key encrypts, previous keys only decrypt. The
//! additional authenticated data are table, row and column, so an envelope that was copied to another place
//! cannot be decrypted.
//!
//! Two older formats are still decrypted; they are not bound to a place. `enc:v1:{key id}:` with base64 names
//! its key; `enc:v1:` with base64 is decrypted by trying every key. Only the current format is written.

use std::fmt;

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload, Tag};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Prefix of the current format, which is bound to its place.
const PREFIX: &str = "enc:v2:";
/// Prefix of the older formats, which are not bound to a place.
const UNBOUND_PREFIX: &str = "enc:v1:";
/// First part of the additional data; separates this use of the key from any other.
const DOMAIN: &str = "svc:envelope:v2";
/// Length of a key, in bytes.
const KEY: usize = 32;
/// Length of a nonce, in bytes.
pub const NONCE: usize = 12;
/// Length of a key id, in bytes; its text form has two characters for each.
const ID: usize = 8;

/// An error of decrypting an envelope or of a key. Contains no key material and no content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// A key is not 64 hexadecimal digits.
    #[error("an encryption key is 64 hexadecimal digits")]
    Key,
    /// The envelope names a key that is not configured.
    #[error("it is encrypted under the key {id}, which is not configured")]
    UnknownKey {
        /// The id of the key.
        id: String,
    },
    /// The envelope names no key, and no configured key decrypts it.
    #[error("it is encrypted, and no configured key opens it")]
    NoKey,
    /// The envelope was modified or truncated, is malformed, or belongs to another row or column. The cipher
    /// does not distinguish these.
    #[error("it is encrypted, and was changed, damaged or copied from another row or field since")]
    Damaged,
    /// The encryption failed.
    #[error("it cannot be encrypted")]
    Seal,
}

/// The place of an envelope: a column of a row. The id of the row must never change.
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
    /// Returns the additional data of the cipher, which are different for every place.
    fn associated_data(&self) -> Vec<u8> {
        let mut data = Vec::new();
        for part in [DOMAIN, self.table, self.row, self.column] {
            data.extend_from_slice(&(part.len() as u64).to_be_bytes());
            data.extend_from_slice(part.as_bytes());
        }
        data
    }
}

/// The encryption keys of a service. They cannot be printed.
#[derive(Clone, Default)]
pub struct EnvelopeKeys {
    /// The key that encrypts. Without one, texts are stored in plain.
    current: Option<Key>,
    /// The keys that only decrypt.
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

/// Returns true if the text is an envelope.
#[must_use]
pub fn is_sealed(text: &str) -> bool {
    text.starts_with(PREFIX) || text.starts_with(UNBOUND_PREFIX)
}

impl EnvelopeKeys {
    /// Parses keys of 64 hexadecimal digits each: the optional current key, and the keys that only decrypt.
    ///
    /// # Errors
    /// [`EnvelopeError::Key`] if one of them is malformed.
    pub fn new<'k>(
        current: Option<&str>,
        previous: impl IntoIterator<Item = &'k str>,
    ) -> Result<Self, EnvelopeError> {
        Ok(Self {
            current: current.map(Key::parse).transpose()?,
            previous: previous.into_iter().map(Key::parse).collect::<Result<_, _>>()?,
        })
    }

    /// Returns true if [`seal`](Self::seal) encrypts.
    #[must_use]
    pub fn seals(&self) -> bool {
        self.current.is_some()
    }

    /// Returns the id of the key that encrypts.
    #[must_use]
    pub fn current_id(&self) -> Option<&str> {
        self.current.as_ref().map(|key| key.id.as_str())
    }

    /// Returns the ids of the keys that decrypt, the one that encrypts first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.keys().map(|key| key.id.as_str())
    }

    /// Returns true if the text has the form that [`seal`](Self::seal) would produce now.
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

    /// Encrypts a text to an envelope bound to its place. Without a current key, returns the text as it is.
    /// The caller must not use a nonce twice.
    ///
    /// # Errors
    /// [`EnvelopeError::Seal`] if the text is longer than the cipher permits.
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

    /// Decrypts the text stored at a place. A text that is not an envelope is returned as it is.
    ///
    /// # Errors
    /// [`EnvelopeError::UnknownKey`] or [`EnvelopeError::NoKey`] without a matching key;
    /// [`EnvelopeError::Damaged`] if the envelope was modified or belongs to another place.
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
            // The text may be anything, so it is shown only if it has the form of a key id.
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

/// Decodes nonce, ciphertext and tag of an envelope.
fn sealed_bytes(encoded: &str) -> Result<Vec<u8>, EnvelopeError> {
    let sealed = STANDARD.decode(encoded).map_err(|_| EnvelopeError::Damaged)?;
    let shortest = NONCE + size_of::<Tag<Aes256Gcm>>();
    if sealed.len() < shortest { Err(EnvelopeError::Damaged) } else { Ok(sealed) }
}

/// Shows only the key ids.
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
