//! Header text as encoded words (RFC 2047).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const PREFIX: &str = "=?utf-8?b?";
const SUFFIX: &str = "?=";
/// Maximum length of a line with encoded words.
const LINE: usize = 76;
/// Bytes of text in a word, at least, however little room its line has: any character has room.
const LEAST: usize = 6;

/// Returns the value of an unstructured header of that name for a text that readers would not show as it is: what is
/// not plain ASCII, and what looks like an encoded word itself. `None` for any other text.
pub(super) fn encode_words(name: &str, text: &str) -> Option<String> {
    if is_plain(text) {
        return None;
    }
    let mut encoded = String::new();
    let mut rest = text;
    let mut room = LINE.saturating_sub(name.len() + ": ".len());
    while !rest.is_empty() {
        let bytes = (room.saturating_sub(PREFIX.len() + SUFFIX.len()) / 4 * 3).max(LEAST);
        let (word, after) = rest.split_at(rest.floor_char_boundary(bytes));
        if !encoded.is_empty() {
            encoded.push_str("\r\n ");
        }
        encoded.push_str(PREFIX);
        STANDARD.encode_string(word, &mut encoded);
        encoded.push_str(SUFFIX);
        rest = after;
        room = LINE - 1;
    }
    Some(encoded)
}

/// Returns true for a text that a reader shows as it is.
fn is_plain(text: &str) -> bool {
    let is_printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    is_printable && !text.contains("=?") && !text.starts_with(' ') && !text.ends_with(' ')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Decodes a value as a mail reader does: words that only white space separates are joined.
    fn decode(encoded: &str) -> String {
        let words = encoded.split("\r\n ").map(|word| {
            let word = word.strip_prefix(PREFIX).and_then(|word| word.strip_suffix(SUFFIX)).unwrap();
            String::from_utf8(STANDARD.decode(word).unwrap()).unwrap()
        });
        words.collect()
    }

    #[test]
    fn plain_text_stays_and_encoded_lookalike_is_encoded() {
        for text in ["", "Hello", "a = b? c", "Re: [x] 5 % off  now"] {
            assert_eq!(encode_words("Subject", text), None, "{text}");
        }
        for text in
            ["=?utf-8?q?Boss?=", "x =?iso-8859-1?B?QQ==?= y", "=?", "Grüße", " x", "x ", "a\tb", "\u{7f}"]
        {
            let encoded = encode_words("Subject", text).unwrap();
            assert_eq!(decode(&encoded), text);
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back_in_lines_of_76(text in "[a-zß-ü☃😀 =?]{1,200}") {
            let Some(encoded) = encode_words("Subject", &text) else { return Ok(()) };
            prop_assert_eq!(decode(&encoded), text);
            let lines: Vec<_> = format!("Subject: {encoded}").split("\r\n").map(str::len).collect();
            prop_assert!(lines.iter().all(|length| *length <= LINE), "{:?}", lines);
        }
    }
}
