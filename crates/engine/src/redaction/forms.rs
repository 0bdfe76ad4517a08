//! The forms a text may be written in.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};
use serde_json::Value;

use super::SHORT;

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Characters that are percent-encoded in every part of a URL.
const DELIMITERS: &AsciiSet =
    &CONTROLS.add(b' ').add(b'+').add(b'/').add(b'=').add(b'%').add(b'&').add(b'?').add(b'#');

/// Returns a text as it is and, unless it is short, in hexadecimal, base64, percent encoding, and as XML and
/// JSON escape it.
pub(super) fn forms(text: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([text.to_owned()]);
    forms.extend(escaped_forms(text));
    if text.chars().count() < SHORT {
        return forms;
    }
    let bytes = text.as_bytes();
    forms.extend([hex::encode(bytes), hex::encode_upper(bytes)]);
    forms.extend([STANDARD.encode(bytes), URL_SAFE.encode(bytes)]);
    for before in 0..3 {
        let shifted = [&b"\0\0\0"[..before], bytes].concat();
        // Letters that bytes before and behind have a part in differ; the last is whole where the text ends.
        let (first, whole) = ((before * 8).div_ceil(6), shifted.len() * 8 / 6);
        for encoded in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            let parts = [encoded.get(first..), encoded.get(first..whole)];
            forms.extend(parts.into_iter().flatten().filter(|part| part.len() >= SHORT).map(str::to_owned));
        }
    }
    let every: String = bytes.iter().map(|byte| format!("%{byte:02X}")).collect();
    let sets = [RESERVED, NON_ALPHANUMERIC, DELIMITERS].map(|set| percent_encode(bytes, set).to_string());
    for encoded in sets.into_iter().chain([every]) {
        forms.extend([lower(&encoded), encoded]);
    }
    forms
}

/// As XML escapes it, in text and in attributes, and as JSON does, in a text and in a text inside one.
fn escaped_forms(text: &str) -> Vec<String> {
    let markup = text.replace('&', "&amp;").replace('<', "&lt;");
    let closed = markup.replace('>', "&gt;");
    let quoted = closed.replace('"', "&quot;");
    let apart = quoted.replace('\'', "&apos;");
    let once = in_json(text);
    let xml_in_json = [&closed, &apart].map(|form| in_json(form));
    let mut forms = vec![in_json(&once), once, markup, closed, quoted, apart];
    forms.extend(xml_in_json);
    forms
}

fn in_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// Percent escapes in lower case.
fn lower(text: &str) -> String {
    let mut escape = 0_u8;
    let lower = |letter: char| {
        escape = if letter == '%' { 3 } else { escape.saturating_sub(1) };
        if escape > 0 { letter.to_ascii_lowercase() } else { letter }
    };
    text.chars().map(lower).collect()
}
