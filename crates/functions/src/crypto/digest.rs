//! Hashes (FIPS 180-4, RFC 1321) and HMAC (RFC 2104).

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;

use crate::encoding::ByteEncoding;

#[derive(Clone, Copy, Debug)]
pub(super) enum HashFunction {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl HashFunction {
    pub(super) fn from_name(name: &str) -> Self {
        match name {
            "md5" => Self::Md5,
            "sha1" => Self::Sha1,
            "sha512" => Self::Sha512,
            _ => Self::Sha256,
        }
    }

    pub(super) fn compute(self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Md5 => Md5::digest(data).to_vec(),
            Self::Sha1 => Sha1::digest(data).to_vec(),
            Self::Sha256 => Sha256::digest(data).to_vec(),
            Self::Sha512 => Sha512::digest(data).to_vec(),
        }
    }
}

/// An HMAC with its key; each message clones the state instead of hashing the key again.
pub(super) enum KeyedHash {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha512(Hmac<Sha512>),
}

impl KeyedHash {
    /// Creates the HMAC of a key of any length.
    pub(super) fn new(algorithm: &str, key: &[u8]) -> Result<Self, &'static str> {
        let code = match algorithm {
            "sha1" => Hmac::new_from_slice(key).map(Self::Sha1),
            "sha512" => Hmac::new_from_slice(key).map(Self::Sha512),
            _ => Hmac::new_from_slice(key).map(Self::Sha256),
        };
        code.map_err(|_| "not usable as a key")
    }

    pub(super) fn compute(&self, data: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1(mac) => mac.clone().chain_update(data).finalize().into_bytes().to_vec(),
            Self::Sha256(mac) => mac.clone().chain_update(data).finalize().into_bytes().to_vec(),
            Self::Sha512(mac) => mac.clone().chain_update(data).finalize().into_bytes().to_vec(),
        }
    }

    /// Returns true if the text is the HMAC of the data in any supported encoding. A text that cannot be
    /// decoded is not.
    pub(super) fn verify(&self, data: &[u8], signature: &str) -> bool {
        let code = self.compute(data);
        ByteEncoding::detect(signature, code.len()).is_some_and(|signature| code.ct_eq(&signature).into())
    }
}
