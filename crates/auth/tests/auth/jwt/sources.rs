//! Tests of the extraction of tokens from requests.

use svc_auth::{Identity, PresentedRequest, RefusalReason};
use svc_model::config::auth::{JwtAlgorithm, TokenLocation};

use super::issuer::Issuer;
use super::{auth, build, present};

fn outcome(
    source: &TokenLocation,
    required: bool,
    headers: &[(&str, &str)],
) -> Result<Identity, RefusalReason> {
    let mut config = auth(vec![Issuer::new(JwtAlgorithm::Hs256).key(None)]);
    config.source = source.clone();
    config.required = required;
    present(&build(&config), headers)
}

fn header(name: &str, scheme: Option<&str>) -> TokenLocation {
    TokenLocation::Header { header: name.into(), scheme: scheme.map(str::to_owned) }
}

#[test]
fn token_header_accepts_any_scheme_case_and_blanks() {
    let token = Issuer::new(JwtAlgorithm::Hs256).good();
    let bearer = header("Authorization", Some("Bearer"));
    for value in [format!("Bearer {token}"), format!("bEARER {token}"), format!("Bearer    {token}")] {
        let identity = outcome(&bearer, true, &[("authorization", &value)]).unwrap();
        assert_eq!(identity.claims.unwrap()["sub"], "a", "{value}");
    }
    for value in [
        token.clone(),
        format!("Bearer{token}"),
        format!("Bearer\t{token}"),
        format!("Basic {token}"),
        format!(" Bearer {token}"),
        format!("Bearer Bearer {token}"),
        format!("Bearer {token} "),
        format!("Bearer {token},{token}"),
        "é".into(),
        "Bear".into(),
    ] {
        for required in [true, false] {
            let refused = outcome(&bearer, required, &[("authorization", &value)]);
            assert_eq!(refused, Err(RefusalReason::Malformed), "{value}");
        }
    }
}

#[test]
fn header_without_a_scheme_carries_the_bare_token() {
    let token = Issuer::new(JwtAlgorithm::Hs256).good();
    let raw = header("X-Access-Token", None);
    assert!(outcome(&raw, true, &[("x-access-token", &token)]).unwrap().claims.is_some());
    let schemed = format!("Bearer {token}");
    assert_eq!(outcome(&raw, true, &[("x-access-token", &schemed)]), Err(RefusalReason::Malformed));
    assert_eq!(outcome(&raw, true, &[("authorization", &token)]), Err(RefusalReason::Missing));
}

#[test]
fn a_cookie_carries_the_bare_token() {
    let token = Issuer::new(JwtAlgorithm::Hs256).good();
    let cookie = TokenLocation::Cookie("session".into());
    let line = format!("a=b; session=\"{token}\"; session=other");
    assert!(outcome(&cookie, true, &[("cookie", &line)]).unwrap().claims.is_some());
    assert!(outcome(&cookie, true, &[("cookie", "a=b"), ("cookie", &line)]).unwrap().claims.is_some());
    for absent in ["session=", "Session=x", "a=session", ""] {
        assert_eq!(outcome(&cookie, true, &[("cookie", absent)]), Err(RefusalReason::Missing), "{absent}");
        assert_eq!(outcome(&cookie, false, &[("cookie", absent)]), Ok(Identity::default()), "{absent}");
    }
    assert_eq!(outcome(&cookie, false, &[("cookie", "session=x")]), Err(RefusalReason::Malformed));
}

#[test]
fn present_cookie_is_checked_among_foreign_bytes() {
    let issuer = Issuer::new(JwtAlgorithm::Hs256);
    let claims = |size| serde_json::json!({"sub": "a".repeat(size), "exp": super::NOW + 60});
    let header = serde_json::json!({"alg": "HS256"});
    let mut config = auth(vec![issuer.key(None)]);
    (config.source, config.required) = (TokenLocation::Cookie("session".into()), false);
    let verifier = build(&config);
    let outcome = |line: Vec<u8>| {
        let headers = [("cookie".to_owned(), line)];
        super::ready(verifier.verify(PresentedRequest {
            headers: &headers,
            body: b"",
            now: super::NOW,
            consumers: None,
        }))
    };
    for size in [1, 3000, 6000] {
        let token = issuer.token(&header, &claims(size));
        assert!(size < 6000 || (4096..=8192).contains(&token.len()), "{}", token.len());
        let beside = [b"a=\xff; session=", token.as_bytes(), b"; b=\xfe"].concat();
        assert!(outcome(beside).unwrap().claims.is_some(), "{size}");
        let broken = [b"session=", token.as_bytes(), b"\xff"].concat();
        assert_eq!(outcome(broken), Err(RefusalReason::Malformed), "{size}");
    }
    let long = issuer.token(&header, &claims(8192));
    assert_eq!(outcome(format!("session={long}").into_bytes()), Err(RefusalReason::Oversized));
    assert_eq!(outcome(b"session=\xff".to_vec()), Err(RefusalReason::Malformed));
}

#[test]
fn optional_token_that_is_absent_identifies_no_caller() {
    let token = Issuer::new(JwtAlgorithm::Hs256).good();
    for source in [header("Authorization", Some("Bearer")), header("X-Token", None)] {
        assert_eq!(outcome(&source, true, &[("accept", &token)]), Err(RefusalReason::Missing));
        assert_eq!(outcome(&source, false, &[("accept", &token)]), Ok(Identity::default()));
    }
}

#[test]
fn empty_token_is_missing_even_if_optional() {
    let bearer = header("Authorization", Some("Bearer"));
    for value in ["Bearer", "bearer ", "Bearer   "] {
        assert_eq!(
            outcome(&bearer, false, &[("authorization", value)]),
            Err(RefusalReason::Missing),
            "{value}"
        );
    }
    assert_eq!(outcome(&header("X-Token", None), false, &[("x-token", "")]), Err(RefusalReason::Missing));
}

#[test]
fn the_first_of_a_repeated_header_decides() {
    let token = Issuer::new(JwtAlgorithm::Hs256).good();
    let raw = header("X-Token", None);
    assert!(outcome(&raw, true, &[("x-token", &token), ("x-token", "x")]).is_ok());
    assert!(outcome(&raw, true, &[("x-token", "x"), ("x-token", &token)]).is_err());
}

#[test]
fn a_token_longer_than_allowed_is_not_parsed() {
    let issuer = Issuer::new(JwtAlgorithm::Hs256);
    let mut config = auth(vec![issuer.key(None)]);
    let token = issuer.good();
    config.max_token_bytes = token.len() as u64;
    assert!(present(&build(&config), &[("x-token", &token)]).is_ok());
    config.max_token_bytes -= 1;
    assert_eq!(present(&build(&config), &[("x-token", &token)]), Err(RefusalReason::Oversized));
    assert_eq!(
        present(&build(&config), &[("x-token", &"?".repeat(token.len()))]),
        Err(RefusalReason::Oversized)
    );
}
