//! The `auth` block as authors get it wrong: the same refusal, with its path, at every endpoint that a definition
//! comes in by.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::support::{channel, details, echo, error, launch, start};

const BASE: &str = "/api/v1/admin/channels";
const AUTH: &str = "channel.config.auth";
const HS256: &str = "0123456789abcdef0123456789abcdef";

/// A faulty block, the path of its problem, and a part of the message.
type Fault = (Value, &'static str, &'static str);

fn api_key(extra: Value) -> Value {
    merge(json!({"mode": "api_key", "keys": ["k1"]}), extra)
}

fn hmac(extra: Value) -> Value {
    merge(json!({"mode": "hmac", "secret": "s"}), extra)
}

fn jwt(extra: Value) -> Value {
    merge(json!({"mode": "jwt", "algorithms": ["RS256"], "jwks_url": "https://id.example/keys"}), extra)
}

/// A `jwt` block with one static key.
fn key(extra: Value) -> Value {
    let entry = merge(json!({"algorithm": "HS256", "key": HS256}), extra);
    json!({"mode": "jwt", "algorithms": ["HS256"], "jwt_keys": [entry]})
}

fn merge(mut base: Value, extra: Value) -> Value {
    base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    base
}

fn faults() -> Vec<Fault> {
    let logic = |value: Value| jwt(json!({"authorization_logic": value}));
    vec![
        (json!({}), "channel.config.auth.mode", ""),
        (
            json!({"mode": "basic"}),
            "channel.config.auth.mode",
            "config does not match the channel schema: use one of api_key",
        ),
        (json!("api_key"), AUTH, "config does not match the channel schema: expected object"),
        (json!({"mode": "api_key"}), AUTH, "api_key mode needs at least one entry in auth.keys"),
        (api_key(json!({"keys": []})), AUTH, "needs at least one entry"),
        (api_key(json!({"keys": ["k", " "]})), AUTH, "auth.keys has a blank entry"),
        (api_key(json!({"keys": "k"})), "channel.config.auth.keys", "array"),
        (api_key(json!({"scheme": "two words"})), AUTH, "auth.scheme"),
        (
            api_key(json!({"secret": "s"})),
            "channel.config.auth.secret",
            "config does not match the channel schema: unknown field",
        ),
        (json!({"mode": "hmac"}), AUTH, "hmac mode needs auth.secret or auth.secrets"),
        (hmac(json!({"secrets": [""]})), AUTH, "auth.secrets has a blank entry"),
        (hmac(json!({"preset": "acme"})), AUTH, "known: zoom, slack, stripe, github, shopify, webex"),
        (hmac(json!({"signature_prefix": "a", "signature_key": "b"})), AUTH, "exclude each other"),
        (hmac(json!({"preset": "slack", "signature_key": "v1"})), AUTH, "exclude each other"),
        (hmac(json!({"algorithm": "md5"})), AUTH, "use sha1, sha256 or sha512"),
        (hmac(json!({"encoding": "base32"})), AUTH, "use hex, base64 or base64url"),
        (hmac(json!({"message": "{body"})), AUTH, "auth.message: unclosed '{'"),
        (hmac(json!({"message": "{body}}"})), AUTH, "auth.message: stray '}'"),
        (hmac(json!({"message": "{url}{body}"})), AUTH, "auth.message: unknown placeholder '{url}'"),
        (hmac(json!({"message": "{header:}{body}"})), AUTH, "auth.message: malformed header placeholder"),
        (hmac(json!({"message": "{header:x}"})), AUTH, "auth.message: needs {body}"),
        (hmac(json!({"timestamp": "x-ts"})), AUTH, "auth.timestamp needs auth.tolerance_secs"),
        (hmac(json!({"tolerance_secs": 5})), AUTH, "auth.tolerance_secs needs auth.timestamp"),
        (
            hmac(json!({"timestamp": "x-ts", "tolerance_secs": 0})),
            AUTH,
            "auth.tolerance_secs must be positive",
        ),
        (hmac(json!({"timestamp": "x:", "tolerance_secs": 5})), AUTH, "<header> or <header>:<key>"),
        (jwt(json!({"algorithms": []})), AUTH, "jwt mode needs a non-empty auth.algorithms"),
        (jwt(json!({"algorithms": ["none"]})), AUTH, "auth.algorithms: 'none' is not supported"),
        (jwt(json!({"algorithms": ["ES512"]})), AUTH, "auth.algorithms: 'ES512' is not supported"),
        (jwt(json!({"jwks_url": null})), AUTH, "jwt mode needs auth.jwt_keys, auth.jwks_url or auth.issuer"),
        (jwt(json!({"jwks_url": "http://id.example"})), AUTH, "auth.jwks_url must start with https://"),
        (jwt(json!({"leeway_secs": 301})), AUTH, "auth.leeway_secs is at most 300"),
        (jwt(json!({"source": {"header": " "}})), AUTH, "auth.source.header is blank"),
        (jwt(json!({"source": {"cookie": ""}})), AUTH, "auth.source.cookie is blank"),
        (jwt(json!({"max_token_bytes": 0})), "channel.config.auth.max_token_bytes", "at least 1"),
        (key(json!({"key": ""})), AUTH, "auth.jwt_keys has an empty key"),
        (key(json!({"key": "short"})), "channel.config.auth.jwt_keys[0].key", "32 bytes"),
        (key(json!({"key_encoding": "utf16"})), "channel.config.auth.jwt_keys[0].key_encoding", "hex"),
        (key(json!({"algorithm": "RS256"})), "channel.config.auth.jwt_keys[0].key", "PEM"),
        (
            logic(json!({"a": 1, "b": 2})),
            "channel.config.auth.authorization_logic",
            "an object of several members calls no operator",
        ),
        (logic(json!({"==": [{"secret": "token"}, 1]})), AUTH, "auth.authorization_logic does not compile"),
        (logic(json!({"==": [{"var": "claims.sub"}, "env://SUB"]})), AUTH, "secret reference"),
    ]
}

