//! Tests of the `auth` block: refused configs, and the values of accepted ones.

use serde_json::{Value, json};

use super::refusal;
use crate::config::auth::*;
use crate::config::*;

fn parse(auth: Value) -> AuthConfig {
    ChannelConfig::parse(&json!({"auth": auth})).unwrap().auth.unwrap()
}

fn hmac(extra: Value) -> Value {
    merge(json!({"mode": "hmac", "secret": "s"}), extra)
}

fn jwt(extra: Value) -> Value {
    merge(json!({"mode": "jwt", "algorithms": ["RS256"], "jwks_url": "https://id.test/keys"}), extra)
}

fn merge(mut base: Value, extra: Value) -> Value {
    base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    base
}

#[test]
fn structural_faults_are_refused_by_name() {
    let key = |extra: Value| jwt(json!({"jwt_keys": [merge(json!({"algorithm": "HS256"}), extra)]}));
    for (auth, text) in [
        (json!({"mode": "api_key"}), "api_key mode needs at least one entry in auth.keys"),
        (json!({"mode": "api_key", "keys": []}), "api_key mode needs at least one entry in auth.keys"),
        (json!({"mode": "api_key", "keys": ["k", " "]}), "auth.keys has a blank entry"),
        (
            json!({"mode": "api_key", "keys": ["k"], "scheme": "a b"}),
            "auth.scheme is no authentication scheme",
        ),
        (json!({"mode": "api_key", "keys": ["k"], "header": ""}), "auth.header is blank"),
        (json!({"mode": "api_key", "keys": ["k"], "header": "x y"}), "auth.header is no header name"),
        (json!({"mode": "api_key", "keys": [""]}), "auth.keys has a blank entry"),
        (json!({"mode": "api_key", "keys": ["k", "clé"]}), "auth.keys[1] is no header value"),
        (json!({"mode": "api_key", "keys": [" k"]}), "auth.keys[0] is no header value"),
        (json!({"mode": "api_key", "keys": ["k\n"]}), "auth.keys[0] is no header value"),
        (json!({"mode": "api_key", "keys": ["env://A", "a\u{7f}b"]}), "auth.keys[1] is no header value"),
        (
            json!({"mode": "api_key", "keys": ["k"], "consumers": {"names": ["a"]}}),
            "auth.keys and auth.consumers exclude each other",
        ),
        (json!({"mode": "api_key", "consumers": {}}), "auth.consumers needs names or tags"),
        (json!({"mode": "api_key", "consumers": {"names": []}}), "auth.consumers.names is empty"),
        (json!({"mode": "hmac", "consumers": {"tags": [" "]}}), "auth.consumers.tags has a blank entry"),
        (
            json!({"mode": "hmac", "consumers": {"tags": ["a"], "names": ["b"]}}),
            "auth.consumers takes names or tags, not both",
        ),
        (hmac(json!({"consumers": {"tags": ["a"]}})), "auth.consumers excludes auth.secret and auth.secrets"),
        (json!({"mode": "hmac"}), "hmac mode needs auth.secret or auth.secrets"),
        (json!({"mode": "hmac", "secrets": []}), "hmac mode needs auth.secret or auth.secrets"),
        (json!({"mode": "hmac", "secret": ""}), "hmac mode needs auth.secret or auth.secrets"),
        (json!({"mode": "hmac", "secrets": ["a", ""]}), "auth.secrets has a blank entry"),
        (
            hmac(json!({"preset": "acme"})),
            "unknown auth.preset 'acme'; known: zoom, slack, stripe, github, shopify, webex, standard_webhooks",
        ),
        (
            hmac(json!({"signature_prefix": "v0=", "signature_key": "v1"})),
            "auth.signature_prefix and auth.signature_key exclude each other",
        ),
        (
            hmac(json!({"preset": "slack", "signature_key": "v1"})),
            "auth.signature_prefix and auth.signature_key exclude each other",
        ),
        (
            hmac(json!({"preset": "P3", "signature_prefix": ""})),
            "auth.signature_prefix and auth.signature_key exclude each other",
        ),
        (
            hmac(json!({"preset": "P8"})),
            "unknown auth.preset 'P8'; known: zoom, slack, stripe, github, shopify, webex, standard_webhooks",
        ),
        (
            hmac(json!({"preset": ""})),
            "unknown auth.preset ''; known: zoom, slack, stripe, github, shopify, webex, standard_webhooks",
        ),
        (hmac(json!({"signature_key": " "})), "auth.signature_key is blank"),
        (hmac(json!({"signature_key": "v1="})), "auth.signature_key is no key of a packed header"),
        (hmac(json!({"signature_key": "v1 "})), "auth.signature_key is no key of a packed header"),
        (hmac(json!({"header": ""})), "auth.header is blank"),
        (hmac(json!({"algorithm": "SHA256"})), "auth.algorithm 'SHA256': use sha1, sha256 or sha512"),
        (hmac(json!({"algorithm": "md5"})), "auth.algorithm 'md5': use sha1, sha256 or sha512"),
        (hmac(json!({"encoding": "base32"})), "auth.encoding 'base32': use hex, base64 or base64url"),
        (hmac(json!({"message": "{body"})), "auth.message: unclosed '{'"),
        (hmac(json!({"message": "{body}}"})), "auth.message: stray '}'"),
        (hmac(json!({"message": "{url}{body}"})), "auth.message: unknown placeholder '{url}'"),
        (hmac(json!({"message": "{header:}{body}"})), "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{header:a:}{body}"})), "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{header}{body}"})), "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{header:a b}{body}"})), "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{header: a}{body}"})), "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{header::k}{body}"})), "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{header:a:k=}{body}"})), "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{header:a{body}"})), "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{}{body}"})), "auth.message: unknown placeholder '{}'"),
        (hmac(json!({"message": "{Body}"})), "auth.message: unknown placeholder '{Body}'"),
        (hmac(json!({"message": "{body:x}"})), "auth.message: unknown placeholder '{body:x}'"),
        (hmac(json!({"message": "{{body}}"})), "auth.message: unknown placeholder '{{body}'"),
        (hmac(json!({"message": "{body}{"})), "auth.message: unclosed '{'"),
        (hmac(json!({"message": "}{body}"})), "auth.message: stray '}'"),
        (hmac(json!({"message": "{header:x}"})), "auth.message: needs {body}"),
        (hmac(json!({"message": ""})), "auth.message: needs {body}"),
        (hmac(json!({"timestamp": "x-ts"})), "auth.timestamp needs auth.tolerance_secs"),
        (hmac(json!({"tolerance_secs": 5})), "auth.tolerance_secs needs auth.timestamp"),
        (hmac(json!({"timestamp": "x-ts", "tolerance_secs": 0})), "auth.tolerance_secs must be positive"),
        (hmac(json!({"timestamp": "x-ts", "tolerance_secs": -3})), "auth.tolerance_secs must be positive"),
        (
            hmac(json!({"timestamp": "x:", "tolerance_secs": 5})),
            "auth.timestamp must be <header> or <header>:<key>",
        ),
        (
            hmac(json!({"timestamp": " ", "tolerance_secs": 5})),
            "auth.timestamp must be <header> or <header>:<key>",
        ),
        (
            hmac(json!({"timestamp": "x y", "tolerance_secs": 5})),
            "auth.timestamp must be <header> or <header>:<key>",
        ),
        (
            hmac(json!({"timestamp": ":t", "tolerance_secs": 5})),
            "auth.timestamp must be <header> or <header>:<key>",
        ),
        (hmac(json!({"preset": "github", "tolerance_secs": 5})), "auth.tolerance_secs needs auth.timestamp"),
        (hmac(json!({"preset": "slack", "tolerance_secs": 0})), "auth.tolerance_secs must be positive"),
        (
            jwt(json!({"jwks_url": null, "issuer": "id.test"})),
            "auth.issuer must start with https:// to find its keys; else give auth.jwks_url",
        ),
        (
            jwt(json!({"jwks_url": null, "issuer": "https://id.test/?tenant=1"})),
            "auth.issuer has no query and no fragment",
        ),
        (
            jwt(json!({"jwks_url": null, "issuer": ["https://id.test", "https://other.test"]})),
            "auth.issuer lists several issuers: give auth.jwks_url or auth.jwt_keys",
        ),
        (jwt(json!({"algorithms": []})), "jwt mode needs a non-empty auth.algorithms"),
        (jwt(json!({"algorithms": null})), "jwt mode needs a non-empty auth.algorithms"),
        (
            jwt(json!({"algorithms": ["RS256", "ES512"]})),
            "auth.algorithms: 'ES512' is not supported; use one of HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, \
             PS512, ES256, ES384, EdDSA",
        ),
        (
            jwt(json!({"algorithms": ["none"]})),
            "auth.algorithms: 'none' is not supported; use one of HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, \
             PS512, ES256, ES384, EdDSA",
        ),
        (
            jwt(json!({"algorithms": ["HS25"]})),
            "auth.algorithms: 'HS25' is not supported, did you mean 'HS256'?",
        ),
        (
            jwt(json!({"algorithms": ["rs-512"]})),
            "auth.algorithms: 'rs-512' is not supported, did you mean 'RS512'?",
        ),
        (
            key(json!({"key": "k", "algorithm": "EDDSA"})),
            "auth.jwt_keys: 'EDDSA' is not supported, did you mean 'EdDSA'?",
        ),
        (jwt(json!({"jwks_url": null})), "jwt mode needs auth.jwt_keys, auth.jwks_url or auth.issuer"),
        (
            jwt(json!({"jwks_url": null, "jwt_keys": []})),
            "jwt mode needs auth.jwt_keys, auth.jwks_url or auth.issuer",
        ),
        (key(json!({"key": " "})), "auth.jwt_keys has an empty key"),
        (key(json!({})), "auth.jwt_keys has an empty key"),
        (jwt(json!({"jwks_url": "http://id.test"})), "auth.jwks_url must start with https://"),
        (jwt(json!({"leeway_secs": 301})), "auth.leeway_secs is at most 300"),
        (jwt(json!({"source": {"header": " "}})), "auth.source.header is blank"),
        (jwt(json!({"source": {"cookie": ""}})), "auth.source.cookie is blank"),
        (jwt(json!({"source": {"cookie": "a b"}})), "auth.source.cookie is no cookie name"),
        (jwt(json!({"source": {"cookie": " a"}})), "auth.source.cookie is no cookie name"),
        (jwt(json!({"source": {"cookie": "a;b"}})), "auth.source.cookie is no cookie name"),
        (jwt(json!({"source": {"cookie": "a=b"}})), "auth.source.cookie is no cookie name"),
        (jwt(json!({"issuer": []})), "auth.issuer is empty"),
        (jwt(json!({"issuer": ""})), "auth.issuer has a blank entry"),
        (jwt(json!({"issuer": ["https://id.test", " "]})), "auth.issuer has a blank entry"),
        (jwt(json!({"audience": []})), "auth.audience is empty"),
        (jwt(json!({"audience": " \t"})), "auth.audience has a blank entry"),
        (jwt(json!({"audience": ["", "billing"]})), "auth.audience has a blank entry"),
        (
            jwt(json!({"source": {"cookie": "c", "header": "h"}})),
            "auth.source takes a header or a cookie, not both",
        ),
    ] {
        let error = refusal(&json!({"auth": auth}));
        assert_eq!((error.path.as_str(), error.message.as_str()), ("channel.config.auth", text), "{auth}");
    }
}

