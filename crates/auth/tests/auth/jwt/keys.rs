//! Tests of keys in a config.

use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use svc_auth::jwt::{JwtVerifier, VerifyingKey, check_literal_keys};
use svc_model::SecretText;
use svc_model::config::auth::{JwtAlgorithm, KeyEncoding};
use svc_secrets::EnvironmentResolver;

use super::issuer::{Issuer, ec, pem, rsa};
use super::{ALGORITHMS, NoSets, auth, build, key, verify};

fn read(algorithm: JwtAlgorithm, text: &str) -> Result<(), String> {
    VerifyingKey::from_text(algorithm, KeyEncoding::Utf8, text).map(drop).map_err(|error| error.to_string())
}

#[test]
fn shared_secret_is_at_least_hash_length() {
    for (algorithm, least) in
        [(JwtAlgorithm::Hs256, 32), (JwtAlgorithm::Hs384, 48), (JwtAlgorithm::Hs512, 64)]
    {
        let short = vec![b'x'; least - 1];
        let enough = vec![b'x'; least];
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let base64 = |bytes: &[u8]| openssl::base64::encode_block(bytes);
        for (encoding, short, enough) in [
            (KeyEncoding::Utf8, text(&short), text(&enough)),
            (KeyEncoding::Hex, hex::encode(&short), hex::encode_upper(&enough)),
            (KeyEncoding::Base64, base64(&short), base64(&enough)),
            (KeyEncoding::Base64, base64(&short), base64(&enough).trim_end_matches('=').to_owned()),
        ] {
            let error = VerifyingKey::from_text(algorithm, encoding, &short).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("{} needs a key of at least {least} bytes", algorithm.name())
            );
            assert!(VerifyingKey::from_text(algorithm, encoding, &enough).is_ok(), "{encoding:?}");
        }
    }
}

#[test]
fn a_shared_secret_is_read_in_its_encoding() {
    let secret = "0123456789abcdef0123456789abcdef";
    let issuer = Issuer::with_secret(JwtAlgorithm::Hs256, secret);
    for (encoding, text) in [
        (KeyEncoding::Utf8, secret.to_owned()),
        (KeyEncoding::Hex, format!("{}\n", hex::encode(secret))),
        (KeyEncoding::Base64, format!("{}\n", openssl::base64::encode_block(secret.as_bytes()))),
    ] {
        let mut key = key(JwtAlgorithm::Hs256, &text, None);
        key.encoding = encoding;
        assert_eq!(verify(&build(&auth(vec![key])), &issuer.good()).err(), None, "{encoding:?}");
    }
    let read = |encoding| VerifyingKey::from_text(JwtAlgorithm::Hs256, encoding, &"-_".repeat(50));
    assert_eq!(read(KeyEncoding::Hex).unwrap_err().to_string(), "this is not hexadecimal");
    assert_eq!(read(KeyEncoding::Base64).unwrap_err().to_string(), "this is not base64");
}

#[test]
fn public_key_never_serves_as_a_shared_secret() {
    for algorithm in [JwtAlgorithm::Hs256, JwtAlgorithm::Hs384, JwtAlgorithm::Hs512] {
        for text in [pem(&rsa(2048)), format!("\n {}", pem(&ec(Nid::X9_62_PRIME256V1)))] {
            assert!(read(algorithm, &text).unwrap_err().contains("needs a shared secret"));
        }
    }
}

#[test]
fn key_serves_only_its_family_and_curve() {
    let keys: [(PKey<Private>, &[u8]); 7] = [
        (rsa(2048), b"RP"),
        (ec(Nid::X9_62_PRIME256V1), b"2"),
        (ec(Nid::SECP384R1), b"3"),
        (ec(Nid::SECP521R1), b""),
        (ec(Nid::SECP256K1), b""),
        (PKey::generate_ed25519().unwrap(), b"d"),
        (PKey::generate_ed448().unwrap(), b""),
    ];
    for (key, families) in keys {
        for algorithm in ALGORITHMS.into_iter().filter(|algorithm| algorithm.min_key_bytes().is_none()) {
            let name = algorithm.name().as_bytes();
            // Identifies RS… and PS… by the first letter; ES256, ES384 and EdDSA by a distinguishing one.
            let family = match name[0] {
                b'E' if name[1] == b'S' => name[2],
                b'E' => b'd',
                first => first,
            };
            let read = read(algorithm, &pem(&key));
            assert_eq!(read.is_ok(), families.contains(&family), "{algorithm:?} {read:?}");
            assert!(read.err().is_none_or(|why| why.starts_with(algorithm.name())));
        }
    }
}

