//! Masks of what differs from run to run. They work on the text of a body, so that its order and its spelling stay.

use serde_json::Value;

/// Members whose numbers differ from run to run.
const NUMBERS: [&str; 8] = [
    "applied_epoch",
    "duration_ms",
    "duration_us",
    "ms",
    "offset_ms",
    "pid",
    "uptime_seconds",
    "workflow_overhead_ms",
];

/// Members whose texts differ from run to run.
const TEXTS: [&str; 4] = ["instance_id", "next_cursor", "trace_token", "version"];

/// Returns a body with ids, instants and other volatile values masked.
pub(super) fn mask(body: &str) -> String {
    let mut masked = String::with_capacity(body.len());
    let mut rest = body;
    let mut key = "";
    while let Some((before, literal, after)) = next_literal(rest) {
        masked.push_str(before);
        rest = after;
        if let Some(value) = after.strip_prefix(':') {
            key = literal;
            masked.push_str(&format!("\"{literal}\""));
            if NUMBERS.contains(&key) && value.starts_with(|first: char| first.is_ascii_digit()) {
                let end = after.find([',', '}', ']']).unwrap_or(after.len());
                masked.push_str(":<number>");
                rest = &after[end..];
            }
        } else if TEXTS.contains(&key) && before.ends_with(':') {
            masked.push_str(&format!("\"<{key}>\""));
        } else {
            masked.push_str(&format!("\"{}\"", mask_text(literal)));
        }
    }
    masked.push_str(rest);
    masked
}

/// Splits a text at its next string literal.
fn next_literal(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find('"')?;
    let mut escaped = false;
    let end = text[start + 1..].find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })? + start
        + 1;
    Some((&text[..start], &text[start + 1..end], &text[end + 1..]))
}

/// Masks the ids and instants inside a text, token by token.
fn mask_text(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.');
    let mut masked = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        masked.push_str(match token {
            token if is_uuid(token) => "<id>",
            token if token.rsplit_once(':').is_some_and(|(_, id)| is_uuid(id)) => "<node>",
            token if is_listener(token) => "<address>",
            token if is_instant(token) => "<instant>",
            token => token,
        });
        let next = after.chars().next().map_or(0, char::len_utf8);
        masked.push_str(&after[..next]);
        rest = &after[next..];
    }
    masked
}

fn is_uuid(token: &str) -> bool {
    token.len() == 36
        && token.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_instant(token: &str) -> bool {
    let bytes = token.as_bytes();
    bytes.len() >= 20
        && token.ends_with('Z')
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && (bytes[4], bytes[7], bytes[10], bytes[13]) == (b'-', b'-', b'T', b':')
}

/// Returns the members of a body in their order, with types in the place of values and one item of each list: for bodies
/// whose values differ from run to run.
pub(super) fn outline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<_> =
                members.iter().map(|(name, member)| format!("{name}:{}", outline(member))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.first().map(outline).unwrap_or_default()),
        Value::String(_) => "text".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

#[test]
fn masks_hide_what_differs_and_keep_the_rest() {
    let body = r#"{"id":"0190a1b2-0000-7000-8000-00000000000a","at":"2026-01-01T00:00:00.5Z","duration_ms":1.25,"note":"of 0190a1b2-0000-7000-8000-00000000000a, \"x\"","n":7,"next_cursor":"abc"}"#;
    let expected = r#"{"id":"<id>","at":"<instant>","duration_ms":<number>,"note":"of <id>, \"x\"","n":7,"next_cursor":"<next_cursor>"}"#;
    assert_eq!(mask(body), expected);
}

/// Returns `true` for the address of a server of the test; the port 9 of documents that are only stored stays.
fn is_listener(token: &str) -> bool {
    token.parse::<std::net::SocketAddr>().is_ok_and(|address| address.port() > 1023)
}
