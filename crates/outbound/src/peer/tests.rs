use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};

use super::*;
use crate::resolver::AddressLookup;
use crate::{AddressError, Trust};

/// Every name is the machine itself.
struct Here;

impl AddressLookup for Here {
    fn lookup(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(Ok(vec![IpAddr::from([127, 0, 0, 1])])))
    }
}

fn outbound() -> Outbound {
    Outbound::with_lookup(&Trust::Only(String::new()), Arc::new(Here)).unwrap()
}

/// A peer that may leave home, which no address of the machine otherwise allows.
fn redirectable_peer(home: &Upstream) -> PeerClient {
    let client = outbound().client(ClientOptions { allow_private: true, timeout: UNBOUNDED }).unwrap();
    let home: Url = home.url("/").parse().unwrap();
    let own = Arc::new(ArcSwap::new(OwnClient::new(client.clone())));
    PeerClient { home: home.origin(), own, outbound: outbound(), other: client, urls: None, patience: None }
}

fn secret_request(method: Method, url: &str) -> PeerRequest {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer swordfish"));
    headers.insert("x-own", HeaderValue::from_static("1"));
    let body = RequestBody { content_type: "text/plain", bytes: Bytes::from_static(b"body") };
    PeerRequest {
        method,
        url: url.parse().unwrap(),
        headers,
        params: vec![("key".into(), "swordfish".into())],
        body: Some(body),
        timeout: Duration::from_secs(20),
        cap: 1024,
        follow: true,
    }
}

fn shows_secret(asked: &ReceivedRequest) -> bool {
    format!("{asked:?}").contains("swordfish") || asked.header("x-own").is_some()
}

#[tokio::test]
async fn misdirected_request_uses_another_connection() {
    let home = Upstream::start(|asked| match asked.connection {
        0 if asked.target.starts_with("/later") => UpstreamReply::new(421, "not here"),
        _ => UpstreamReply::new(200, "here"),
    })
    .unwrap();
    let peer = redirectable_peer(&home);
    let send = async |path: &str| peer.send(secret_request(Method::POST, &home.url(path))).await.unwrap();
    assert_eq!(send("/first").await.status, 200);
    assert_eq!(send("/later").await.status, 421, "its connection was just opened");
    let opened = Instant::now() - SETTLED;
    let client = peer.own.load().client.clone();
    peer.own.store(Arc::new(OwnClient { client, opened }));
    assert_eq!(send("/later").await.status, 200);
    assert_eq!(send("/later").await.status, 200);
    let asked = home.requests();
    let connections: Vec<_> = asked.iter().map(|asked| asked.connection).collect();
    assert_eq!(connections, [0, 0, 0, 1, 1]);
    assert_eq!((&asked[3].target, &asked[3].body), (&asked[2].target, &asked[2].body), "the same request");
}

#[tokio::test]
async fn credentials_go_to_own_origin_until_redirected_away() {
    let other = Upstream::start(|_| UpstreamReply::new(200, "there")).unwrap();
    let away = other.url("/away");
    let home = Upstream::start(move |asked| match asked.target.split('?').next() {
        Some("/near") => UpstreamReply::redirect(307, "/here"),
        Some("/far") => UpstreamReply::redirect(307, &away),
        _ => UpstreamReply::new(200, "here"),
    })
    .unwrap();
    let peer = redirectable_peer(&home);
    peer.send(secret_request(Method::POST, &home.url("/near?a=1"))).await.unwrap();
    let near = home.requests();
    assert_eq!(
        (near[0].target.as_str(), near[1].target.as_str()),
        ("/near?a=1&key=swordfish", "/here?key=swordfish")
    );
    assert!(near.iter().all(|asked| asked.header("authorization") == Some("Bearer swordfish")));
    peer.send(PeerRequest { body: None, ..secret_request(Method::POST, &home.url("/far")) }).await.unwrap();
    let far = other.requests();
    assert_eq!(
        (far[0].method.as_str(), far[0].target.as_str(), far[0].text().as_str()),
        ("POST", "/away", "")
    );
    assert!(!shows_secret(&far[0]), "{:?}", far[0]);
}

/// RFC 9110: 303 turns any request, 301 and 302 a POST into a GET without a body; the others repeat it.
#[tokio::test]
async fn redirect_elsewhere_carries_neither_body_nor_credentials() {
    for code in [301, 302, 303, 307, 308] {
        let other = Upstream::start(|_| UpstreamReply::new(200, "there")).unwrap();
        let away = other.url("/away");
        let home = Upstream::start(move |_| UpstreamReply::redirect(code, &away)).unwrap();
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let becomes_get = code == 303 || (code < 303 && method == Method::POST);
            let outcome = redirectable_peer(&home).send(secret_request(method.clone(), &home.url("/"))).await;
            match outcome {
                Ok(answer) => assert!(becomes_get && answer.status == 200, "{method} {code}"),
                Err(FetchError::Redirect { cause, .. }) => {
                    assert!(!becomes_get && cause.contains("another origin"), "{method} {code}: {cause}");
                }
                Err(error) => panic!("{method} {code}: {error:?}"),
            }
        }
        let requests = other.requests();
        let expected = match code {
            303 => 4,
            301 | 302 => 1,
            _ => 0,
        };
        assert_eq!(requests.len(), expected, "{code}");
        for request in requests {
            assert_eq!((request.method.as_str(), request.text().as_str()), ("GET", ""), "{code}");
            assert!(!shows_secret(&request) && request.header("content-type").is_none(), "{request:?}");
        }
    }
}

