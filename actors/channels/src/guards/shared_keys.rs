//! Keys that callers choose, as a store of several processes keeps them.

use sha2::{Digest, Sha256};

/// Longest key that is kept as it is, in bytes; of a longer one its SHA-256 is.
const MAX_KEY: usize = 256;

/// The prefix of a key that is the digest of another key.
const DIGEST: &str = "sha256:";

/// Replaces a key that is too long to be kept and repeated by its digest. So is one that reads like a digest, which
/// could be that of another key, and one with a null character, which no text of PostgreSQL has.
pub(super) fn limit_key_length(key: &str) -> String {
    let is_kept = key.len() <= MAX_KEY && !key.starts_with(DIGEST) && !key.contains('\0');
    if is_kept { key.to_owned() } else { digest_key(key.as_bytes()) }
}

/// Returns the key for bytes: their digest.
pub(super) fn digest_key(bytes: &[u8]) -> String {
    format!("{DIGEST}{}", hex::encode(Sha256::digest(bytes)))
}
