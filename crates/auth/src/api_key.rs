//! Mode `api_key`: authentication with a shared key.

use std::fmt;

use subtle::{Choice, ConstantTimeEq};
use svc_model::config::auth::{ApiKeyAuth, ConsumerSelection, is_header_value};
use svc_secrets::Resolver;

use crate::identity::{CredentialFingerprint, Identity};
use crate::key_digest::digest;
use crate::presented::PresentedRequest;
use crate::reason::RefusalReason;
use crate::scheme::credential;
use crate::secret_field::{self, SecretFieldError};

/// The accepted keys of a channel.
pub(crate) struct ApiKeys {
    /// In lower case.
    header: String,
    scheme: Option<String>,
    accepted: AcceptedKeys,
}

enum AcceptedKeys {
    /// Keys of the channel, of which only the hashes are kept.
    Own(Vec<[u64; 4]>),
    /// Those of consumers.
    Consumers(ConsumerSelection),
}

impl ApiKeys {
    pub(crate) fn build(config: &ApiKeyAuth, resolver: &dyn Resolver) -> Result<Self, SecretFieldError> {
        let header = config.header.to_ascii_lowercase();
        if let Some(selection) = &config.consumers {
            let accepted = AcceptedKeys::Consumers(selection.clone());
            return Ok(Self { header, scheme: config.scheme.clone(), accepted });
        }
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
        Ok(Self { header, scheme: config.scheme.clone(), accepted: AcceptedKeys::Own(digests) })
    }

    /// Verifies the key of a request and returns the identity of its holder.
    pub(crate) fn verify(&self, request: PresentedRequest<'_>) -> Result<Identity, RefusalReason> {
        // A value that is not ASCII is not a valid header value (RFC 9110, section 5.5) and counts as absent.
        let value = request.header(&self.header).filter(|value| !value.is_empty() && value.is_ascii());
        let value = value.ok_or(RefusalReason::Missing)?;
        let key = credential(value, self.scheme.as_deref()).ok_or(RefusalReason::Malformed)?;
        match &self.accepted {
            AcceptedKeys::Own(digests) if is_among(digests, digest(key)) => {
                Ok(Identity::of_credential(CredentialFingerprint::from_secret(key)))
            }
            AcceptedKeys::Own(_) => Err(RefusalReason::UnknownKey),
            AcceptedKeys::Consumers(selection) => {
                let holder =
                    request.consumers.and_then(|table| table.find_selected(selection, key, request.now));
                holder.map(Identity::of_consumer).ok_or(RefusalReason::UnknownKey)
            }
        }
    }
}

/// Compares the hash with every key, in constant time, even after a match.
fn is_among(digests: &[[u64; 4]], presented: [u64; 4]) -> bool {
    let matches = digests.iter().fold(Choice::from(0), |found, known| {
        let difference = known.iter().zip(presented).fold(0, |sum, (known, shown)| sum | (known ^ shown));
        found | difference.ct_eq(&0)
    });
    matches.into()
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys")
            .field("header", &self.header)
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_accepted_whole_or_not_at_all() {
        let keys = ["a", "b", "c"].map(|key| digest(key.as_bytes()));
        for key in ["a", "b", "c"] {
            let known = digest(key.as_bytes());
            assert!(is_among(&keys, known));
            for bit in 0..256 {
                let mut other = known;
                other[bit / 64] ^= 1 << (bit % 64);
                assert!(!is_among(&keys, other), "bit {bit}");
            }
        }
        assert!(!is_among(&keys, [0; 4]));
    }
}
