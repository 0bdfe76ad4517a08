//! Tests of admin credentials.

use std::net::Ipv4Addr;

use super::*;
use actix_web::test::TestRequest;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn auth(header: &str) -> AdminAuthenticator {
    let digest = format!("sha256:{}", hex::encode(Sha256::digest("digested")));
    AdminAuthenticator::new(
        &config::AdminAuthSection {
            enabled: true,
            api_keys: ["full", &digest, ""].map(AdminKey::unnamed).to_vec(),
            read_only_api_keys: vec![AdminKey {
                name: Some("auditor".to_owned()),
                ..AdminKey::unnamed("reader")
            }],
            header: header.to_owned(),
            allowed_hosts: Vec::new(),
        },
        None,
        ClientNetworks::default(),
    )
}

fn ask(
    auth: &AdminAuthenticator,
    method: Method,
    headers: &[(&str, &str)],
) -> Result<String, (AuthFailureReason, u16)> {
    let request =
        headers.iter().fold(TestRequest::default(), |request, header| request.append_header(*header));
    let answer = auth.authorize(&method, request.to_http_request().headers(), CLIENT);
    answer
        .map(|principal| principal.name().to_owned())
        .map_err(|refusal| (refusal.reason, refusal.error.status()))
}

#[test]
fn the_first_form_present_decides_alone() {
    let auth = auth("x-operator");
    let good = [
        &[("x-operator", "full"), ("x-api-key", "wrong"), ("authorization", "Bearer wrong")][..],
        &[("x-operator", ""), ("x-api-key", "digested"), ("authorization", "Bearer wrong")],
        &[("authorization", "bEARER full")],
    ];
    for headers in good {
        assert!(ask(&auth, Method::GET, headers).is_ok(), "{headers:?}");
    }
    for headers in [
        &[("x-operator", "wrong"), ("x-api-key", "full")][..],
        &[("x-api-key", "wrong"), ("authorization", "Bearer full")],
    ] {
        assert_eq!(
            ask(&auth, Method::GET, headers),
            Err((AuthFailureReason::InvalidKey, 401)),
            "{headers:?}"
        );
    }
    for headers in [&[][..], &[("authorization", "full")], &[("authorization", "Basic full")]] {
        assert_eq!(ask(&auth, Method::GET, headers), Err((AuthFailureReason::MissingOrMalformed, 401)));
    }
}

#[test]
fn read_only_key_reads_and_counts_no_failure() {
    let auth = auth("Authorization");
    for _ in 0..10 {
        let write = ask(&auth, Method::POST, &[("x-api-key", "reader")]);
        assert_eq!(write, Err((AuthFailureReason::ReadOnlyWrite, 403)));
    }
    assert!(ask(&auth, Method::HEAD, &[("x-api-key", "reader")]).is_ok());
}

#[test]
fn valid_key_passes_during_lock_out() {
    let auth = auth("Authorization");
    for _ in 0..5 {
        assert_eq!(
            ask(&auth, Method::GET, &[("x-api-key", "no")]),
            Err((AuthFailureReason::InvalidKey, 401))
        );
    }
    assert_eq!(ask(&auth, Method::GET, &[("x-api-key", "no")]), Err((AuthFailureReason::LockedOut, 401)));
    assert!(ask(&auth, Method::GET, &[("x-api-key", "reader")]).is_ok());
    assert_eq!(ask(&auth, Method::GET, &[("x-api-key", "no")]), Err((AuthFailureReason::LockedOut, 401)));
    assert!(ask(&auth, Method::GET, &[("x-api-key", "full")]).is_ok());
    assert_eq!(ask(&auth, Method::GET, &[("x-api-key", "no")]), Err((AuthFailureReason::InvalidKey, 401)));
}

#[test]
fn read_only_key_leaves_its_holders_failures() {
    let auth = auth("Authorization");
    let mut reasons = Vec::new();
    for _ in 0..8 {
        reasons.extend(ask(&auth, Method::GET, &[("x-api-key", "no")]).err());
        assert!(ask(&auth, Method::GET, &[("x-api-key", "reader")]).is_ok());
        assert!(ask(&auth, Method::POST, &[("x-api-key", "reader")]).is_err());
    }
    let expected =
        [vec![(AuthFailureReason::InvalidKey, 401); 5], vec![(AuthFailureReason::LockedOut, 401); 3]]
            .concat();
    assert_eq!(reasons, expected);
}

