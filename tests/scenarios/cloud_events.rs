//! Events of CloudEvents 1.0: what comes in by HTTP, the permission that senders ask for, what goes out by `http_call`.

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{error, eventually, serve, serve_with, start, wait_until_stable};

const ADMIN: &str = "/api/v1/admin";
const STRUCTURED: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";

/// The headers of an event in binary mode.
const BINARY: [(&str, &str); 6] = [
    ("content-type", "application/json"),
    ("ce-specversion", "1.0"),
    ("ce-id", "e-1"),
    ("ce-source", "/shop"),
    ("ce-type", "order.placed"),
    ("ce-subject", "caf%C3%A9"),
];

/// Copies the payload and the attributes of the event to the answer.
fn copy() -> Value {
    json!([{"id": "copy", "name": "Copy", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.payload", "logic": {"var": "payload"}},
        {"path": "data.event", "logic": {"var": "metadata.cloudevent"}},
        {"path": "data.encoding", "logic": {"var": "metadata.body_encoding"}}]}}}])
}

fn event(id: &str, data: Value) -> Value {
    json!({"specversion": "1.0", "id": id, "source": "/shop", "type": "order.placed", "data": data})
}

fn post(client: &mut HttpClient, path: &str, content_type: &str, body: &Value) -> HttpResponse {
    let path = format!("/api/v1/data/{path}");
    client.send("POST", &path, &[("content-type", content_type)], body.to_string().as_bytes()).unwrap()
}

/// Returns the number of stored traces of a channel.
fn count_traces(client: &mut HttpClient, channel: &str) -> usize {
    let listed = client.get(&format!("{ADMIN}/traces?channel={channel}&limit=100")).unwrap();
    listed.json()["data"].as_array().unwrap().len()
}