/// Keys that only a parser of keys finds wrong, and addresses no key set may be fetched from.
fn key_faults() -> Vec<Fault> {
    const KEY: &str = "channel.config.auth.jwt_keys[0].key";
    const URL: &str = "channel.config.auth.jwks_url";
    let pem = |algorithm: &str, text: &str| key(json!({"algorithm": algorithm, "key": text}));
    let body = "-----BEGIN PUBLIC KEY-----\nMAAw\n-----END PUBLIC KEY-----\n";
    let address = |url: &str| jwt(json!({"jwks_url": url}));
    vec![
        (pem("RS256", body), KEY, ""),
        (pem("RS256", P256), KEY, ""),
        (pem("ES384", P256), KEY, ""),
        (pem("EdDSA", P256), KEY, ""),
        (key(json!({"key": "!!!!".repeat(16), "key_encoding": "base64"})), KEY, ""),
        (address("https://127.0.0.1/keys"), URL, "127.0.0.1"),
        (address("https://10.1.2.3/keys"), URL, "10.1.2.3"),
        (address("https://[::1]/keys"), URL, "not a public address"),
        (address("https://0x7f000001/keys"), URL, "127.0.0.1"),
        (address("https://169.254.169.254/latest"), URL, "169.254.169.254"),
        (address("https://user:pass@id.example/keys"), URL, "credentials"),
    ]
}

/// A public key on P-256, for ES256 alone.
const P256: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7\n\
    6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==\n\
    -----END PUBLIC KEY-----\n";

