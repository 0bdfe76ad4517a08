//! Tests of single mutations of valid requests: no mutation with another meaning is accepted.
//!
//! `SVC_FUZZ_REQUESTS` sets the number of refusals; mutations with the same meaning are not counted. The seed
//! is fixed, so that a finding can be reproduced.

use ::hmac::{Hmac, KeyInit, Mac};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use svc_auth::Authenticator;

use crate::meaning::{Form, Piece, Signature, SignatureScheme};
use crate::support::{Golden, SignedRequest, authenticator, fuzz_count, verdict};

/// A valid request with its authenticator and its meaning.
struct Valid {
    name: String,
    request: SignedRequest,
    authenticator: Authenticator,
    scheme: SignatureScheme,
}

#[test]
fn mutated_request_is_admitted_only_if_equal() {
    let count = fuzz_count(20_000);
    let valid = valid();
    let mut random = Random(0x5eed);
    let (mut admitted, mut refused) = (0_u64, 0_u64);
    while refused < count {
        let one = &valid[random.below(valid.len())];
        let other = &valid[random.below(valid.len())];
        let mut request = one.request.clone();
        let mutation = mutate(&mut random, &mut request, &other.request);
        let is_admitted = verdict(&one.authenticator, &request).is_ok();
        let is_same = one.scheme.same(&one.request, &request);
        assert_eq!(
            is_admitted,
            is_same,
            "request {}, {mutation} of {}: {:?} became {request:?}",
            refused + admitted,
            one.name,
            one.request
        );
        if is_admitted { admitted += 1 } else { refused += 1 }
    }
    println!("{refused} mutated requests refused; {admitted} more mean the same and were admitted");
    assert!(admitted > count / 100, "mutations that mean nothing were tried too: {admitted}");
}

#[test]
fn every_request_that_is_mutated_is_valid() {
    for valid in valid() {
        assert!(verdict(&valid.authenticator, &valid.request).is_ok(), "{}", valid.name);
        assert!(valid.scheme.same(&valid.request, &valid.request), "{}", valid.name);
    }
}

/// Returns the vectors of all providers, and requests for modes without a preset.
fn valid() -> Vec<Valid> {
    let mut cases = Vec::new();
    for (name, golden) in Golden::all() {
        let scheme = SignatureScheme::Signature(signature(golden.config["preset"].as_str()));
        for (number, vector) in golden.vectors.iter().enumerate() {
            let request = vector.request();
            if request.body.len() < 1000 {
                let auth = golden.auth(&vector.secret);
                cases.push(Valid::new(format!("{name} {number}"), &auth, request, scheme.clone()));
            }
        }
    }
    // Repeated, so that no mode is rare.
    for _ in 0..40 {
        cases.extend(own());
    }
    cases
}

impl Valid {
    fn new(name: String, auth: &Value, request: SignedRequest, scheme: SignatureScheme) -> Self {
        Self { name, request, authenticator: authenticator(auth), scheme }
    }
}

fn signature(preset: Option<&str>) -> Signature {
    let (header, form, is_hex) = match preset {
        Some("zoom") => ("x-zm-signature", Form::Prefix("v0="), true),
        Some("slack") => ("x-slack-signature", Form::Prefix("v0="), true),
        Some("stripe") => ("stripe-signature", Form::Key("v1"), true),
        Some("github") => ("x-hub-signature-256", Form::Prefix("sha256="), true),
        Some("shopify") => ("x-shopify-hmac-sha256", Form::Prefix(""), false),
        Some("webex") => ("x-spark-signature", Form::Prefix(""), true),
        _ => ("webhook-signature", Form::Prefix("v1,"), false),
    };
    let versioned = |stamp| (vec![Piece::Text("v0:"), stamp, Piece::Text(":"), Piece::Body], Some(stamp));
    let (text, stamp) = match preset {
        Some("zoom") => versioned(Piece::Header("x-zm-request-timestamp")),
        Some("slack") => versioned(Piece::Header("x-slack-request-timestamp")),
        Some("stripe") => {
            let stamp = Piece::Pair("stripe-signature", "t");
            (vec![stamp, Piece::Text("."), Piece::Body], Some(stamp))
        }
        Some(_) => (vec![Piece::Body], None),
        None => {
            let stamp = Piece::Header("webhook-timestamp");
            let text =
                vec![Piece::Header("webhook-id"), Piece::Text("."), stamp, Piece::Text("."), Piece::Body];
            (text, Some(stamp))
        }
    };
    Signature { header, form, is_hex, text, stamp }
}