#[test]
fn event_is_payload_and_attributes_in_either_mode() {
    let server = start();
    let mut client = server.client();
    serve_with(&mut client, "events", json!({"request": {"body": "cloudevents"}}), copy());
    let mut sent = event("e-1", json!({"id": 7}));
    sent["tries"] = json!(2);
    let answer = post(&mut client, "events", &format!("{STRUCTURED}; charset=utf-8"), &sent);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let expected =
        json!({"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "order.placed", "tries": 2});
    let data = answer.json()["data"].clone();
    assert_eq!((&data["payload"], &data["event"]), (&json!({"id": 7}), &expected));
    let mut send = |headers: &[(&str, &str)], body: &[u8]| {
        client.send("POST", "/api/v1/data/events", headers, body).unwrap()
    };
    let data = send(&BINARY, b"{\"id\":7}").json()["data"].clone();
    let expected = json!({"specversion": "1.0", "id": "e-1", "source": "/shop", "type": "order.placed",
        "subject": "café", "datacontenttype": "application/json"});
    assert_eq!((&data["payload"], &data["event"]), (&json!({"id": 7}), &expected));
    let image = [&[("content-type", "image/png")][..], &BINARY[1..]].concat();
    let data = send(&image, b"\xff\xfe").json()["data"].clone();
    assert_eq!((&data["payload"], &data["encoding"]), (&json!("//4="), &json!("base64")));
    let data = send(&BINARY[1..], b"").json()["data"].clone();
    assert_eq!((&data["payload"], &data["event"]["id"]), (&Value::Null, &json!("e-1")));
}

#[test]
fn message_that_is_no_event_is_refused() {
    let server = start();
    let mut client = server.client();
    serve_with(&mut client, "events", json!({"request": {"body": "cloudevents"}}), copy());
    serve(&mut client, "plain", copy());
    let mut old = event("e-1", json!(1));
    old["specversion"] = json!("0.3");
    let mut nameless = event("e-1", json!(1));
    nameless["my_ext"] = json!("x");
    for (content_type, body, status, reason) in [
        ("application/json", json!({}), 400, "the header ce-specversion is missing"),
        (STRUCTURED, json!([]), 400, "Invalid CloudEvent: an event is an object"),
        (STRUCTURED, json!({"specversion": "1.0"}), 400, "the attribute id is missing"),
        (STRUCTURED, old, 400, "the attribute specversion is not \"1.0\""),
        (STRUCTURED, nameless, 400, "a name of other characters than a to z and 0 to 9"),
        ("application/cloudevents+xml", json!({}), 415, "application/cloudevents-batch+json"),
        (BATCH, json!([event("e-1", json!(1))]), 400, "a channel with request.mode accept"),
    ] {
        let code = if status == 415 { "UNSUPPORTED_MEDIA_TYPE" } else { "VALIDATION_ERROR" };
        let refused = error(&post(&mut client, "events", content_type, &body), status, code);
        assert!(refused["message"].as_str().unwrap().contains(reason), "{refused}");
    }
    let claimed = json!({"data": {}, "metadata": {"cloudevent": {"id": "forged"}}});
    let answer = post(&mut client, "plain", "application/json", &claimed);
    assert_eq!((answer.status, &answer.json()["data"]["event"]), (200, &Value::Null));
}

#[test]
fn batch_is_a_job_for_each_event() {
    let server = start();
    let mut client = server.client();
    let config = json!({"request": {"mode": "accept", "body": "cloudevents"}, "deduplication": {
        "key_logic": {"var": "metadata.cloudevent.id"}, "on_duplicate": "accept"}});
    serve_with(&mut client, "events", config, copy());
    let batch = json!([event("e-1", json!(1)), event("e-2", json!(2)), event("e-1", json!(3))]);
    let accepted = post(&mut client, "events", BATCH, &batch);
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let events = accepted.json()["events"].as_array().unwrap().clone();
    assert_eq!((events.len(), &events[2]), (3, &json!({"status": "duplicate"})));
    for (job, (id, data)) in events.iter().zip([("e-1", 1), ("e-2", 2)]) {
        let place = format!("/api/v1/data/events/async/{}", job["trace_id"].as_str().unwrap());
        let token = [("x-trace-token", job["trace_token"].as_str().unwrap())];
        let ended =
            wait_until_stable(|| client.send("GET", &place, &token, b"").unwrap().json()["data"].clone());
        assert_eq!((&ended["data"]["payload"], &ended["data"]["event"]["id"]), (&json!(data), &json!(id)));
    }
    let repeat = post(&mut client, "events", BATCH, &json!([event("e-2", json!(2)), event("e-3", json!(3))]));
    let events = repeat.json()["events"].clone();
    assert_eq!(
        (&events[0]["status"], events[1]["trace_id"].is_string()),
        (&json!("duplicate"), true),
        "{events}"
    );
    assert_eq!(post(&mut client, "events", BATCH, &json!([])).json(), json!({"events": []}));
    assert_eq!(count_traces(&mut client, "events"), 3);
}

#[test]
fn refused_event_of_batch_leaves_no_job() {
    let server = start();
    let mut client = server.client();
    let config = json!({"request": {"mode": "accept", "body": "cloudevents",
            "schema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "deduplication": {"key_logic": {"var": "metadata.cloudevent.id"}}});
    serve_with(&mut client, "events", config, copy());
    let good = || event("e-1", json!({"n": 1}));
    let bad = post(&mut client, "events", BATCH, &json!([good(), event("e-2", json!({"n": "x"}))]));
    let refused = error(&bad, 400, "VALIDATION_ERROR");
    assert_eq!(refused["details"][0]["path"], "body[1].data.n");
    let malformed = post(&mut client, "events", BATCH, &json!([good(), {"id": "e-2"}]));
    let refused = error(&malformed, 400, "VALIDATION_ERROR");
    assert_eq!(refused["message"], "Invalid CloudEvent: event 2: the attribute specversion is missing");
    let twice = error(&post(&mut client, "events", BATCH, &json!([good(), good()])), 409, "CONFLICT");
    assert!(twice["message"].as_str().unwrap().starts_with("Event 2 of the batch: "), "{twice}");
    assert_eq!(count_traces(&mut client, "events"), 0);
    assert_eq!(post(&mut client, "events", BATCH, &json!([good()])).status, 202, "its key was given back");
}

#[test]
fn only_listed_senders_are_permitted_to_deliver() {
    let server = start();
    let mut client = server.client();
    let limited = json!({"request": {"body": "cloudevents", "cloudevents_origins": ["Events.example.com"]},
        "rate_limit": {"requests_per_second": 2}});
    serve_with(&mut client, "limited", limited, copy());
    let open = json!({"request": {"body": "cloudevents", "cloudevents_origins": ["*"]}});
    serve_with(&mut client, "open", open, copy());
    serve(&mut client, "closed", copy());
    let mut ask = |path: &str, headers: &[(&str, &str)]| {
        let answer = client.send("OPTIONS", &format!("/api/v1/data/{path}"), headers, b"").unwrap();
        let header = |name: &str| answer.header(name).map(str::to_owned);
        (answer.status, header("webhook-allowed-origin"), header("webhook-allowed-rate"), header("allow"))
    };
    let sender = ("webhook-request-origin", "events.example.com");
    let granted = |origin: &str, rate: &str| {
        (200, Some(origin.to_owned()), Some(rate.to_owned()), Some("POST".to_owned()))
    };
    let refused = (200, None, None, None);
    let rate = ("webhook-request-rate", "1000");
    assert_eq!(ask("limited", &[sender, rate]), granted("events.example.com", "120"));
    assert_eq!(ask("open", &[sender]), granted("*", "*"));
    assert_eq!(ask("limited", &[("webhook-request-origin", "other.example.com")]), refused);
    assert_eq!(ask("closed", &[sender]), refused);
    assert_eq!(ask("unknown", &[sender]), refused);
    let preflight = [("origin", "https://a.example"), ("access-control-request-method", "POST"), sender];
    assert_eq!(ask("open", &preflight), refused, "a preflight of a browser is none");
}

/// Sends the event of a payload by `http_call`.
fn send(mode: &str) -> Value {
    json!([{"id": "send", "name": "Send", "function": {"name": "http_call", "input": {"connector": "api",
        "method": "POST", "body_logic": {"var": "payload"}, "cloudevent": {"type": "order.placed",
            "source": "/shop", "subject": {"cat": ["order ", {"var": "payload.id"}]}, "mode": mode}}}}])
}

#[test]
fn sent_event_keeps_its_id_over_attempts() {
    let api = Upstream::start(|_| UpstreamReply::new(500, "{}")).unwrap();
    let server = start();
    let mut client = server.client();
    let connector = json!({"id": "api", "name": "api", "connector_type": "http", "config": {
        "url": api.url(""), "allow_private_urls": true,
        "retry": {"max_retries": 1, "retry_delay_ms": 1}, "retry_non_idempotent": true}});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    serve_with(&mut client, "events", json!({"request": {"body": "cloudevents"}}), copy());
    for (round, mode) in ["binary", "structured"].into_iter().enumerate() {
        serve(&mut client, mode, send(mode));
        client.json("POST", &format!("/api/v1/data/{mode}"), &json!({"id": 7})).unwrap();
        eventually(|| api.requests().len() == 2 * (round + 1));
        let sent = &api.requests()[2 * round..];
        let read: Vec<_> = sent
            .iter()
            .map(|request| {
                let kept = |name: &str| name == "content-type" || name.starts_with("ce-");
                let headers: Vec<_> = request
                    .headers
                    .iter()
                    .filter(|(name, _)| kept(name))
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                let answer = client.send("POST", "/api/v1/data/events", &headers, &request.body).unwrap();
                assert_eq!(answer.status, 200, "{}", answer.text());
                answer.json()["data"].clone()
            })
            .collect();
        let (first, again) = (&read[0], &read[1]);
        assert_eq!(first["payload"], json!({"id": 7}), "{mode}");
        assert_eq!(
            (&first["event"]["type"], &first["event"]["subject"]),
            (&json!("order.placed"), &json!("order 7"))
        );
        assert_eq!(first["event"]["id"].as_str().map(str::len), Some(64));
        assert_eq!(first["event"]["id"], again["event"]["id"], "the attempts send one event");
    }
}

#[test]
fn wrong_event_of_task_is_refused_in_place() {
    let server = start();
    let mut client = server.client();
    let check = |client: &mut HttpClient, method: &str, event: Value| {
        let input = json!({"connector": "api", "method": method, "cloudevent": event});
        let task = json!({"id": "t", "name": "t", "function": {"name": "http_call", "input": input}});
        let body = json!({"name": "w", "tasks": [task]});
        let answer = client.json("POST", &format!("{ADMIN}/workflows/validate"), &body).unwrap().json();
        answer["data"]["errors"].as_array().unwrap().clone()
    };
    let at = "tasks[0].function.input.cloudevent";
    for (method, event, place) in [
        ("POST", json!({"source": "/s"}), format!("{at}.type")),
        ("POST", json!({"type": "t", "source": "/s", "subjet": "x"}), format!("{at}.subjet")),
        ("POST", json!({"type": "t", "source": "/s", "mode": "batch"}), format!("{at}.mode")),
        ("GET", json!({"type": "t", "source": "/s"}), at.to_owned()),
    ] {
        let errors = check(&mut client, method, event);
        assert!(errors.iter().any(|error| error["field"] == place.as_str()), "{place}: {errors:?}");
    }
    let errors = check(&mut client, "POST", json!({"type": "t", "source": "/s"}));
    assert!(!errors.iter().any(|error| error["field"].as_str().unwrap().starts_with(at)), "{errors:?}");
}