#[test]
fn refusal_of_the_block_knows_its_member() {
    for (auth, member) in [
        (json!({"mode": "api_key", "keys": ["k", "clé"]}), "keys[1]"),
        (json!({"mode": "api_key"}), "keys"),
        (hmac(json!({"message": "{body"})), "message"),
        (hmac(json!({"timestamp": "x-ts"})), "timestamp"),
        (jwt(json!({"issuer": []})), "issuer"),
        (jwt(json!({"source": {"cookie": "a b"}})), "source.cookie"),
        (jwt(json!({"jwt_keys": [{"algorithm": "HS256", "key": " "}]})), "jwt_keys[0].key"),
        (jwt(json!({"jwt_keys": [{"algorithm": "HS25", "key": "k"}]})), "jwt_keys[0].algorithm"),
    ] {
        let error = refusal(&json!({"auth": auth}));
        let expected = format!("channel.config.auth.{member}");
        assert_eq!((&*error.path, error.member.as_deref()), ("channel.config.auth", Some(&*expected)));
        assert_eq!(error.to_json().get("member"), None);
    }
}

#[test]
fn wrong_type_or_mode_is_refused_by_field() {
    use crate::FieldCode::{Invalid, Required, TypeMismatch};
    for (auth, field, code) in [
        (json!({}), ".mode", Required),
        (json!({"mode": "basic"}), ".mode", Invalid),
        (json!({"mode": "API_KEY", "keys": ["k"]}), ".mode", Invalid),
        (json!({"mode": 1}), ".mode", TypeMismatch),
        (json!("api_key"), "", TypeMismatch),
        (json!({"mode": "api_key", "keys": "k"}), ".keys", TypeMismatch),
        (json!({"mode": "api_key", "keys": ["k", 1]}), ".keys[1]", TypeMismatch),
        (json!({"mode": "hmac", "secret": ["s"]}), ".secret", TypeMismatch),
        (hmac(json!({"secrets": "s"})), ".secrets", TypeMismatch),
        (hmac(json!({"timestamp": "x-ts", "tolerance_secs": "300"})), ".tolerance_secs", TypeMismatch),
        (hmac(json!({"timestamp": "x-ts", "tolerance_secs": 1.5})), ".tolerance_secs", TypeMismatch),
        (hmac(json!({"message": 1})), ".message", TypeMismatch),
        (jwt(json!({"algorithms": "RS256"})), ".algorithms", TypeMismatch),
        (jwt(json!({"leeway_secs": -1})), ".leeway_secs", Invalid),
        (jwt(json!({"source": "cookie"})), ".source", TypeMismatch),
    ] {
        let error = refusal(&json!({"auth": auth}));
        assert_eq!((error.path, error.code), (format!("channel.config.auth{field}"), code), "{auth}");
    }
}

