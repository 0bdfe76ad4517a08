//! Tests of forgery attempts for every algorithm.

use openssl::ecdsa::EcdsaSig;
use openssl::pkey::Id;
use serde_json::{Value, json};
use svc_auth::RefusalReason;
use svc_auth::jwt::JwtVerifier;
use svc_model::config::auth::JwtAlgorithm;

use super::issuer::{Issuer, encode, pem};
use super::{ALGORITHMS, NOW, auth, build, verify};

/// Returns for each algorithm an issuer and a verifier with its key, under the id `1`.
fn issuers() -> impl Iterator<Item = (Issuer, JwtVerifier)> {
    ALGORITHMS.into_iter().map(|algorithm| {
        let issuer = Issuer::new(algorithm);
        let verifier = build(&auth(vec![issuer.key(Some("1"))]));
        assert_eq!(verify(&verifier, &good(&issuer)).err(), None, "{algorithm:?}");
        (issuer, verifier)
    })
}

fn header(issuer: &Issuer) -> Value {
    json!({"alg": issuer.algorithm.name(), "kid": "1"})
}

fn claims() -> Value {
    json!({"sub": "a", "exp": NOW + 60})
}

fn good(issuer: &Issuer) -> String {
    issuer.token(&header(issuer), &claims())
}

fn parts(token: &str) -> [String; 3] {
    token.split('.').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap()
}

fn expect_refusal(verifier: &JwtVerifier, token: &str, reason: RefusalReason) {
    assert_eq!(verify(verifier, token).err(), Some(reason), "{token}");
}

#[test]
fn a_token_without_a_signature_algorithm_is_refused() {
    for (issuer, verifier) in issuers() {
        for alg in
            ["none", "None", "nOnE", "NONE", "", " ", "none\0", "HS1", "ES512", "ES256K", "RSA-OAEP", "dir"]
        {
            let token = issuer.token(&json!({"alg": alg, "kid": "1"}), &claims());
            expect_refusal(&verifier, &token, RefusalReason::AlgRejected);
            let [header, payload, _] = parts(&token);
            expect_refusal(&verifier, &format!("{header}.{payload}."), RefusalReason::AlgRejected);
            for rest in ["", ".", "..", ".=", ".!.", ".e30.=", ".e30.e30.e30"] {
                expect_refusal(&verifier, &format!("{header}{rest}"), RefusalReason::AlgRejected);
            }
        }
        let lower = issuer.algorithm.name().to_lowercase();
        expect_refusal(
            &verifier,
            &issuer.token(&json!({"alg": lower, "kid": "1"}), &claims()),
            RefusalReason::AlgRejected,
        );
    }
}

#[test]
fn unlisted_algorithm_is_refused_for_any_keys() {
    for (issuer, _) in issuers() {
        let mut config = auth(vec![issuer.key(Some("1")), issuer.key(None)]);
        config.algorithms.retain(|algorithm| *algorithm != issuer.algorithm);
        expect_refusal(&build(&config), &good(&issuer), RefusalReason::AlgRejected);
    }
}

#[test]
fn a_public_key_signs_nothing() {
    for (victim, verifier) in issuers().filter(|(issuer, _)| issuer.algorithm.min_key_bytes().is_none()) {
        let public = pem(&victim.private);
        let der = victim.private.public_key_to_der().unwrap();
        for algorithm in [JwtAlgorithm::Hs256, JwtAlgorithm::Hs384, JwtAlgorithm::Hs512] {
            for secret in [public.as_bytes(), public.trim().as_bytes(), &der] {
                let mut forger = Issuer::new(algorithm);
                forger.private = openssl::pkey::PKey::hmac(secret).unwrap();
                expect_refusal(&verifier, &good(&forger), RefusalReason::UnknownKid);
                let anonymous = build(&auth(vec![victim.key(None)]));
                expect_refusal(&anonymous, &good(&forger), RefusalReason::UnknownKid);
            }
        }
    }
}

#[test]
fn key_verifies_no_other_algorithm_than_its_own() {
    for (issuer, verifier) in issuers() {
        for other in ALGORITHMS.into_iter().filter(|other| *other != issuer.algorithm) {
            let mut forger = Issuer::new(other);
            // Uses the same secret or RSA key with another algorithm; an EC key has only one algorithm.
            if forger.private.id() == issuer.private.id() && issuer.private.id() != Id::EC {
                forger.private = issuer.private.clone();
            }
            expect_refusal(&verifier, &good(&forger), RefusalReason::UnknownKid);
        }
    }
}

#[test]
fn the_signature_of_another_key_is_refused() {
    for (issuer, verifier) in issuers() {
        let forged = good(&Issuer::stranger(issuer.algorithm));
        expect_refusal(&verifier, &forged, RefusalReason::BadSignature);
    }
}

