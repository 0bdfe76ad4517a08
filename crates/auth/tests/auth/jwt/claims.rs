//! Tests of the claim rules.

use serde_json::{Value, json};
use svc_auth::RefusalReason;
use svc_model::config::auth::{JwtAlgorithm, JwtAuth};

use super::issuer::Issuer;
use super::{NOW, auth, build, verify};

fn outcome(change: impl FnOnce(&mut JwtAuth), claims: &Value) -> Result<(), RefusalReason> {
    let issuer = Issuer::new(JwtAlgorithm::Hs256);
    let mut config = auth(vec![issuer.key(None)]);
    change(&mut config);
    let token = issuer.token(&json!({"alg": "HS256"}), claims);
    verify(&build(&config), &token).map(|verified| assert_eq!(&Value::Object(verified), claims))
}

#[test]
fn leeway_is_exact_to_the_second_on_both_sides() {
    for leeway in [0, 30, 300] {
        let at = |claims: Value| outcome(|config| config.leeway_secs = leeway.try_into().unwrap(), &claims);
        assert_eq!(at(json!({"exp": NOW - leeway + 1})), Ok(()), "{leeway}");
        assert_eq!(at(json!({"exp": NOW - leeway})), Err(RefusalReason::Expired), "{leeway}");
        let exp = NOW + 1000;
        assert_eq!(at(json!({"exp": exp, "nbf": NOW + leeway})), Ok(()), "{leeway}");
        assert_eq!(
            at(json!({"exp": exp, "nbf": NOW + leeway + 1})),
            Err(RefusalReason::NotYetValid),
            "{leeway}"
        );
    }
}

#[test]
fn an_instant_is_any_json_number() {
    let now = NOW as f64;
    for (claims, expected) in [
        (json!({"exp": now + 0.5}), Ok(())),
        (json!({"exp": now - 0.5}), Err(RefusalReason::Expired)),
        (json!({"exp": -1}), Err(RefusalReason::Expired)),
        (json!({"exp": -1e300}), Err(RefusalReason::Expired)),
        (json!({"exp": i64::MIN}), Err(RefusalReason::Expired)),
        (json!({"exp": 0}), Err(RefusalReason::Expired)),
        (json!({"exp": u64::MAX}), Ok(())),
        (json!({"exp": 1e300}), Ok(())),
        (json!({"exp": 1e300, "nbf": -1}), Ok(())),
        (json!({"exp": 1e300, "nbf": now + 0.5}), Err(RefusalReason::NotYetValid)),
        (json!({"exp": 1e300, "nbf": u64::MAX}), Err(RefusalReason::NotYetValid)),
        (json!({"exp": 1e300, "nbf": 1e299}), Err(RefusalReason::NotYetValid)),
    ] {
        assert_eq!(outcome(|_| {}, &claims), expected, "{claims}");
    }
}

#[test]
fn mistyped_instant_is_not_an_absent_one() {
    for value in [json!("9999999999"), json!(null), json!(true), json!([9_999_999_999_u64]), json!({})] {
        for require_exp in [true, false] {
            let at = |claims: Value| outcome(|config| config.require_exp = require_exp, &claims);
            assert_eq!(at(json!({"exp": value})), Err(RefusalReason::MissingClaim), "{value}");
            assert_eq!(
                at(json!({"exp": NOW + 60, "nbf": value})),
                Err(RefusalReason::MissingClaim),
                "{value}"
            );
        }
    }
}

#[test]
fn optional_expiry_still_counts_if_present() {
    assert_eq!(outcome(|_| {}, &json!({})), Err(RefusalReason::MissingClaim));
    assert_eq!(outcome(|config| config.require_exp = false, &json!({})), Ok(()));
    assert_eq!(
        outcome(|config| config.require_exp = false, &json!({"exp": NOW})),
        Err(RefusalReason::Expired)
    );
}