#[test]
fn a_reference_is_not_resolved_by_reading_it() {
    for reference in ["env://NOT_SET", "env://not a name", "vault://x", "aws-sm://x"] {
        parse(json!({"mode": "api_key", "keys": [reference]}));
        parse(json!({"mode": "hmac", "secret": reference, "secrets": [reference]}));
    }
}

#[test]
fn a_field_of_another_mode_is_unknown() {
    for (auth, field) in [
        (json!({"mode": "api_key", "keys": ["k"], "secret": "s"}), "secret"),
        (hmac(json!({"keys": ["k"]})), "keys"),
        (jwt(json!({"header": "x"})), "header"),
    ] {
        let error = refusal(&json!({"auth": auth}));
        assert_eq!(error.path, format!("channel.config.auth.{field}"));
        assert_eq!(error.code, crate::FieldCode::UnknownField);
    }
}

#[test]
fn issuer_without_keys_is_discovered() {
    let discovered = |auth: Value| match parse(auth) {
        AuthConfig::Jwt(jwt) => jwt.discovered_issuer().map(str::to_owned),
        other => panic!("{other:?}"),
    };
    let issuer = "https://id.test";
    assert_eq!(discovered(jwt(json!({"jwks_url": null, "issuer": issuer}))).as_deref(), Some(issuer));
    assert_eq!(discovered(jwt(json!({"issuer": issuer}))), None);
    let key = json!({"algorithm": "HS256", "key": "k".repeat(32)});
    assert_eq!(discovered(jwt(json!({"jwks_url": null, "issuer": issuer, "jwt_keys": [key]}))), None);
}

