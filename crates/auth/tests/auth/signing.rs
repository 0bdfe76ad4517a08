//! Outgoing signatures: those that the libraries of the providers make, and those that channels accept.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use svc_auth::{MissingSignedHeader, RequestSigner, UnsignedRequest, message_id};
use svc_model::ConnectorType;
use svc_model::config::connector::{ConnectorConfig, SigningConfig};

use crate::support::{Golden, SignedRequest, authenticator, merge, verdict};

/// Parses a block `sign`.
fn config(sign: &Value) -> SigningConfig {
    let config = json!({"url": "https://api.example", "sign": sign});
    match ConnectorConfig::parse(ConnectorType::Http, &config).unwrap() {
        ConnectorConfig::Http(http) => http.sign.unwrap(),
        _ => unreachable!(),
    }
}

fn signer(sign: &Value) -> RequestSigner {
    RequestSigner::build(&config(sign)).unwrap()
}

/// Adds the headers of a signature to a request, which replace others.
fn sign(signer: &RequestSigner, id: &str, request: SignedRequest) -> SignedRequest {
    let unsigned = UnsignedRequest { headers: &request.headers, body: &request.body, now: request.now };
    let headers = signer.sign(id, unsigned).unwrap();
    headers.into_iter().fold(request, |request, (name, value)| request.without(&name).with(&name, value))
}

/// The settings of a signature that the vectors of an origin have. The library of Standard Webhooks signed them with
/// the bytes of their secrets.
fn settings(golden: &Golden, secret: &str) -> Value {
    let mut settings = golden.config.clone();
    settings["secret"] = secret.into();
    if settings.get("preset").is_none() {
        settings.as_object_mut().unwrap().remove("tolerance_secs");
        settings["id"] = "webhook-id".into();
        settings["secret"] = format!("whsec_{}", STANDARD.encode(secret)).into();
    }
    settings
}

/// The time at which a request was signed.
fn signed_at(request: &SignedRequest) -> i64 {
    let text = |name: &str| request.header(name).map(|value| String::from_utf8(value.to_vec()).unwrap());
    let plain = ["x-zm-request-timestamp", "x-slack-request-timestamp", "webhook-timestamp"];
    let packed = |value: String| value.split(',').find_map(|pair| pair.strip_prefix("t=").map(str::to_owned));
    let time = plain.into_iter().find_map(text).or_else(|| packed(text("stripe-signature")?));
    time.map_or(request.now, |time| time.parse().unwrap())
}

#[test]
fn signatures_equal_those_of_the_providers() {
    let mut count = 0;
    for (name, golden) in Golden::all() {
        for vector in &golden.vectors {
            let expected = vector.request();
            let id = expected.header("webhook-id").unwrap_or_default();
            let unsigned = UnsignedRequest { headers: &[], body: &expected.body, now: signed_at(&expected) };
            let signer = signer(&settings(&golden, &vector.secret));
            for (header, value) in signer.sign(std::str::from_utf8(id).unwrap(), unsigned).unwrap() {
                assert_eq!(expected.header(&header), Some(value.as_bytes()), "{name}: {header}");
            }
            count += 1;
        }
    }
    assert!(count > 400, "{count}");
}

/// An example of the documentation of Standard Webhooks.
#[test]
fn published_example_of_standard_webhooks_is_signed_alike() {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let signer = signer(&json!({"preset": "standard_webhooks", "secret": secret}));
    let body = br#"{"test": 2432232314}"#;
    let unsigned = UnsignedRequest { headers: &[], body, now: 1_614_265_330 };
    let headers = signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", unsigned).unwrap();
    let expected = [
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ];
    assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn each_secret_of_a_rotation_signs() {
    let secret = |byte: u8| format!("whsec_{}", STANDARD.encode([byte; 32]));
    for (settings, one, other) in [
        (json!({"preset": "standard_webhooks"}), secret(1), secret(2)),
        (json!({"preset": "slack"}), "one".to_owned(), "other".to_owned()),
        (json!({"preset": "stripe"}), "one".to_owned(), "other".to_owned()),
        (json!({"signature_prefix": "k=", "algorithm": "sha512"}), "one".to_owned(), "other".to_owned()),
    ] {
        let signer = signer(&merge(&settings, &json!({"secret": &one, "secrets": [&other]})));
        let request = sign(&signer, "msg_1", SignedRequest::new("{\"a\":1}"));
        for secret in [&one, &other] {
            let auth = merge(&settings, &json!({"mode": "hmac", "secret": secret}));
            assert!(verdict(&authenticator(&auth), &request).is_ok(), "{settings}: {request:?}");
        }
        let third = merge(&settings, &json!({"mode": "hmac", "secret": secret(3)}));
        assert!(verdict(&authenticator(&third), &request).is_err(), "{settings}");
    }
}

#[test]
fn own_template_signs_headers_and_packed_time() {
    let settings = json!({"secret": "s", "header": "X-Sig", "signature_key": "sig", "encoding": "base64url",
        "timestamp": "X-Sig:ts", "id": "X-Id", "message": "{header:x-id}|{header:X-SIG:ts}|{header:X-Kind}|{body}"});
    let signer = signer(&settings);
    let unsigned = UnsignedRequest { headers: &[], body: b"b", now: 7 };
    assert_eq!(signer.sign("id", unsigned), Err(MissingSignedHeader("x-kind".to_owned())));
    let request =
        sign(&signer, "id", SignedRequest::new("b").with("x-kind", "order").with("x-sig", "forged"));
    assert!(request.header("x-sig").unwrap().starts_with(b"ts=1700000000,sig="), "{request:?}");
    let mut auth = merge(&settings, &json!({"mode": "hmac", "tolerance_secs": 1}));
    auth.as_object_mut().unwrap().remove("id");
    let accepts = |request: &SignedRequest| verdict(&authenticator(&auth), request).is_ok();
    assert!(accepts(&request));
    let other = request.clone().without("x-kind").with("x-kind", "other");
    assert!(!accepts(&other));
    assert!(!accepts(&SignedRequest { body: b"c".to_vec(), ..request }));
}

#[test]
fn unusable_secret_of_standard_webhooks_is_refused() {
    for secret in ["plain", "whsec_", "whsec_short", "whsec_!!!", " "] {
        let mut signing = config(&json!({"preset": "standard_webhooks", "secret": "x"}));
        signing.secrets = vec![svc_model::config::SecretText::new(secret)];
        let refused = RequestSigner::build(&signing).unwrap_err();
        assert!(refused.starts_with("secret 1 of 1: ") && !refused.contains("short"), "{refused}");
    }
}

#[test]
fn message_id_repeats_with_its_key_alone() {
    let id = message_id("run-1:notify");
    assert_eq!(id, message_id("run-1:notify"));
    assert_ne!(id, message_id("run-1:notify#1"));
    assert!(id.starts_with("msg_") && id.len() == 36 && id.is_ascii(), "{id}");
}
