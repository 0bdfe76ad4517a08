//! Tests of the checks that refuse an input before it is stored.

use serde_json::{Value, json};
use svc_model::FieldCode::{self, Invalid, Required, TypeMismatch, UnknownField};
use svc_model::WorkflowChecks as _;

use crate::support::{SHARED, check_messages, engine, problems};

/// Asserts the problems that are reported for an input.
#[track_caller]
fn reports(function: &str, input: Value, due: &[(&str, FieldCode)]) {
    let problems = problems(function, &input);
    let due: Vec<_> = due.iter().map(|(field, code)| ((*field).to_owned(), *code)).collect();
    assert_eq!(problems, due, "{input}");
}

#[test]
fn functions_are_registered_under_the_names_of_their_entries() {
    let engine = engine();
    for name in ["crypto", "jwt_sign", "jwt_verify"] {
        assert_eq!(engine.catalogue().find(name).map(|entry| entry.name), Some(name));
    }
}

#[test]
fn each_op_of_crypto_has_its_fields() {
    let whole = json!({"data": "d", "input_encoding": "utf8", "key": "k", "key_encoding": "utf8", "signature": "s",
        "password": "p", "hash": "h", "encoding": "hex", "params": {}, "output": "data.x"});
    for (op, own) in [
        ("hash", &["data", "input_encoding", "encoding"][..]),
        ("hmac", &["data", "input_encoding", "key", "key_encoding", "encoding"]),
        ("hmac_verify", &["data", "input_encoding", "key", "key_encoding", "signature"]),
        ("password_hash", &["password", "params"]),
        ("password_verify", &["password", "hash"]),
    ] {
        let mut input = whole.clone();
        input["op"] = json!(op);
        let mut problems = problems("crypto", &input);
        problems.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut due: Vec<_> = whole.as_object().unwrap().keys().cloned().collect();
        due.retain(|field| field != "output" && !own.contains(&field.as_str()));
        due.sort();
        assert_eq!(problems, due.into_iter().map(|field| (field, Invalid)).collect::<Vec<_>>(), "{op}");
    }
}

#[test]
fn each_op_of_crypto_needs_its_fields() {
    for (op, needed) in [
        ("hash", &["data"][..]),
        ("hmac", &["data", "key"]),
        ("hmac_verify", &["data", "key", "signature"]),
        ("password_hash", &["password"]),
        ("password_verify", &["password", "hash"]),
    ] {
        let due: Vec<_> = needed.iter().map(|field| (*field, Required)).collect();
        reports("crypto", json!({"op": op}), &due);
    }
    reports("crypto", json!({"op": "hash", "data": null}), &[("data", Required)]);
    reports("crypto", json!({}), &[("op", Required)]);
    reports("crypto", json!({"op": "encrypt"}), &[("op", Invalid)]);
    reports("crypto", json!({"op": "hash", "data": "d", "salt": "s"}), &[("salt", UnknownField)]);
}

#[test]
fn each_op_of_crypto_has_its_algorithms() {
    let macs = &["sha256", "sha512", "sha1"][..];
    for (op, known) in [
        ("hash", &["sha256", "sha512", "sha1", "md5"][..]),
        ("hmac", macs),
        ("hmac_verify", macs),
        ("password_hash", &["argon2id", "bcrypt"]),
        ("password_verify", &[]),
    ] {
        for algorithm in ["sha256", "sha512", "sha1", "md5", "argon2id", "bcrypt", "sha3"] {
            let mut input = json!({"op": op, "algorithm": algorithm});
            for field in engine().catalogue().find("crypto").unwrap().case(op).unwrap().required {
                input[*field] = json!("x");
            }
            let problems = problems("crypto", &input);
            let refused = problems.iter().any(|(field, code)| field == "algorithm" && *code == Invalid);
            assert_eq!(refused, !known.contains(&algorithm), "{op} {algorithm} {problems:?}");
        }
    }
}