fn code<M: Mac + KeyInit>(secret: &str, text: &[u8]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// Returns requests for modes and fields that no preset covers.
fn own() -> Vec<Valid> {
    let body = br#"{"id": 7, "text": "a, b=c"}"#;
    let plain = |is_hex| Signature {
        header: "x-signature",
        form: Form::Prefix(""),
        is_hex,
        text: vec![Piece::Body],
        stamp: None,
    };
    let secrets: Vec<_> = (0..8).map(|number| format!("secret {number}")).collect();
    let packed = Signature {
        header: "x-packed",
        form: Form::Key("sig"),
        is_hex: false,
        text: vec![Piece::Header("x-id"), Piece::Text("|"), Piece::Body, Piece::Text("|"), Piece::Body],
        stamp: Some(Piece::Pair("x-packed", "at")),
    };
    let text = [b"id-1|", body.as_slice(), b"|", body].concat();
    let coded = URL_SAFE.encode(code::<Hmac<Sha256>>("s", &text));
    vec![
        Valid::new(
            "sha512, detected hex, the eighth secret".into(),
            &json!({"mode": "hmac", "algorithm": "sha512", "secrets": secrets}),
            SignedRequest::new(body).with("x-signature", hex::encode(code::<Hmac<Sha512>>("secret 7", body))),
            SignatureScheme::Signature(plain(true)),
        ),
        Valid::new(
            "sha1, detected base64".into(),
            &json!({"mode": "hmac", "algorithm": "sha1", "secret": "s"}),
            SignedRequest::new(body)
                .with("x-signature", STANDARD_NO_PAD.encode(code::<Hmac<Sha1>>("s", body))),
            SignatureScheme::Signature(plain(false)),
        ),
        Valid::new(
            "a packed base64url header".into(),
            &json!({
                "mode": "hmac", "secret": "s", "header": "X-Packed", "signature_key": "sig",
                "encoding": "base64url", "message": "{header:X-Id}|{body}|{body}",
                "timestamp": "X-Packed:at", "tolerance_secs": 300
            }),
            SignedRequest::new(body)
                .with("x-id", "id-1")
                .with("x-packed", format!("at=1700000000, sig={coded},sig=AAAA, other=1")),
            SignatureScheme::Signature(packed),
        ),
        Valid::new(
            "a bearer key".into(),
            &json!({"mode": "api_key", "keys": ["k-1", "k-2-0123456789abcdef", "k-3"]}),
            SignedRequest::new(body)
                .with("authorization", "Bearer k-2-0123456789abcdef")
                .with("x-unrelated", "text/plain"),
            SignatureScheme::Credential { header: "authorization", scheme: Some("Bearer") },
        ),
        Valid::new(
            "a key alone".into(),
            &json!({"mode": "api_key", "keys": ["k-2-0123456789abcdef"], "header": "X-Api-Key"}),
            SignedRequest::new(body).with("x-api-key", "k-2-0123456789abcdef"),
            SignatureScheme::Credential { header: "x-api-key", scheme: None },
        ),
        Valid::new(
            "a token".into(),
            &json!({
                "mode": "jwt", "algorithms": ["HS256", "HS512"],
                "jwt_keys": [{"algorithm": "HS256", "key": "k".repeat(32)}, {"algorithm": "HS512", "key": "k".repeat(64)}]
            }),
            SignedRequest::new(body).with("authorization", format!("Bearer {}", token())),
            SignatureScheme::Credential { header: "authorization", scheme: Some("Bearer") },
        ),
    ]
}

/// Returns a token that stays valid, however far a mutation moves the clock.
fn token() -> String {
    let header = URL_SAFE_NO_PAD.encode(br#"{"alg":"HS256","typ":"JWT"}"#);
    let claims = URL_SAFE_NO_PAD.encode(br#"{"sub":"s","exp":1800000000}"#);
    let signed = format!("{header}.{claims}");
    let signature = code::<Hmac<Sha256>>(&"k".repeat(32), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// SplitMix64 with a fixed seed: every run uses the same mutations.
struct Random(u64);

impl Random {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next_u64() % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Applies one mutation and returns its description.
fn mutate(random: &mut Random, request: &mut SignedRequest, other: &SignedRequest) -> &'static str {
    let header = random.below(request.headers.len());
    let blank = random.pick(b" \t\n\r");
    match random.below(18) {
        0 => flip(random, &mut request.body, "a flipped bit in the body"),
        1 => edit(random, &mut request.body, None, "a byte of the body cut out"),
        2 => edit(random, &mut request.body, Some(blank), "a blank put into the body"),
        3 => {
            let end = random.below(request.body.len());
            request.body.truncate(end);
            "the body cut short"
        }
        4 | 5 => flip(random, &mut request.headers[header].1, "a flipped bit in a header"),
        6 => edit(random, &mut request.headers[header].1, None, "a byte of a header cut out"),
        7 => {
            let byte = random.pick(b" ,=0afAF.:v\xff\"");
            edit(random, &mut request.headers[header].1, Some(byte), "a byte put into a header")
        }
        8 => {
            let value = &mut request.headers[header].1;
            let at = random.below(value.len());
            if random.below(2) == 0 {
                value.truncate(at)
            } else {
                drop(value.drain(..at))
            }
            "a header cut short"
        }
        9 => {
            request.headers.remove(header);
            "a header left out"
        }
        10 => {
            let mut copy = request.headers[header].clone();
            flip(random, &mut copy.1, "");
            request.headers.insert(random.pick(&[header, header + 1]), copy);
            "a header twice"
        }
        11 => {
            let with = random.below(request.headers.len());
            let value = std::mem::take(&mut request.headers[with].1);
            let value = std::mem::replace(&mut request.headers[header].1, value);
            request.headers[if with == header { header } else { with }].1 = value;
            "two headers swapped"
        }
        12 => {
            let name = &request.headers[header].0;
            if let Some(value) = other.header(name) {
                request.headers[header].1 = value.to_vec();
            }
            "a header of another request"
        }
        13 => {
            request.body.clone_from(&other.body);
            "the body of another request"
        }
        14 => {
            let value = &mut request.headers[header].1;
            let prefixes =
                ["v0=", "v1=", "v1,", "sha256=", "sha1=", "V0=", "Bearer ", "Basic ", "bearer  ", "t="];
            let rest = value.iter().position(|byte| b"=, ".contains(byte)).map_or(0, |at| at + 1);
            *value = [random.pick(&prefixes).as_bytes(), &value[rest..]].concat();
            "another prefix"
        }
        15 => {
            for byte in &mut request.headers[header].1 {
                if random.below(4) == 0 {
                    *byte = if byte.is_ascii_lowercase() {
                        byte.to_ascii_uppercase()
                    } else {
                        byte.to_ascii_lowercase()
                    };
                }
            }
            "letters of a header in another case"
        }
        16 => {
            request.now += random.pick(&[-900, -301, -300, -1, 1, 300, 301, 900]);
            "another time of arrival"
        }
        _ => {
            stamp(random, request);
            "another timestamp"
        }
    }
}

fn flip(random: &mut Random, bytes: &mut [u8], told: &'static str) -> &'static str {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
    told
}

/// Inserts or removes a byte.
fn edit(random: &mut Random, bytes: &mut Vec<u8>, put: Option<u8>, told: &'static str) -> &'static str {
    match put {
        Some(byte) => bytes.insert(random.below(bytes.len() + 1), byte),
        None if bytes.is_empty() => {}
        None => drop(bytes.remove(random.below(bytes.len()))),
    }
    told
}

/// Replaces a timestamp: a header that is a number, or the first number of a packed header.
fn stamp(random: &mut Random, request: &mut SignedRequest) {
    let farther = ["1700000001", "1699999999", "+1700000000", "01700000000", " 1700000000", "1700000000 "];
    let farther =
        [&farther[..], &["-1700000000", "1700000000.0", "9223372036854775807", "-9223372036854775808"]]
            .concat();
    let farther =
        [&farther[..], &["99999999999999999999", "1.7e9", "", "0x6553f100", "NaN", "1700000301"]].concat();
    let new = random.pick(&farther);
    for (_, value) in &mut request.headers {
        let digits = value.iter().skip_while(|byte| !byte.is_ascii_digit());
        let digits: Vec<u8> = digits.take_while(|byte| byte.is_ascii_digit()).copied().collect();
        if digits.len() == 10 {
            let text = String::from_utf8_lossy(value);
            *value = text.replacen(std::str::from_utf8(&digits).unwrap(), new, 1).into_bytes();
        }
    }
}
