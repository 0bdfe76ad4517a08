//! References to URIs.

/// Returns `true` for a text of the characters that RFC 3986 admits in a reference; letters outside of ASCII too, which
/// many senders write as they are.
pub fn is_uri_reference(text: &str) -> bool {
    let is_refused = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
    };
    !text.is_empty() && !text.contains(is_refused)
}

#[cfg(test)]
mod tests {
    use super::is_uri_reference;

    #[test]
    fn references_have_no_blanks_and_no_brackets() {
        for text in ["/shop", "https://shop.example/a?b#c", "urn:uuid:1", "#x", "größe", "a%20b"] {
            assert!(is_uri_reference(text), "{text}");
        }
        for text in ["", "a b", "<a>", "a\u{7f}", "{id}"] {
            assert!(!is_uri_reference(text), "{text}");
        }
    }
}