/// Sends a document to the four endpoints that check it. Returns path and message of the one problem of each.
fn refusals_of_endpoints(client: &mut HttpClient, auth: &Value) -> Vec<(String, String)> {
    let document = channel("wrong", "w", json!({"auth": auth}));
    let problem = |error: &Value| {
        let detail = &error["details"][0];
        (detail["path"].as_str().unwrap().to_owned(), detail["message"].as_str().unwrap().to_owned())
    };
    let created = client.json("POST", BASE, &document).unwrap();
    let created = error(&created, 400, "VALIDATION_ERROR");
    assert_eq!(details(&created).len(), 1, "{created}");
    let updated = client.json("PUT", &format!("{BASE}/open"), &json!({"config": {"auth": auth}})).unwrap();
    let validated = client.json("POST", &format!("{BASE}/validate"), &document).unwrap().json();
    let issue = &validated["data"]["errors"][0];
    assert_eq!(validated["data"]["valid"], false, "{validated}");
    let imported = client.json("POST", &format!("{BASE}/import"), &json!([document])).unwrap().json();
    assert_eq!(imported["data"]["failed"], 1, "{imported}");
    let text = imported["data"]["errors"][0]["error"].as_str().unwrap();
    let (path, message) = text.split_once(": ").unwrap();
    vec![
        problem(&created),
        problem(&error(&updated, 400, "VALIDATION_ERROR")),
        (issue["field"].as_str().unwrap().to_owned(), issue["message"].as_str().unwrap().to_owned()),
        (path.to_owned(), message.to_owned()),
    ]
}

fn refused_everywhere(faults: &[Fault]) {
    let server = start();
    let mut client = server.client().keep_alive();
    assert_eq!(client.json("POST", BASE, &channel("open", "w", json!({}))).unwrap().status, 201);
    for (auth, path, words) in faults {
        let refusals = refusals_of_endpoints(&mut client, auth);
        assert!(refusals[0].0 == *path && refusals[0].1.contains(words), "{auth}: {:?}", refusals[0]);
        assert!(refusals.iter().all(|told| *told == refusals[0]), "{auth}: {refusals:?}");
    }
    assert_eq!(client.get(BASE).unwrap().json()["total"], 1, "nothing was stored");
}

#[test]
fn impossible_auth_block_is_refused_by_every_endpoint() {
    refused_everywhere(&faults());
}

#[test]
fn wrong_key_and_forbidden_address_are_refused_everywhere() {
    refused_everywhere(&key_faults());
}

#[test]
fn secret_reading_or_constant_expression_is_not_stored() {
    let server = start();
    let mut client = server.client().keep_alive();
    let limit = |logic: &Value| json!({"requests_per_second": 1, "key_logic": logic});
    for logic in [json!({"secret": "token"}), json!({"cat": ["env://X"]})] {
        for (path, config) in [
            ("channel.config.validation_logic", json!({"validation_logic": logic})),
            ("channel.config.rate_limit.key_logic", json!({"rate_limit": limit(&logic)})),
            (
                "channel.config.principal_rate_limit.key_logic",
                json!({"auth": jwt(json!({})), "principal_rate_limit": limit(&logic)}),
            ),
            (AUTH, json!({"auth": jwt(json!({"authorization_logic": logic}))})),
        ] {
            let refused = client.json("POST", BASE, &channel("wrong", "w", config)).unwrap();
            let details = details(&error(&refused, 400, "VALIDATION_ERROR"));
            assert_eq!(details, [(path.to_owned(), "INVALID".to_owned())], "{logic}");
        }
    }
    let misspelled = json!({"equals": [{"var": "data.a"}, 1]});
    for (path, code, config) in [
        (
            "channel.config.validation_logic.equals",
            "UNKNOWN_OPERATOR",
            json!({"validation_logic": misspelled}),
        ),
        (
            "channel.config.rate_limit.key_logic.equals",
            "UNKNOWN_OPERATOR",
            json!({"rate_limit": limit(&misspelled)}),
        ),
        ("channel.config.rate_limit.key_logic", "INVALID", json!({"rate_limit": limit(&json!({}))})),
        (
            "channel.config.validation_logic",
            "NOT_AN_EXPRESSION",
            json!({"validation_logic": {"a": true, "b": true}}),
        ),
    ] {
        let refused = client.json("POST", BASE, &channel("wrong", "w", config)).unwrap();
        let all = details(&error(&refused, 400, "VALIDATION_ERROR"));
        assert_eq!(all, [(path.to_owned(), code.to_owned())]);
    }
    let parts = limit(&json!({"ip": {"var": "client_ip"}, "tenant": {"var": "headers.x-tenant-id"}}));
    let composed = client.json("POST", BASE, &channel("parts", "w", json!({"rate_limit": parts}))).unwrap();
    assert_eq!(composed.status, 201, "a key may have several parts: {}", composed.text());
}

