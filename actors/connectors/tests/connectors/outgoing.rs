//! Signed calls, and calls of addresses that a message names.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join;
use serde_json::{Value, json};
use svc_auth::{Authenticator, KeySet, KeySets, PresentedRequest};
use svc_connectors::{BreakerSettings, BreakerState, OutsideClass, OutsideOutcome, OutsideRequest};
use svc_model::config::SecretText;
use svc_model::{ChannelConfig, Timestamp};
use svc_secrets::EnvironmentResolver;
use svc_testkit::standard_webhooks;
use svc_testkit::tls::{IssuedCertificate, issue_certificate};
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};

use crate::kit::{ConnectorWorld, Setup, connector_to, run, run_in, run_trusting, wait_for_requests};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEXT_SECRET: &str = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";

struct NoKeySets;

impl KeySets for NoKeySets {
    fn key_set(&self, url: &str) -> Result<Arc<dyn KeySet>, String> {
        Err(url.to_owned())
    }
}

/// Returns true if a channel of Standard Webhooks with this secret lets the request in now.
fn is_accepted(request: &ReceivedRequest, secret: &str) -> bool {
    let auth = json!({"mode": "hmac", "preset": "standard_webhooks", "secret": secret});
    let config = ChannelConfig::parse(&json!({"auth": auth})).unwrap().auth.unwrap();
    let nothing = EnvironmentResolver(|_: &str| None);
    let authenticator = Authenticator::build(&config, &nothing, &NoKeySets).unwrap();
    let headers: Vec<_> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    let now = Timestamp::now().naive().and_utc().timestamp();
    let presented = PresentedRequest { consumers: None, headers: &headers, body: &request.body, now };
    authenticator.authenticate(presented).now_or_never().unwrap().is_ok()
}

fn sign() -> Value {
    json!({"preset": "standard_webhooks", "secrets": [SECRET, NEXT_SECRET]})
}

/// The server of a customer, which answers 7.
fn customer(issued: &IssuedCertificate) -> Upstream {
    Upstream::start_tls(issued, |_| UpstreamReply::new(200, "7")).unwrap()
}

fn home() -> Upstream {
    Upstream::start(|_| UpstreamReply::new(200, "1")).unwrap()
}

/// The entries of `allow_urls` for these servers.
fn ports(servers: &[&Upstream]) -> Value {
    servers.iter().map(|server| json!(format!("https:{}", server.address().port()))).collect()
}

/// The input of a call of an address.
fn to(url: impl Into<String>) -> Value {
    json!({"url_logic": {"cat": [url.into(), ""]}})
}

