//! Requests that are sent, and the reading of their responses.

use serde_json::json;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{connector_to, run};

fn echo() -> Upstream {
    Upstream::start(|asked| {
        let headers: serde_json::Map<_, _> =
            asked.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let body =
            json!({"method": asked.method, "target": asked.target, "headers": headers, "body": asked.text()});
        UpstreamReply::new(200, body.to_string())
    })
    .unwrap()
}

#[test]
fn task_headers_win_over_credentials_and_connector() {
    run(async |world| {
        let upstream = echo();
        let headers = json!({"A": "connector", "B": "connector", "Authorization": "connector"});
        let auth = json!({"type": "basic", "username": "bob", "password": "swordfish"});
        world.connect(connector_to(&upstream, json!({"headers": headers, "auth": auth}))).await;
        let said = world.call(json!({"headers": {"b": "task"}})).await;
        assert_eq!((&said["headers"]["a"], &said["headers"]["b"]), (&json!("connector"), &json!("task")));
        assert_eq!(said["headers"]["authorization"], "Basic Ym9iOnN3b3JkZmlzaA==");
        let said = world.call(json!({"headers": {"authorization": "task"}})).await;
        assert_eq!(said["headers"]["authorization"], "task");
        let key = json!({"type": "apikey", "header": "X-Key", "key": "k"});
        world.connect(connector_to(&upstream, json!({"auth": key}))).await;
        assert_eq!(world.call(json!({})).await["headers"]["x-key"], "k");
    });
}

#[test]
fn credentials_in_a_url_are_sent_as_basic_credentials() {
    run(async |world| {
        let upstream = echo();
        let url = upstream.url("/v1").replace("http://", "http://bob:sword%40fish@");
        world.connect(connector_to(&upstream, json!({"url": url}))).await;
        let said = world.call(json!({"path": "x"})).await;
        assert_eq!(said["target"], "/v1/x");
        assert_eq!(said["headers"]["authorization"], "Basic Ym9iOnN3b3JkQGZpc2g=");
    });
}

#[test]
fn query_order_is_url_task_then_sorted_connector() {
    run(async |world| {
        let upstream = echo();
        let url = upstream.url("/api?v=1");
        world
            .connect(connector_to(&upstream, json!({"url": url, "query_params": {"z": 1, "b": "x y"}})))
            .await;
        let input = json!({"path_logic": {"cat": ["/o/", {"var": "payload.id"}, "?q=1", {"var": "payload.more"}]}, "output": "data.api"});
        let outcome = world.run(input.clone(), json!({"id": "7 8", "more": ""})).await;
        assert_eq!(outcome.message.data["api"]["target"], "/api/o/7%208?v=1&q=1&b=x+y&z=1");
        // No message takes out what the connector says.
        for more in ["&z=2", "&%7A=2", "&z"] {
            let outcome = world.run(input.clone(), json!({"id": 7, "more": more})).await;
            let expected = format!("/api/o/7?v=1&q=1{more}&b=x+y&z=1");
            assert_eq!(outcome.message.data["api"]["target"], expected);
        }
    });
}