#[test]
fn unknown_operator_call_is_refused_at_its_path() {
    let server = start();
    let mut client = server.client();
    let config = json!({
        "auth": jwt(json!({"authorization_logic": {"!": {"vra": "claims.blocked"}}})),
        "rate_limit": {"requests_per_second": 1, "key_logic": {"cat": [{"var": "client_ip"}, {"hedder": "x"}]}},
        "validation_logic": {"and": [{"==": [{"var": "data.a"}, 1]}, {"if": [{"is_email": [{"vra": "b"}]}, 1]}]},
    });
    let report = client.json("POST", &format!("{BASE}/validate"), &channel("c", "w", config)).unwrap().json();
    assert_eq!(report["data"]["valid"], false, "{report}");
    let errors = report["data"]["errors"].as_array().unwrap();
    let mut fields: Vec<_> = errors.iter().map(|error| error["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    let expected = [
        "channel.config.auth.authorization_logic.!.vra",
        "channel.config.rate_limit.key_logic.cat[1].hedder",
        "channel.config.validation_logic.and[1].if[0].is_email",
        "channel.config.validation_logic.and[1].if[0].is_email[0].vra",
    ];
    assert_eq!(fields, expected, "{report}");
}

#[test]
fn references_stay_unresolved_and_addresses_may_be_allowed() {
    let server = launch().env("SVC_JWT__ALLOW_PRIVATE_JWKS_URLS", "true").start().unwrap();
    let mut client = server.client();
    for (id, auth) in [
        ("a", json!({"mode": "api_key", "keys": ["env://NOT_SET"]})),
        ("b", key(json!({"algorithm": "RS256", "key": "env://NOT_SET"}))),
        ("c", jwt(json!({"jwks_url": "https://127.0.0.1/keys"}))),
    ] {
        let created = client.json("POST", BASE, &channel(id, "w", json!({"auth": auth}))).unwrap();
        assert_eq!(created.status, 201, "{}", created.text());
    }
    let read = client.get(&format!("{BASE}/a")).unwrap().json();
    assert_eq!(read["data"]["config"]["auth"]["keys"], json!(["env://NOT_SET"]), "references stay readable");
}

#[test]
fn mask_is_restored_in_place_refused_elsewhere() {
    let server = start();
    let mut client = server.client();
    let auth = json!({"mode": "api_key", "keys": ["first-key", "env://SECOND"]});
    let created = client.json("POST", BASE, &channel("c", "w", json!({"auth": auth}))).unwrap();
    assert_eq!(created.json()["data"]["config"]["auth"]["keys"], json!(["******", "env://SECOND"]));
    let hash = created.json()["data"]["content_hash"].clone();
    let shown = client.get(&format!("{BASE}/c")).unwrap().json()["data"]["config"].clone();
    let back = client.json("PUT", &format!("{BASE}/c"), &json!({"config": shown})).unwrap();
    assert_eq!((back.status, &back.json()["data"]["content_hash"]), (200, &hash), "nothing changed");
    for (keys, leaf) in [
        (json!(["new", "******"]), "channel.config.auth.keys[1]"),
        (json!(["******", "env://SECOND", "******"]), "channel.config.auth.keys[2]"),
    ] {
        let update = json!({"config": {"auth": {"mode": "api_key", "keys": keys}}});
        let refused = client.json("PUT", &format!("{BASE}/c"), &update).unwrap();
        let details = details(&error(&refused, 400, "VALIDATION_ERROR"));
        assert_eq!(details, [(leaf.to_owned(), "INVALID".to_owned())]);
    }
    let change = json!({"config": {"auth": {"mode": "hmac", "secret": "******"}}});
    let refused = client.json("PUT", &format!("{BASE}/c"), &change).unwrap();
    assert_eq!(details(&error(&refused, 400, "VALIDATION_ERROR"))[0].0, "channel.config.auth.secret");
    let document = channel("d", "w", json!({"auth": {"mode": "api_key", "keys": ["******"]}}));
    let refused = client.json("POST", BASE, &document).unwrap();
    assert_eq!(details(&error(&refused, 400, "VALIDATION_ERROR"))[0].0, "channel.config.auth.keys[0]");
    let imported = client.json("POST", &format!("{BASE}/import"), &json!([document])).unwrap().json();
    let text = imported["data"]["errors"][0]["error"].as_str().unwrap().to_owned();
    assert!(text.starts_with("channel.config.auth.keys[0]: "), "{text}");
    let total = client.get(BASE).unwrap().json();
    assert_eq!(total["total"], 1, "{total}");
}

#[test]
fn channel_with_unset_reference_is_quarantined_until_changed() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "good", json!({}));
    echo(&mut client, "bad", json!({"auth": {"mode": "api_key", "keys": ["env://NOT_SET_ANYWHERE"]}}));
    for path in ["/api/v1/data/bad", "/api/v1/data/bad/async"] {
        error(&client.json("POST", path, &json!({})).unwrap(), 503, "SERVICE_UNAVAILABLE");
    }
    let health = client.get("/health").unwrap();
    assert_eq!((health.status, &health.json()["components"]["channels"]), (200, &json!("degraded")));
    let listed = health.json()["channels"]["quarantined"][0].clone();
    let reason = listed["reason"].as_str().unwrap_or_default().to_owned();
    assert_eq!(listed["channel"], "bad");
    assert!(reason.starts_with("auth:") && reason.contains("auth.keys[0]"), "{reason}");
    assert_eq!(client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap().status, 200);
    error(&client.json("POST", "/api/v1/data/bad", &json!({})).unwrap(), 503, "SERVICE_UNAVAILABLE");
    assert_eq!(client.json("POST", "/api/v1/data/good", &json!({})).unwrap().status, 200);
    assert_eq!(client.json("POST", &format!("{BASE}/bad/versions"), &json!({})).unwrap().status, 201);
    let edited = json!({"config": {"auth": {"mode": "api_key", "keys": ["the-key"]}}});
    assert_eq!(client.json("PUT", &format!("{BASE}/bad"), &edited).unwrap().status, 200);
    let active = client.json("PATCH", &format!("{BASE}/bad/status"), &json!({"status": "active"})).unwrap();
    assert_eq!(active.status, 200, "{}", active.text());
    error(&client.json("POST", "/api/v1/data/bad", &json!({})).unwrap(), 401, "UNAUTHORIZED");
    let json_key = [("content-type", "application/json"), ("authorization", "Bearer the-key")];
    assert_eq!(client.send("POST", "/api/v1/data/bad", &json_key, b"{}").unwrap().status, 200);
    assert_eq!(client.get("/health").unwrap().json()["components"]["channels"], "ok");
}

