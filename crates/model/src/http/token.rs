//! Tokens of HTTP (RFC 9110, 5.6.2), such as the name of a header or a cookie.

/// Returns true for a token.
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Returns true for a byte of which tokens consist.
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_visible_and_without_separators() {
        assert!(is_token("x-api-key") && is_token("a!#$%&'*+-.^_`|~9"));
        for text in ["", "a b", "a:b", "a\tb", "a\"", "ä", "(a)"] {
            assert!(!is_token(text), "{text}");
        }
    }
}
