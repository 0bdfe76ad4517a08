//! Tests that every cause of a refusal has its reason.

use serde_json::json;
use svc_auth::RefusalReason;

use crate::support::{SignedRequest, authenticator, verdict};

/// HMAC-SHA256 of `{}` with the secret `s`.
const SIGNATURE: &str = "143ca8d517ba1b181025d732b1cf275d90104fca57bb02a565542978aa18c4b6";

#[test]
fn an_api_key_is_refused_with_its_reason() {
    let auth = authenticator(&json!({"mode": "api_key", "keys": ["k-1", "env://SET"]}));
    let with = |value: &[u8]| verdict(&auth, &SignedRequest::new("{}").with("authorization", value)).err();
    assert_eq!(verdict(&auth, &SignedRequest::new("{}")).err(), Some(RefusalReason::Missing));
    for (value, reason) in [
        (&b"Bearer k-1"[..], None),
        (b"bearer  value", None),
        (b"Bearer K-1", Some(RefusalReason::UnknownKey)),
        (b"Bearer k-1 ", Some(RefusalReason::UnknownKey)),
        (b"Bearer k-", Some(RefusalReason::UnknownKey)),
        (b"Bearer env://SET", Some(RefusalReason::UnknownKey)),
        (b"Bearer k-1, Bearer value", Some(RefusalReason::UnknownKey)),
        (b"Bearerk-1", Some(RefusalReason::Malformed)),
        (b"Bearer", Some(RefusalReason::Malformed)),
        (b"k-1", Some(RefusalReason::Malformed)),
        (b"Basic k-1", Some(RefusalReason::Malformed)),
        (b"Bearer\tk-1", Some(RefusalReason::Malformed)),
        (b"", Some(RefusalReason::Missing)),
        (b"Bearer k\xc3\xa9", Some(RefusalReason::Missing)),
        (b"Bearer \xff", Some(RefusalReason::Missing)),
    ] {
        assert_eq!(with(value), reason, "{:?}", String::from_utf8_lossy(value));
    }
}

#[test]
fn the_first_value_of_a_header_decides() {
    let auth = authenticator(&json!({"mode": "api_key", "keys": ["k-1"], "header": "X-Key"}));
    let request = SignedRequest::new("").with("x-key", "k-1").with("x-key", "k-2");
    assert_eq!(verdict(&auth, &request).err(), None);
    let request = SignedRequest::new("").with("x-key", "k-2").with("x-key", "k-1");
    assert_eq!(verdict(&auth, &request).err(), Some(RefusalReason::UnknownKey));
    let auth = authenticator(&json!({"mode": "hmac", "secret": "s"}));
    let request = SignedRequest::new("{}").with("x-signature", "00").with("x-signature", SIGNATURE);
    assert_eq!(verdict(&auth, &request).err(), Some(RefusalReason::BadSignature));
}

#[test]
fn any_of_a_thousand_keys_is_accepted() {
    let keys: Vec<_> = (0..1000).map(|number| format!("key {number}")).collect();
    let auth = authenticator(&json!({"mode": "api_key", "keys": keys, "header": "x-key"}));
    for key in [&keys[0], &keys[500], &keys[999]] {
        assert_eq!(verdict(&auth, &SignedRequest::new("").with("x-key", key.as_str())).err(), None);
    }
    let request = SignedRequest::new("").with("x-key", "key 1000");
    assert_eq!(verdict(&auth, &request).err(), Some(RefusalReason::UnknownKey));
}

