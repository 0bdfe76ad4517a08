//! Failures of calls, and the texts of their errors.

use std::net::TcpListener;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{connector_to, run};

#[test]
fn refused_answer_is_excerpted_without_secrets() {
    run(async |world| {
        let upstream = Upstream::start(|asked| {
            let text = format!("{:?} {}", asked.headers, asked.target);
            UpstreamReply::new(422, format!("{text} {}", "é".repeat(1000)))
        })
        .unwrap();
        let auth = json!({"type": "bearer", "token": "swordfish-token"});
        let more = json!({"auth": auth, "headers": {"X-Key": "swordfish-header"}, "query_params": {"k": "swordfish-query"}});
        world.connect(connector_to(&upstream, more)).await;
        let error = world.fail(json!({"path": "/orders"})).await;
        assert_eq!(
            (error.code.name(), error.http_status, error.retryable()),
            ("HTTP_ERROR", Some(422), false)
        );
        assert!(!format!("{error:?}").contains("swordfish"), "{error:?}");
        assert!(
            error.message.starts_with("connector 'c': the answer has the status 422: "),
            "{}",
            error.message
        );
        assert!(error.message.contains("/orders?k=******") && error.message.len() < 600, "{}", error.message);
        assert_eq!(upstream.requests().len(), 1);
    });
}

