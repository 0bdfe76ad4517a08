//! Keys that sign tokens, each bound to one algorithm.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use josekit::jws::{self, JwsSigner};
use openssl::pkey::{PKey, Private};
use serde_json::{Map, Value, json};
use sha2::{Sha256, Sha384, Sha512};
use svc_model::config::auth::{JwtAlgorithm, KeyEncoding};

use super::key::{KeyError, check_public, shared_secret};

/// PEM headers of private keys: PKCS#8, PKCS#1, SEC1.
const PRIVATE: [&str; 3] =
    ["-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----"];

/// The error of a failed signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the token could not be signed")]
pub struct SignError;

/// A key that signs tokens with one algorithm. Shared by all threads; `Debug` shows only the algorithm.
pub struct SigningKey {
    algorithm: JwtAlgorithm,
    signer: Signer,
}

enum Signer {
    Hs256(Hmac<Sha256>),
    Hs384(Hmac<Sha384>),
    Hs512(Hmac<Sha512>),
    Private(Box<dyn JwsSigner>),
}

impl SigningKey {
    /// Parses a key in the form of a config: a shared secret for HMAC, otherwise an unencrypted private key
    /// in PEM (PKCS#8, or PKCS#1 or SEC1 by family). `encoding` applies to a shared secret.
    ///
    /// # Errors
    /// A [`KeyError`] if the text is not a key of the algorithm's family, or is too weak.
    pub fn from_text(algorithm: JwtAlgorithm, encoding: KeyEncoding, text: &str) -> Result<Self, KeyError> {
        let signer = match algorithm.min_key_bytes() {
            None => Signer::Private(private_signer(algorithm, text)?),
            Some(least) => {
                let secret = shared_secret(algorithm, least, encoding, text)?;
                let signer = match algorithm {
                    JwtAlgorithm::Hs256 => Hmac::new_from_slice(&secret).map(Signer::Hs256),
                    JwtAlgorithm::Hs384 => Hmac::new_from_slice(&secret).map(Signer::Hs384),
                    _ => Hmac::new_from_slice(&secret).map(Signer::Hs512),
                };
                signer.map_err(|_| KeyError::Short { algorithm, least })?
            }
        };
        Ok(Self { algorithm, signer })
    }

    /// Signs claims as a compact JWS (RFC 7515, section 7.1). The header has the algorithm, the type `JWT`
    /// and the key id, if any.
    ///
    /// # Errors
    /// [`SignError`] if the cryptographic library fails.
    pub fn token(&self, kid: Option<&str>, claims: &Map<String, Value>) -> Result<String, SignError> {
        let mut header = json!({"alg": self.algorithm.name(), "typ": "JWT"});
        if let Some(kid) = kid {
            header["kid"] = kid.into();
        }
        let claims = serde_json::to_vec(claims).map_err(|_| SignError)?;
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims, &mut token);
        let signature = self.sign(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        Ok(match &self.signer {
            Signer::Hs256(mac) => mac.clone().chain_update(message).finalize().into_bytes().to_vec(),
            Signer::Hs384(mac) => mac.clone().chain_update(message).finalize().into_bytes().to_vec(),
            Signer::Hs512(mac) => mac.clone().chain_update(message).finalize().into_bytes().to_vec(),
            Signer::Private(signer) => signer.sign(message).map_err(|_| SignError)?,
        })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

fn private_signer(algorithm: JwtAlgorithm, text: &str) -> Result<Box<dyn JwsSigner>, KeyError> {
    use JwtAlgorithm as A;
    let key = private_from_pem(algorithm, text)?;
    let public = key.public_key_to_der().and_then(|der| PKey::public_key_from_der(&der));
    check_public(algorithm, &public.map_err(|_| KeyError::NotPrivatePem(algorithm))?)?;
    let der = key.private_key_to_pkcs8().map_err(|_| KeyError::NotPrivatePem(algorithm))?;
    let signer = match algorithm {
        A::Rs256 => jws::RS256.signer_from_der(&der).map(boxed),
        A::Rs384 => jws::RS384.signer_from_der(&der).map(boxed),
        A::Rs512 => jws::RS512.signer_from_der(&der).map(boxed),
        A::Ps256 => jws::PS256.signer_from_der(&der).map(boxed),
        A::Ps384 => jws::PS384.signer_from_der(&der).map(boxed),
        A::Ps512 => jws::PS512.signer_from_der(&der).map(boxed),
        A::Es256 => jws::ES256.signer_from_der(&der).map(boxed),
        A::Es384 => jws::ES384.signer_from_der(&der).map(boxed),
        _ => jws::EdDSA.signer_from_der(&der).map(boxed),
    };
    // The only remaining cause is an RSA-PSS key with parameters for another hash.
    signer.map_err(|_| KeyError::Mismatch(algorithm))
}

fn boxed(signer: impl JwsSigner + 'static) -> Box<dyn JwsSigner> {
    Box::new(signer)
}

fn private_from_pem(algorithm: JwtAlgorithm, text: &str) -> Result<PKey<Private>, KeyError> {
    // EC parameters may precede the key.
    match PRIVATE.iter().map(|header| text.matches(header).count()).sum() {
        0 => return Err(KeyError::NotPrivatePem(algorithm)),
        1 => {}
        _ => return Err(KeyError::Several),
    }
    // Without this callback, OpenSSL would prompt on the terminal for the passphrase of an encrypted key.
    PKey::private_key_from_pem_callback(text.as_bytes(), |_| Ok(0))
        .map_err(|_| KeyError::NotPrivatePem(algorithm))
}