#[tokio::test]
async fn refused_body_is_not_sent_through_own_origin() {
    let other = Upstream::start(|_| UpstreamReply::new(200, "there")).unwrap();
    let away = other.url("/away");
    let home = Upstream::start(move |asked| match asked.target.split('?').next() {
        Some("/near") => UpstreamReply::redirect(308, "/far"),
        _ => UpstreamReply::redirect(307, &away),
    })
    .unwrap();
    let error =
        redirectable_peer(&home).send(secret_request(Method::POST, &home.url("/near"))).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirect { .. }), "{error:?}");
    assert_eq!((home.requests().len(), other.requests().len()), (2, 0));
}

#[tokio::test]
async fn redirect_back_from_elsewhere_gets_no_credentials() {
    let home = Upstream::start(|_| UpstreamReply::new(200, "here")).unwrap();
    let back = home.url("/back");
    let other = Upstream::start(move |_| UpstreamReply::redirect(302, &back)).unwrap();
    let away = other.url("/");
    let first = Upstream::start(move |_| UpstreamReply::redirect(302, &away)).unwrap();
    let request = PeerRequest { body: None, ..secret_request(Method::GET, &first.url("/")) };
    redirectable_peer(&first).send(request).await.unwrap();
    assert!(shows_secret(&first.requests()[0]) && !shows_secret(&home.requests()[0]));
}

#[tokio::test]
async fn answer_knows_if_its_sender_saw_credentials() {
    let other = Upstream::start(|_| UpstreamReply::new(401, "who are you?")).unwrap();
    let away = other.url("/");
    let home = Upstream::start(move |asked| match asked.target.split('?').next() {
        Some("/near") => UpstreamReply::redirect(302, "/here"),
        Some("/far") => UpstreamReply::redirect(302, &away),
        _ => UpstreamReply::new(401, "not you"),
    })
    .unwrap();
    for (path, at_home) in [("/here", true), ("/near", true), ("/far", false)] {
        let request = PeerRequest { body: None, ..secret_request(Method::GET, &home.url(path)) };
        let arrived = redirectable_peer(&home).send_with_origin(request).await.unwrap();
        assert_eq!((arrived.is_home_origin, arrived.response.status.as_u16()), (at_home, 401), "{path}");
    }
}

#[tokio::test]
async fn redirect_code_decides_method_and_body() {
    let home = Upstream::start(|asked| {
        let code = asked.target.trim_start_matches('/').split('?').next().and_then(|code| code.parse().ok());
        code.map_or_else(|| UpstreamReply::new(200, ""), |code| UpstreamReply::redirect(code, "/end"))
    })
    .unwrap();
    let peer = redirectable_peer(&home);
    for (method, code, then, body) in [
        (Method::POST, 301, "GET", ""),
        (Method::PUT, 301, "PUT", "body"),
        (Method::POST, 302, "GET", ""),
        (Method::PUT, 302, "PUT", "body"),
        (Method::PATCH, 302, "PATCH", "body"),
        (Method::DELETE, 302, "DELETE", "body"),
        (Method::PUT, 303, "GET", ""),
        (Method::DELETE, 303, "GET", ""),
        (Method::POST, 307, "POST", "body"),
        (Method::PATCH, 308, "PATCH", "body"),
        (Method::GET, 301, "GET", "body"),
    ] {
        peer.send(secret_request(method.clone(), &home.url(&format!("/{code}")))).await.unwrap();
        let last = home.requests().pop().unwrap();
        assert_eq!((last.method.as_str(), last.text().as_str()), (then, body), "{method} {code}");
        assert_eq!(last.header("content-type").is_some(), !body.is_empty());
    }
}

/// Whoever answers for a name decides what it leads to, at every question anew.
#[tokio::test]
async fn redirect_to_inner_name_is_refused_when_dialled() {
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let rebound = format!("http://name.example:{}/", trap.local_addr().unwrap().port());
    let home = Upstream::start(move |_| UpstreamReply::redirect(307, &rebound)).unwrap();
    let url: Url = home.url("/").parse().unwrap();
    let peer = outbound().peer(&url, true).unwrap();
    for method in [Method::GET, Method::POST] {
        let request = PeerRequest { body: None, ..secret_request(method, url.as_str()) };
        let error = peer.send(request).await.unwrap_err();
        assert!(matches!(error, FetchError::Address(AddressError::Forbidden { .. })), "{error:?}");
    }
    assert!(trap.accept().is_err());
}

#[test]
fn a_request_prints_no_secret() {
    let shown = format!("{:?}", secret_request(Method::GET, "http://a.example/x?k=swordfish"));
    assert_eq!(shown, "PeerRequest { method: GET, origin: \"http://a.example\", .. }");
}