#[test]
fn validation_warns_of_references_that_nothing_resolves() {
    let server = start();
    let mut client = server.client();
    let mut warn = |kind: &str, document: &Value| {
        let path = format!("/api/v1/admin/{kind}/validate");
        let report = client.json("POST", &path, document).unwrap().json()["data"].clone();
        assert_eq!(report["valid"], true, "{report}");
        report["warnings"].to_string()
    };
    for (key, reason) in [
        ("aws-sm://s3cret", "aws-sm:// is reserved"),
        ("vault://s3cret", "expected vault://<path>#<field>"),
        ("env://NOT_SET_ANYWHERE", "the variable is not set"),
    ] {
        let warnings = warn("channels", &channel("c", "w", json!({"auth": api_key(json!({"keys": [key]}))})));
        assert!(warnings.contains(reason) && !warnings.contains("s3cret"), "{warnings}");
    }
    let task = json!({"op": "hmac", "data": "d", "key": "env://NOT_SET_ANYWHERE", "output": "data.mac"});
    let task = json!({"id": "sign", "name": "Sign", "function": {"name": "crypto", "input": task}});
    let warnings = warn("workflows", &json!({"name": "w", "tasks": [task]}));
    assert!(warnings.contains("tasks[0]") && warnings.contains("the variable is not set"), "{warnings}");
}
