//! Tests of the claims in tokens of `jwt_sign`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use svc_engine::{ErrorCode, TaskError};

use crate::support::{NOW, SHARED, call, invalid};

/// Returns header and claims of the token that a signing task creates.
fn parts(input: Value, data: Value) -> Result<[Value; 2], TaskError> {
    let mut task = json!({"algorithm": "HS256", "key": SHARED});
    for (field, value) in input.as_object().unwrap() {
        task[field] = value.clone();
    }
    let token = call("jwt_sign", task, data)?;
    let mut parts = token.as_str().unwrap().split('.');
    let part = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
    Ok([part(parts.next().unwrap()), part(parts.next().unwrap())])
}

fn claims(input: Value, data: Value) -> Value {
    let [_, claims] = parts(input, data).unwrap();
    claims
}

fn refusal(input: Value, data: Value) -> (ErrorCode, String) {
    let error = parts(input, data).unwrap_err();
    (error.code, error.message)
}

#[test]
fn a_token_is_issued_now_and_expires() {
    assert_eq!(claims(json!({"expires_in": 60}), json!({})), json!({"iat": NOW, "exp": NOW + 60}));
    for (duration, seconds) in [("90s", 90), ("15m", 900), ("2h", 7200), ("30d", 2_592_000)] {
        let claims = claims(json!({"expires_in": {"var": "data.d"}}), json!({"d": duration}));
        assert_eq!(claims["exp"], NOW + seconds, "{duration}");
    }
}

#[test]
fn claims_may_bring_their_own_instants() {
    let input = json!({"claims": {"exp": 4_102_444_800_i64, "iat": 1, "sub": "s"}});
    assert_eq!(claims(input, json!({})), json!({"exp": 4_102_444_800_i64, "iat": 1, "sub": "s"}));
    let folded = json!({"claims": {"var": "data.c"}});
    let token_claims = claims(folded, json!({"c": {"exp": 4_102_444_800.5}}));
    assert_eq!(token_claims, json!({"exp": 4_102_444_800.5, "iat": NOW}));
}

#[test]
fn own_field_wins_over_the_same_claim() {
    let input = json!({
        "claims": {"iss": "claims", "aud": "claims", "nbf": 1, "exp": 2, "sub": {"var": "data.user"}},
        "issuer": "field", "audience": ["a", {"var": "data.aud"}], "not_before": "1m", "expires_in": "2m"});
    let expected = json!({"iss": "field", "aud": ["a", "b"], "nbf": NOW + 60, "exp": NOW + 120, "sub": "u1", "iat": NOW});
    assert_eq!(claims(input, json!({"user": "u1", "aud": "b"})), expected);
}

#[test]
fn the_header_names_algorithm_type_and_key() {
    let [header, _] = parts(json!({"expires_in": 1}), json!({})).unwrap();
    assert_eq!(header, json!({"alg": "HS256", "typ": "JWT"}));
    let [header, _] = parts(json!({"expires_in": 1, "kid": "k1", "algorithm": "HS512"}), json!({})).unwrap();
    assert_eq!(header, json!({"alg": "HS512", "typ": "JWT", "kid": "k1"}));
}

#[test]
fn issuer_and_key_id_may_be_computed() {
    let input = json!({"expires_in": 1, "issuer": {"cat": ["https://", {"var": "data.tenant"}, ".example"]},
        "kid": {"var": "data.kid"}});
    let [header, claims] = parts(input.clone(), json!({"tenant": "acme", "kid": "k2"})).unwrap();
    assert_eq!((&header["kid"], &claims["iss"]), (&json!("k2"), &json!("https://acme.example")));
    assert_eq!(refusal(input, json!({"kid": 7})), invalid("kid: expected string, got number"));
}

#[test]
fn nothing_of_the_message_is_scanned_again() {
    let token_claims = claims(
        json!({"expires_in": 1, "claims": {"x": {"var": "data.x"}}}),
        json!({"x": {"var": "data.secret"}, "secret": 1}),
    );
    assert_eq!(token_claims["x"], json!({"var": "data.secret"}));
}

#[test]
fn claims_from_the_message_are_checked_again() {
    const DURATION: &str = "1 to 315360000 seconds, as an integer or as a text such as 90s, 15m, 12h, 30d";
    let duration = |field: &str| invalid(&format!("{field}: {DURATION}"));
    let var = || json!({"var": "data.in"});
    for (mut input, value, expected) in [
        (json!({"claims": var()}), json!("text"), invalid("claims: expected object, got string")),
        (json!({"claims": var()}), json!(null), invalid("claims: expected object, got null")),
        (json!({"claims": var()}), json!({"exp": "1"}), invalid("claims.exp: expected number, got string")),
        (json!({"claims": var()}), json!({"iat": null}), invalid("claims.iat: expected number, got null")),
        (json!({"claims": {"exp": var()}}), json!([]), invalid("claims.exp: expected number, got array")),
        (json!({"expires_in": var()}), json!(0), duration("expires_in")),
        (json!({"expires_in": var()}), json!(315_360_001), duration("expires_in")),
        (json!({"expires_in": var()}), json!("soon"), duration("expires_in")),
        (json!({"expires_in": var()}), json!(null), duration("expires_in")),
        (json!({"not_before": var()}), json!(-1), duration("not_before")),
        (
            json!({"audience": var()}),
            json!(5),
            invalid("audience: expected string or non-empty array of strings"),
        ),
        (
            json!({"audience": var()}),
            json!([]),
            invalid("audience: expected string or non-empty array of strings"),
        ),
        (
            json!({"audience": [var()]}),
            json!(null),
            invalid("audience: expected string or non-empty array of strings"),
        ),
    ] {
        let fields = input.as_object_mut().unwrap();
        fields.entry("expires_in").or_insert(json!(60));
        assert_eq!(refusal(input.clone(), json!({"in": value})), expected, "{input} {value}");
    }
    let expected = invalid("expires_in: required without claims.exp");
    assert_eq!(refusal(json!({"claims": {"var": "data.in"}}), json!({"in": {"sub": "s"}})), expected);
}
