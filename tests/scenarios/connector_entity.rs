//! The connector as an entity: what is hidden and comes back, batches, validation, trying one out.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{details, error, launch, start};

const CONNECTORS: &str = "/api/v1/admin/connectors";

fn api(id: &str, config: Value) -> Value {
    json!({"id": id, "name": id, "connector_type": "http", "config": config})
}

fn create(client: &mut HttpClient, id: &str, config: Value) -> Value {
    let answer = client.json("POST", CONNECTORS, &api(id, config)).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["data"].clone()
}

#[test]
fn shown_connector_is_accepted_valueless_mask_is_not() {
    let upstream = Upstream::start(|asked| {
        let is_known = asked.header("authorization") == Some("Bearer swordfish")
            && asked.header("x-key") == Some("trout")
            && asked.target.ends_with("?key=pike&v=2");
        UpstreamReply::new(if is_known { 204 } else { 403 }, "")
    })
    .unwrap();
    let server = start();
    let mut client = server.client();
    let config = json!({"url": upstream.url("/?key=pike&v=1"), "allow_private_urls": true, "headers": {"x-key": "trout"},
        "auth": {"type": "bearer", "token": "swordfish"}});
    let mut shown = create(&mut client, "c", config)["config"].clone();
    assert!(shown["url"].as_str().unwrap().ends_with("/?key=******&v=1"), "{shown}");
    assert_eq!((&shown["headers"], &shown["auth"]["token"]), (&json!({"x-key": "******"}), &json!("******")));
    shown["url"] = shown["url"].as_str().unwrap().replace("v=1", "v=2").into();
    let one = format!("{CONNECTORS}/c");
    let changed = client.json("PUT", &one, &json!({"config": shown})).unwrap();
    assert_eq!(changed.status, 200, "{}", changed.text());
    let answer = client.json("POST", &format!("{one}/test"), &json!({})).unwrap().json();
    assert_eq!(
        answer["data"],
        json!({"reachable": true, "supported": true, "connector_type": "http", "probe": "GET url"})
    );
    for (path, sent) in [
        (
            "connector.config.headers.other",
            json!({"url": "http://a.example", "headers": {"other": "******"}}),
        ),
        ("connector.config.url", json!({"url": "http://u:******@a.example"})),
    ] {
        let refused =
            error(&client.json("PUT", &one, &json!({"config": sent})).unwrap(), 400, "VALIDATION_ERROR");
        assert_eq!(details(&refused), [(path.to_owned(), "INVALID".to_owned())]);
        error(&client.json("POST", CONNECTORS, &api("new", sent)).unwrap(), 400, "VALIDATION_ERROR");
    }
    let tests = client.get("/api/v1/admin/audit-logs?resource_type=connector&action=test").unwrap().json();
    assert_eq!((&tests["total"], &tests["data"][0]["resource_id"]), (&json!(1), &json!("c")));
}

#[test]
fn connection_test_names_cause_and_no_secret() {
    let upstream = Upstream::start(|_| UpstreamReply::new(500, "swordfish")).unwrap();
    let server = start();
    let mut client = server.client();
    let secret = json!({"type": "bearer", "token": "swordfish"});
    create(&mut client, "bad", json!({"url": upstream.url(""), "allow_private_urls": true, "auth": secret}));
    create(
        &mut client,
        "unset",
        json!({"url": "https://a.example", "headers": {"k": "env://NOT_SET_ANYWHERE"}}),
    );
    create(&mut client, "local", json!({"url": "http://localhost:1/"}));
    for (id, probe, part) in [
        ("bad", "GET url", "500"),
        ("unset", "secret resolution", "NOT_SET_ANYWHERE"),
        ("local", "GET url", "SSRF protection:"),
    ] {
        let answer = client.json("POST", &format!("{CONNECTORS}/{id}/test"), &json!({})).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let tried = answer.json()["data"].clone();
        assert_eq!((&tried["reachable"], &tried["probe"]), (&json!(false), &json!(probe)), "{tried}");
        assert!(tried["error"].as_str().unwrap().contains(part), "{tried}");
        assert!(!answer.text().contains("swordfish"));
    }
    error(&client.json("POST", &format!("{CONNECTORS}/none/test"), &json!({})).unwrap(), 404, "NOT_FOUND");
}