#[test]
fn captured_body_is_readable_bounded_and_without_secrets() {
    run(async |world| {
        let upstream = Upstream::start(|asked| match asked.target.as_str() {
            "/json" => UpstreamReply::new(409, r#"{"code":"taken","token":"swordfish-token"}"#.to_owned()),
            _ => UpstreamReply::new(409, "x".repeat(10_000)),
        })
        .unwrap();
        let auth = json!({"type": "bearer", "token": "swordfish-token"});
        world.connect(connector_to(&upstream, json!({"auth": auth}))).await;
        let failed = async |input| world.run(input, json!(null)).await;
        let outcome = failed(json!({"path": "/json", "capture_error_body": true})).await;
        let body = json!({"code": "taken", "token": "******"});
        let record = &outcome.message.metadata["_svc_errors"][0];
        assert_eq!((&record["status"], &record["body"]), (&json!(409), &body));
        assert_eq!(
            (outcome.errors[0].http_status, outcome.errors[0].body.as_deref()),
            (Some(409), Some(&body))
        );
        let long = failed(json!({"path": "/long", "capture_error_body": true})).await;
        assert_eq!(long.errors[0].body.as_ref().and_then(|body| body.as_str()).map(str::len), Some(4096));
        let unasked = failed(json!({"path": "/json"})).await;
        let record = unasked.message.metadata["_svc_errors"][0].as_object().unwrap();
        assert_eq!((&record["status"], record.get("body")), (&json!(409), None));
    });
}

/// An upstream that repeats the request as it came, form-encoded, as JSON and as HTML.
#[test]
fn repeated_secret_is_hidden_in_every_spelling() {
    run(async |world| {
        let upstream = Upstream::start(|asked| {
            let value = |value: &str| value.trim_start_matches("Token ").to_owned();
            let headers: Vec<String> = asked.headers.iter().map(|(_, text)| value(text)).collect();
            let headers = headers.join(" ");
            let encoded: String = headers.bytes().map(|byte| format!("%{byte:02x}")).collect();
            let page = headers.replace('&', "&amp;").replace('"', "&quot;");
            let meant =
                headers.split(' ').filter_map(|word| String::from_utf8(STANDARD.decode(word).ok()?).ok());
            let meant: String = meant.collect();
            UpstreamReply::new(422, format!("{} {meant} {encoded} {page} {}", asked.target, json!(headers)))
        })
        .unwrap();
        let url =
            upstream.url("/?token=sword%46ish%20url&sig=swordfish%2Fb").replace("//", "//bob:sword%40fish@");
        let key = json!({"type": "apikey", "header": "X-Key", "key": "swordfish \"quoted\" <&>"});
        for (more, shown) in [
            (json!({"url": url}), "/?token=******&sig=****** "),
            (json!({"query_params": {"k": "swordfish se kret+ä"}}), "/?k=****** "),
            (json!({"auth": key}), "/ "),
            (json!({"auth": {"type": "bearer", "token": "swordfish/+=token"}}), "/ "),
            (json!({"headers": {"Authorization": "Token swordfish-own"}}), "/ "),
            (json!({"headers": {"X-Own": "sword\\fish/ä"}}), "/ "),
            (
                json!({"headers": {"Authorization": format!("Basic {}", STANDARD.encode("bob:swordfish-b"))}}),
                "/ ",
            ),
        ] {
            world.connect(connector_to(&upstream, more.clone())).await;
            let said = world.fail(json!({})).await.message;
            assert!(said.contains(&format!("422: {shown}")), "{more}: {said}");
            let plain = said.to_lowercase();
            for part in
                ["swordfish", "sword%", "sword\\", "%73%77%6f%72%64", "sword@", "quoted", "kret", "token="]
            {
                let own = part == "token=" && shown.contains(part);
                assert!(own || !plain.contains(part), "{more}: {part} in {said}");
            }
        }
    });
}

#[test]
fn unusable_connector_fails_its_tasks_by_name() {
    run(async |world| {
        let upstream = Upstream::start(|_| UpstreamReply::new(200, "1")).unwrap();
        world.put("off", "http", false, connector_to(&upstream, json!({}))).await;
        world
            .put("broken", "http", true, connector_to(&upstream, json!({"headers": {"a": "env://GONE"}})))
            .await;
        world.put("kafka", "kafka", true, json!({"brokers": "b"})).await;
        for (name, message) in [
            ("gone", "connector 'gone' does not exist"),
            ("off", "connector 'off' is disabled"),
            ("broken", "connector 'broken' is not loaded"),
            ("kafka", "connector 'kafka' is not loaded"),
        ] {
            let error = world.fail(json!({"connector": name})).await;
            assert_eq!(error.code.name(), "FUNCTION_ERROR");
            assert!(
                error.message.starts_with(message) && error.message.len() > message.len() + 10,
                "{}",
                error.message
            );
            assert!(
                !error.retryable() && error.is_transient(),
                "a later run finds what was loaded meanwhile"
            );
        }
        let detail = world.fail(json!({"connector": "broken"})).await.detail.unwrap();
        assert_eq!(&*detail, "secret_resolution: env://GONE: the variable is not set");
        assert!(upstream.requests().is_empty());
    });
}

#[test]
fn method_that_connector_disallows_is_not_sent() {
    run(async |world| {
        let upstream = Upstream::start(|_| UpstreamReply::new(200, "1")).unwrap();
        world.connect(connector_to(&upstream, json!({"operations": {"methods": ["GET"]}}))).await;
        assert_eq!(world.fail(json!({"method": "DELETE"})).await.code.name(), "connector_detail");
        assert!(upstream.requests().is_empty());
        assert_eq!(world.call(json!({})).await, 1);
    });
}

#[test]
fn local_name_is_refused_for_good_when_dialled() {
    run(async |world| {
        let trap = TcpListener::bind("127.0.0.1:0").unwrap();
        trap.set_nonblocking(true).unwrap();
        let url = format!("http://localhost:{}", trap.local_addr().unwrap().port());
        world.connect(json!({"url": url})).await;
        let error = world.fail(json!({})).await;
        assert_eq!(
            (error.code.name(), error.retryable(), error.retry_count),
            ("FUNCTION_ERROR", false, None)
        );
        assert!(error.message.starts_with("SSRF protection: 'localhost'"), "{}", error.message);
        let remedy = "(connector 'c': url)";
        assert!(error.message.ends_with(remedy), "{}", error.message);
        assert!(world.probe("c").await.error.unwrap().ends_with(remedy));
        // Nothing lets a redirect go where the connector itself may.
        let url = format!("http://localhost:{}", trap.local_addr().unwrap().port());
        let upstream = Upstream::start(move |_| UpstreamReply::redirect(302, &url)).unwrap();
        world.connect(connector_to(&upstream, json!({}))).await;
        let error = world.fail(json!({})).await;
        assert!(error.message.starts_with("SSRF protection: 'localhost'"), "{}", error.message);
        assert!(error.message.ends_with("(connector 'c': a redirect leads there)"), "{}", error.message);
        assert!(trap.accept().is_err());
    });
}

#[test]
fn unreachable_and_unreadable_upstreams_have_different_errors() {
    run(async |world| {
        let gone = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            format!("http://{}", listener.local_addr().unwrap())
        };
        let none = json!({"max_retries": 0});
        world.connect(json!({"url": gone, "allow_private_urls": true, "retry": none})).await;
        let error = world.fail(json!({})).await;
        assert_eq!((error.code.name(), error.retryable()), ("IO_ERROR", true), "{}", error.message);
        let unknown = json!({"url": "http://name.invalid", "retry": none});
        world.connect(unknown).await;
        assert_eq!(world.fail(json!({})).await.code.name(), "IO_ERROR");
        let upstream = Upstream::start(|asked| match asked.target.as_str() {
            "/loop" => UpstreamReply::redirect(302, "/loop"),
            _ => UpstreamReply::new(200, "x".repeat(2000)),
        })
        .unwrap();
        world.connect(connector_to(&upstream, json!({"max_response_size": 1000}))).await;
        for path in ["/loop", "/large"] {
            let error = world.fail(json!({"path": path})).await;
            assert_eq!(
                (error.code.name(), error.retryable()),
                ("FUNCTION_ERROR", false),
                "{}",
                error.message
            );
        }
        world.connect(connector_to(&upstream, json!({"url": upstream.url("/api")}))).await;
        assert_eq!(world.fail(json!({"path": "../x"})).await.code.name(), "VALIDATION_ERROR");
        // A URL would lose them, and ask for something else.
        for sign in ["\t", "\n", "\r", "\0", "\u{7f}"] {
            let path = format!("/u/a{sign}b");
            let error = world.fail(json!({"path_logic": path})).await;
            assert_eq!(error.code.name(), "VALIDATION_ERROR");
            assert!(error.message.starts_with("path_logic: "), "{}", error.message);
            assert_eq!(world.problems("http_call", json!({"path": path})), ["path INVALID"]);
        }
    });
}
