//! Signals: drain, reload, end at once.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::server::wait_until;

use crate::support::{echo, launch, start};

#[test]
fn term_drains_and_ends_with_0() {
    let mut server = start();
    echo(&mut server.client(), "s", json!({}));
    server.signal("TERM").unwrap();
    assert_eq!(server.wait(Duration::from_secs(20)).unwrap().code(), Some(0), "{}", server.log_text());
}

#[test]
fn while_draining_it_is_not_ready_but_serves_and_a_second_signal_ends_it() {
    let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "60").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "s", json!({}));
    server.signal("TERM").unwrap();
    let red = wait_until(Duration::from_secs(5), || Ok(client.get("/readyz")?.status == 503));
    assert!(red.unwrap(), "readiness turns red at once");
    assert_eq!(client.get("/readyz").unwrap().json()["components"]["initialized"], false);
    assert_eq!(client.json("POST", "/api/v1/data/s", &json!({})).unwrap().status, 200, "still serving");
    server.signal("INT").unwrap();
    server.wait(Duration::from_secs(5)).expect("the second signal ends it at once");
}

#[test]
fn hup_reloads_what_was_deferred() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "s", json!({}));
    let path = "/api/v1/admin/channels/s/status?reload=defer";
    client.json("PATCH", path, &json!({"status": "archived"})).unwrap();
    assert_eq!(client.json("POST", "/api/v1/data/s", &json!({})).unwrap().status, 200);
    server.signal("HUP").unwrap();
    let gone = wait_until(Duration::from_secs(5), || {
        Ok(client.json("POST", "/api/v1/data/s", &json!({}))?.status == 404)
    });
    assert!(gone.unwrap());
}

#[test]
fn what_was_committed_is_served_after_a_crash() {
    let server = start();
    echo(&mut server.client(), "s", json!({}));
    let server = server.crash_and_restart().unwrap();
    assert_eq!(server.client().json("POST", "/api/v1/data/s", &json!({})).unwrap().status, 200);
}

#[test]
fn under_load_no_connection_taken_is_lost_and_the_end_is_0() {
    for _ in 0..3 {
        let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "1").start().unwrap();
        echo(&mut server.client(), "s", json!({}));
        let clients: Vec<_> = (0..4)
            .map(|_| server.client())
            .map(|client| thread::spawn(move || until_refused(client)))
            .collect();
        server.signal("TERM").unwrap();
        for client in clients {
            assert_eq!(client.join().unwrap(), ErrorKind::ConnectionRefused);
        }
        assert_eq!(server.wait(Duration::from_secs(20)).unwrap().code(), Some(0), "{}", server.log_text());
    }
}

/// Opens a connection for each request until one fails.
fn until_refused(mut client: HttpClient) -> ErrorKind {
    loop {
        match client.json("POST", "/api/v1/data/s", &json!({})) {
            Ok(answer) => assert_eq!(answer.status, 200, "{}", answer.text()),
            Err(error) => return error.kind(),
        }
    }
}
