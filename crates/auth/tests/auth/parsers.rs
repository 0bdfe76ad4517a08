//! Property tests: no input bytes cause a panic or are accepted.

use proptest::prelude::*;
use serde_json::{Value, json};
use svc_model::config::{HeaderField, SigningTemplate, TemplatePart};

use crate::support::{SignedRequest, authenticator, verdict};

/// Generates arbitrary bytes, and bytes that nearly have a valid form.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let near = "[vt01sha256Bearer =,:+/_\\-a-f0-9]{0,90}".prop_map(String::into_bytes);
    prop_oneof![proptest::collection::vec(any::<u8>(), 0..120), near]
}

fn blocks() -> Vec<Value> {
    let mut blocks: Vec<_> = ["zoom", "slack", "stripe", "github", "shopify", "webex"]
        .iter()
        .map(|preset| json!({"mode": "hmac", "secret": "s", "preset": preset}))
        .collect();
    blocks.push(json!({"mode": "hmac", "secret": "s", "algorithm": "sha512"}));
    blocks.push(json!({"mode": "hmac", "secret": "s", "encoding": "base64url", "signature_key": "v1"}));
    blocks.push(json!({"mode": "api_key", "keys": ["k-0123456789abcdef"]}));
    blocks.push(json!({"mode": "api_key", "keys": ["k-0123456789abcdef"], "scheme": ""}));
    blocks
}

const HEADERS: [&str; 10] = [
    "x-zm-signature",
    "x-zm-request-timestamp",
    "x-slack-signature",
    "x-slack-request-timestamp",
    "stripe-signature",
    "x-hub-signature-256",
    "x-shopify-hmac-sha256",
    "x-spark-signature",
    "x-signature",
    "authorization",
];

proptest! {
    #[test]
    fn made_up_headers_are_refused(
        values in proptest::collection::vec(bytes(), HEADERS.len()),
        body in bytes(),
        now in prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX)],
    ) {
        let headers = HEADERS.iter().map(|name| (*name).to_owned()).zip(values).collect();
        let request = SignedRequest { headers, body, now };
        for auth in blocks() {
            prop_assert!(verdict(&authenticator(&auth), &request).is_err(), "{auth}");
        }
    }

    #[test]
    fn a_template_is_read_back_whole_or_refused(text in "[a{}:hedrboy \u{17e}-]{0,40}|\\PC{0,40}") {
        let Ok(template) = SigningTemplate::parse(&text) else { return Ok(()) };
        let written: String = template.parts().iter().map(|part| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Body => "{body}".to_owned(),
            TemplatePart::Header(HeaderField { name, key: None }) => format!("{{header:{name}}}"),
            TemplatePart::Header(HeaderField { name, key: Some(key) }) => format!("{{header:{name}:{key}}}"),
        }).collect();
        prop_assert_eq!(written, text);
        prop_assert!(template.parts().contains(&TemplatePart::Body));
    }

    #[test]
    fn timestamp_source_is_a_valid_header(text in "[a-z:=, -]{0,12}|\\PC{0,40}") {
        let Some(HeaderField { name, key }) = HeaderField::parse(&text) else { return Ok(()) };
        prop_assert!(!name.is_empty() && name.is_ascii() && !name.contains([' ', ':', ',', '=']), "{}", text);
        prop_assert!(key.is_none_or(|key| !key.is_empty() && !key.contains([',', '='])), "{}", text);
    }

    #[test]
    fn shown_references_are_those_a_load_resolves(text in "(env|file|vault|aws-sm|ENV)?(://)?[A-Z_a-z0-9 #/.-]{0,12}|\\PC{0,20}") {
        let is_resolvable = matches!(svc_secrets::parse(&text), Ok(Some(_)));
        prop_assert_eq!(svc_model::mask::is_resolvable_reference(&text), is_resolvable, "{}", text);
    }
}
