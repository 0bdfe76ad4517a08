//! Secrets sent to an API appear in no output and no error.

use serde_json::{Value, json};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{DECLARED, connector_to, run};

/// Repeats what it is asked; refuses below `/no`, with the secret across the edge of what an error shows.
fn repeating() -> Upstream {
    Upstream::start(|asked| {
        let said = json!({"at": asked.target, "body": asked.text()}).to_string();
        match asked.target.starts_with("/no") {
            true => UpstreamReply::new(422, "x".repeat(500) + &asked.text() + &asked.target),
            false => UpstreamReply::new(200, said),
        }
    })
    .unwrap()
}

fn secret() -> Value {
    json!({"secret": "partner"})
}

#[test]
fn a_secret_that_an_api_repeats_is_not_written() {
    run(async |world| {
        let upstream = repeating();
        world.connect(connector_to(&upstream, json!({}))).await;
        for (input, at, body) in [
            (
                json!({"method": "POST", "body_logic": {"key": secret(), "id": 7001}}),
                "/",
                r#"{"key":"******","id":7001}"#,
            ),
            (json!({"path_logic": {"cat": ["v1/", secret(), "/orders"]}}), "/******", ""),
            (json!({"path_logic": {"cat": ["?key=", secret()]}}), "/******", ""),
        ] {
            let said = world.call(input.clone()).await;
            assert_eq!((&said["at"], &said["body"]), (&json!(at), &json!(body)), "{input}");
            let request = upstream.requests().pop().unwrap();
            assert!(
                (request.target.clone() + &request.text()).contains(DECLARED),
                "it was sent: {request:?}"
            );
        }
    });
}

#[test]
fn error_hides_the_secret_that_was_sent() {
    run(async |world| {
        let upstream = repeating();
        world.connect(connector_to(&upstream, json!({}))).await;
        for input in [
            json!({"path": "/no", "method": "POST", "body_format": "text", "body_logic": {"cat": [secret(), ""]}}),
            json!({"path_logic": {"cat": ["/no/", secret()]}, "method": "PUT", "body": "x"}),
            json!({"path_logic": {"cat": ["/no?key=", secret()]}}),
            json!({"path": "/no", "method": "POST", "body_format": "form", "body_logic": {"key": secret()}}),
        ] {
            let error = world.fail(input.clone()).await;
            assert_eq!((error.code.name(), error.http_status), ("HTTP_ERROR", Some(422)), "{input}");
            // No part of it either.
            assert!(!format!("{error:?}").contains(&DECLARED[..4]), "{input}: {error:?}");
        }
        assert!(
            upstream.requests().iter().all(|asked| (asked.target.clone() + &asked.text()).contains(DECLARED))
        );
    });
}
