//! Tests of invalid `auth` blocks, and of the `Debug` output of an authenticator.

use serde_json::json;

use crate::support::{authenticator, build};

#[test]
fn invalid_auth_names_its_field_and_no_value() {
    for (auth, reason) in [
        (
            json!({"mode": "api_key", "keys": ["s3cret", "env://GONE"]}),
            "auth: auth.keys[1]: env://GONE: the variable is not set",
        ),
        (json!({"mode": "api_key", "keys": ["env://EMPTY"]}), "auth: auth.keys[0]: the value is blank"),
        (json!({"mode": "api_key", "keys": ["env://BLANK"]}), "auth: auth.keys[0]: the value is blank"),
        (
            json!({"mode": "api_key", "keys": ["k", "env://LINE"]}),
            "auth: auth.keys[1]: the value is no header value",
        ),
        (
            json!({"mode": "api_key", "keys": ["env://ACCENT"], "header": "X-Key"}),
            "auth: auth.keys[0]: the value is no header value",
        ),
        (
            json!({"mode": "api_key", "keys": ["env://s3cret value"]}),
            "auth: auth.keys[0]: malformed env:// reference",
        ),
        (
            json!({"mode": "hmac", "secret": "vault://s3cret"}),
            "auth: auth.secret: malformed vault:// reference",
        ),
        (
            json!({"mode": "hmac", "secret": "file://s3cret"}),
            "auth: auth.secret: malformed file:// reference",
        ),
        (
            json!({"mode": "hmac", "secret": "aws-sm://s3cret"}),
            "auth: auth.secret: aws-sm:// is reserved and cannot be resolved; use env://, file:// or vault://",
        ),
        (
            json!({"mode": "hmac", "secret": "vault://kv/hook#key"}),
            "auth: auth.secret: vault://kv/hook#key: not usable here: VAULT_ADDR and VAULT_TOKEN are not both set",
        ),
        (
            json!({"mode": "hmac", "secret": "s3cret", "secrets": ["env://SET", "env://GONE"]}),
            "auth: auth.secrets[1]: env://GONE: the variable is not set",
        ),
        (json!({"mode": "hmac", "secrets": ["env://EMPTY"]}), "auth: auth.secrets[0]: the value is blank"),
    ] {
        assert_eq!(build(&auth).unwrap_err(), reason, "{auth}");
    }
}

#[test]
fn other_schemes_are_literals() {
    for key in ["https://a", "postgres://s", "ENV://X", "env//X"] {
        assert!(build(&json!({"mode": "api_key", "keys": [key]})).is_ok(), "{key}");
    }
}

#[test]
fn an_authenticator_shows_no_secret() {
    for auth in [
        json!({"mode": "api_key", "keys": ["s3cret", "env://SET"]}),
        json!({"mode": "hmac", "secret": "s3cret", "secrets": ["env://SET"]}),
        json!({"mode": "hmac", "secret": "s3cret", "algorithm": "sha1", "preset": "stripe"}),
    ] {
        let shown = format!("{:?}", authenticator(&auth));
        assert!(!shown.contains("s3cret") && !shown.contains("value"), "{shown}");
        assert!(shown.len() < 600, "nothing of a key's state is shown: {shown}");
    }
}