#[test]
fn a_signature_is_refused_with_its_reason() {
    let plain = json!({"mode": "hmac", "secret": "s"});
    let prefixed = json!({"mode": "hmac", "secret": "s", "signature_prefix": "v0="});
    let packed = json!({"mode": "hmac", "secret": "s", "signature_key": "v1"});
    for (auth, value, reason) in [
        (&plain, SIGNATURE.to_owned(), None),
        (&plain, SIGNATURE.to_uppercase(), None),
        (&plain, SIGNATURE.replace('a', "b"), Some(RefusalReason::BadSignature)),
        (&plain, SIGNATURE[..62].to_owned(), Some(RefusalReason::BadSignature)),
        (&plain, format!("{SIGNATURE}00"), Some(RefusalReason::BadSignature)),
        (&plain, String::new(), Some(RefusalReason::BadSignature)),
        (&plain, format!("v0={SIGNATURE}"), Some(RefusalReason::Malformed)),
        (&plain, "no signature at all".to_owned(), Some(RefusalReason::Malformed)),
        (&prefixed, format!("v0={SIGNATURE}"), None),
        (&prefixed, SIGNATURE.to_owned(), Some(RefusalReason::Malformed)),
        (&prefixed, format!("V0={SIGNATURE}"), Some(RefusalReason::Malformed)),
        (&packed, format!("v1=00,v1=zz, v1={SIGNATURE}"), None),
        (&packed, format!("v0={SIGNATURE}"), Some(RefusalReason::Malformed)),
        (&packed, "v1=zz".to_owned(), Some(RefusalReason::Malformed)),
        (&packed, "v1=zz,v1=00".to_owned(), Some(RefusalReason::BadSignature)),
    ] {
        let request = SignedRequest::new("{}").with("x-signature", value.clone());
        assert_eq!(verdict(&authenticator(auth), &request).err(), reason, "{auth} {value}");
    }
    assert_eq!(
        verdict(&authenticator(&plain), &SignedRequest::new("{}")).err(),
        Some(RefusalReason::Missing)
    );
}

#[test]
fn checks_come_in_their_order() {
    let auth = authenticator(&json!({
        "mode": "hmac", "secret": "s", "signature_prefix": "v0=", "message": "{header:x-id:k}{body}",
        "timestamp": "x-at:t", "tolerance_secs": 10
    }));
    let request = SignedRequest::new("{}");
    let refused = |request: &SignedRequest| verdict(&auth, request).err();
    assert_eq!(refused(&request), Some(RefusalReason::Missing));
    let request = request.with("x-signature", "v1=zz");
    assert_eq!(refused(&request), Some(RefusalReason::Malformed), "the form before the window");
    let request = SignedRequest::new("{}").with("x-signature", "v0=zz");
    assert_eq!(refused(&request), Some(RefusalReason::StaleTimestamp), "no instant");
    let at = |text: &str| request.clone().with("x-at", text);
    for text in ["t=1699999989", "t=1700000011", "t=soon", "t=", "1700000000", "u=1700000000"] {
        assert_eq!(refused(&at(text)), Some(RefusalReason::StaleTimestamp), "{text}");
    }
    let request = at("u=1,t=1700000010,t=0");
    assert_eq!(
        refused(&request),
        Some(RefusalReason::MissingSignedHeader),
        "the window before the signed text"
    );
    assert_eq!(refused(&request.clone().with("x-id", "j=1")), Some(RefusalReason::MissingSignedHeader));
    let mut request = request.with("x-id", "k=1");
    assert_eq!(refused(&request), Some(RefusalReason::Malformed), "the signed text before the signature");
    *request.header_mut("x-signature") = b"v0=00".to_vec();
    assert_eq!(refused(&request), Some(RefusalReason::BadSignature));
}

#[test]
fn a_signed_header_is_never_taken_as_empty() {
    let auth = authenticator(&json!({"mode": "hmac", "secret": "s", "message": "{header:x-id}{body}"}));
    let request = SignedRequest::new("{}").with("x-signature", SIGNATURE);
    assert_eq!(verdict(&auth, &request).err(), Some(RefusalReason::MissingSignedHeader));
    assert_eq!(verdict(&auth, &request.with("x-id", "")).err(), None, "a header that is there may be empty");
}

#[test]
fn header_of_any_bytes_is_signed_unchanged() {
    let auth = authenticator(&json!({"mode": "hmac", "secret": "s", "message": "{header:x-id}{body}"}));
    let request = SignedRequest::new("}").with("x-signature", SIGNATURE).with("x-id", "{");
    assert_eq!(verdict(&auth, &request).err(), None);
    let other = SignedRequest::new("}").with("x-signature", SIGNATURE).with("x-id", b"\xff\x00\xfe".to_vec());
    assert_eq!(verdict(&auth, &other).err(), Some(RefusalReason::BadSignature));
}
