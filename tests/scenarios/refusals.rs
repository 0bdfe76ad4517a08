//! A refused credential answers the same bytes whatever the cause.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::support::{echo, start};

const BODY: &[u8] = br#"{"n": 1}"#;
const SECRET: &str = "a secret of thirty-two bytes or so";
/// Far in the future, in seconds of the Unix time.
const LATER: u64 = 4_102_444_800;

pub(crate) fn mac(secret: &str, message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// A token signed with HS256, whatever its header claims.
pub(crate) fn token(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| BASE64URL.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = BASE64URL.encode(mac(SECRET, signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// One request with these headers and a request id of its own choice, so that answers can be compared whole.
fn post(client: &mut HttpClient, channel: &str, headers: &[(&str, &str)]) -> HttpResponse {
    let mut all = vec![("content-type", "application/json"), ("x-request-id", "same")];
    all.extend_from_slice(headers);
    client.send("POST", &format!("/api/v1/data/{channel}"), &all, BODY).unwrap()
}

/// Returns the comparable part of a response: everything but the date. The order of headers is random.
fn comparable_parts(answer: &HttpResponse) -> (u16, Vec<(String, String)>, String) {
    let mut headers: Vec<_> = answer.headers.iter().filter(|(name, _)| name != "date").cloned().collect();
    headers.sort();
    (answer.status, headers, answer.text())
}

/// Asks on both ingresses with every bad credential and compares the answers; a good one passes.
fn all_alike(
    client: &mut HttpClient,
    channel: &str,
    good: &[(&str, &str)],
    bad: &[(&str, Vec<(&str, &str)>)],
) -> HttpResponse {
    assert_eq!(post(client, channel, good).status, 200, "{channel}");
    let mut first: Option<HttpResponse> = None;
    for path in [channel.to_owned(), format!("{channel}/async")] {
        for (cause, headers) in bad {
            let answer = post(client, &path, headers);
            assert_eq!(answer.status, 401, "{path}, {cause}: {}", answer.text());
            let first = first.get_or_insert_with(|| answer.clone());
            assert_eq!(comparable_parts(&answer), comparable_parts(first), "{path}, {cause}");
        }
    }
    first.unwrap()
}

#[test]
fn every_bad_key_and_signature_is_answered_alike() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "keyed", json!({"auth": {"mode": "api_key", "keys": ["first-key", "second-key"]}}));
    let keyed = all_alike(
        &mut client,
        "keyed",
        &[("authorization", "bearer second-key")],
        &[
            ("no header", vec![]),
            ("another scheme", vec![("authorization", "Basic first-key")]),
            ("no blank behind the scheme", vec![("authorization", "Bearerfirst-key")]),
            ("a wrong key", vec![("authorization", "Bearer third-key")]),
            ("a key's beginning", vec![("authorization", "Bearer first-ke")]),
            ("no key", vec![("authorization", "Bearer ")]),
            ("another header", vec![("x-api-key", "first-key")]),
        ],
    );
    let auth = json!({
        "mode": "hmac", "secret": SECRET, "header": "x-signature", "signature_prefix": "v1=", "timestamp": "x-time",
        "tolerance_secs": 300, "message": "{header:x-time}.{header:x-tenant}.{body}",
    });
    echo(&mut client, "signed", json!({"auth": auth}));
    let now = unix_time();
    let (now, old) = (now.to_string(), (now - 301).to_string());
    let sign = |time: &str, body: &[u8]| {
        let message = [time.as_bytes(), b".t.", body].concat();
        format!("v1={}", hex(&mac(SECRET, &message)))
    };
    let (good, stale, other) = (sign(&now, BODY), sign(&old, BODY), sign(&now, b"{\"n\":  1}"));
    let with = |signature: &'static str| {
        vec![("x-signature", signature), ("x-time", now.as_str()), ("x-tenant", "t")]
    };
    let signed = all_alike(
        &mut client,
        "signed",
        &[("x-signature", &good), ("x-time", &now), ("x-tenant", "t")],
        &[
            ("no signature", vec![("x-time", &now), ("x-tenant", "t")]),
            ("no prefix", vec![("x-signature", &good[3..]), ("x-time", &now), ("x-tenant", "t")]),
            ("not hexadecimal", with("v1=zz")),
            ("a wrong signature", with("v1=00")),
            ("blanks in the body", vec![("x-signature", &other), ("x-time", &now), ("x-tenant", "t")]),
            ("stale", vec![("x-signature", &stale), ("x-time", &old), ("x-tenant", "t")]),
            ("no time", vec![("x-signature", &good), ("x-tenant", "t")]),
            ("no number for a time", vec![("x-signature", &good), ("x-time", "now"), ("x-tenant", "t")]),
            ("a signed header is missing", vec![("x-signature", &good), ("x-time", &now)]),
        ],
    );
    assert_eq!(comparable_parts(&keyed), comparable_parts(&signed), "the mode does not show either");
    assert_eq!(keyed.header("www-authenticate"), None);
    assert_eq!(keyed.json()["error"]["message"], "Channel authentication failed");
}

#[test]
fn bad_tokens_are_answered_alike_except_expired_ones() {
    let server = start();
    let mut client = server.client();
    let auth = json!({
        "mode": "jwt", "algorithms": ["HS256"], "jwt_keys": [{"algorithm": "HS256", "key": SECRET, "kid": "k"}],
        "issuer": "me", "audience": ["us"], "max_token_bytes": 1000,
    });
    echo(&mut client, "tokens", json!({"auth": auth}));
    let header = json!({"alg": "HS256", "kid": "k"});
    let claims = json!({"iss": "me", "aud": "us", "exp": LATER});
    let changed = |key: &str, value: Value| {
        let mut claims = claims.clone();
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(key)),
            value => claims[key] = value,
        }
        format!("Bearer {}", token(&header, &claims))
    };
    let good = format!("Bearer {}", token(&header, &claims));
    let none = token(&json!({"alg": "none"}), &claims);
    let bad = [
        ("malformed", "Bearer not.a.token".to_owned()),
        ("another scheme", good.replace("Bearer", "Token")),
        ("alg none", format!("Bearer {}.", none.rsplit_once('.').unwrap().0)),
        (
            "an algorithm not allowed",
            format!("Bearer {}", token(&json!({"alg": "HS512", "kid": "k"}), &claims)),
        ),
        ("an unknown kid", format!("Bearer {}", token(&json!({"alg": "HS256", "kid": "x"}), &claims))),
        ("a bad signature", format!("{}AAAA", &good[..good.len() - 4])),
        ("not valid yet", changed("nbf", json!(LATER))),
        ("another issuer", changed("iss", json!("you"))),
        ("another audience", changed("aud", json!(["them"]))),
        ("no expiry", changed("exp", Value::Null)),
        ("an expiry in text", changed("exp", json!("4102444800"))),
        ("oversized", changed("pad", json!("x".repeat(1000)))),
    ];
    let mut causes = vec![("no token", vec![])];
    causes.extend(bad.iter().map(|(cause, value)| (*cause, vec![("authorization", value.as_str())])));
    let refused = all_alike(&mut client, "tokens", &[("authorization", &good)], &causes);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
    assert_eq!(refused.json()["error"]["message"], "Channel authentication failed");

    let expired = post(&mut client, "tokens", &[("authorization", &changed("exp", json!(1)))]);
    let challenge = "Bearer error=\"invalid_token\", error_description=\"token expired\"";
    assert_eq!(expired.header("www-authenticate"), Some(challenge));
    assert_eq!(expired.text(), refused.text(), "the body is the same");
}

#[expect(clippy::disallowed_methods, reason = "the server under test goes by the machine's clock")]
pub(crate) fn unix_time() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