#[test]
fn export_imports_once_secrets_are_filled_in() {
    let server = start();
    let mut client = server.client();
    let config =
        |token: &str| json!({"url": "https://a.example", "auth": {"type": "bearer", "token": token}});
    let mut import = |query: &str, items: Value| {
        let answer = client.json("POST", &format!("{CONNECTORS}/import?{query}"), &items).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"].clone()
    };
    let actions = |report: &Value| -> Vec<String> {
        let results = report["results"].as_array().unwrap().iter();
        results.map(|result| result["action"].as_str().unwrap().to_owned()).collect()
    };
    let batch =
        json!([api("a", config("env://PATH")), api("b", config("swordfish")), api("c", config("******"))]);
    let trial = import("dry_run=true", batch.clone());
    assert_eq!(
        (&trial["imported"], &trial["failed"], &trial["dry_run"]),
        (&json!(2), &json!(1), &json!(true))
    );
    let report = import("", batch.clone());
    assert_eq!(actions(&report), ["created", "created"], "{report}");
    assert!(
        report["errors"][0]["error"].as_str().unwrap().starts_with("connector.config.auth.token"),
        "{report}"
    );
    assert_eq!(import("on_conflict=skip", batch.clone())["skipped"], 2);
    let changed = json!([api("x", config("env://PATH")), {"name": "a", "connector_type": "http", "config": config("env://HOME")}, api("b", config("swordfish"))]);
    assert_eq!(actions(&import("on_conflict=new_version", changed)), ["created", "updated", "unchanged"]);
    let twice = json!([{"name": "y", "connector_type": "http", "config": config("t")}, {"name": "y", "connector_type": "http", "config": config("t")}]);
    assert_eq!(import("on_conflict=skip", twice)["failed"], 1);
    assert_eq!(import("", json!([api("a", config("t"))]))["failed"], 1);
    let exported = client.get(&format!("{CONNECTORS}/export")).unwrap().json()["data"].clone();
    let mut keys: Vec<_> = exported[0].as_object().unwrap().keys().cloned().collect();
    keys.sort();
    assert_eq!(keys, ["config", "connector_type", "content_hash", "enabled", "id", "name", "tags"]);
    assert_eq!(exported[1]["config"]["auth"]["token"], "******");
    let mut filled = exported.clone();
    for (index, token) in [(1, "swordfish"), (3, "t")] {
        filled[index]["config"]["auth"]["token"] = token.into();
    }
    let again =
        client.json("POST", &format!("{CONNECTORS}/import?on_conflict=new_version"), &filled).unwrap().json();
    assert_eq!(again["data"]["unchanged"], 4, "{again}");
    let statuses = client.get(CONNECTORS).unwrap().json();
    assert!(
        statuses["data"].as_array().unwrap().iter().all(|row| row["load_status"] == "loaded"),
        "{statuses}"
    );
}

#[test]
fn validate_agrees_with_create_and_warns() {
    let server = launch().env("IS_SET", "x").start().unwrap();
    let mut client = server.client();
    let mut validate = |kind: &str, config: Value| {
        let body = json!({"name": "x", "connector_type": kind, "config": config});
        let answer = client.json("POST", &format!("{CONNECTORS}/validate"), &body).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let report = answer.json()["data"].clone();
        let fields = |name: &str| -> Vec<String> {
            let issues = report[name].as_array().unwrap().iter();
            issues.map(|issue| issue["field"].as_str().unwrap().replace("connector.config.", "")).collect()
        };
        (report["valid"].as_bool().unwrap(), fields("errors"), fields("warnings"))
    };
    let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        validate(
            "http",
            json!({"url": "https://${NOT_SET_1}/", "ulr": 1, "headers": {"a": "env://IS_SET", "b": "env://NOT_SET_2"}})
        ),
        (true, vec![], texts(&["ulr", "url", "headers.b"]))
    );
    assert_eq!(
        validate("smtp", json!({"host": "mail.example", "from": "a@b.example", "tls": "none"})),
        (true, vec![], texts(&["tls"]))
    );
    for unusable in ["sqlite:x.db?mode=zz", "postgres://h/d?zz=1", "mongodb+srv://h.example:27017/d"] {
        let (valid, errors, warnings) = validate("DB", json!({"connection_string": unusable}));
        assert_eq!((valid, errors, warnings), (true, vec![], texts(&["connector.config"])), "{unusable}");
    }
    for (kind, config, field) in [
        ("http", json!({"url": "https://a.example", "headers": {"k": "aws-sm://x"}}), "headers.k"),
        ("db", json!({"connection_string": "postgres://u:p@10.0.0.1/d"}), "connection_string"),
        ("cache", json!({"backend": "redis", "url": "redis://127.1"}), "url"),
        ("kafka", json!({"brokers": ["[::1]:9092"], "topic": "t"}), "brokers[0]"),
        ("smtp", json!({"host": "169.254.169.254", "from": "a@b.example"}), "host"),
        (
            "storage",
            json!({"endpoint": "http://192.168.0.1", "region": "r", "bucket": "b", "access_key": "a", "secret_key": "s"}),
            "endpoint",
        ),
        (
            "es",
            json!({"url": "https://a.example", "auth": {"type": "bearer", "token": "******"}}),
            "auth.token",
        ),
    ] {
        let (valid, errors, _) = validate(kind, config.clone());
        assert_eq!((valid, errors), (false, texts(&[field])), "{config}");
        let body = json!({"name": "x", "connector_type": kind, "config": config});
        error(&server.client().json("POST", CONNECTORS, &body).unwrap(), 400, "VALIDATION_ERROR");
    }
}

#[test]
fn status_change_allows_dry_run_and_deferral() {
    let server = start();
    let mut client = server.client();
    create(&mut client, "c", json!({"url": "https://a.example"}));
    let mut patch = |query: &str, status: &str| {
        client.json("PATCH", &format!("{CONNECTORS}/c/status{query}"), &json!({"status": status})).unwrap()
    };
    assert_eq!(patch("?dry_run=true", "archived").json()["data"]["valid"], true);
    error(&patch("?reload=soon", "archived"), 400, "VALIDATION_ERROR");
    let put_off = patch("?reload=defer", "archived").json()["data"].clone();
    assert_eq!((&put_off["enabled"], &put_off["load_status"]), (&json!(false), &json!("loaded")));
    let now = patch("", "archived").json()["data"].clone();
    assert_eq!(now["load_status"], "disabled");
    assert_eq!(patch("", "active").json()["data"]["load_status"], "loaded");
}
