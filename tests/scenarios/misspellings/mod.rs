//! Definitions mean what they say: names without a meaning are refused, at every depth, with the name
//! meant.

mod agreement;
mod definitions;
mod old_rows;

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;

use crate::support::{channel, details, echo, echo_workflow, error, start};

const ADMIN: &str = "/api/v1/admin";

fn admin(path: &str) -> String {
    format!("{ADMIN}/{path}")
}

#[test]
fn guards_beside_the_config_are_refused_with_their_place() {
    let server = start();
    let mut document = channel("open", "w", json!({}));
    document["auth"] = json!({"mode": "api_key", "keys": ["k1"]});
    document["confg"] = json!({"auth": {"mode": "api_key", "keys": ["k1"]}});
    let refused =
        error(&server.client().json("POST", &admin("channels"), &document).unwrap(), 400, "VALIDATION_ERROR");
    let mut messages: Vec<_> =
        refused["details"].as_array().unwrap().iter().map(|one| one["message"].to_string()).collect();
    messages.sort_unstable();
    assert!(
        messages[0].contains("did you mean 'config'?") && messages[1].contains("did you mean 'config.auth'?"),
        "{messages:?}"
    );
    assert!(details(&refused).iter().all(|(_, code)| code == "UNKNOWN_FIELD"), "{refused}");
}

#[test]
fn misspelt_operator_in_authorization_is_refused() {
    let server = start();
    let auth = json!({"auth": {"mode": "jwt", "algorithms": ["HS256"],
        "jwt_keys": [{"algorithm": "HS256", "key": "0123456789abcdef0123456789abcdef"}],
        "authorization_logic": {"and": [{"inn": ["orders", {"var": "claims.scope"}]}]}}});
    let refused = server.client().json("POST", &admin("channels"), &channel("az", "w", auth)).unwrap();
    let refused = error(&refused, 400, "VALIDATION_ERROR");
    let expected =
        [("channel.config.auth.authorization_logic.and[0].inn".to_owned(), "UNKNOWN_OPERATOR".to_owned())];
    assert_eq!(details(&refused), expected, "{refused}");
}

#[test]
fn multi_member_object_in_guard_is_refused() {
    let server = start();
    let mut client = server.client();
    let two = json!({"==": [{"var": "a"}, "admin"], "in": [{"var": "b"}, ["boss"]]});
    for (logic, place) in [
        (json!(two), ""),
        (json!({"and": two}), ".and"),
        (json!({"and": [{"!!": {"var": "b"}}, two]}), ".and[1]"),
        (json!({"or": [false, two]}), ".or[1]"),
        (json!({"if": [two, true, false]}), ".if[0]"),
        (json!({"!!": two}), ".!!"),
    ] {
        let token = json!({"mode": "jwt", "algorithms": ["HS256"], "authorization_logic": logic,
            "jwt_keys": [{"algorithm": "HS256", "key": "0123456789abcdef0123456789abcdef"}]});
        for (name, config) in [
            ("auth.authorization_logic", json!({"auth": token})),
            ("validation_logic", json!({"validation_logic": logic})),
        ] {
            let refused = client.json("POST", &admin("channels"), &channel("az", "w", config)).unwrap();
            let refused = error(&refused, 400, "VALIDATION_ERROR");
            let expected = [(format!("channel.config.{name}{place}"), "NOT_AN_EXPRESSION".to_owned())];
            assert_eq!(details(&refused), expected, "{refused}");
        }
        let mut workflow = echo_workflow("w");
        workflow["condition"] = logic;
        let refused = client.json("POST", &admin("workflows"), &workflow).unwrap();
        let refused = error(&refused, 400, "VALIDATION_ERROR");
        let expected = [(format!("condition{place}"), "NOT_AN_EXPRESSION".to_owned())];
        assert_eq!(details(&refused), expected, "{refused}");
    }
}