#[test]
fn costs_have_bounds() {
    let argon2 = |params: Value| json!({"op": "password_hash", "password": "p", "params": params});
    for params in [
        json!({"memory_kib": 8192, "iterations": 1, "parallelism": 1}),
        json!({"memory_kib": 131_072, "iterations": 10, "parallelism": 4}),
        json!({}),
    ] {
        reports("crypto", argon2(params), &[]);
    }
    for (params, field) in [
        (json!({"memory_kib": 8191}), "params.memory_kib"),
        (json!({"memory_kib": 131_073}), "params.memory_kib"),
        (json!({"iterations": 0}), "params.iterations"),
        (json!({"iterations": 11}), "params.iterations"),
        (json!({"parallelism": 0}), "params.parallelism"),
        (json!({"parallelism": 5}), "params.parallelism"),
        (json!({"iterations": 2.5}), "params.iterations"),
        (json!({"cost": 12}), "params.cost"),
        (json!({"salt": "x"}), "params.salt"),
    ] {
        reports("crypto", argon2(params), &[(field, Invalid)]);
    }
    let bcrypt = |params: Value| json!({"op": "password_hash", "algorithm": "bcrypt", "password": "p", "params": params});
    reports("crypto", bcrypt(json!({"cost": 10})), &[]);
    reports("crypto", bcrypt(json!({"cost": 14})), &[]);
    reports("crypto", bcrypt(json!({"cost": 9})), &[("params.cost", Invalid)]);
    reports("crypto", bcrypt(json!({"cost": 15})), &[("params.cost", Invalid)]);
    reports("crypto", bcrypt(json!({"memory_kib": 8192})), &[("params.memory_kib", Invalid)]);
    reports("crypto", bcrypt(json!({"cost": "12"})), &[("params.cost", TypeMismatch)]);
    reports("crypto", bcrypt(json!([])), &[("params", TypeMismatch)]);
}

#[test]
fn a_key_that_is_written_out_is_inspected() {
    let hmac =
        |key: Value, encoding: &str| json!({"op": "hmac", "data": "d", "key": key, "key_encoding": encoding});
    reports("crypto", hmac(json!("zz"), "hex"), &[("key", Invalid)]);
    reports("crypto", hmac(json!("*"), "base64"), &[("key", Invalid)]);
    for key in [json!(" "), json!("env://A-B"), json!("vault://x"), json!("aws-sm://x")] {
        reports("crypto", hmac(key, "utf8"), &[("key", Invalid)]);
    }
    for key in [json!("env://ANY"), json!("vault://kv/a#b"), json!({"secret": "undeclared here"})] {
        reports("crypto", hmac(key, "hex"), &[]);
    }
    for key in [json!(5), json!({"var": "data.key"}), json!({"secret": "a", "b": 1}), json!(null)] {
        reports("crypto", hmac(key, "utf8"), &[("key", TypeMismatch)]);
    }
}

#[test]
fn signing_key_that_is_written_out_is_inspected() {
    let vectors: Value = serde_json::from_str(include_str!("../vectors/keys.json")).unwrap();
    let sign = |algorithm: &str, key: Value| json!({"algorithm": algorithm, "key": key, "expires_in": "1h"});
    reports("jwt_sign", sign("HS256", json!(&SHARED[..32])), &[]);
    let text = |name: &str, form: usize| vectors[name]["private"][form].as_str().unwrap().to_owned();
    let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    reports("jwt_sign", sign("ES256", json!(format!("{parameters}{}", text("ES256", 1)))), &[]);
    let several = text("ES256", 0) + &text("ES256", 1);
    let old = text("RS256", 1).replacen(
        "-----\n",
        "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n",
        1,
    );
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----";
    let broken = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----";
    for (algorithm, key) in [
        ("HS256", json!(&SHARED[..31])),
        ("HS384", json!(&SHARED[..47])),
        ("HS512", json!(&SHARED[..63])),
        ("HS256", vectors["RS256"]["private"][0].clone()),
        ("RS256", json!(SHARED)),
        ("RS256", vectors["RS256"]["public"].clone()),
        ("RS256", json!(encrypted)),
        ("RS256", json!(old)),
        ("RS256", json!(broken)),
        ("ES256", json!(several)),
        ("RS256", vectors["ES256"]["private"][0].clone()),
        ("PS256", vectors["EdDSA"]["private"][0].clone()),
        ("ES256", vectors["ES384"]["private"][0].clone()),
        ("ES384", vectors["ES256"]["private"][1].clone()),
        ("EdDSA", vectors["RS256"]["private"][1].clone()),
    ] {
        reports("jwt_sign", sign(algorithm, key), &[("key", Invalid)]);
    }
    let mut short = sign("HS256", json!("c3dvcmRmaXNo"));
    short["key_encoding"] = json!("base64");
    assert_eq!(check_messages("jwt_sign", &short)[0].2, "HS256 needs a key of at least 32 bytes");
}

