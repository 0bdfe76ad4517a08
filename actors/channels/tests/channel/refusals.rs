//! Answers in a channel's own words: shaped results and bodies of refusals.

use actix_supervision::Universe;
use serde_json::{Value, json};
use svc_channels::{ChannelResponse, DataRequest, Delivery, Settings};

use crate::kit::{Kit, copy, empty_workflow, http, task};

fn header<'a>(answer: &'a ChannelResponse, name: &str) -> Option<&'a str> {
    answer.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn json_of(answer: &ChannelResponse) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

#[test]
fn guard_refusal_uses_the_channel_error_body() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({
            "auth": {"mode": "api_key", "keys": ["k"]},
            "rate_limit": {"requests_per_second": 1, "burst": 2},
            "response": {"error_bodies": {
                "401": {"body": r#"{"why":"{message}","of":"{channel}","n":{status},"r":"{request_id}"}"#},
                "default": {"body": "no: {code}", "content_type": "text/plain"},
            }},
        });
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let unauthorized = orders.post(json!({})).await.unwrap();
        assert_eq!(unauthorized.status, 401);
        let said = json!({"why": "Channel authentication failed", "of": "orders", "n": 401, "r": "req-1"});
        assert_eq!(json_of(&unauthorized), said);
        let queued = DataRequest { delivery: Delivery::Async, ..http(json!({}), &[]) };
        assert_eq!(orders.submit(queued).await.unwrap(), unauthorized, "queued or not");
        let limited = orders.post(json!({})).await.unwrap();
        assert_eq!((limited.status, &limited.body[..]), (429, &b"no: RATE_LIMITED"[..]));
        assert_eq!(header(&limited, "content-type"), Some("text/plain"));
        assert_eq!(header(&limited, "retry-after"), Some("1"));
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_messages_total{channel="orders",status="unauthorized"} 2"#), "{page}");
        assert!(page.contains(r#"svc_messages_total{channel="orders",status="error"} 1"#), "{page}");
    });
}

#[test]
fn failed_run_gets_the_configured_error_body() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"response": {"error_bodies": {
            "500": {"body": r#"{"n":{status},"c":"{code}"}"#},
            "default": {"body": "no: {code}", "content_type": "text/plain"},
        }}});
        let orders = kit.serve(&tree, config, &json!([task("fail", json!({}))])).await;
        let failed = orders.post(json!({})).await.unwrap();
        assert_eq!((failed.status, json_of(&failed)), (500, json!({"n": 500, "c": "ENGINE_ERROR"})));
        let queued = DataRequest { delivery: Delivery::Async, ..http(json!({}), &[]) };
        let refused = orders.submit(queued).await.unwrap();
        assert_eq!((refused.status, &refused.body[..]), (503, &b"no: SERVICE_UNAVAILABLE"[..]));
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_messages_total{channel="orders",status="error"} 2"#), "{page}");
    });
}

#[test]
fn workflow_shapes_answer_if_the_channel_allows() {
    for (mode, shaped) in [("shaped", true), ("envelope", false)] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let config = json!({"response": {"mode": mode}});
            let tasks = json!([copy("payload.control", "data._svc.response"), copy("payload.made", "data.made")]);
            let orders = kit.serve(&tree, config, &tasks).await;
            let control = json!({"status": 201, "headers": {"Location": "/made/7", "Server": "x"}, "body_path": "made"});
            let answer = orders.post(json!({"control": control, "made": {"id": 7}})).await.unwrap();
            if shaped {
                assert_eq!((answer.status, json_of(&answer)), (201, json!({"id": 7})));
                assert_eq!((header(&answer, "location"), header(&answer, "server")), (Some("/made/7"), None));
            } else {
                assert_eq!((answer.status, &json_of(&answer)["data"]), (200, &json!({"made": {"id": 7}})));
            }
            let plain = orders.post(json!({"made": 1})).await.unwrap();
            assert_eq!(json_of(&plain)["data"], json!({"made": 1}), "no control document, the envelope");
        });
    }
}

#[test]
fn shaped_answer_is_cached_unless_it_sets_cookie() {
    for (name, kept) in [("etag", true), ("set-cookie", false)] {
        Universe::new(1).run(async |tree| {
            let kit = Kit::new(Settings::default());
            let config = json!({
                "response": {"mode": "shaped", "allowed_headers": ["etag", "set-cookie"]},
                "cache": {"enabled": true, "cache_key_fields": ["key"]},
            });
            let tasks = json!([copy("payload.control", "data._svc.response"), copy("payload.n", "data.n")]);
            let orders = kit.serve(&tree, config, &tasks).await;
            let control = json!({"status": 202, "headers": {name: "v"}});
            let ask = |n: i64| orders.post(json!({"control": control, "key": "k", "n": n}));
            let first = ask(1).await.unwrap();
            assert_eq!((first.status, json_of(&first)), (202, json!({"n": 1})));
            assert_eq!(ask(2).await.unwrap() == first, kept, "{name}");
        });
    }
}

#[test]
fn a_shaped_answer_over_the_cap_is_refused() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings { max_result_bytes: Some(100), ..Settings::default() });
        let config = json!({"response": {"mode": "shaped"}});
        let tasks = json!([copy("payload.control", "data._svc.response"), copy("payload.text", "data.text")]);
        let orders = kit.serve(&tree, config, &tasks).await;
        let body = |length| json!({"control": {"body_path": "text"}, "text": "x".repeat(length)});
        assert!(orders.post(body(50)).await.is_ok());
        assert_eq!(orders.post(body(200)).await.unwrap_err().code(), svc_model::Code::ResponseTooLarge);
    });
}