#[test]
fn key_inside_the_token_is_ignored() {
    for (issuer, verifier) in issuers() {
        let stranger = Issuer::stranger(issuer.algorithm);
        for (name, value) in [
            ("jwk", json!({"kty": "oct", "k": encode(&stranger.text), "kid": "1"})),
            ("jku", json!("https://attacker.example/jwks")),
            ("x5u", json!("https://attacker.example/chain")),
            ("x5c", json!([encode(&stranger.text)])),
            ("x5t", json!("AAAA")),
        ] {
            let mut header = header(&issuer);
            header[name] = value;
            expect_refusal(&verifier, &stranger.token(&header, &claims()), RefusalReason::BadSignature);
            assert_eq!(verify(&verifier, &issuer.token(&header, &claims())).err(), None, "{name} is ignored");
        }
    }
}

#[test]
fn a_key_id_is_compared_and_nothing_else() {
    for (issuer, verifier) in issuers() {
        let long = "1".repeat(2000);
        for kid in
            ["../../../../dev/null", "/dev/null", "1' OR '1'='1", "1\0", " 1", "", "*", "env://X", &long]
        {
            let token = issuer.token(&json!({"alg": issuer.algorithm.name(), "kid": kid}), &claims());
            expect_refusal(&verifier, &token, RefusalReason::UnknownKid);
        }
        for kid in [json!(1), json!(null), json!(["1"]), json!({"1": "1"}), json!(true)] {
            let token = issuer.token(&json!({"alg": issuer.algorithm.name(), "kid": kid}), &claims());
            expect_refusal(&verifier, &token, RefusalReason::Malformed);
        }
        let none = issuer.token(&json!({"alg": issuer.algorithm.name()}), &claims());
        expect_refusal(&verifier, &none, RefusalReason::UnknownKid);
    }
}

#[test]
fn static_keys_with_matching_id_come_first() {
    for (issuer, _) in issuers() {
        let stranger = Issuer::stranger(issuer.algorithm);
        let keys = vec![stranger.key(None), stranger.key(Some("1")), issuer.key(None), issuer.key(Some("2"))];
        let verifier = build(&auth(keys));
        assert_eq!(verify(&verifier, &good(&issuer)).err(), None, "the next key is tried");
        let unknown = issuer.token(&json!({"alg": issuer.algorithm.name(), "kid": "3"}), &claims());
        assert_eq!(verify(&verifier, &unknown).err(), None, "a key without an id serves any");
    }
}

#[test]
fn a_header_that_asks_for_more_is_refused() {
    for (issuer, verifier) in issuers() {
        for (name, value) in [
            ("crit", json!(["exp"])),
            ("crit", json!([])),
            ("crit", json!(null)),
            ("b64", json!(false)),
            ("b64", json!(true)),
            ("alg", json!(null)),
            ("alg", json!(1)),
            ("alg", json!([issuer.algorithm.name()])),
            ("typ", json!(1)),
            ("cty", json!({})),
        ] {
            let mut header = header(&issuer);
            header[name] = value;
            expect_refusal(&verifier, &issuer.token(&header, &claims()), RefusalReason::Malformed);
        }
        expect_refusal(&verifier, &issuer.token(&json!({"kid": "1"}), &claims()), RefusalReason::Malformed);
    }
}

