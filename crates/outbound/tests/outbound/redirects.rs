//! A redirect is followed like a first request: checked, and without what is meant for its sender alone.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use svc_outbound::header::HeaderMap;
use svc_outbound::{AddressError, FetchError, Method, Outbound, PeerClient, PeerRequest, Trust, Url};
use svc_testkit::spellings::{corpus, urls};
use svc_testkit::trap::Trap;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::PATIENCE;

const CODES: [u16; 5] = [301, 302, 303, 307, 308];

fn peer(home: &Upstream) -> PeerClient {
    let outbound = Outbound::new(&Trust::Only(String::new())).unwrap();
    outbound.peer(&home.url("/").parse().unwrap(), true).unwrap()
}

fn request(url: &str) -> PeerRequest {
    PeerRequest {
        method: Method::GET,
        url: url.parse().unwrap(),
        headers: HeaderMap::new(),
        params: Vec::new(),
        body: None,
        timeout: PATIENCE,
        cap: 1024,
        follow: true,
    }
}

/// A server that redirects every request to a given URL.
fn pointing() -> (Upstream, Arc<Mutex<(u16, String)>>) {
    let redirect = Arc::new(Mutex::new((302, String::new())));
    let telling = Arc::clone(&redirect);
    let server = Upstream::start(move |_| {
        let (code, location) = telling.lock().clone();
        UpstreamReply::redirect(code, &location)
    });
    (server.unwrap(), redirect)
}

#[tokio::test]
async fn unfollowed_redirect_is_the_answer() {
    let (home, told) = pointing();
    let (peer, other) = (peer(&home), Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap());
    for code in CODES {
        *told.lock() = (code, other.url("/"));
        let answer = peer.send(PeerRequest { follow: false, ..request(&home.url("/")) }).await.unwrap();
        assert_eq!(answer.status.as_u16(), code);
    }
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn redirect_reaches_no_spelling_of_inner_address() {
    let (home, told) = pointing();
    let (peer, trap) = (peer(&home), Trap::bind().unwrap());
    let mut refused = 0;
    for host in corpus() {
        for code in CODES {
            // What is no text of a header cannot be sent at all.
            let location = format!("http://{host}:{}/", trap.port());
            *told.lock() = (code, location.clone());
            let error = peer.send(request(&home.url("/"))).await.unwrap_err();
            match error {
                FetchError::Address(AddressError::Forbidden { .. }) => refused += 1,
                FetchError::Redirect { .. } => assert!(Url::parse(&location).is_err(), "{location}"),
                other => panic!("{code} {location}: {other:?}"),
            }
        }
    }
    assert!(refused >= 5 * 300, "{refused}");
    assert_eq!(trap.take_connection_count(), 0);
}

#[tokio::test]
async fn redirect_to_obscured_host_reaches_nothing() {
    let (home, told) = pointing();
    let (peer, trap) = (peer(&home), Trap::bind().unwrap());
    let here = format!("127.0.0.1:{}/", trap.port());
    let relative = ["//", "\\\\", "\\/", "/\\"].map(|slashes| format!("{slashes}{here}"));
    let locations = urls(trap.port()).into_iter().filter(|url| !url.contains(['\r', '\n']));
    for location in locations.chain(relative) {
        for code in CODES {
            *told.lock() = (code, location.clone());
            let outcome = peer.send(request(&home.url("/"))).await;
            // A path of the peer's own, which leads round and round, is no way in either.
            let error = outcome.map(|answer| answer.status).unwrap_err();
            assert!(
                matches!(error, FetchError::Address(_) | FetchError::Redirect { .. }),
                "{location:?}: {error:?}"
            );
        }
    }
    assert_eq!(trap.take_connection_count(), 0);
}

#[tokio::test]
async fn redirect_to_foreign_scheme_or_credentials_is_refused() {
    let (home, told) = pointing();
    let peer = peer(&home);
    for location in [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://example.com/",
        "http://u:swordfish@example.com/",
    ] {
        *told.lock() = (302, location.to_owned());
        let error = peer.send(request(&home.url("/"))).await.unwrap_err();
        assert!(error.to_string().starts_with("SSRF protection: "), "{error}");
        assert!(!error.to_string().contains("swordfish"));
    }
}

#[tokio::test]
async fn private_address_is_allowed_only_for_the_peer() {
    let (home, trap) = (Upstream::start(|_| UpstreamReply::new(200, "")).unwrap(), Trap::bind().unwrap());
    let peer = peer(&home);
    assert!(peer.send(request(&home.url("/"))).await.is_ok());
    let other = format!("http://127.0.0.1:{}/", trap.port());
    let refused = peer.send(request(&other)).await.unwrap_err();
    assert!(matches!(refused, FetchError::Address(AddressError::Forbidden { .. })), "{refused:?}");
    assert_eq!(trap.take_connection_count(), 0);
}

#[tokio::test]
async fn five_redirects_are_followed_and_no_sixth() {
    for (hops, arrives) in [(5, true), (6, false)] {
        let home = Upstream::start(move |asked| match asked.target.trim_start_matches('/').parse::<u32>() {
            Ok(0) | Err(_) => UpstreamReply::new(200, "here"),
            Ok(left) => UpstreamReply::redirect(302, &format!("/{}", left - 1)),
        })
        .unwrap();
        let answer = peer(&home).send(request(&home.url(&format!("/{hops}")))).await;
        match answer {
            Ok(answer) => assert!(arrives && &answer.body[..] == b"here"),
            Err(error) => assert!(!arrives && matches!(error, FetchError::Redirect { .. }), "{error:?}"),
        }
        assert_eq!(home.requests().len(), 6);
    }
}

#[tokio::test]
async fn redirect_without_target_is_an_answer() {
    let home = Upstream::start(|asked| match asked.target.as_str() {
        "/none" => UpstreamReply::new(302, "no location"),
        "/not-modified" => UpstreamReply::redirect(304, "/"),
        _ => UpstreamReply::redirect(300, "/"),
    })
    .unwrap();
    for (path, status) in [("/none", 302), ("/not-modified", 304), ("/choices", 300)] {
        assert_eq!(peer(&home).send(request(&home.url(path))).await.unwrap().status, status);
    }
}

#[tokio::test]
async fn connections_are_reused_and_slow_answer_times_out() {
    let home = Upstream::start(|asked| match asked.target.as_str() {
        "/slow" => UpstreamReply::Held,
        _ => UpstreamReply::new(200, "x".repeat(1024)),
    })
    .unwrap();
    let peer = peer(&home);
    for _ in 0..3 {
        peer.send(request(&home.url("/"))).await.unwrap();
    }
    assert!(home.requests().iter().all(|asked| asked.connection == 0));
    let slow = PeerRequest { timeout: Duration::from_millis(50), ..request(&home.url("/slow")) };
    let error = peer.send(slow).await.unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("no answer from '127.0.0.1:") && message.ends_with(" within 50 ms"),
        "{message}"
    );
    let large = PeerRequest { cap: 1023, ..request(&home.url("/")) };
    assert!(matches!(peer.send(large).await, Err(FetchError::TooLarge { cap: 1023, .. })));
}