#[test]
fn wrong_key_material_is_refused_at_its_path() {
    let key = |entry: Value| jwt(json!({"jwt_keys": [entry]}));
    for (entry, field) in [
        (json!({"algorithm": "HS256", "key": "k".repeat(31)}), "key"),
        (json!({"algorithm": "HS512", "key": "k".repeat(63)}), "key"),
        (json!({"algorithm": "HS256", "key": "ab".repeat(31), "key_encoding": "hex"}), "key"),
        (json!({"algorithm": "HS256", "key": "zz".repeat(32), "key_encoding": "hex"}), "key"),
        (json!({"algorithm": "HS256", "key": "QUJD", "key_encoding": "base64"}), "key"),
        (json!({"algorithm": "RS256", "key": "k".repeat(64)}), "key"),
        (json!({"algorithm": "ES256", "key": "-----BEGIN PRIVATE KEY-----"}), "key"),
        (json!({"algorithm": "HS256", "key": "k".repeat(32), "key_encoding": "utf16"}), "key_encoding"),
    ] {
        let error = refusal(&json!({"auth": key(entry)}));
        assert_eq!(error.path, format!("channel.config.auth.jwt_keys[0].{field}"));
    }
    for entry in [
        json!({"algorithm": "HS256", "key": "k".repeat(32), "kid": "a"}),
        json!({"algorithm": "HS256", "key": "ab".repeat(32), "key_encoding": "hex"}),
        json!({"algorithm": "HS512", "key": "env://SHORT"}),
        json!({"algorithm": "EdDSA", "key": "-----BEGIN PUBLIC KEY-----\n"}),
    ] {
        parse(key(entry));
    }
}