#[test]
fn a_misspelt_share_activates_nothing() {
    let server = start();
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("w")).unwrap();
    client.json("POST", &admin("workflows/w/versions"), &json!({})).unwrap();
    let target = json!({"status": "active", "rollout": 10});
    let refused = client.json("PATCH", &admin("workflows/w/status"), &target).unwrap();
    let refused = error(&refused, 400, "VALIDATION_ERROR");
    assert_eq!(details(&refused), [("body.rollout".to_owned(), "UNKNOWN_FIELD".to_owned())]);
    assert!(refused["message"].as_str().unwrap().contains("did you mean 'rollout_percentage'?"), "{refused}");
    let share = json!({"percentage": 5});
    error(&client.json("PATCH", &admin("workflows/w/rollout"), &share).unwrap(), 400, "VALIDATION_ERROR");
    let versions = client.get(&admin("workflows/w/versions")).unwrap().json();
    assert_eq!(
        (&versions["data"][0]["status"], &versions["data"][1]["status"]),
        (&json!("draft"), &json!("active"))
    );
}

#[test]
fn an_unknown_query_parameter_is_refused_before_anything_happens() {
    let server = start();
    let mut client = server.client();
    for (method, path, meant) in [
        ("POST", "workflows/import?dry_rn=true", Some("dry_run")),
        ("GET", "workflows?stauts=active", Some("status")),
        ("GET", "traces?chanel=x", Some("channel")),
        ("GET", "functions?al=true", Some("all")),
        ("GET", "workflows/w?version=77", None),
        ("GET", "engine/status?verbose=true", None),
        ("GET", "actors?depth=2", None),
    ] {
        let refused = client.json(method, &admin(path), &json!([echo_workflow("w")])).unwrap();
        let refused = error(&refused, 400, "VALIDATION_ERROR");
        assert_eq!(details(&refused)[0].1, "UNKNOWN_FIELD", "{path}: {refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(meant.is_none_or(|meant| message.contains(&format!("did you mean '{meant}'?"))), "{message}");
    }
    assert_eq!(client.get(&admin("workflows")).unwrap().json()["total"], 0);
    error(&client.get(&admin("nothing?x=1")).unwrap(), 404, "NOT_FOUND");
}

/// Adds one unknown key to a document.
fn with(document: &Value, key: &str, value: Value) -> Value {
    let mut document = document.clone();
    document[key] = value;
    document
}

#[test]
fn shown_definition_is_accepted_by_every_write() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "one", json!({"tracing": {"mode": "sync"}}));
    let connector = json!({"name": "mem", "connector_type": "cache", "config": {"backend": "memory"}});
    let id = client.json("POST", &admin("connectors"), &connector).unwrap().json()["data"]["id"].clone();
    let places = [("workflows", "one"), ("channels", "one"), ("connectors", id.as_str().unwrap())];
    for (kind, id) in places {
        let read = client.get(&admin(&format!("{kind}/{id}"))).unwrap().json()["data"].clone();
        if kind != "connectors" {
            client.json("POST", &admin(&format!("{kind}/{id}/versions")), &json!({})).unwrap();
        }
        let put = client.json("PUT", &admin(&format!("{kind}/{id}")), &read).unwrap();
        assert_eq!(put.status, 200, "{kind}: {}", put.text());
        let annotated = with(&with(&read, "$schema", json!("s")), "x-owner", json!("me"));
        let put = client.json("PUT", &admin(&format!("{kind}/{id}")), &annotated).unwrap();
        assert_eq!(put.status, 200, "{kind}: {}", put.text());
        let unknown =
            client.json("PUT", &admin(&format!("{kind}/{id}")), &with(&read, "zzz", json!(1))).unwrap();
        error(&unknown, 400, "VALIDATION_ERROR");
        let export = client.get(&admin(&format!("{kind}/export"))).unwrap().json();
        let orders =
            with(&with(&export["data"][0], "activate", json!(true)), "rollout_percentage", json!(10));
        for body in [&export, &export["data"], &json!([orders])] {
            let import = admin(&format!("{kind}/import?dry_run=true&on_conflict=skip"));
            let report = client.json("POST", &import, body).unwrap().json();
            assert_eq!(report["data"]["failed"], 0, "{kind}: {report}");
        }
    }
}

