//! Keys that verify signatures, each bound to one algorithm.
//!
//! The binding keeps a token from choosing how it is verified: a public key is never used as a shared secret,
//! nor a key of one curve for another. Keys are parsed and validated once, here; verifying a signature parses
//! nothing.

use std::fmt;
use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use josekit::jws::{self, JwsVerifier};
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use openssl::rsa::Rsa;
use sha2::{Sha256, Sha384, Sha512};
use svc_model::config::auth::{JwtAlgorithm, KeyEncoding};

/// Accepted sizes of an RSA modulus, in bits: the minimum of RFC 7518, section 3.3, and a limit for the cost
/// of a verification.
const RSA_BITS: RangeInclusive<i32> = 2048..=8192;
/// Maximum public exponent, in bits. Common keys have 17; a large exponent makes a verification as expensive
/// as a signature.
const MAX_EXPONENT_BITS: i32 = 64;

/// Standard base64 with optional padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An error in a key. The message does not contain the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is not in the declared encoding.
    #[error("this is not {0}")]
    Encoding(&'static str),
    /// The key is shorter than its algorithm requires.
    #[error("{} needs a key of at least {least} bytes", .algorithm.name())]
    Short {
        algorithm: JwtAlgorithm,
        /// Minimum length, in bytes.
        least: usize,
    },
    /// A public key instead of a shared secret.
    #[error("{} needs a shared secret, and this is a key in PEM", .0.name())]
    NotSecret(JwtAlgorithm),
    /// A private key instead of its public part.
    #[error("this is a private key, and only its public part belongs here")]
    Private,
    /// The text is not a public key in PEM.
    #[error("{} needs a public key in PEM", .0.name())]
    NotPem(JwtAlgorithm),
    /// The text is not a private key in PEM, or the key is encrypted or unreadable.
    #[error("{} needs a private key in PEM that is not encrypted", .0.name())]
    NotPrivatePem(JwtAlgorithm),
    /// The PEM has more than one object, which is ambiguous.
    #[error("this PEM holds more than one key")]
    Several,
    /// The PEM contains no readable key.
    #[error("this PEM holds no public key that can be read")]
    Unreadable,
    /// The key belongs to another family or curve.
    #[error("{} needs {}", .0.name(), need(*.0))]
    Mismatch(JwtAlgorithm),
    /// The RSA key is too weak or too large.
    #[error("an RSA key needs a modulus of 2048 to 8192 bits and an odd exponent of 3 to 64 bits")]
    RsaSize,
}

/// Returns the kind of key that an algorithm needs.
fn need(algorithm: JwtAlgorithm) -> &'static str {
    use JwtAlgorithm as A;
    match algorithm {
        A::Hs256 | A::Hs384 | A::Hs512 => "a shared secret",
        A::Rs256 | A::Rs384 | A::Rs512 | A::Ps256 | A::Ps384 | A::Ps512 => "an RSA key",
        A::Es256 => "a key on the curve P-256",
        A::Es384 => "a key on the curve P-384",
        A::EdDsa => "an Ed25519 key",
    }
}

/// A key that verifies signatures of one algorithm. Shared by all threads; `Debug` shows only the algorithm.
pub struct VerifyingKey {
    algorithm: JwtAlgorithm,
    verifier: Verifier,
}

enum Verifier {
    // Not verified with josekit, whose comparison of tags is not constant-time.
    Hs256(Hmac<Sha256>),
    Hs384(Hmac<Sha384>),
    Hs512(Hmac<Sha512>),
    Public(Box<dyn JwsVerifier>),
}

impl VerifyingKey {
    /// Parses a key in the form of a config: a shared secret for HMAC, otherwise a public key in PEM (`PUBLIC
    /// KEY`, for RSA also `RSA PUBLIC KEY`). `encoding` applies to a shared secret.
    ///
    /// # Errors
    /// A [`KeyError`] if the text is not a key of the algorithm's family, or is too weak.
    pub fn from_text(algorithm: JwtAlgorithm, encoding: KeyEncoding, text: &str) -> Result<Self, KeyError> {
        let Some(least) = algorithm.min_key_bytes() else {
            return Self::from_public(algorithm, &public_from_pem(algorithm, text)?);
        };
        let secret = shared_secret(algorithm, least, encoding, text)?;
        let verifier = match algorithm {
            JwtAlgorithm::Hs256 => Hmac::new_from_slice(&secret).map(Verifier::Hs256),
            JwtAlgorithm::Hs384 => Hmac::new_from_slice(&secret).map(Verifier::Hs384),
            _ => Hmac::new_from_slice(&secret).map(Verifier::Hs512),
        };
        let verifier = verifier.map_err(|_| KeyError::Short { algorithm, least })?;
        Ok(Self { algorithm, verifier })
    }

