//! Secrets at rest: AES-256-GCM under a key that the envelope names.
//!
//! `enc:v1:{key id}:` and the base64 of nonce (12 bytes), ciphertext and tag (16 bytes). A key is known by its id, so it can be
//! replaced: the new one writes, the former ones still read. An envelope without an id, `enc:v1:` and the base64, is read
//! too, by whichever key fits.

use std::fmt;

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, KeyInit, Nonce, Tag};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// What an envelope begins with.
const PREFIX: &str = "enc:v1:";
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
    /// The envelope was changed or cut off, or is none.
    #[error("it is encrypted, and was changed or damaged since")]
    Damaged,
    /// The content could not be encrypted.
    #[error("it cannot be encrypted")]
    Seal,
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

    fn open(&self, sealed: &[u8]) -> Option<String> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let plain = self.cipher.decrypt(&Nonce::<Aes256Gcm>::from(*nonce), sealed).ok()?;
        String::from_utf8(plain).ok()
    }
}

/// Whether a text is an envelope.
#[must_use]
pub fn is_sealed(text: &str) -> bool {
    text.starts_with(PREFIX)
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

    /// The text as it is kept: in an envelope, where there is a key. No nonce may be used twice.
    ///
    /// # Errors
    /// The text is longer than the cipher takes.
    pub fn seal(&self, text: &str, nonce: [u8; NONCE]) -> Result<String, EnvelopeError> {
        let Some(key) = &self.current else { return Ok(text.to_owned()) };
        let sealed = key.cipher.encrypt(&Nonce::<Aes256Gcm>::from(nonce), text.as_bytes());
        let sealed = sealed.map_err(|_| EnvelopeError::Seal)?;
        Ok(format!("{PREFIX}{}:{}", key.id, STANDARD.encode([&nonce[..], &sealed].concat())))
    }

    /// The text that was kept. One that is in no envelope is returned as it is.
    ///
    /// # Errors
    /// No key fits, or the envelope is damaged.
    pub fn open(&self, kept: &str) -> Result<String, EnvelopeError> {
        let Some(envelope) = kept.strip_prefix(PREFIX) else { return Ok(kept.to_owned()) };
        let (id, encoded) = match envelope.split_once(':') {
            Some((id, encoded)) => (Some(id), encoded),
            None => (None, envelope),
        };
        let sealed = STANDARD.decode(encoded).map_err(|_| EnvelopeError::Damaged)?;
        if sealed.len() < NONCE + size_of::<Tag<Aes256Gcm>>() {
            return Err(EnvelopeError::Damaged);
        }
        let mut keys = self.current.iter().chain(&self.previous);
        match id {
            None => keys.find_map(|key| key.open(&sealed)).ok_or(EnvelopeError::NoKey),
            Some(id) => match keys.find(|key| key.id == id) {
                Some(key) => key.open(&sealed).ok_or(EnvelopeError::Damaged),
                // What stands there may be anything: it is shown only if it can be an id.
                None if id.len() == 2 * ID && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                    Err(EnvelopeError::UnknownKey { id: id.to_owned() })
                }
                None => Err(EnvelopeError::Damaged),
            },
        }
    }
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
mod tests {
    use super::*;

    const ONE: &str = "0101010101010101010101010101010101010101010101010101010101010101";
    const TWO: &str = "0202020202020202020202020202020202020202020202020202020202020202";

    fn keys(current: Option<&str>, previous: &[&str]) -> EnvelopeKeys {
        EnvelopeKeys::new(current, previous.iter().copied()).unwrap()
    }

    #[test]
    fn what_is_sealed_is_opened_by_its_key_alone() {
        let one = keys(Some(ONE), &[]);
        let kept = one.seal("swordfish \u{1F980}", [7; NONCE]).unwrap();
        assert!(is_sealed(&kept) && one.is_current(&kept) && !kept.contains("swordfish"));
        assert_eq!(one.open(&kept).unwrap(), "swordfish \u{1F980}");
        assert_eq!(keys(Some(TWO), &[ONE]).open(&kept).unwrap(), "swordfish \u{1F980}");
        assert!(!keys(Some(TWO), &[ONE]).is_current(&kept));
        assert_eq!(keys(None, &[ONE]).open(&kept).unwrap(), "swordfish \u{1F980}");
        for wrong in [keys(Some(TWO), &[]), keys(None, &[])] {
            let error = wrong.open(&kept).unwrap_err();
            assert!(matches!(&error, EnvelopeError::UnknownKey { id } if kept.contains(id)), "{error}");
        }
    }

    #[test]
    fn an_envelope_without_a_key_id_is_opened_by_the_key_that_fits() {
        let kept = keys(Some(ONE), &[]).seal("text", [1; NONCE]).unwrap();
        let (_, encoded) = kept.rsplit_once(':').unwrap();
        let bare = format!("{PREFIX}{encoded}");
        assert_eq!(keys(Some(TWO), &[ONE]).open(&bare).unwrap(), "text");
        assert_eq!(keys(Some(TWO), &[]).open(&bare), Err(EnvelopeError::NoKey));
        assert!(!keys(Some(ONE), &[]).is_current(&bare));
    }

    #[test]
    fn plain_text_is_read_with_and_without_keys_and_stays_plain_without() {
        for keys in [keys(None, &[]), keys(Some(ONE), &[TWO])] {
            assert_eq!(keys.open(r#"{"a": 1}"#).unwrap(), r#"{"a": 1}"#);
        }
        assert_eq!(keys(None, &[ONE]).seal("text", [0; NONCE]).unwrap(), "text");
        assert!(keys(None, &[]).is_current("text") && !keys(Some(ONE), &[]).is_current("text"));
    }

    #[test]
    fn every_changed_byte_of_an_envelope_is_noticed() {
        let one = keys(Some(ONE), &[]);
        let kept = one.seal("text", [3; NONCE]).unwrap();
        let (head, encoded) = kept.rsplit_once(':').unwrap();
        let sealed = STANDARD.decode(encoded).unwrap();
        for index in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[index] ^= 1;
            let changed = format!("{head}:{}", STANDARD.encode(changed));
            assert_eq!(one.open(&changed), Err(EnvelopeError::Damaged), "byte {index}");
        }
        for broken in ["enc:v1:", "enc:v1:!", "enc:v1:x:", "enc:v1:x:AAAA", "enc:v1:AAAA"] {
            assert_eq!(one.open(broken), Err(EnvelopeError::Damaged), "{broken}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_and_no_key_is_printed() {
        for text in ["", "01", &ONE[1..], &format!("{ONE}0"), &ONE.replace('0', "g")] {
            assert_eq!(EnvelopeKeys::new(Some(text), []).err(), Some(EnvelopeError::Key), "{text}");
        }
        assert!(!format!("{:?}", keys(Some(ONE), &[TWO])).contains("0101"));
    }
}