#[test]
fn the_fields_of_jwt_sign_are_checked() {
    let with = |fields: Value| {
        let mut input = json!({"algorithm": "HS256", "key": SHARED, "expires_in": 60});
        for (field, value) in fields.as_object().unwrap() {
            input[field] = value.clone();
        }
        input
    };
    reports("jwt_sign", json!({}), &[("algorithm", Required), ("key", Required), ("expires_in", Required)]);
    reports("jwt_sign", with(json!({"algorithm": "none"})), &[("algorithm", Invalid)]);
    reports("jwt_sign", with(json!({"expires_in": "1w"})), &[("expires_in", Invalid)]);
    reports("jwt_sign", with(json!({"expires_in": 315_360_001})), &[("expires_in", Invalid)]);
    reports("jwt_sign", with(json!({"not_before": 0})), &[("not_before", Invalid)]);
    reports("jwt_sign", with(json!({"audience": 5})), &[("audience", TypeMismatch)]);
    reports("jwt_sign", with(json!({"audience": []})), &[("audience", TypeMismatch)]);
    reports("jwt_sign", with(json!({"claims": "c"})), &[("claims", TypeMismatch)]);
    reports(
        "jwt_sign",
        with(json!({"claims": {"exp": "x", "iat": []}})),
        &[("claims.exp", TypeMismatch), ("claims.iat", TypeMismatch)],
    );
    reports("jwt_sign", with(json!({"issuer": {"var": "data.x"}, "kid": {"var": "data.k"}})), &[]);
    reports(
        "jwt_sign",
        with(json!({"issuer": 5, "kid": [1]})),
        &[("issuer", TypeMismatch), ("kid", TypeMismatch)],
    );
    reports("jwt_sign", with(json!({"typ": "JWT"})), &[("typ", UnknownField)]);
    reports("jwt_sign", with(json!({"key_encoding": "base64url"})), &[("key_encoding", Invalid)]);
    for fields in [
        json!({"expires_in": null, "claims": {"exp": 1}}),
        json!({"expires_in": null, "claims": {"var": "data.claims"}}),
        json!({"expires_in": {"var": "data.ttl"}, "audience": {"var": "data.aud"}, "not_before": {"var": "data.nbf"}}),
        json!({"claims": {"exp": {"var": "data.exp"}}, "audience": ["a", {"var": "data.b"}]}),
    ] {
        reports("jwt_sign", with(fields), &[]);
    }
    reports(
        "jwt_sign",
        with(json!({"expires_in": null, "claims": {"sub": "s"}})),
        &[("expires_in", Required)],
    );
}

