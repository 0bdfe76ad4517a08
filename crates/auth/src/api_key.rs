//! Mode `api_key`: authentication with a shared key.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use svc_model::config::auth::{ApiKeyAuth, is_header_value};
use svc_secrets::Resolver;

use crate::identity::CredentialFingerprint;
use crate::presented::PresentedRequest;
use crate::reason::RefusalReason;
use crate::scheme::credential;
use crate::secret_field::{self, SecretFieldError};

/// The accepted keys of a channel. Only their hashes are kept.
pub(crate) struct ApiKeys {
    /// In lower case.
    header: String,
    scheme: Option<String>,
    digests: Vec<[u64; 4]>,
}

impl ApiKeys {
    pub(crate) fn build(config: &ApiKeyAuth, resolver: &dyn Resolver) -> Result<Self, SecretFieldError> {
        let mut digests = Vec::with_capacity(config.keys.len());
        for (index, key) in config.keys.iter().enumerate() {
            let field = format!("auth.keys[{index}]");
            let key = secret_field::resolve(&field, key, resolver)?;
            // No request could present such a key: it has a line end from a file, or is a wrong text.
            if !is_header_value(key.expose()) {
                return Err(SecretFieldError::NoHeaderValue { field });
            }
            digests.push(digest(key.expose().as_bytes()));
        }
        Ok(Self { header: config.header.to_ascii_lowercase(), scheme: config.scheme.clone(), digests })
    }

    /// Verifies the key of a request and returns its fingerprint.
    pub(crate) fn verify(
        &self,
        request: PresentedRequest<'_>,
    ) -> Result<CredentialFingerprint, RefusalReason> {
        // A value that is not ASCII is not a valid header value (RFC 9110, section 5.5) and counts as absent.
        let value = request.header(&self.header).filter(|value| !value.is_empty() && value.is_ascii());
        let value = value.ok_or(RefusalReason::Missing)?;
        let key = credential(value, self.scheme.as_deref()).ok_or(RefusalReason::Malformed)?;
        if self.accepts(digest(key)) {
            Ok(CredentialFingerprint::from_secret(key))
        } else {
            Err(RefusalReason::UnknownKey)
        }
    }

    /// Compares the hash with every key, in constant time, even after a match.
    fn accepts(&self, presented: [u64; 4]) -> bool {
        let matches = self.digests.iter().fold(Choice::from(0), |found, known| {
            let difference = known.iter().zip(presented).fold(0, |sum, (known, shown)| sum | (known ^ shown));
            found | difference.ct_eq(&0)
        });
        matches.into()
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys")
            .field("header", &self.header)
            .field("scheme", &self.scheme)
            .field("keys", &self.digests.len())
            .finish()
    }
}

/// Returns the SHA-256 as words: with a thousand keys, comparing words is four times faster than comparing
/// bytes.
fn digest(key: &[u8]) -> [u64; 4] {
    let hash: [u8; 32] = Sha256::digest(key).into();
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(hash.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_accepted_whole_or_not_at_all() {
        let keys = ApiKeys {
            header: "authorization".into(),
            scheme: None,
            digests: ["a", "b", "c"].map(|key| digest(key.as_bytes())).to_vec(),
        };
        for key in ["a", "b", "c"] {
            let known = digest(key.as_bytes());
            assert!(keys.accepts(known));
            for bit in 0..256 {
                let mut other = known;
                other[bit / 64] ^= 1 << (bit % 64);
                assert!(!keys.accepts(other), "bit {bit}");
            }
        }
        assert!(!keys.accepts([0; 4]));
    }
}