#[test]
fn body_has_type_of_its_format_or_author() {
    run(async |world| {
        let upstream = echo();
        world.connect(connector_to(&upstream, json!({}))).await;
        for (input, content_type, body) in [
            (json!({"body": {"b": 1, "a": [null]}}), json!("application/json"), r#"{"b":1,"a":[null]}"#),
            (
                json!({"body": {"a": ["x", 1], "n": null}, "body_format": "form"}),
                json!("application/x-www-form-urlencoded"),
                "a=x&a=1",
            ),
            (json!({"body": "é", "body_format": "text"}), json!("text/plain; charset=utf-8"), "é"),
            (
                json!({"body": {}, "headers": {"Content-Type": "application/x+json"}}),
                json!("application/x+json"),
                "{}",
            ),
            (json!({"body_logic": {"+": [1, 2]}}), json!("application/json"), "3"),
            (json!({}), json!(null), ""),
            (json!({"body": {}, "body_format": "form"}), json!("application/x-www-form-urlencoded"), ""),
        ] {
            let mut input = input;
            input["method"] = "POST".into();
            let said = world.call(input.clone()).await;
            assert_eq!(
                said["headers"].get("content-type").cloned().unwrap_or_default(),
                content_type,
                "{input}"
            );
            assert_eq!(said["headers"]["content-length"], body.len().to_string(), "{input}");
            assert_eq!(
                (said["body"].as_str(), said["method"].as_str()),
                (Some(body), Some("POST")),
                "{input}"
            );
        }
        for input in [json!({"body": [1], "body_format": "form"}), json!({"body": 1, "body_format": "text"})]
        {
            assert_eq!(world.fail(input).await.code.name(), "VALIDATION_ERROR");
        }
    });
}

#[test]
fn answer_is_parsed_by_format_if_written() {
    run(async |world| {
        let upstream = Upstream::start(|asked| match asked.target.as_str() {
            "/latin" => UpstreamReply::Answer { status: 200, headers: Vec::new(), body: b"caf\xe9".to_vec() },
            "/no-content" => UpstreamReply::new(204, ""),
            "/empty" => UpstreamReply::new(200, ""),
            "/marked" => UpstreamReply::new(200, "\u{feff}{\"a\": 1}"),
            "/mark" => UpstreamReply::new(200, "\u{feff}"),
            _ => UpstreamReply::new(200, "no json"),
        })
        .unwrap();
        world.connect(connector_to(&upstream, json!({}))).await;
        assert_eq!(world.call(json!({"path": "latin", "response_format": "text"})).await, "caf\u{FFFD}");
        assert_eq!(
            world.call(json!({"path": "marked"})).await,
            json!({"a": 1}),
            "a byte order mark is no text"
        );
        assert_eq!(world.call(json!({"path": "mark", "response_format": "text"})).await, "");
        assert_eq!(world.call(json!({"path": "marked", "response_format": "text"})).await, "{\"a\": 1}");
        for path in ["empty", "no-content"] {
            for format in ["json", "text"] {
                let outcome = world
                    .run(json!({"path": path, "response_format": format, "output": "data.api"}), json!(null));
                assert_eq!(outcome.await.message.data, json!({"api": null}), "{path} {format}");
            }
        }
        for path in ["latin", "mark", "x"] {
            let error = world.fail(json!({"path": path, "output": "data.api"})).await;
            assert_eq!(error.code.name(), "FUNCTION_ERROR", "{path}: {}", error.message);
            let outcome = world.run(json!({"path": path}), json!(null)).await;
            assert!(outcome.errors.is_empty(), "{path}");
            assert_eq!(outcome.message.data, json!({}));
        }
        let outcome = world
            .run(json!({"path": "x", "response_path": "temp_data.x", "response_format": "text"}), json!(1));
        assert_eq!(outcome.await.message.temp_data["x"], "no json");
    });
}

#[test]
fn text_encoding_follows_mark_or_content_type() {
    run(async |world| {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let marked = [&[0xff, 0xfe][..], &utf16("\"é\"")].concat();
        for (content_type, body) in [
            ("application/json", "\"é\"".as_bytes().to_vec()),
            ("application/json; charset=UTF-8", "\"é\"".as_bytes().to_vec()),
            ("application/json; charset=unheard-of", "\"é\"".as_bytes().to_vec()),
            ("application/json; charset=iso-8859-1", b"\"\xe9\"".to_vec()),
            ("text/html; a=b; Charset=\"ISO-8859-15\"", b"\"\xe9\"".to_vec()),
            ("application/json; charset=utf-16le", utf16("\"é\"")),
            ("application/json", marked),
        ] {
            let upstream = Upstream::start(move |_| UpstreamReply::Answer {
                status: 200,
                headers: vec![("content-type".into(), content_type.into())],
                body: body.clone(),
            })
            .unwrap();
            world.connect(connector_to(&upstream, json!({}))).await;
            assert_eq!(world.call(json!({})).await, "é", "{content_type}");
            let text = world.call(json!({"response_format": "text"})).await;
            assert_eq!(text, "\"é\"", "{content_type}");
        }
    });
}
