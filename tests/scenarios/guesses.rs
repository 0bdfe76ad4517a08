//! Guesses of the keys of a channel.

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::server::wait_until;

use crate::support::{echo, launch, start};

/// Returns the status of a call with this key, and the time until its answer.
#[expect(clippy::disallowed_methods, reason = "what callers wait for is real time")]
fn call(client: &mut HttpClient, channel: &str, key: &str) -> (u16, Duration) {
    let begin = Instant::now();
    let key = format!("Bearer {key}");
    let headers = [("content-type", "application/json"), ("authorization", key.as_str())];
    let answer = client.send("POST", &format!("/api/v1/data/{channel}"), &headers, b"{}").unwrap();
    (answer.status, begin.elapsed())
}

#[test]
fn wrong_keys_are_delayed_and_right_key_admitted() {
    let server = start();
    let mut client = server.client();
    for channel in ["orders", "returns"] {
        let bodies = json!({"default": {"body": "own", "content_type": "text/plain"}});
        let config =
            json!({"auth": {"mode": "api_key", "keys": ["right"]}, "response": {"error_bodies": bodies}});
        echo(&mut client, channel, config);
    }
    let waits: Vec<Duration> = (0..6)
        .map(|_| {
            let (status, wait) = call(&mut client, "orders", "wrong");
            assert_eq!(status, 401);
            wait
        })
        .collect();
    assert!(waits[4] >= Duration::from_millis(500) && waits[5] >= Duration::from_secs(1), "{waits:?}");
    // While guesses wait, the holder of a key is served, and so is another channel.
    let address = server.client();
    let guess = std::thread::spawn(move || {
        let mut client = address;
        call(&mut client, "orders", "wrong")
    });
    for channel in ["orders", "returns"] {
        assert_eq!(call(&mut client, channel, "right").0, 200);
    }
    let (status, wait) = guess.join().unwrap();
    assert_eq!(status, 401);
    assert!(wait >= Duration::from_secs(2), "a right key forgives no guess: {wait:?}");
}

#[test]
fn request_without_a_key_is_no_guess() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    echo(&mut client, "orders", json!({"auth": {"mode": "api_key", "keys": ["right"]}}));
    // As guesses they would wait for minutes.
    let is_answered = wait_until(Duration::from_secs(30), || {
        let mut answers = (0..30).map(|_| client.json("POST", "/api/v1/data/orders", &json!({})));
        answers.try_fold(true, |all, answer| Ok(all && answer?.status == 401))
    });
    assert!(is_answered.unwrap());
}