#[test]
fn an_rsa_key_is_neither_weak_nor_huge() {
    for algorithm in [JwtAlgorithm::Rs256, JwtAlgorithm::Ps256] {
        // A key of 2047 bits has as many bytes as one of 2048.
        for bits in [1024, 2047] {
            assert!(read(algorithm, &pem(&rsa(bits))).unwrap_err().contains("2048 to 8192 bits"), "{bits}");
        }
        assert_eq!(read(algorithm, &pem(&rsa(2048))), Ok(()));
        assert_eq!(read(algorithm, &pem_of_modulus(8192)), Ok(()));
        for bits in [8193, 16_384, 100_000] {
            let read = read(algorithm, &pem_of_modulus(bits));
            assert!(read.unwrap_err().contains("2048 to 8192 bits"), "{bits}");
        }
    }
}

/// Returns a public key with a modulus of that length; its private key does not exist.
fn pem_of_modulus(bits: i32) -> String {
    let mut n = openssl::bn::BigNum::new().unwrap();
    n.set_bit(bits - 1).unwrap();
    n.set_bit(0).unwrap();
    let key = Rsa::from_public_components(n, openssl::bn::BigNum::from_u32(65_537).unwrap()).unwrap();
    String::from_utf8(key.public_key_to_pem().unwrap()).unwrap()
}

#[test]
fn weak_rsa_pss_key_is_refused() {
    // Returns the same key with the algorithm id-RSASSA-PSS instead of rsaEncryption (RFC 4055).
    let as_pss = |bits, before: &[u8], after: &[u8]| {
        let der = rsa(bits).public_key_to_der().unwrap();
        let rest = der.strip_prefix(before).unwrap().strip_prefix(&RSA_ENCRYPTION).unwrap();
        let pss = [after, &RSASSA_PSS[..], rest].concat();
        let body = openssl::base64::encode_block(&pss);
        format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
    };
    let strong = as_pss(2048, &[0x30, 0x82, 0x01, 0x22], &[0x30, 0x82, 0x01, 0x20]);
    let weak = as_pss(1024, &[0x30, 0x81, 0x9f], &[0x30, 0x81, 0x9d]);
    // The strong key lacks only the parameters.
    assert_eq!(read(JwtAlgorithm::Ps256, &strong).unwrap_err(), "PS256 needs an RSA key");
    assert!(read(JwtAlgorithm::Ps256, &weak).unwrap_err().contains("2048 to 8192 bits"));
}

const RSA_ENCRYPTION: [u8; 15] = [0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];
const RSASSA_PSS: [u8; 13] = [0x30, 11, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10];

#[test]
fn pem_of_two_keys_is_refused() {
    let (one, other) = (pem(&rsa(2048)), pem(&rsa(2048)));
    for text in [format!("{one}{other}"), format!("{one}\n\n{one}"), format!("{one}{}", one.trim())] {
        assert_eq!(read(JwtAlgorithm::Rs256, &text).unwrap_err(), "this PEM holds more than one key");
    }
}

#[test]
fn both_forms_of_public_pem_are_read() {
    for algorithm in [JwtAlgorithm::Rs256, JwtAlgorithm::Ps512] {
        let mut issuer = Issuer::new(algorithm);
        let pkcs1 = issuer.private.rsa().unwrap().public_key_to_pem_pkcs1().unwrap();
        issuer.text = format!("\n  {}\n\n", String::from_utf8(pkcs1).unwrap());
        assert!(issuer.text.contains("BEGIN RSA PUBLIC KEY"));
        assert_eq!(verify(&build(&auth(vec![issuer.key(None)])), &issuer.good()).err(), None);
    }
}

