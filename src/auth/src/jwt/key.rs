//! Keys that verify signatures, each bound to one algorithm; what every key must be.
//!
//! The bond is what keeps a token from choosing how it is checked: a public key never serves as a shared secret, nor a key
//! of one curve for another. Everything is parsed and checked once, here; verifying parses nothing.

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

/// Sizes of a usable RSA modulus, in bits (RFC 7518, section 3.3, and an end to the cost of a verification).
const RSA_BITS: RangeInclusive<i32> = 2048..=8192;
/// Longest public exponent, in bits. Real ones have 17; a long one makes a verification as dear as a signature.
const MAX_EXPONENT_BITS: i32 = 64;

/// Standard base64, padding optional.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a text is no usable key. Says what is wrong, never what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not in the declared encoding.
    #[error("this is not {0}")]
    Encoding(&'static str),
    /// Shorter than its algorithm needs.
    #[error("{} needs a key of at least {least} bytes", .algorithm.name())]
    Short {
        /// The algorithm.
        algorithm: JwtAlgorithm,
        /// Fewest bytes.
        least: usize,
    },
    /// Where a shared secret belongs, a public key anyone may know.
    #[error("{} needs a shared secret, and this is a key in PEM", .0.name())]
    NotSecret(JwtAlgorithm),
    /// A private key where only its public part belongs.
    #[error("this is a private key, and only its public part belongs here")]
    Private,
    /// No public key in PEM.
    #[error("{} needs a public key in PEM", .0.name())]
    NotPem(JwtAlgorithm),
    /// No private key in PEM, an encrypted one, or one that cannot be read.
    #[error("{} needs a private key in PEM that is not encrypted", .0.name())]
    NotPrivatePem(JwtAlgorithm),
    /// PEM of more than one thing: which of them is meant is not ours to say.
    #[error("this PEM holds more than one key")]
    Several,
    /// PEM that holds no readable key.
    #[error("this PEM holds no public key that can be read")]
    Unreadable,
    /// A key of another family or curve.
    #[error("{} needs {}", .0.name(), need(*.0))]
    Mismatch(JwtAlgorithm),
    /// An RSA key that is too weak or too large.
    #[error("an RSA key needs a modulus of 2048 to 8192 bits and an odd exponent of 3 to 64 bits")]
    RsaSize,
}

/// The kind of key an algorithm needs.
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

/// A key that verifies signatures of one algorithm. Shared by all threads; `Debug` shows the algorithm alone.
pub struct VerifyingKey {
    algorithm: JwtAlgorithm,
    verifier: Verifier,
}

enum Verifier {
    // Not through josekit, whose comparison takes the longer the more of a tag is right.
    Hs256(Hmac<Sha256>),
    Hs384(Hmac<Sha384>),
    Hs512(Hmac<Sha512>),
    Public(Box<dyn JwsVerifier>),
}

impl VerifyingKey {
    /// Reads a key as an author writes it: a shared secret for HS, else a public key in PEM (`PUBLIC KEY`, for RSA
    /// also `RSA PUBLIC KEY`). `encoding` is that of a shared secret.
    ///
    /// # Errors
    /// The text is no key of the algorithm's family, or too weak a one.
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

    /// Binds a public key to an algorithm of its family.
    ///
    /// # Errors
    /// Another family or curve, or an RSA key of a size that is not accepted.
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
        // What is left to go wrong is an RSA-PSS key whose own parameters name another hash.
        let verifier = verifier.map_err(|_| KeyError::Mismatch(algorithm))?;
        Ok(Self { algorithm, verifier: Verifier::Public(verifier) })
    }

    /// The algorithm it is bound to.
    pub fn algorithm(&self) -> JwtAlgorithm {
        self.algorithm
    }

    /// Whether a signature in the form of a JWS is this key's over a message.
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

/// Whether a key is of an algorithm's family and curve, and an RSA key of an acceptable size.
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

/// The bytes of a shared secret, at least `least` of them.
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