#[test]
fn api_key_is_bearer_unless_header_differs() {
    let key = |extra: Value| match parse(merge(json!({"mode": "api_key", "keys": ["k"]}), extra)) {
        AuthConfig::ApiKey(auth) => (auth.header, auth.scheme),
        other => panic!("{other:?}"),
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(key(json!({})), ("Authorization".into(), some("Bearer")));
    assert_eq!(key(json!({"header": "authorization"})), ("authorization".into(), some("Bearer")));
    assert_eq!(key(json!({"header": "x-key"})), ("x-key".into(), None));
    assert_eq!(key(json!({"scheme": "Token "})), ("Authorization".into(), some("Token")));
    assert_eq!(key(json!({"scheme": ""})), ("Authorization".into(), None));
}

#[test]
fn key_may_hold_whatever_a_header_can_carry() {
    for key in ["k", "a key", "a\tb", "{\"a\":1}", "~!@#$%^&*()"] {
        parse(json!({"mode": "api_key", "keys": [key]}));
    }
}

#[test]
fn an_hmac_signs_the_body_unless_told_otherwise() {
    let AuthConfig::Hmac(auth) = parse(json!({"mode": "hmac", "secret": "a", "secrets": ["b", "env://C"]}))
    else {
        panic!("another mode")
    };
    assert_eq!(auth.header, "X-Signature");
    assert_eq!(
        (auth.algorithm, auth.form, auth.encoding),
        (HmacAlgorithm::Sha256, SignatureForm::Plain, None)
    );
    assert_eq!(auth.message.parts(), [TemplatePart::Body]);
    assert_eq!(auth.window, None);
    let secrets: Vec<_> = auth.secrets.iter().map(SecretText::expose).collect();
    assert_eq!(auth.secret.as_ref().map(SecretText::expose), Some("a"));
    assert_eq!(secrets, ["b", "env://C"]);
}

#[test]
fn presets_expand_and_explicit_fields_win() {
    let preset = |extra: Value| match parse(hmac(extra)) {
        AuthConfig::Hmac(auth) => *auth,
        other => panic!("{other:?}"),
    };
    for (name, alias, header) in [
        ("zoom", "P1", "x-zm-signature"),
        ("slack", "P2", "x-slack-signature"),
        ("stripe", "P3", "stripe-signature"),
        ("github", "P4", "x-hub-signature-256"),
        ("shopify", "P5", "x-shopify-hmac-sha256"),
        ("webex", "P6", "x-spark-signature"),
        ("standard_webhooks", "P7", "webhook-signature"),
    ] {
        let auth = preset(json!({"preset": name}));
        assert_eq!(auth.header, header);
        assert_eq!(auth, preset(json!({"preset": alias})));
        assert_eq!(auth.window.is_some(), ["zoom", "slack", "stripe", "standard_webhooks"].contains(&name));
        let is_base64 = ["shopify", "standard_webhooks"].contains(&name);
        let encoding = if is_base64 { SignatureEncoding::Base64 } else { SignatureEncoding::Hex };
        assert_eq!(auth.encoding, Some(encoding));
    }
    let stripe = preset(json!({"preset": "stripe"}));
    assert_eq!(stripe.form, SignatureForm::Packed("v1".into()));
    let stamp = HeaderField { name: "stripe-signature".into(), key: Some("t".into()) };
    assert_eq!(
        stripe.message.parts(),
        [TemplatePart::Header(stamp.clone()), TemplatePart::Text(".".into()), TemplatePart::Body]
    );
    assert_eq!(stripe.window, Some(ReplayWindow { timestamp: stamp, tolerance_secs: 300 }));
    assert_eq!(preset(json!({"preset": "webex"})).algorithm, HmacAlgorithm::Sha1);
    let own =
        preset(json!({"preset": "slack", "tolerance_secs": 60, "header": "x-own", "encoding": "base64url"}));
    assert_eq!((own.window.unwrap().tolerance_secs, own.header.as_str()), (60, "x-own"));
    assert_eq!(
        (own.encoding, own.form),
        (Some(SignatureEncoding::Base64Url), SignatureForm::Prefixed("v0=".into()))
    );
    let other = preset(json!({
        "preset": "github", "algorithm": "sha512", "signature_prefix": "sha512=", "message": "{header:X-Id:k}{body}",
        "timestamp": "X-Id:t", "tolerance_secs": 1
    }));
    assert_eq!(
        (other.algorithm, other.form),
        (HmacAlgorithm::Sha512, SignatureForm::Prefixed("sha512=".into()))
    );
    let field = |key: &str| HeaderField { name: "X-Id".into(), key: Some(key.into()) };
    assert_eq!(other.message.parts(), [TemplatePart::Header(field("k")), TemplatePart::Body]);
    assert_eq!(other.window, Some(ReplayWindow { timestamp: field("t"), tolerance_secs: 1 }));
    let kept = preset(json!({"preset": "github", "signature_prefix": null, "header": null}));
    assert_eq!(kept, preset(json!({"preset": "P4"})), "null is absence and switches nothing off");
}

#[test]
fn a_token_has_its_defaults() {
    let token = |extra: Value| match parse(jwt(extra)) {
        AuthConfig::Jwt(auth) => *auth,
        other => panic!("{other:?}"),
    };
    let auth = token(json!({}));
    assert_eq!(
        (auth.leeway_secs, auth.require_exp, auth.required, auth.max_token_bytes),
        (30, true, true, 8192)
    );
    let header = |header: &str, scheme: Option<&str>| TokenLocation::Header {
        header: header.into(),
        scheme: scheme.map(str::to_owned),
    };
    assert_eq!(auth.source, header("Authorization", Some("Bearer")));
    assert_eq!(token(json!({"source": {}})).source, header("Authorization", Some("Bearer")));
    assert_eq!(token(json!({"source": {"header": "x-t"}})).source, header("x-t", None));
    assert_eq!(
        token(json!({"source": {"header": "x-t", "scheme": "JWT"}})).source,
        header("x-t", Some("JWT"))
    );
    assert_eq!(token(json!({"source": {"cookie": "sid"}})).source, TokenLocation::Cookie("sid".into()));
    assert_eq!((auth.issuers, auth.audiences), (Vec::<String>::new(), Vec::<String>::new()));
    let none = token(json!({"issuer": null, "audience": null}));
    assert!(none.issuers.is_empty() && none.audiences.is_empty(), "null is absence");
    let many = token(json!({"issuer": "a", "audience": ["b", "c"]}));
    assert_eq!((many.issuers, many.audiences), (vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()]));
}

#[test]
fn secrets_are_never_printed() {
    let hs = json!([{"algorithm": "HS256", "key": "s3cret-s3cret-s3cret-s3cret-s3cret-"}]);
    for auth in [
        json!({"mode": "api_key", "keys": ["s3cret"]}),
        json!({"mode": "hmac", "secret": "s3cret", "secrets": ["s3cret"]}),
        jwt(json!({"algorithms": ["HS256"], "jwt_keys": hs})),
    ] {
        assert!(!format!("{:?}", parse(auth)).contains("s3cret"));
    }
}