#[test]
fn the_issuer_is_one_of_those_listed() {
    for (iss, expected) in [
        (json!("a"), Ok(())),
        (json!("b"), Ok(())),
        (json!("A"), Err(RefusalReason::IssuerMismatch)),
        (json!("a/"), Err(RefusalReason::IssuerMismatch)),
        (json!(""), Err(RefusalReason::IssuerMismatch)),
        (json!(null), Err(RefusalReason::MissingClaim)),
        (json!(1), Err(RefusalReason::MissingClaim)),
        (json!(["a"]), Err(RefusalReason::MissingClaim)),
        (json!({"a": "a"}), Err(RefusalReason::MissingClaim)),
    ] {
        let claims = json!({"exp": NOW + 60, "iss": iss});
        let listed = |config: &mut JwtAuth| config.issuers = vec!["a".into(), "b".into()];
        assert_eq!(outcome(listed, &claims), expected, "{iss}");
        assert_eq!(outcome(|_| {}, &claims), Ok(()), "without a list the claim is not looked at");
    }
    let listed = |config: &mut JwtAuth| config.issuers = vec!["a".into()];
    assert_eq!(outcome(listed, &json!({"exp": NOW + 60})), Err(RefusalReason::MissingClaim));
}

#[test]
fn one_audience_in_common_is_enough() {
    for (aud, expected) in [
        (json!("a"), Ok(())),
        (json!(["x", "b"]), Ok(())),
        (json!("x"), Err(RefusalReason::AudienceMismatch)),
        (json!(["x", "a b"]), Err(RefusalReason::AudienceMismatch)),
        (json!([]), Err(RefusalReason::AudienceMismatch)),
        (json!(null), Err(RefusalReason::MissingClaim)),
        (json!(1), Err(RefusalReason::MissingClaim)),
        (json!({"a": true}), Err(RefusalReason::MissingClaim)),
        (json!(["a", 1]), Err(RefusalReason::MissingClaim)),
        (json!([["a"]]), Err(RefusalReason::MissingClaim)),
    ] {
        let claims = json!({"exp": NOW + 60, "aud": aud});
        let listed = |config: &mut JwtAuth| config.audiences = vec!["a".into(), "b".into()];
        assert_eq!(outcome(listed, &claims), expected, "{aud}");
        assert_eq!(outcome(|_| {}, &claims), Ok(()), "without a list the claim is not looked at");
    }
    let listed = |config: &mut JwtAuth| config.audiences = vec!["a".into()];
    assert_eq!(outcome(listed, &json!({"exp": NOW + 60})), Err(RefusalReason::MissingClaim));
}

#[test]
fn expiry_is_told_before_any_other_claim() {
    let strict = |config: &mut JwtAuth| {
        config.issuers = vec!["a".into()];
        config.audiences = vec!["a".into()];
    };
    let claims = json!({"exp": NOW - 1, "nbf": NOW + 1, "iss": "x", "aud": "x"});
    assert_eq!(outcome(strict, &claims), Err(RefusalReason::Expired));
    let claims = json!({"exp": NOW + 1, "nbf": NOW + 1, "iss": "x", "aud": "x"});
    assert_eq!(outcome(strict, &claims), Err(RefusalReason::NotYetValid));
    let claims = json!({"exp": NOW + 1, "iss": "x", "aud": "x"});
    assert_eq!(outcome(strict, &claims), Err(RefusalReason::IssuerMismatch));
}

#[test]
fn only_listed_and_present_claims_are_exposed() {
    let mut config = auth(vec![Issuer::new(JwtAlgorithm::Hs256).key(None)]);
    let claims = json!({"sub": "a", "roles": {"admin": false}, "email": null, "a.b": 1});
    let claims = claims.as_object().unwrap();
    assert_eq!(&build(&config).exposed_claims(claims), claims);
    config.claims_to_metadata = Some(["roles", "email", "absent", "roles.admin"].map(String::from).into());
    let exposed = build(&config).exposed_claims(claims);
    assert_eq!(Value::Object(exposed), json!({"roles": {"admin": false}, "email": null}));
    config.claims_to_metadata = Some(Vec::new());
    assert!(build(&config).exposed_claims(claims).is_empty());
}