fn read_trace(
    auth: &AdminAuthenticator,
    key: Option<&str>,
    token: Option<&str>,
    traced: Option<&str>,
) -> Option<AuthFailureReason> {
    let request = TestRequest::default();
    let request = key.into_iter().fold(request, |request, key| request.append_header(("x-api-key", key)));
    let hash = traced.map(|token| hex::encode(Sha256::digest(token)));
    let headers = request.to_http_request();
    let answer = auth.authorize_trace(headers.headers(), CLIENT, token.map(str::as_bytes), hash.as_deref());
    answer.err().map(|refusal| refusal.reason)
}

#[test]
fn trace_opens_to_its_token_or_admin_key() {
    let (guarded, open) = (
        auth("Authorization"),
        AdminAuthenticator::new(&config::AdminAuthSection::default(), None, ClientNetworks::default()),
    );
    assert_eq!(read_trace(&guarded, None, Some("t"), Some("t")), None);
    assert_eq!(read_trace(&guarded, Some("reader"), None, Some("t")), None);
    assert_eq!(read_trace(&guarded, Some("full"), Some("wrong"), Some("t")), None);
    assert_eq!(read_trace(&guarded, None, None, Some("t")), Some(AuthFailureReason::MissingOrMalformed));
    assert_eq!(read_trace(&guarded, None, Some("wrong"), Some("t")), Some(AuthFailureReason::InvalidKey));
    assert_eq!(read_trace(&guarded, None, Some("t"), None), Some(AuthFailureReason::MissingOrMalformed));
    assert_eq!(read_trace(&guarded, Some("full"), None, None), None);
    assert_eq!(read_trace(&open, None, None, None), None);
    assert_eq!(read_trace(&open, None, Some("t"), Some("t")), None);
    assert_eq!(read_trace(&open, None, None, Some("t")), Some(AuthFailureReason::MissingOrMalformed));
    assert_eq!(
        read_trace(&open, Some("full"), Some("wrong"), Some("t")),
        Some(AuthFailureReason::InvalidKey)
    );
}

#[test]
fn good_token_clears_no_failure_count() {
    let auth = auth("Authorization");
    for _ in 0..2 {
        assert_eq!(read_trace(&auth, None, Some("wrong"), Some("t")), Some(AuthFailureReason::InvalidKey));
        assert_eq!(
            read_trace(&auth, Some("no"), Some("wrong"), Some("t")),
            Some(AuthFailureReason::InvalidKey)
        );
        assert_eq!(read_trace(&auth, None, Some("t"), Some("t")), None);
    }
    assert_eq!(ask(&auth, Method::GET, &[("x-api-key", "no")]), Err((AuthFailureReason::InvalidKey, 401)));
    assert_eq!(read_trace(&auth, None, Some("wrong"), Some("t")), Some(AuthFailureReason::LockedOut));
    assert_eq!(read_trace(&auth, Some("no"), None, Some("t")), Some(AuthFailureReason::LockedOut));
    assert_eq!(read_trace(&auth, None, Some("t"), Some("t")), None, "a valid token is never refused");
    assert_eq!(ask(&auth, Method::GET, &[("x-api-key", "no")]), Err((AuthFailureReason::LockedOut, 401)));
}

#[test]
fn addresses_of_one_ipv6_network_fail_together() {
    let auth = auth("Authorization");
    let fail = |address: &str| {
        let request = TestRequest::default().append_header(("x-api-key", "no")).to_http_request();
        let answer = auth.authorize(&Method::GET, request.headers(), address.parse().unwrap());
        answer.err().map(|refusal| refusal.reason)
    };
    for host in 1..=5 {
        assert_eq!(fail(&format!("2001:db8::{host}")), Some(AuthFailureReason::InvalidKey));
    }
    assert_eq!(fail("2001:db8::6"), Some(AuthFailureReason::LockedOut));
    assert_eq!(fail("2001:db8:0:1::1"), Some(AuthFailureReason::InvalidKey));
}

#[test]
fn principal_is_key_name_or_digest_prefix() {
    let auth = auth("Authorization");
    for key in ["full", "digested"] {
        let name = ask(&auth, Method::GET, &[("x-api-key", key)]).unwrap();
        assert_eq!(name, hex::encode(Sha256::digest(key))[..12]);
    }
    assert_eq!(ask(&auth, Method::GET, &[("x-api-key", "reader")]).unwrap(), "auditor");
}

#[test]
fn without_authentication_everyone_is_anonymous() {
    let open = AdminAuthenticator::new(&config::AdminAuthSection::default(), None, ClientNetworks::default());
    assert_eq!(ask(&open, Method::DELETE, &[]).unwrap(), "anonymous");
}
