//! The token that authorizes reading one trace.

use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Creates a random token of 32 hexadecimal digits: 122 bits of the random generator of the thread, which is
/// cryptographically secure and seeded by the system.
pub(crate) fn make() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Returns the stored form of a token: the SHA-256 of its text, in hexadecimal.
pub(crate) fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_32_digits_and_new_each_time() {
        let tokens = [make(), make()];
        assert_ne!(tokens[0], tokens[1]);
        assert!(tokens.iter().all(|t| t.len() == 32 && t.bytes().all(|b| b.is_ascii_hexdigit())));
        assert_eq!(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