#[test]
fn header_or_claim_that_appears_twice_is_refused() {
    for (issuer, verifier) in issuers() {
        let (name, claims) = (issuer.algorithm.name(), claims().to_string());
        for header in [
            format!(r#"{{"alg":"{name}","kid":"1","alg":"{name}"}}"#),
            format!(r#"{{"alg":"none","kid":"1","alg":"{name}"}}"#),
            format!(r#"{{"alg":"{name}","kid":"1","\u006bid":"1"}}"#),
            format!(r#"{{"alg":"{name}","kid":"1","x":1,"x":1}}"#),
        ] {
            expect_refusal(&verifier, &issuer.sign(header, &claims), RefusalReason::Malformed);
        }
        for payload in [
            format!(r#"{{"exp":1,"exp":{}}}"#, NOW + 60),
            format!(r#"{{"exp":{0},"sub":"a","\u0065xp":{0}}}"#, NOW + 60),
        ] {
            expect_refusal(
                &verifier,
                &issuer.sign(header(&issuer).to_string(), payload),
                RefusalReason::Malformed,
            );
        }
    }
}

#[test]
fn header_or_payload_without_an_object_is_refused() {
    for (issuer, verifier) in issuers() {
        let (header, claims) = (header(&issuer).to_string(), claims().to_string());
        let deep = format!("{{\"exp\":{}}}", "[".repeat(500));
        let bom = format!("\u{feff}{claims}");
        for other in ["", "null", "[]", "\"a\"", "1", "{", "{}}", "{\"a\":1e999}", &deep, &bom] {
            expect_refusal(&verifier, &issuer.sign(other, &claims), RefusalReason::Malformed);
            expect_refusal(&verifier, &issuer.sign(&header, other), RefusalReason::Malformed);
        }
        expect_refusal(&verifier, &issuer.sign(b"{\"alg\":\"\xff\"}", &claims), RefusalReason::Malformed);
        expect_refusal(
            &verifier,
            &issuer.sign(&header, b"{\"exp\":9999999999,\"a\":\"\xff\"}"),
            RefusalReason::Malformed,
        );
    }
}

#[test]
fn a_token_has_three_parts_of_strict_base64url() {
    for (issuer, verifier) in issuers() {
        let token = good(&issuer);
        let [header, payload, signature] = parts(&token);
        for other in [
            "x".to_owned(),
            ".".to_owned(),
            "..".to_owned(),
            "...".to_owned(),
            format!("{header}.{payload}"),
            format!("{token}."),
            format!(".{token}"),
            format!("{token}.{signature}"),
            format!("{header}..{payload}.{signature}"),
            format!(".{payload}.{signature}"),
            format!("{token} "),
            format!(" {token}"),
            format!("{token}\n"),
            format!("{token}\0"),
            format!(r#"{{"protected":"{header}","payload":"{payload}","signature":"{signature}"}}"#),
        ] {
            expect_refusal(&verifier, &other, RefusalReason::Malformed);
        }
        for (at, part) in [&header, &payload, &signature].into_iter().enumerate() {
            let (start, end) = part.split_at(part.len() / 2);
            for broken in ["=", "==", "+", "/", "\n", "\r\n", " ", "\t", "%", "é", "\0"] {
                for changed in [format!("{part}{broken}"), format!("{start}{broken}{end}")] {
                    let mut parts = parts(&token);
                    parts[at] = changed;
                    expect_refusal(&verifier, &parts.join("."), RefusalReason::Malformed);
                    // Refused even if the issuer signed this form.
                    let [header, payload, signature] = &mut parts;
                    if at < 2 {
                        *signature = encode(issuer.signature(format!("{header}.{payload}").as_bytes()));
                    }
                    expect_refusal(&verifier, &parts.join("."), RefusalReason::Malformed);
                }
            }
        }
    }
}

#[test]
fn blanks_between_the_members_of_a_header_are_json() {
    for (issuer, verifier) in issuers() {
        let name = issuer.algorithm.name();
        for header in [
            format!("{{ \"kid\" : \"1\", \"alg\" : \"{name}\" }}"),
            format!("{{\"kid\":\"1\",\n\t\"alg\":\"{name}\"}}\r\n"),
        ] {
            assert_eq!(verify(&verifier, &issuer.sign(header, claims().to_string())).err(), None);
        }
    }
}

#[test]
fn the_last_character_has_one_spelling() {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (issuer, verifier) in issuers() {
        let token = good(&issuer);
        let (start, last) = token.split_at(token.len() - 1);
        for other in ALPHABET.iter().map(|byte| char::from(*byte)).filter(|other| !last.starts_with(*other)) {
            assert!(verify(&verifier, &format!("{start}{other}")).is_err(), "{other}");
        }
    }
}

#[test]
fn signature_covers_exactly_header_and_payload() {
    for (issuer, verifier) in issuers() {
        let token = good(&issuer);
        let [header, payload, signature] = parts(&token);
        let admin = encode(json!({"sub": "admin", "exp": NOW + 60}).to_string());
        let typed = encode(json!({"alg": issuer.algorithm.name(), "kid": "1", "typ": "JWT"}).to_string());
        let length = issuer.signature(b"").len();
        for forged in [
            format!("{header}.{payload}."),
            format!("{header}.{admin}.{signature}"),
            format!("{header}..{signature}"),
            format!("{typed}.{payload}.{signature}"),
            format!("{header}.{payload}.{}", encode(vec![0; length])),
            format!("{header}.{payload}.{}", encode(vec![0xff; length])),
            format!("{header}.{payload}.{}", encode(vec![0; length - 1])),
            format!("{header}.{payload}.AA"),
            format!("{header}.{payload}.AAAA{signature}"),
            format!("{header}.{payload}.{}", encode(issuer.signature(payload.as_bytes()))),
        ] {
            expect_refusal(&verifier, &forged, RefusalReason::BadSignature);
        }
    }
}

#[test]
fn ecdsa_signature_is_two_full_length_numbers() {
    for (issuer, verifier) in issuers().filter(|(issuer, _)| issuer.algorithm.name().starts_with("ES")) {
        let [header, payload, _] = parts(&good(&issuer));
        let raw = issuer.signature(format!("{header}.{payload}").as_bytes());
        let (r, s) = raw.split_at(raw.len() / 2);
        let number = |bytes: &[u8]| openssl::bn::BigNum::from_slice(bytes).unwrap();
        let der = EcdsaSig::from_private_components(number(r), number(s)).unwrap().to_der().unwrap();
        let mut order = openssl::bn::BigNum::new().unwrap();
        let mut context = openssl::bn::BigNumContext::new().unwrap();
        issuer.private.ec_key().unwrap().group().order(&mut order, &mut context).unwrap();
        let order = order.to_vec();
        let zero = vec![0; r.len()];
        for forged in [
            der,
            [&zero[..], &zero].concat(),
            [&zero[..], s].concat(),
            [r, &zero[..]].concat(),
            [&order[..], &order].concat(),
            [r, &order[..]].concat(),
            [s, r].concat(),
            [&[0], r, &[0], s].concat(),
            [&raw[..], &[0]].concat(),
            raw[1..].to_vec(),
        ] {
            expect_refusal(
                &verifier,
                &format!("{header}.{payload}.{}", encode(forged)),
                RefusalReason::BadSignature,
            );
        }
    }
}
