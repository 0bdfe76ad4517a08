//! Responses: the part that is read, and the errors without one.

use std::time::Duration;

use svc_outbound::{FetchError, StatusCode, Trust, check_url};
use svc_testkit::tls::{Behaviour, HttpsServer};

use crate::{PATIENCE, client};

async fn ask(
    server: &HttpsServer,
    cap: usize,
    timeout: Duration,
) -> Result<svc_outbound::OutboundResponse, FetchError> {
    let client = client(&Trust::Only(server.authority().to_owned()), true, timeout);
    client.get(&check_url(&server.url("/keys?token=s3cret"), true).unwrap(), cap).await
}

fn body(length: usize) -> Behaviour {
    Behaviour::json(" ".repeat(length), &[])
}

#[tokio::test]
async fn whole_answer_arrives_and_request_has_user_agent() {
    let server = HttpsServer::start(Behaviour::json("[1]", &[("cache-control", "max-age=60")])).unwrap();
    let answer = ask(&server, 16, PATIENCE).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (StatusCode::OK, &b"[1]"[..]));
    assert_eq!(answer.headers["cache-control"], "max-age=60");
    let head = &server.requests()[0];
    assert!(head.starts_with("GET /keys?token=s3cret HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(concat!("user-agent: svc/", env!("CARGO_PKG_VERSION"), "\r\n")), "{head}");
}

#[tokio::test]
async fn body_length_is_at_most_the_cap() {
    let server = HttpsServer::start(body(1000)).unwrap();
    assert_eq!(ask(&server, 1000, PATIENCE).await.unwrap().body.len(), 1000);
    assert!(matches!(ask(&server, 999, PATIENCE).await, Err(FetchError::TooLarge { cap: 999, .. })));
}

#[tokio::test]
async fn the_cap_holds_whatever_length_is_announced() {
    let server = HttpsServer::start(Behaviour::Endless).unwrap();
    assert!(matches!(ask(&server, 100_000, PATIENCE).await, Err(FetchError::TooLarge { .. })));
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7FFFFFFF\r\n".to_vec();
    server.set_behaviour(Behaviour::Raw([chunked, vec![b' '; 200_000]].concat()));
    assert!(matches!(ask(&server, 100_000, PATIENCE).await, Err(FetchError::TooLarge { .. })));
    let announced = b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\nx".to_vec();
    server.set_behaviour(Behaviour::Raw(announced));
    assert!(ask(&server, 100_000, PATIENCE).await.is_err());
    let short = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nabc".to_vec();
    server.set_behaviour(Behaviour::Raw(short));
    assert!(matches!(ask(&server, 100_000, PATIENCE).await, Err(FetchError::Broken { .. })));
}

#[tokio::test]
async fn error_with_truncated_body_keeps_its_status() {
    let server = HttpsServer::start(Behaviour::Down).unwrap();
    let head = b"HTTP/1.1 401 No\r\ncontent-length: 500\r\n\r\n0123456789".to_vec();
    server.set_behaviour(Behaviour::Raw(head));
    let answer = ask(&server, 1000, PATIENCE).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (401, &b"0123456789"[..]));
}

#[tokio::test]
async fn error_keeps_its_status_however_long_it_is() {
    let server = HttpsServer::start(Behaviour::Down).unwrap();
    for (status, announced) in [(400, true), (503, false), (302, true)] {
        let framing = if announced { "content-length: 500000" } else { "connection: close" };
        let head = format!("HTTP/1.1 {status} No\r\n{framing}\r\n\r\n");
        server.set_behaviour(Behaviour::Raw([head.into_bytes(), vec![b'x'; 200_000]].concat()));
        let answer = ask(&server, 100_000, PATIENCE).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.body.len()), (status, 100_000));
    }
}

#[tokio::test]
async fn redirect_is_an_answer_and_is_not_followed() {
    let (server, target) =
        (HttpsServer::start(Behaviour::Down).unwrap(), HttpsServer::start(body(1)).unwrap());
    for status in [301, 302, 303, 307, 308] {
        server.set_behaviour(Behaviour::redirect(status, &target.url("/")));
        assert_eq!(ask(&server, 16, PATIENCE).await.unwrap().status, status);
    }
    assert_eq!((server.request_count(), target.request_count()), (5, 0));
}

#[tokio::test]
async fn silence_ends_with_the_timeout() {
    let server = HttpsServer::start(Behaviour::Hang).unwrap();
    let error = ask(&server, 16, Duration::from_millis(200)).await.unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("no answer from '127.0.0.1:") && message.ends_with(" within 200 ms"),
        "{message}"
    );
}

#[tokio::test]
async fn failure_names_host_and_cause_without_query() {
    let server = HttpsServer::start(Behaviour::Down).unwrap();
    let mut failures = vec![ask(&server, 16, PATIENCE).await.unwrap_err()];
    server.set_behaviour(Behaviour::Raw(b"nonsense\r\n\r\n".to_vec()));
    failures.push(ask(&server, 16, PATIENCE).await.unwrap_err());
    let stranger = HttpsServer::start(body(1)).unwrap();
    let client = client(&Trust::Only(stranger.authority().to_owned()), true, PATIENCE);
    let url = check_url(&server.url("/?token=s3cret"), true).unwrap();
    let untrusted = client.get(&url, 16).await.unwrap_err();
    assert!(
        matches!(&untrusted, FetchError::Connect { cause, .. } if cause.contains("certificate")),
        "{untrusted:?}"
    );
    failures.push(untrusted);
    for failure in failures {
        let text = failure.to_string();
        assert!(text.contains("'127.0.0.1:") && !text.contains("s3cret") && !text.ends_with("()"), "{text}");
    }
}
