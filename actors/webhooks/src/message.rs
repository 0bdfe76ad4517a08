//! The messages to endpoints: their bodies, the challenge and its echo, and the form of secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use svc_model::{Timestamp, without_byte_order_mark};
use uuid::Uuid;

/// The type of the message that verifies an endpoint.
pub(crate) const CHALLENGE: &str = "webhook.challenge";
/// The type of a test event.
pub(crate) const TEST: &str = "webhook.test";

/// Begin of a secret of Standard Webhooks.
const SECRET_PREFIX: &str = "whsec_";
/// Bytes of a secret that is generated.
const SECRET_BYTES: usize = 32;
/// Fewest bytes of a secret.
const FEWEST: usize = 24;
/// Most bytes of a secret.
const MOST: usize = 64;

/// Returns the body of a message: its type, the instant and the data.
pub(crate) fn make_body(kind: &str, now: Timestamp, data: &Value) -> String {
    json!({"type": kind, "timestamp": now, "data": data}).to_string()
}

/// Returns the text that an endpoint must echo.
pub(crate) fn make_challenge() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Returns `true` if an answer echoes the challenge: as the member `challenge` of a JSON object, or as plain text.
pub(crate) fn is_echo(answer: &[u8], challenge: &str) -> bool {
    let answer = without_byte_order_mark(answer);
    let member =
        || serde_json::from_slice::<Value>(answer).ok()?.get("challenge")?.as_str().map(str::to_owned);
    let text = std::str::from_utf8(answer).unwrap_or_default().trim();
    text == challenge || member().is_some_and(|echoed| echoed == challenge)
}

/// Generates a secret.
///
/// # Errors
/// The reason why this machine has no random bytes.
pub fn generate_secret() -> Result<String, String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(format!("{SECRET_PREFIX}{}", STANDARD.encode(bytes)))
}

/// Returns the reason why a text is no secret of an endpoint; `None` for one that is.
pub fn secret_problem(secret: &str) -> Option<&'static str> {
    let decoded = secret.strip_prefix(SECRET_PREFIX).and_then(|text| STANDARD.decode(text).ok());
    match decoded {
        Some(bytes) if (FEWEST..=MOST).contains(&bytes.len()) => None,
        _ => Some("a secret is whsec_ and 24 to 64 bytes in base64; leave it out to have one generated"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echo_is_member_or_plain_text() {
        for echo in ["{\"challenge\":\"abc\"}", "\u{feff}{\"a\":1,\"challenge\":\"abc\"}", "abc", " abc\n"] {
            assert!(is_echo(echo.as_bytes(), "abc"), "{echo}");
        }
        for other in
            ["", "{}", "{\"challenge\":\"abd\"}", "{\"challenge\":1}", "abcabc", "\"abc\"", "[\"abc\"]"]
        {
            assert!(!is_echo(other.as_bytes(), "abc"), "{other}");
        }
        assert!(!is_echo(&[0xff], "abc"));
    }

    #[test]
    fn generated_secret_has_the_form_of_secrets() {
        let (one, other) = (generate_secret().unwrap(), generate_secret().unwrap());
        assert_ne!(one, other);
        assert_eq!(secret_problem(&one), None);
        let short = format!("whsec_{}", STANDARD.encode([0; 23]));
        let long = format!("whsec_{}", STANDARD.encode([0; 65]));
        for bad in ["", "whsec_", "whsec_!", &one[6..], &short, &long] {
            assert!(secret_problem(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn body_has_type_instant_and_data() {
        let now = Timestamp::parse("2026-01-02T03:04:05Z").unwrap();
        let body = make_body("order.paid", now, &json!({"id": 1}));
        assert_eq!(body, r#"{"type":"order.paid","timestamp":"2026-01-02T03:04:05Z","data":{"id":1}}"#);
    }
}
