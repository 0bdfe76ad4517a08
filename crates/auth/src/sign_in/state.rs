//! The state of a sign-in under way, which the browser keeps in a sealed cookie: no store has it, and every node with the
//! same secret can go on with it.

use std::fmt;

use ::hmac::{Hmac, KeyInit, Mac};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::rand::rand_bytes;
use openssl::symm::{Cipher, decrypt_aead, encrypt_aead};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::refusal::SignInRefusal;

/// The use of the derived key.
const KEY_LABEL: &[u8] = b"svc oauth2_login state cookie 1";
/// Bytes of a random text, a nonce of the cipher, and a tag of it.
const RANDOM_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// Longest cookie that is opened, in bytes.
const MAX_COOKIE: usize = 4096;

/// A sign-in under way.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingSignIn {
    /// The parameter `state` of the request of the provider.
    #[serde(rename = "s")]
    pub(super) state: String,
    /// The verifier of PKCE (RFC 7636).
    #[serde(rename = "v")]
    pub(super) verifier: Option<String>,
    /// The nonce of the id token.
    #[serde(rename = "n")]
    pub(super) nonce: String,
    /// The page to return to.
    #[serde(rename = "r")]
    pub(super) return_to: Option<String>,
    /// The name of the provider, if there are several.
    #[serde(rename = "p")]
    pub(super) provider: Option<String>,
    /// The second at which it ends, Unix time.
    #[serde(rename = "e")]
    pub(super) expires: i64,
}

/// Without its members, which are secrets.
impl fmt::Debug for PendingSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingSignIn")
    }
}

/// Seals the states of one channel.
pub(super) struct StateSealer {
    key: [u8; 32],
    /// Is authenticated with each state: the cookie of another channel is none of this one.
    channel: Vec<u8>,
}

impl StateSealer {
    /// Derives the key of a channel's cookies from a secret.
    pub(super) fn new(secret: &str, channel: &str) -> Option<Self> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
        mac.update(KEY_LABEL);
        Some(Self { key: mac.finalize().into_bytes().into(), channel: channel.as_bytes().to_vec() })
    }

    /// Returns the value of the cookie.
    pub(super) fn seal(&self, pending: &PendingSignIn) -> Result<String, SignInRefusal> {
        let text = serde_json::to_vec(pending).map_err(|_| SignInRefusal::Broken)?;
        let mut nonce = [0; NONCE_BYTES];
        rand_bytes(&mut nonce).map_err(|_| SignInRefusal::Broken)?;
        let mut tag = [0; TAG_BYTES];
        let sealed =
            encrypt_aead(Cipher::aes_256_gcm(), &self.key, Some(&nonce), &self.channel, &text, &mut tag)
                .map_err(|_| SignInRefusal::Broken)?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed[..], &tag[..]].concat()))
    }

    /// Returns the state in the value of a cookie.
    ///
    /// # Errors
    /// [`SignInRefusal::StateForged`] for a value that was not sealed for this channel, [`SignInRefusal::StateExpired`] for
    /// one that is too old at the Unix time `now`.
    pub(super) fn open(&self, cookie: &[u8], now: i64) -> Result<PendingSignIn, SignInRefusal> {
        let pending = self.unseal(cookie).ok_or(SignInRefusal::StateForged)?;
        if now >= pending.expires { Err(SignInRefusal::StateExpired) } else { Ok(pending) }
    }

    fn unseal(&self, cookie: &[u8]) -> Option<PendingSignIn> {
        if cookie.len() > MAX_COOKIE {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(cookie).ok()?;
        let (nonce, rest) = bytes.split_at_checked(NONCE_BYTES)?;
        let (sealed, tag) = rest.split_at_checked(rest.len().checked_sub(TAG_BYTES)?)?;
        let text =
            decrypt_aead(Cipher::aes_256_gcm(), &self.key, Some(nonce), &self.channel, sealed, tag).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// By the channel: the key is a secret.
impl fmt::Debug for StateSealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateSealer")
    }
}

/// Returns 32 random bytes as a text for URLs.
pub(super) fn random_text() -> Result<String, SignInRefusal> {
    let mut bytes = [0; RANDOM_BYTES];
    rand_bytes(&mut bytes).map_err(|_| SignInRefusal::Broken)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the challenge of a verifier (RFC 7636, section 4.2, S256).
pub(super) fn code_challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// Compares two texts in a time that depends on their lengths alone.
pub(super) fn is_equal(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn pending() -> PendingSignIn {
        PendingSignIn {
            state: "state".to_owned(),
            verifier: Some("verifier".to_owned()),
            nonce: "nonce".to_owned(),
            return_to: Some("https://shop.example/".to_owned()),
            provider: None,
            expires: 1000,
        }
    }

    #[test]
    fn state_is_opened_by_the_same_secret() {
        let cookie = StateSealer::new(SECRET, "login").unwrap().seal(&pending()).unwrap();
        let other_node = StateSealer::new(SECRET, "login").unwrap();
        assert_eq!(other_node.open(cookie.as_bytes(), 999), Ok(pending()));
        assert_eq!(other_node.open(cookie.as_bytes(), 1000), Err(SignInRefusal::StateExpired));
        assert!(!cookie.contains("verifier") && cookie.len() < 400, "{cookie}");
    }

    #[test]
    fn foreign_and_changed_states_are_refused() {
        let sealer = StateSealer::new(SECRET, "login").unwrap();
        let cookie = sealer.seal(&pending()).unwrap();
        let forged = Err(SignInRefusal::StateForged);
        let other_secret = StateSealer::new(&SECRET.replace('0', "1"), "login").unwrap();
        assert_eq!(other_secret.open(cookie.as_bytes(), 0), forged);
        assert_eq!(StateSealer::new(SECRET, "other").unwrap().open(cookie.as_bytes(), 0), forged);
        for at in 0..cookie.len() {
            let mut changed = cookie.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(sealer.open(&changed, 0), forged, "{at}");
        }
        for text in [&b""[..], b"AAAA", b"\xff", &[b'A'; 5000]] {
            assert_eq!(sealer.open(text, 0), forged);
        }
    }

    #[test]
    fn challenge_is_that_of_the_standard() {
        // The example of RFC 7636, appendix B.
        let challenge = code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn random_texts_differ() {
        let (one, other) = (random_text().unwrap(), random_text().unwrap());
        assert!(one.len() == 43 && one != other && !is_equal(&one, &other) && is_equal(&one, &one));
    }
}
