//! A test issuer that signs anything, independent of the code under test.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::rsa::{Padding, Rsa};
use openssl::sign::{RsaPssSaltlen, Signer};
use serde_json::{Value, json};
use svc_model::config::auth::{JwtAlgorithm, JwtKey};

use super::{NOW, key};

/// An RSA key that tests share, because generating one is slow.
static RSA: LazyLock<PKey<Private>> = LazyLock::new(|| rsa(2048));

pub(super) fn rsa(bits: u32) -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap()
}

pub(super) fn ec(curve: Nid) -> PKey<Private> {
    let group = EcGroup::from_curve_name(curve).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

pub(super) fn pem(key: &PKey<Private>) -> String {
    String::from_utf8(key.public_key_to_pem().unwrap()).unwrap()
}

pub(super) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(super) struct Issuer {
    pub(super) algorithm: JwtAlgorithm,
    pub(super) private: PKey<Private>,
    /// The key as it is written in a config.
    pub(super) text: String,
}

impl Issuer {
    /// Returns the standard issuer of an algorithm.
    pub(super) fn new(algorithm: JwtAlgorithm) -> Self {
        use JwtAlgorithm as A;
        match algorithm {
            A::Hs256 | A::Hs384 | A::Hs512 => Self::with_secret(algorithm, &"shared secret, ".repeat(5)),
            A::Es256 => Self::with_key(algorithm, ec(Nid::X9_62_PRIME256V1)),
            A::Es384 => Self::with_key(algorithm, ec(Nid::SECP384R1)),
            A::EdDsa => Self::with_key(algorithm, PKey::generate_ed25519().unwrap()),
            _ => Self::with_key(algorithm, RSA.clone()),
        }
    }

    /// Returns an issuer with another key of the same algorithm.
    pub(super) fn stranger(algorithm: JwtAlgorithm) -> Self {
        match algorithm.min_key_bytes() {
            Some(_) => Self::with_secret(algorithm, &"another secret, ".repeat(5)),
            None if Self::new(algorithm).private.id() == Id::RSA => Self::with_key(algorithm, rsa(2048)),
            None => Self::new(algorithm),
        }
    }

    pub(super) fn with_secret(algorithm: JwtAlgorithm, secret: &str) -> Self {
        Self { algorithm, private: PKey::hmac(secret.as_bytes()).unwrap(), text: secret.to_owned() }
    }

    pub(super) fn with_key(algorithm: JwtAlgorithm, private: PKey<Private>) -> Self {
        Self { algorithm, text: pem(&private), private }
    }

    pub(super) fn key(&self, kid: Option<&str>) -> JwtKey {
        key(self.algorithm, &self.text, kid)
    }

    /// Signs any header and payload.
    pub(super) fn sign(&self, header: impl AsRef<[u8]>, payload: impl AsRef<[u8]>) -> String {
        let signed = format!("{}.{}", encode(header), encode(payload));
        format!("{signed}.{}", encode(self.signature(signed.as_bytes())))
    }

    /// Returns a token with a header and claims.
    pub(super) fn token(&self, header: &Value, claims: &Value) -> String {
        self.sign(header.to_string(), claims.to_string())
    }

    /// Returns a valid token.
    pub(super) fn good(&self) -> String {
        self.token(&json!({"alg": self.algorithm.name()}), &json!({"sub": "a", "exp": NOW + 60}))
    }

    pub(super) fn signature(&self, message: &[u8]) -> Vec<u8> {
        use JwtAlgorithm as A;
        let digest = match self.algorithm {
            A::Hs256 | A::Rs256 | A::Ps256 | A::Es256 => MessageDigest::sha256(),
            A::Hs384 | A::Rs384 | A::Ps384 | A::Es384 => MessageDigest::sha384(),
            A::Hs512 | A::Rs512 | A::Ps512 => MessageDigest::sha512(),
            A::EdDsa => {
                let mut signer = Signer::new_without_digest(&self.private).unwrap();
                return signer.sign_oneshot_to_vec(message).unwrap();
            }
        };
        let mut signer = Signer::new(digest, &self.private).unwrap();
        if matches!(self.algorithm, A::Ps256 | A::Ps384 | A::Ps512) {
            signer.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
            signer.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH).unwrap();
            signer.set_rsa_mgf1_md(digest).unwrap();
        }
        let signature = signer.sign_oneshot_to_vec(message).unwrap();
        let half = match self.algorithm {
            A::Es256 => 32,
            A::Es384 => 48,
            _ => return signature,
        };
        let signature = EcdsaSig::from_der(&signature).unwrap();
        let part = |number: &openssl::bn::BigNumRef| number.to_vec_padded(half).unwrap();
        [part(signature.r()), part(signature.s())].concat()
    }
}
