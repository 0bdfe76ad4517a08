//! Keys that callers choose, as a store of several processes keeps them.

use sha2::{Digest, Sha256};

/// Longest key that is kept as it is, in bytes; of a longer one its SHA-256 is.
const MAX_KEY: usize = 256;

/// Replaces a key that is too long to be kept and repeated by its digest.
pub(super) fn limit_key_length(key: String) -> String {
    if key.len() <= MAX_KEY { key } else { format!("sha256:{}", hex::encode(Sha256::digest(&key))) }
}
