//! Tests that signatures of the providers are accepted, and similar ones are refused.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use svc_auth::RefusalReason;

use crate::support::{Golden, SignedRequest, authenticator, merge, verdict};

/// Calls `visit` with the file name, the block, the secret and the request of each vector.
fn for_each_golden(mut visit: impl FnMut(&str, &Golden, &str, &SignedRequest)) {
    for (name, golden) in Golden::all() {
        for vector in &golden.vectors {
            visit(&name, &golden, &vector.secret, &vector.request());
        }
    }
}

#[test]
fn every_preset_has_forty_vectors_with_their_origin() {
    let mut counts = BTreeMap::new();
    for (name, golden) in Golden::all() {
        assert!(golden.origin.contains(|c: char| c.is_ascii_digit()), "{name} tells no version");
        let preset = golden.config["preset"].as_str().unwrap_or("none").to_owned();
        *counts.entry(preset).or_insert(0) += golden.vectors.len();
    }
    for preset in ["zoom", "slack", "stripe", "github", "shopify", "webex", "none"] {
        assert!(counts[preset] >= 40, "{preset}: {}", counts[preset]);
    }
}

#[test]
fn provider_signature_passes_under_preset_and_alias() {
    let aliases = [
        ("zoom", "P1"),
        ("slack", "P2"),
        ("stripe", "P3"),
        ("github", "P4"),
        ("shopify", "P5"),
        ("webex", "P6"),
    ];
    for_each_golden(|name, golden, secret, request| {
        let auth = golden.auth(secret);
        assert!(verdict(&authenticator(&auth), request).is_ok(), "{name}: {request:?}");
        let preset = golden.config["preset"].as_str();
        if let Some((_, alias)) = aliases.iter().find(|(known, _)| Some(*known) == preset) {
            let auth = merge(&auth, &json!({"preset": alias}));
            assert!(verdict(&authenticator(&auth), request).is_ok(), "{name}: {alias}");
        }
    });
}

#[test]
fn only_secrets_of_the_rotation_are_accepted() {
    for_each_golden(|name, golden, secret, request| {
        let mut auth = merge(&golden.auth("another"), &json!({"secrets": ["a third", secret]}));
        assert!(verdict(&authenticator(&auth), request).is_ok(), "{name}");
        auth["secrets"] = json!(["a third", format!("{secret} ")]);
        assert_eq!(verdict(&authenticator(&auth), request), Err(RefusalReason::BadSignature), "{name}");
    });
}

#[test]
fn standard_webhooks_decode_secrets_and_take_several_signatures() {
    let key: Vec<u8> = (200..232).collect();
    let secret = format!("whsec_{}", STANDARD.encode(&key));
    let auth = json!({"mode": "hmac", "secret": secret, "header": "webhook-signature", "signature_prefix": "v1,",
        "encoding": "base64", "message": "{header:webhook-id}.{body}"});
    let signature = "v1,hI/zI1eVqhnJ0PMYWvnkWl7Uqn5b1UDHJ0fSOaY1vA0=";
    let sign = |key: &[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(b"msg_1.{}");
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    };
    let good = sign(&key);
    let judge = |auth: &Value, value: &str| {
        let request = SignedRequest::new("{}").with("webhook-id", "msg_1").with("webhook-signature", value);
        verdict(&authenticator(auth), &request).map(|_| ())
    };
    for value in
        [good.clone(), format!("{signature} {good}"), format!("{good} {signature}"), sign(secret.as_bytes())]
    {
        assert_eq!(judge(&auth, &value), Ok(()), "{value}");
    }
    assert_eq!(judge(&auth, signature), Err(RefusalReason::BadSignature));
    assert_eq!(judge(&auth, &format!("v1a,x {}", good.replace("v1,", "v2,"))), Err(RefusalReason::Malformed));
    let other_form = merge(&auth, &json!({"signature_prefix": "v1="}));
    assert_eq!(judge(&other_form, &good.replace("v1,", "v1=")), Err(RefusalReason::BadSignature));
}

#[test]
fn another_blank_in_the_body_is_refused() {
    for_each_golden(|name, golden, secret, request| {
        let authenticator = authenticator(&golden.auth(secret));
        let body = &request.body;
        let mut changed = vec![[b" ", body.as_slice()].concat(), [body.as_slice(), b"\n"].concat()];
        let (head, tail) = body.split_at(body.len() / 2);
        changed.push([head, b" ", tail].concat());
        for (at, _) in body.iter().enumerate().filter(|(_, byte)| byte.is_ascii_whitespace()).take(3) {
            changed.push([&body[..at], &body[at + 1..]].concat());
        }
        for body in changed {
            let request = SignedRequest { body, ..request.clone() };
            assert_eq!(
                verdict(&authenticator, &request),
                Err(RefusalReason::BadSignature),
                "{name}: {request:?}"
            );
        }
    });
}

#[test]
fn a_flipped_bit_of_the_signature_is_refused() {
    for_each_golden(|name, golden, secret, request| {
        let authenticator = authenticator(&golden.auth(secret));
        let (header, length) = golden.signature();
        let value = request.header(header).unwrap();
        let (before, text) = value.split_at(value.len() - length);
        let is_hex = length != 44;
        let signature = if is_hex { hex::decode(text).unwrap() } else { STANDARD.decode(text).unwrap() };
        // Fewer positions for a large body, to limit the run time.
        let step = if request.body.len() > 1000 { 37 } else { 1 };
        for bit in (0..signature.len() * 8).step_by(step) {
            let mut flipped = signature.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let text = if is_hex { hex::encode(flipped) } else { STANDARD.encode(flipped) };
            let mut request = request.clone();
            *request.header_mut(header) = [before, text.as_bytes()].concat();
            assert_eq!(
                verdict(&authenticator, &request),
                Err(RefusalReason::BadSignature),
                "{name}: bit {bit}"
            );
        }
    });
}

#[test]
fn headers_of_another_request_are_refused() {
    for (name, golden) in Golden::all() {
        let (signature, _) = golden.signature();
        for (vector, other) in golden.vectors.iter().zip(golden.vectors.iter().skip(1)) {
            let authenticator = authenticator(&golden.auth(&vector.secret));
            let (request, other) = (vector.request(), other.request());
            if other.now != request.now {
                continue;
            }
            for (header, value) in &other.headers {
                let mut swapped = request.clone();
                *swapped.header_mut(header) = value.clone();
                if swapped != request {
                    assert_eq!(verdict(&authenticator, &swapped), Err(RefusalReason::BadSignature), "{name}");
                }
            }
            let renamed =
                request.clone().without(signature).with("x-other", request.header(signature).unwrap());
            assert_eq!(verdict(&authenticator, &renamed), Err(RefusalReason::Missing), "{name}");
        }
    }
}

#[test]
fn signature_is_stale_a_second_after_its_window() {
    for_each_golden(|name, golden, secret, request| {
        let authenticator = authenticator(&golden.auth(secret));
        for seconds in [-601, 601, i64::MIN / 2, i64::MAX / 2] {
            let moved = SignedRequest { now: request.now + seconds, ..request.clone() };
            let refusal = verdict(&authenticator, &moved).err();
            assert_eq!(refusal, golden.has_window().then_some(RefusalReason::StaleTimestamp), "{name}");
        }
    });
}
