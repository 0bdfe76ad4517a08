//! Canaries: secrets that a test recognises wherever they appear, plain or encoded.
//!
//! The search covers the plain text, hexadecimal, base64 (both alphabets, at every offset among other bytes)
//! and percent encoding. Findings are reported by name only.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};

/// The characters that RFC 3986 allows unescaped in no part of a URL.
const RESERVED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'+').add(b'/').add(b'=').add(b'%').add(b'&').add(b'?').add(b'#');

/// Fewest bytes of a canary; fewer could occur by chance.
const SHORTEST: usize = 16;

/// Returns a value of `length` characters that occurs nowhere else and that every encoding changes. The same
/// number gives the same value.
pub fn value(number: u64, length: usize) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = number.wrapping_add(0x00C0_FFEE).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(LETTERS[usize::try_from(state >> 33).unwrap_or_default() % LETTERS.len()])
    };
    (0..length).map(|n| if n % 13 == 6 { ['+', '/'][n % 2] } else { letter() }).collect()
}

/// Returns every text that a value may appear as.
pub fn forms(value: &[u8]) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    forms.extend(std::str::from_utf8(value).map(str::to_owned));
    let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    forms.extend([hex.to_uppercase(), hex]);
    for before in 0..3 {
        let bytes = [&b"\0\0\0"[..before], value].concat();
        // Characters that depend on the neighbouring bytes are left out.
        let (first, last) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        for text in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            forms.extend(text.get(first..last).map(str::to_owned));
        }
    }
    let every: String = value.iter().map(|byte| format!("%{byte:02X}")).collect();
    let encoded = [RESERVED, NON_ALPHANUMERIC].map(|set| percent_encode(value, set).to_string());
    for text in encoded.into_iter().chain([every]) {
        forms.extend([lower(&text), text]);
    }
    forms
}

/// Percent escapes in lower case.
fn lower(text: &str) -> String {
    let mut escape = 0;
    let lower = |letter: char| {
        escape = if letter == '%' { 3_u8 } else { escape.saturating_sub(1) };
        if escape > 0 { letter.to_ascii_lowercase() } else { letter }
    };
    text.chars().map(lower).collect()
}

/// A planted secret.
struct Canary {
    name: String,
    forms: BTreeSet<String>,
    shown: &'static [&'static str],
}

/// The canaries of a test.
#[derive(Default)]
pub struct Canaries(Vec<Canary>);

impl Canaries {
    /// Adds a secret by the part that the search looks for. `shown` are the places that show it by design.
    ///
    /// # Panics
    /// The secret is too short to be distinguished from chance.
    pub fn add(&mut self, name: &str, part: &[u8], shown: &'static [&'static str]) {
        assert!(part.len() >= SHORTEST, "{name} is too short for a canary");
        self.0.push(Canary { name: name.to_owned(), forms: forms(part), shown });
    }

    /// The number of different secrets.
    pub fn count(&self) -> usize {
        self.0.iter().map(|canary| &canary.name).collect::<BTreeSet<_>>().len()
    }

    /// Returns the names of the secrets that a text from a place contains.
    pub fn find_in(&self, place: &str, text: &str) -> BTreeSet<&str> {
        let hidden = self.0.iter().filter(|canary| !canary.shown.contains(&place));
        let leaks = hidden.filter(|canary| canary.forms.iter().any(|form| text.contains(form.as_str())));
        leaks.map(|canary| canary.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    /// Returns a text that contains a value, in every encoding and at every offset.
    fn leaks(value: &str) -> Vec<(String, String)> {
        let mut leaks = vec![
            ("plain".to_owned(), value.to_owned()),
            ("lower hex".to_owned(), value.bytes().map(|byte| format!("{byte:02x}")).collect()),
            ("upper hex".to_owned(), value.bytes().map(|byte| format!("{byte:02X}")).collect()),
            ("every byte escaped".to_owned(), value.bytes().map(|byte| format!("%{byte:02x}")).collect()),
            ("escaped".to_owned(), percent_encode(value.as_bytes(), NON_ALPHANUMERIC).to_string()),
            ("escaped, lower".to_owned(), value.replace('+', "%2b").replace('/', "%2f")),
        ];
        for before in ["", "a", "ab", "abc", "key=", "user:"] {
            for behind in ["", "z", "zz", "zzz"] {
                let text = format!("{before}{value}{behind}");
                leaks.push((format!("base64 of {before}…{behind}"), STANDARD.encode(&text)));
                leaks.push((format!("base64url of {before}…{behind}"), URL_SAFE.encode(&text)));
            }
        }
        leaks
    }

    #[test]
    fn leak_in_any_encoding_is_found_and_named() {
        for length in 16..=48 {
            let secret = value(7, length);
            let mut canaries = Canaries::default();
            canaries.add("the key", secret.as_bytes(), &["its place"]);
            for (form, leak) in leaks(&secret) {
                let text = format!("{{\"at\":\"{leak}\"}}");
                assert_eq!(canaries.find_in("a log", &text), BTreeSet::from(["the key"]), "{form}, {length}");
                assert!(canaries.find_in("its place", &text).is_empty());
            }
            let other = value(8, length);
            for (form, text) in leaks(&other) {
                assert!(canaries.find_in("a log", &text).is_empty(), "{form}, {length}");
            }
        }
    }

    #[test]
    fn values_differ_and_every_encoding_changes_them() {
        let values: BTreeSet<String> = (0..200).map(|number| value(number, 40)).collect();
        assert_eq!(values.len(), 200);
        assert!(values.iter().all(|value| value.contains('+') && value.contains('/')));
    }
}