#[test]
fn pem_without_public_key_is_refused() {
    let private = rsa(2048);
    let der = private.private_key_to_pem_pkcs8().unwrap();
    let traditional = private.rsa().unwrap().private_key_to_pem().unwrap();
    let sec1 = ec(Nid::X9_62_PRIME256V1).ec_key().unwrap().private_key_to_pem().unwrap();
    for pem in [der, traditional, sec1] {
        let pem = String::from_utf8(pem).unwrap();
        assert!(read(JwtAlgorithm::Rs256, &pem).unwrap_err().contains("private key"));
        let both = format!("{}{pem}", super::issuer::pem(&private));
        assert!(read(JwtAlgorithm::Rs256, &both).unwrap_err().contains("private key"));
    }
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for text in ["", "x", "{\"kty\":\"RSA\"}", "ssh-rsa AAAA", certificate] {
        assert_eq!(read(JwtAlgorithm::Rs256, text).unwrap_err(), "RS256 needs a public key in PEM", "{text}");
    }
    for body in ["", "AAAA", "!", "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A"] {
        let text = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
        assert_eq!(
            read(JwtAlgorithm::Rs256, &text).unwrap_err(),
            "this PEM holds no public key that can be read",
            "{body}"
        );
    }
}

#[test]
fn inline_keys_are_checked_references_are_not() {
    let config = auth(vec![
        Issuer::new(JwtAlgorithm::Rs256).key(None),
        key(JwtAlgorithm::Rs256, &pem(&ec(Nid::SECP384R1)), None),
        key(JwtAlgorithm::Rs256, "env://KEY", None),
        key(JwtAlgorithm::Hs512, "vault://a#b", None),
        key(JwtAlgorithm::Es256, &pem(&ec(Nid::SECP384R1)), Some("x")),
    ]);
    let expected = [
        ("auth.jwt_keys[1].key", "RS256 needs an RSA key"),
        ("auth.jwt_keys[4].key", "ES256 needs a key on the curve P-256"),
    ];
    assert_eq!(check_literal_keys(&config), expected.map(|(path, why)| (path.to_owned(), why.to_owned())));
}

#[test]
fn a_reference_is_resolved_when_the_channel_loads() {
    let issuer = Issuer::new(JwtAlgorithm::Es384);
    let mut config = auth(vec![issuer.key(None)]);
    config.keys[0].key = SecretText::new("env://KEY");
    let with = |value: Option<String>| {
        let environment = EnvironmentResolver(move |name: &str| value.clone().filter(|_| name == "KEY"));
        JwtVerifier::build(&config, &environment, &NoSets).map_err(|reason| {
            assert!(reason.starts_with("auth: auth.jwt_keys[0].key: "), "{reason}");
            reason
        })
    };
    let verifier = with(Some(issuer.text.clone())).unwrap();
    assert_eq!(verify(&verifier, &issuer.good()).err(), None);
    assert!(with(None).unwrap_err().ends_with("env://KEY: the variable is not set"));
    assert!(with(Some(String::new())).is_err());
    assert!(!with(Some("swordfish".into())).unwrap_err().contains("swordfish"));
    assert!(
        with(Some(pem(&ec(Nid::X9_62_PRIME256V1))))
            .unwrap_err()
            .ends_with("ES384 needs a key on the curve P-384")
    );
}

#[test]
fn a_verifier_shows_no_key() {
    let secret = "swordfish".repeat(8);
    let mut config = auth(vec![key(JwtAlgorithm::Hs256, &secret, Some("1"))]);
    config.keys[0].encoding = KeyEncoding::Utf8;
    let shown = format!(
        "{:?} {:?}",
        build(&config),
        VerifyingKey::from_text(JwtAlgorithm::Hs256, KeyEncoding::Utf8, &secret)
    );
    assert!(!shown.contains("sword") && !shown.contains(&format!("{:?}", secret.as_bytes())), "{shown}");
}