#[test]
fn signed_call_is_accepted_by_a_channel() {
    run(async |world| {
        let upstream = home();
        let own = json!({"webhook-signature": "v1,forged", "webhook-id": "forged"});
        world.connect(connector_to(&upstream, json!({"sign": sign(), "headers": own}))).await;
        let body = json!({"type": "order.paid", "note": "žluťoučký"});
        world.call(json!({"method": "POST", "body": body, "headers": {"webhook-id": "own"}})).await;
        world.call(json!({})).await;
        for request in upstream.requests() {
            assert!(is_accepted(&request, SECRET) && is_accepted(&request, NEXT_SECRET), "{request:?}");
            assert!(!is_accepted(&request, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
            let changed = ReceivedRequest { body: b"{}".to_vec(), ..request.clone() };
            assert!(!is_accepted(&changed, SECRET));
            assert!(!is_accepted(&ReceivedRequest { headers: Vec::new(), ..request }, SECRET));
        }
    });
}

#[test]
fn library_of_receivers_accepts_each_secret() {
    run(async |world| {
        let upstream = home();
        world.connect(connector_to(&upstream, json!({"sign": sign()}))).await;
        for body in
            [json!({"type": "order.paid", "note": "žluťoučký"}), json!([]), json!({"a": "x".repeat(5000)})]
        {
            world.call(json!({"method": "POST", "body": body})).await;
        }
        let verify = |secret: &str| standard_webhooks::verify(&upstream.requests(), secret);
        let (Some(one), Some(next)) = (verify(SECRET), verify(NEXT_SECRET)) else { return };
        assert_eq!((one, next), (vec!["accepted".to_owned(); 3], vec!["accepted".to_owned(); 3]));
        let other = verify("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").unwrap();
        assert!(other.len() == 3 && other.iter().all(|line| line != "accepted"), "{other:?}");
    });
}

#[test]
fn attempts_and_repeats_have_one_id() {
    run(async |world| {
        let calls = AtomicUsize::new(0);
        let upstream = Upstream::start(move |_| {
            let status = if calls.fetch_add(1, Ordering::Relaxed) == 0 { 503 } else { 200 };
            UpstreamReply::new(status, "1")
        })
        .unwrap();
        world.connect(connector_to(&upstream, json!({"sign": sign()}))).await;
        for key in ["run-1", "run-1", "run-2"] {
            let outcome = world.run_keyed(key, json!({"method": "PUT", "body": 1})).await;
            assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
        }
        let requests = upstream.requests();
        let ids: Vec<_> = requests.iter().map(|request| request.header("webhook-id").unwrap()).collect();
        assert_eq!(ids.len(), 4);
        assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
        assert_eq!(ids[0], svc_auth::message_id("run-1:t"));
        assert!(requests.iter().all(|request| is_accepted(request, SECRET)));
    });
}

#[test]
fn signed_call_without_a_signed_header_fails() {
    run(async |world| {
        let upstream = home();
        let sign = json!({"secret": "s3cret", "message": "{header:x-tenant}.{body}"});
        world.connect(connector_to(&upstream, json!({"sign": sign}))).await;
        let error = world.fail(json!({})).await;
        assert_eq!(error.code.name(), "connector_detail");
        assert!(error.message.contains("the header 'x-tenant'"), "{}", error.message);
        assert!(upstream.requests().is_empty());
        world.call(json!({"headers": {"X-Tenant": "t1"}})).await;
        assert!(upstream.requests()[0].header("x-signature").is_some());
    });
}

#[test]
fn signed_call_is_not_redirected() {
    run(async |world| {
        let upstream = Upstream::start(|_| UpstreamReply::redirect(307, "/elsewhere")).unwrap();
        world.connect(connector_to(&upstream, json!({"sign": sign()}))).await;
        let error = world.fail(json!({"method": "POST", "body": 1})).await;
        assert_eq!((error.code.name(), error.http_status), ("HTTP_ERROR", Some(307)));
        assert_eq!(upstream.requests().len(), 1);
    });
}

#[test]
fn computed_address_gets_the_signature_alone() {
    let issued = issue_certificate().unwrap();
    run_trusting(&issued.authority, async |world| {
        let (home, customer) = (home(), customer(&issued));
        world
            .connect(connector_to(
                &home,
                json!({"allow_urls": ports(&[&customer]), "sign": sign(), "query_params": {"key": "swordfish"},
                    "headers": {"x-own": "swordfish"}, "auth": {"type": "bearer", "token": "swordfish"}}),
            ))
            .await;
        let input = json!({"url_logic": {"var": "payload.hook"}, "method": "POST", "body": {"a": 1},
            "headers": {"x-task": "own"}, "output": "data.api"});
        let hook = customer.url("/hooks/1?token=theirs#part");
        let outcome = world.run(input, json!({"hook": hook})).await;
        assert_eq!(outcome.message.data["api"], 7, "{:?}", outcome.errors);
        let request = customer.requests().remove(0);
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/hooks/1?token=theirs"));
        assert_eq!(request.header("x-task"), Some("own"));
        assert!(is_accepted(&request, NEXT_SECRET));
        assert!(!format!("{request:?}").contains("swordfish"), "{request:?}");
        assert!(request.header("authorization").is_none() && request.header("traceparent").is_none());
        assert!(home.requests().is_empty());
        let calls = world.connectors.last_calls("c");
        let target = format!("POST {}", customer.address());
        assert_eq!(
            calls[0].target.as_deref(),
            Some(target.as_str()),
            "no path: it may be a secret of theirs"
        );
    });
}

#[test]
fn computed_address_must_be_allowed() {
    let issued = issue_certificate().unwrap();
    run_trusting(&issued.authority, async |world| {
        let (home, customer) = (home(), customer(&issued));
        let port = customer.address().port();
        let own = json!({"retry": {"max_retries": 0}, "allow_urls": ["https", format!("https:{port}")]});
        world.connect(connector_to(&home, own.clone())).await;
        assert_eq!(world.call(to(customer.url("/"))).await, 7);
        let wrong = |url: String| (url, "FUNCTION_ERROR", "allow_urls of the connector lists them");
        for (url, code, text) in [
            wrong(home.url("/")),
            wrong(format!("http://127.0.0.1:{port}/")),
            wrong(format!("https://127.0.0.1:{}/", home.address().port())),
            (format!("https://user:pw@127.0.0.1:{port}/"), "FUNCTION_ERROR", "credentials before its host"),
            ("file:///etc/passwd".to_owned(), "FUNCTION_ERROR", "the scheme 'file' is not allowed"),
            ("/relative".to_owned(), "VALIDATION_ERROR", "url_logic: not a URL"),
            (String::new(), "VALIDATION_ERROR", "url_logic: not a URL"),
        ] {
            let error = world.fail(to(url.clone())).await;
            assert_eq!(error.code.name(), code, "{url}: {}", error.message);
            assert!(error.message.contains(text), "{url}: {}", error.message);
        }
        let error = world.fail(json!({"url_logic": {"var": "payload.gone"}})).await;
        assert_eq!(error.message, "url_logic: expected the text of a URL");
        // Without allow_private_urls the address is checked as any other, also of a name.
        let public = json!({"url": "https://api.example", "allow_private_urls": false});
        let mut public = connector_to(&home, public);
        public["allow_urls"] = own["allow_urls"].clone();
        world.connect(public).await;
        for host in ["127.0.0.1", "localhost", "127.1", "[::1]"] {
            let error = world.fail(to(format!("https://{host}:{port}/"))).await;
            assert_eq!(error.code.name(), "FUNCTION_ERROR", "{host}");
            assert!(error.message.starts_with("SSRF protection: "), "{host}: {}", error.message);
        }
        assert_eq!((home.requests().len(), customer.requests().len()), (0, 1));
        world.connect(connector_to(&home, json!({}))).await;
        let error = world.fail(to(customer.url("/"))).await;
        assert_eq!(error.code.name(), "connector_detail");
        assert!(error.message.contains("has no allow_urls"), "{}", error.message);
    });
}

#[test]
fn url_logic_excludes_path_at_write() {
    run(async |world| {
        let url = json!({"var": "payload.hook"});
        assert!(world.problems("http_call", json!({"url_logic": url})).is_empty());
        for input in [json!({"url_logic": url, "path": "/x"}), json!({"url_logic": url, "path_logic": "/x"})]
        {
            let problems = world.problems("http_call", input.clone());
            assert!(problems.len() == 1 && problems[0].starts_with("url_logic "), "{input}: {problems:?}");
        }
    });
}

#[test]
fn redirect_of_a_computed_address_is_checked() {
    let issued = issue_certificate().unwrap();
    run_trusting(&issued.authority, async |world| {
        let plain = home();
        let place = plain.url("/");
        let customer = Upstream::start_tls(&issued, move |asked| match asked.target.as_str() {
            "/plain" => UpstreamReply::redirect(302, &place),
            "/private" => UpstreamReply::redirect(302, "https://127.0.0.2/"),
            "/same" => UpstreamReply::redirect(302, "/there"),
            _ => UpstreamReply::new(200, "7"),
        })
        .unwrap();
        let mut allowed = ports(&[&customer]);
        allowed.as_array_mut().unwrap().push(json!("https"));
        let config = json!({"allow_urls": allowed, "retry": {"max_retries": 0}});
        world.connect(connector_to(&plain, config)).await;
        assert_eq!(world.call(to(customer.url("/same"))).await, 7);
        for path in ["/plain", "/private"] {
            let error = world.fail(to(customer.url(path))).await;
            assert_eq!(error.code.name(), "FUNCTION_ERROR", "{path}");
            assert!(error.message.starts_with("SSRF protection: "), "{path}: {}", error.message);
            assert!(error.message.contains("the computed address or a redirect of it"), "{}", error.message);
        }
        assert!(plain.requests().is_empty());
    });
}

#[test]
fn failing_host_opens_its_breaker_alone() {
    let issued = issue_certificate().unwrap();
    let breakers =
        BreakerSettings { failure_threshold: 2, recovery: Duration::from_secs(3600), max_breakers: 10 };
    let setup = Setup { breakers: Some(breakers), authority: issued.authority.clone(), ..Setup::default() };
    run_in(setup, async |world| {
        let (home, customer) = (home(), customer(&issued));
        let dead = Upstream::start_tls(&issued, |_| UpstreamReply::new(500, "")).unwrap();
        let allowed = ports(&[&customer, &dead]);
        world.connect(connector_to(&home, json!({"allow_urls": allowed, "retry": {"max_retries": 0}}))).await;
        for _ in 0..2 {
            assert_eq!(world.fail(to(dead.url("/"))).await.http_status, Some(500));
        }
        let error = world.fail(to(dead.url("/other"))).await;
        assert_eq!(error.code.name(), "circuit_open");
        assert!(error.message.contains(&dead.address().to_string()), "{}", error.message);
        assert_eq!(dead.requests().len(), 2);
        assert_eq!(world.call(to(customer.url("/"))).await, 7);
        assert_eq!(world.call(json!({})).await, 1, "the API itself");
        assert_eq!(world.connectors.breakers().unwrap().len(), 1, "that of the API");
        let failing = world.connectors.failing_hosts();
        let failing: Vec<_> = failing.into_iter().map(|breaker| (breaker.host, breaker.state)).collect();
        assert_eq!(failing, [(dead.address().to_string(), BreakerState::Open)]);
    });
}

#[test]
fn slow_host_keeps_its_own_places_alone() {
    let issued = issue_certificate().unwrap();
    run_trusting(&issued.authority, async |world| {
        let (home, customer) = (home(), customer(&issued));
        let slow = Arc::new(Upstream::start_tls(&issued, |_| UpstreamReply::Held).unwrap());
        let config = json!({"allow_urls": ports(&[&customer, &slow]), "max_concurrent_per_host": 1,
            "retry": {"max_retries": 0}});
        world.connect(connector_to(&home, config)).await;
        let others = async {
            wait_for_requests(&slow, 1).await;
            let mut late = to(slow.url("/"));
            late["timeout_ms"] = json!(20);
            let error = world.fail(late).await;
            assert_eq!(error.code.name(), "TIMEOUT_ERROR");
            assert!(error.message.contains("max_concurrent_per_host"), "{}", error.message);
            let deferred = world.connectors.directory().call_outside(&webhook(slow.url("/"))).await;
            assert_eq!(deferred.class, OutsideClass::Deferred, "{deferred:?}");
            assert_eq!(world.call(to(customer.url("/"))).await, 7);
            slow.open();
        };
        let (outcome, ()) = join(world.run(to(slow.url("/")), Value::Null), others).await;
        assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
        assert_eq!(slow.requests().len(), 1);
    });
}

/// A webhook over the connector `c`.
fn webhook(url: String) -> OutsideRequest {
    OutsideRequest {
        connector: "c".into(),
        url,
        channel: "_webhooks".into(),
        function: "webhook".into(),
        id: "msg_1".to_owned(),
        secrets: vec![SecretText::new(SECRET), SecretText::new(NEXT_SECRET)],
        content_type: "application/json",
        body: br#"{"type":"order.paid"}"#.as_slice().into(),
        timeout: Duration::from_secs(10),
        place_wait: Duration::ZERO,
    }
}

async fn deliver(world: &ConnectorWorld, request: OutsideRequest) -> OutsideOutcome {
    world.connectors.directory().call_outside(&request).await
}

#[test]
fn outside_call_counts_the_status_alone() {
    let issued = issue_certificate().unwrap();
    run_trusting(&issued.authority, async |world| {
        let home = home();
        let answers = |asked: &ReceivedRequest| match asked.target.as_str() {
            "/huge" => UpstreamReply::new(200, "x".repeat(1 << 20)),
            "/short" => UpstreamReply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc".to_vec()),
            _ => UpstreamReply::Raw(b"HTTP/1.1 410 Gone\r\ncontent-length: 9\r\n\r\nabc".to_vec()),
        };
        let customer = Upstream::start_tls(&issued, answers).unwrap();
        world.connect(connector_to(&home, json!({"allow_urls": ports(&[&customer])}))).await;
        for (path, class, most) in [
            ("/huge", OutsideClass::Accepted, 64 * 1024),
            ("/short", OutsideClass::Accepted, 3),
            ("/gone", OutsideClass::Gone, 0),
        ] {
            let outcome = deliver(world, webhook(customer.url(path))).await;
            assert_eq!(outcome.class, class, "{path}: {outcome:?}");
            assert!(outcome.body.len() <= most, "{path}: {}", outcome.body.len());
        }
    });
}

#[test]
fn outside_call_reports_the_class_of_its_attempt() {
    let issued = issue_certificate().unwrap();
    run_trusting(&issued.authority, async |world| {
        let home = home();
        let customer = Upstream::start_tls(&issued, |asked| match asked.target.as_str() {
            "/gone" => UpstreamReply::new(410, "no more"),
            "/busy" => UpstreamReply::Answer {
                status: 503,
                headers: vec![("retry-after".to_owned(), "7".to_owned())],
                body: Vec::new(),
            },
            "/moved" => UpstreamReply::redirect(302, "/"),
            "/cut" => UpstreamReply::Cut,
            _ => UpstreamReply::new(202, "challenge"),
        })
        .unwrap();
        world.connect(connector_to(&home, json!({"allow_urls": ports(&[&customer])}))).await;
        for (path, class, status, wait) in [
            ("/", OutsideClass::Accepted, Some(202), None),
            ("/gone", OutsideClass::Gone, Some(410), None),
            ("/busy", OutsideClass::Failed, Some(503), Some(7)),
            ("/moved", OutsideClass::Failed, Some(302), None),
            ("/cut", OutsideClass::Failed, None, None),
        ] {
            let outcome = deliver(world, webhook(customer.url(path))).await;
            assert_eq!((outcome.class, outcome.status), (class, status), "{path}: {outcome:?}");
            assert_eq!(outcome.retry_after, wait.map(Duration::from_secs), "{path}");
            assert_eq!(outcome.reason.is_none(), class == OutsideClass::Accepted, "{path}");
            let expected = if class == OutsideClass::Accepted { "challenge" } else { "" };
            assert_eq!(outcome.body, expected.as_bytes(), "{path}");
        }
        assert_eq!(customer.requests().len(), 5);
        for request in customer.requests() {
            assert_eq!((request.method.as_str(), request.header("webhook-id")), ("POST", Some("msg_1")));
            assert!(is_accepted(&request, SECRET) && is_accepted(&request, NEXT_SECRET), "{request:?}");
        }
        for (request, class) in [
            (webhook(home.url("/")), OutsideClass::Forbidden),
            (webhook("nowhere".to_owned()), OutsideClass::Forbidden),
            (
                OutsideRequest { secrets: vec![SecretText::new("short")], ..webhook(customer.url("/")) },
                OutsideClass::Forbidden,
            ),
            (
                OutsideRequest { connector: "missing".into(), ..webhook(customer.url("/")) },
                OutsideClass::Deferred,
            ),
        ] {
            let url = request.url.clone();
            let outcome = deliver(world, request).await;
            assert_eq!((outcome.class, outcome.status), (class, None), "{url}: {outcome:?}");
        }
        assert_eq!((customer.requests().len(), home.requests().len()), (5, 0), "nothing was sent");
    });
}