#[test]
fn warnings_of_a_validation_come_back_from_every_write() {
    let server = start();
    let mut client = server.client();
    let workflow = json!({"workflow_id": "w", "name": "w", "tasks": [{"id": "a", "name": "a", "function": {"name": "map",
        "input": {"mappings": [{"path": "other.x", "logic": {"conct": ["a", "b"]}}]}}}]});
    let warned = |body: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let warnings = body["warnings"].as_array().cloned().unwrap_or_default();
        let mut warned: Vec<_> =
            warnings.iter().map(|one| (text(&one["field"]), text(&one["code"]))).collect();
        warned.sort_unstable();
        warned
    };
    let at =
        |rest: &str, code: &str| (format!("tasks[0].function.input.mappings[0].{rest}"), code.to_owned());
    let expected = [at("logic.conct", "logic.unknown_operator"), at("path", "path.root")];
    let validated = client.json("POST", &admin("workflows/validate"), &workflow).unwrap().json();
    assert_eq!(warned(&validated["data"]), expected);
    assert_eq!(warned(&client.json("POST", &admin("workflows"), &workflow).unwrap().json()), expected);
    assert_eq!(
        warned(&client.json("PUT", &admin("workflows/w"), &json!({"priority": 2})).unwrap().json()),
        expected
    );
    let active = client.json("PATCH", &admin("workflows/w/status"), &json!({"status": "active"})).unwrap();
    assert_eq!(warned(&active.json()), expected);
    let clean = client.json("POST", &admin("workflows"), &echo_workflow("clean")).unwrap();
    assert_eq!(clean.json().get("warnings"), None, "{}", clean.text());
}

#[test]
fn validation_of_channel_reports_state_of_workflow() {
    let server = start();
    let mut client = server.client();
    let mut said = |expected: Option<&str>| {
        let report =
            client.json("POST", &admin("channels/validate"), &channel("c", "w", json!({}))).unwrap().json();
        let warnings = report["data"]["warnings"].to_string();
        assert_eq!(report["data"]["valid"], true, "{report}");
        match expected {
            Some(text) => assert!(warnings.contains(text), "{text}: {warnings}"),
            None => assert_eq!(warnings, "[]"),
        }
    };
    said(Some("does not exist"));
    server.client().json("POST", &admin("workflows"), &echo_workflow("w")).unwrap();
    said(Some("a draft and no active version"));
    server.client().json("PATCH", &admin("workflows/w/status"), &json!({"status": "active"})).unwrap();
    said(None);
    server.client().json("POST", &admin("workflows/w/versions"), &json!({})).unwrap();
    said(None);
    server.client().json("PATCH", &admin("workflows/w/status"), &json!({"status": "archived"})).unwrap();
    said(Some("no active version"));
}

#[test]
fn preset_with_data_among_other_members_warns() {
    let server = start();
    let mut client = server.client();
    let mut warned = |preset: &str, request: Value| {
        let config = json!({"auth": {"mode": "hmac", "preset": preset, "secret": "0123456789abcdef"}, "request": request});
        let report =
            client.json("POST", &admin("channels/validate"), &channel("c", "w", config)).unwrap().json();
        assert_eq!(report["data"]["valid"], true, "{report}");
        report["data"]["warnings"].to_string().contains("channel.config.request.body_mode")
    };
    assert!(warned("stripe", json!({})) && warned("P6", json!({"body_mode": "auto"})));
    assert!(warned("github", json!({})), "an event with metadata would lose its other members");
    assert!(
        !warned("github", json!({"body_mode": "payload"}))
            && !warned("stripe", json!({"body_mode": "payload"}))
    );
}