    /// Binds a public key to an algorithm.
    ///
    /// # Errors
    /// A [`KeyError`] for a key of another family or curve, or an RSA key with an unaccepted size.
    pub(super) fn from_public(algorithm: JwtAlgorithm, key: &PKey<Public>) -> Result<Self, KeyError> {
        use JwtAlgorithm as A;
        check_public(algorithm, key)?;
        let der = key.public_key_to_der().map_err(|_| KeyError::Unreadable)?;
        let verifier: Result<Box<dyn JwsVerifier>, _> = match algorithm {
            A::Rs256 => jws::RS256.verifier_from_der(&der).map(boxed),
            A::Rs384 => jws::RS384.verifier_from_der(&der).map(boxed),
            A::Rs512 => jws::RS512.verifier_from_der(&der).map(boxed),
            A::Ps256 => jws::PS256.verifier_from_der(&der).map(boxed),
            A::Ps384 => jws::PS384.verifier_from_der(&der).map(boxed),
            A::Ps512 => jws::PS512.verifier_from_der(&der).map(boxed),
            A::Es256 => jws::ES256.verifier_from_der(&der).map(boxed),
            A::Es384 => jws::ES384.verifier_from_der(&der).map(boxed),
            _ => jws::EdDSA.verifier_from_der(&der).map(boxed),
        };
        // The only remaining cause is an RSA-PSS key with parameters for another hash.
        let verifier = verifier.map_err(|_| KeyError::Mismatch(algorithm))?;
        Ok(Self { algorithm, verifier: Verifier::Public(verifier) })
    }

    /// Returns the algorithm of the key.
    pub fn algorithm(&self) -> JwtAlgorithm {
        self.algorithm
    }

    /// Returns true if a JWS signature of the message is valid under this key.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.verifier {
            Verifier::Hs256(mac) => mac.clone().chain_update(message).verify_slice(signature).is_ok(),
            Verifier::Hs384(mac) => mac.clone().chain_update(message).verify_slice(signature).is_ok(),
            Verifier::Hs512(mac) => mac.clone().chain_update(message).verify_slice(signature).is_ok(),
            Verifier::Public(verifier) => verifier.verify(message, signature).is_ok(),
        }
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyingKey").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

/// Checks that a key has the family and curve of an algorithm, and that an RSA key has an accepted size.
pub(super) fn check_public(algorithm: JwtAlgorithm, key: &PKey<Public>) -> Result<(), KeyError> {
    use JwtAlgorithm as A;
    let fits = match algorithm {
        A::Hs256 | A::Hs384 | A::Hs512 => false,
        A::Rs256 | A::Rs384 | A::Rs512 => key.id() == Id::RSA,
        A::Ps256 | A::Ps384 | A::Ps512 => key.id() == Id::RSA || key.id() == Id::RSA_PSS,
        A::Es256 => is_on(Nid::X9_62_PRIME256V1, key),
        A::Es384 => is_on(Nid::SECP384R1, key),
        A::EdDsa => key.id() == Id::ED25519,
    };
    if !fits {
        return Err(KeyError::Mismatch(algorithm));
    }
    if matches!(key.id(), Id::RSA | Id::RSA_PSS) {
        let rsa = key.rsa().map_err(|_| KeyError::Unreadable)?;
        let is_accepted = RSA_BITS.contains(&rsa.n().num_bits())
            && (2..=MAX_EXPONENT_BITS).contains(&rsa.e().num_bits())
            && rsa.e().is_bit_set(0);
        if !is_accepted {
            return Err(KeyError::RsaSize);
        }
    }
    Ok(())
}

/// Decodes a shared secret and checks that it has at least `least` bytes.
pub(super) fn shared_secret(
    algorithm: JwtAlgorithm,
    least: usize,
    encoding: KeyEncoding,
    text: &str,
) -> Result<Vec<u8>, KeyError> {
    let secret = match encoding {
        KeyEncoding::Utf8 if text.trim_start().starts_with("-----BEGIN ") => {
            return Err(KeyError::NotSecret(algorithm));
        }
        KeyEncoding::Utf8 => text.as_bytes().to_vec(),
        KeyEncoding::Base64 => BASE64.decode(text.trim()).map_err(|_| KeyError::Encoding("base64"))?,
        KeyEncoding::Hex => hex::decode(text.trim()).map_err(|_| KeyError::Encoding("hexadecimal"))?,
    };
    if secret.len() < least { Err(KeyError::Short { algorithm, least }) } else { Ok(secret) }
}

fn boxed(verifier: impl JwsVerifier + 'static) -> Box<dyn JwsVerifier> {
    Box::new(verifier)
}

fn is_on(curve: Nid, key: &PKey<Public>) -> bool {
    key.ec_key().is_ok_and(|key| key.group().curve_name() == Some(curve))
}

fn public_from_pem(algorithm: JwtAlgorithm, text: &str) -> Result<PKey<Public>, KeyError> {
    let text = text.trim();
    if text.contains("PRIVATE KEY-----") {
        return Err(KeyError::Private);
    }
    if text.matches("-----BEGIN ").count() > 1 {
        return Err(KeyError::Several);
    }
    let key = if text.starts_with("-----BEGIN PUBLIC KEY-----") {
        PKey::public_key_from_pem(text.as_bytes())
    } else if text.starts_with("-----BEGIN RSA PUBLIC KEY-----") {
        Rsa::public_key_from_pem_pkcs1(text.as_bytes()).and_then(PKey::from_rsa)
    } else {
        return Err(KeyError::NotPem(algorithm));
    };
    key.map_err(|_| KeyError::Unreadable)
}