#[test]
fn the_fields_of_jwt_verify_are_checked() {
    let with = |fields: Value| {
        let mut input =
            json!({"token": "t", "algorithms": ["HS256"], "keys": [{"algorithm": "HS256", "key": SHARED}]});
        for (field, value) in fields.as_object().unwrap() {
            input[field] = value.clone();
        }
        input
    };
    reports("jwt_verify", with(json!({})), &[]);
    reports("jwt_verify", json!({}), &[("token", Required), ("algorithms", Required), ("keys", Required)]);
    reports("jwt_verify", with(json!({"keys": []})), &[("keys", Required)]);
    reports("jwt_verify", with(json!({"keys": [], "jwks_url": "https://issuer.example"})), &[]);
    reports("jwt_verify", with(json!({"jwks_url": "http://issuer.example"})), &[("jwks_url", Invalid)]);
    reports("jwt_verify", with(json!({"algorithms": []})), &[("algorithms", Invalid)]);
    reports(
        "jwt_verify",
        with(json!({"algorithms": ["none", 5]})),
        &[("algorithms[0]", Invalid), ("algorithms[1]", TypeMismatch)],
    );
    for leeway in [json!(-1), json!(301), json!(1.5)] {
        reports("jwt_verify", with(json!({"leeway_secs": leeway})), &[("leeway_secs", Invalid)]);
    }
    reports("jwt_verify", with(json!({"require_exp": "no"})), &[("require_exp", TypeMismatch)]);
    for (value, at, code) in [
        (json!([]), "issuer", Invalid),
        (json!(5), "issuer", TypeMismatch),
        (json!(["a", {"b": {"var": "data.b"}}]), "issuer[1]", TypeMismatch),
        (json!(" "), "issuer", Invalid),
        (json!(["env://A-B"]), "issuer[0]", Invalid),
    ] {
        reports("jwt_verify", with(json!({"issuer": value})), &[(at, code)]);
    }
    let key = |fields: Value| with(json!({"keys": [fields]}));
    reports("jwt_verify", key(json!("k")), &[("keys[0]", TypeMismatch)]);
    reports("jwt_verify", key(json!({})), &[("keys[0].algorithm", Required), ("keys[0].key", Required)]);
    reports("jwt_verify", key(json!({"algorithm": "HS256", "key": "short"})), &[("keys[0].key", Invalid)]);
    reports("jwt_verify", key(json!({"algorithm": "RS256", "key": SHARED})), &[("keys[0].key", Invalid)]);
    reports("jwt_verify", key(json!({"algorithm": "HS256", "key": 5})), &[("keys[0].key", TypeMismatch)]);
    reports("jwt_verify", key(json!({"algorithm": "x", "key": SHARED})), &[("keys[0].algorithm", Invalid)]);
    let whole = json!({"algorithm": "HS256", "key": {"secret": "any"}, "kid": 1, "key_encoding": "utf16", "use": "sig"});
    reports(
        "jwt_verify",
        key(whole),
        &[("keys[0].use", UnknownField), ("keys[0].kid", TypeMismatch), ("keys[0].key_encoding", Invalid)],
    );
}

#[test]
fn no_report_repeats_a_secret() {
    for (function, input) in [
        ("crypto", json!({"op": "hmac", "data": "d", "key": "swordfish", "key_encoding": "hex"})),
        ("crypto", json!({"op": "hmac", "data": "d", "key": "env://sword fish"})),
        ("jwt_sign", json!({"algorithm": "HS256", "key": "swordfish", "expires_in": 60})),
        ("jwt_sign", json!({"algorithm": "RS256", "key": "vault://swordfish", "expires_in": 60})),
        (
            "jwt_verify",
            json!({"token": "t", "algorithms": ["HS256"], "keys": [{"algorithm": "HS256", "key": "swordfish"}]}),
        ),
    ] {
        let messages = check_messages(function, &input);
        assert!(!messages.is_empty() && !format!("{messages:?}").contains("sword"), "{messages:?}");
    }
}

#[test]
fn secret_references_resolve_only_in_secret_fields() {
    let engine = engine();
    for (function, place) in [
        ("crypto", ".key"),
        ("jwt_sign", ".key"),
        ("jwt_verify", ".keys[0].key"),
        ("jwt_verify", ".keys[12].key"),
        ("jwt_verify", ".issuer"),
        ("jwt_verify", ".audience[0]"),
    ] {
        assert!(engine.resolves_reference(function, place), "{function} {place}");
    }
    for (function, place) in [
        ("map", ".key"),
        ("crypto", ".data"),
        ("crypto", ".key.deep"),
        ("crypto", ".key[0]"),
        ("jwt_sign", ".claims.key"),
        ("jwt_verify", ".keys[0].kid"),
        ("jwt_verify", ".keys[a].key"),
        ("jwt_verify", ".keys"),
        ("jwt_verify", ".issuer.a[0]"),
        ("jwt_verify", ".issuer[0].a"),
    ] {
        assert!(!engine.resolves_reference(function, place), "{function} {place}");
    }
}
