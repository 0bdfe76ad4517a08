//! HMACs with several secrets.

use std::fmt;

use ::hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use svc_model::config::auth::HmacAlgorithm;

use crate::secret_field::SecretFieldError;

/// One keyed state per secret; a request clones it instead of hashing the key again.
pub(super) enum Macs {
    Sha1(Vec<Hmac<Sha1>>),
    Sha256(Vec<Hmac<Sha256>>),
    Sha512(Vec<Hmac<Sha512>>),
}

impl Macs {
    /// Creates the states. Each key comes with the name of the field of its secret.
    pub(super) fn build(
        algorithm: HmacAlgorithm,
        keys: &[(String, Vec<u8>)],
    ) -> Result<Self, SecretFieldError> {
        Ok(match algorithm {
            HmacAlgorithm::Sha1 => Self::Sha1(build_macs(keys)?),
            HmacAlgorithm::Sha256 => Self::Sha256(build_macs(keys)?),
            HmacAlgorithm::Sha512 => Self::Sha512(build_macs(keys)?),
        })
    }

    /// Returns the index of a key whose HMAC of the message is one of the presented ones.
    pub(super) fn find_match(&self, message: &[&[u8]], presented: &[Vec<u8>]) -> Option<usize> {
        match self {
            Self::Sha1(keyed) => find_match(keyed, message, presented),
            Self::Sha256(keyed) => find_match(keyed, message, presented),
            Self::Sha512(keyed) => find_match(keyed, message, presented),
        }
    }

    /// Returns the HMAC of the message under each key, in the order of the keys.
    pub(super) fn sign(&self, message: &[&[u8]]) -> Vec<Vec<u8>> {
        match self {
            Self::Sha1(keyed) => sign(keyed, message),
            Self::Sha256(keyed) => sign(keyed, message),
            Self::Sha512(keyed) => sign(keyed, message),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Sha1(keyed) => keyed.len(),
            Self::Sha256(keyed) => keyed.len(),
            Self::Sha512(keyed) => keyed.len(),
        }
    }
}

impl fmt::Debug for Macs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Macs").field("secrets", &self.len()).finish()
    }
}

fn build_macs<M: KeyInit>(keys: &[(String, Vec<u8>)]) -> Result<Vec<M>, SecretFieldError> {
    let build = |(field, key): &(String, Vec<u8>)| {
        M::new_from_slice(key).map_err(|_| SecretFieldError::Unusable { field: field.clone() })
    };
    keys.iter().map(build).collect()
}

/// Computes one HMAC per secret and compares it with every presented signature, in constant time. Additional
/// signatures in a header cost comparisons, not hashes.
fn find_match<M: Mac + Clone>(keyed: &[M], message: &[&[u8]], presented: &[Vec<u8>]) -> Option<usize> {
    let (mut found, mut position) = (Choice::from(0), 0_u64);
    for (index, mac) in (0_u64..).zip(keyed) {
        let mut mac = mac.clone();
        message.iter().for_each(|piece| mac.update(piece));
        let code = mac.finalize().into_bytes();
        for signature in presented {
            let matches = code.as_slice().ct_eq(signature);
            position.conditional_assign(&index, matches);
            found |= matches;
        }
    }
    bool::from(found).then(|| usize::try_from(position).ok()).flatten()
}

fn sign<M: Mac + Clone>(keyed: &[M], message: &[&[u8]]) -> Vec<Vec<u8>> {
    let sign = |mac: &M| {
        let mut mac = mac.clone();
        message.iter().for_each(|piece| mac.update(piece));
        mac.finalize().into_bytes().to_vec()
    };
    keyed.iter().map(sign).collect()
}
