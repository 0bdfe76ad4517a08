//! Channels through the admin API: what is refused, masked, restored, quarantined.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;

use crate::support::{channel, details, echo, echo_workflow, error, launch, start};

const BASE: &str = "/api/v1/admin/channels";

#[test]
fn protocol_rules_are_reported_together() {
    let server = start();
    let mut client = server.client();
    let document = json!({"name": "c", "channel_type": "sync", "protocol": "REST"});
    let found = details(&error(&client.json("POST", BASE, &document).unwrap(), 400, "VALIDATION_ERROR"));
    for path in ["channel.methods", "channel.route_pattern"] {
        assert!(found.contains(&(path.to_owned(), "REQUIRED_FOR_PROTOCOL".to_owned())), "{path}: {found:?}");
    }
    for (key, value) in [
        ("route_pattern", json!("no-slash")),
        ("route_pattern", json!("/a//b")),
        ("route_pattern", json!("/a/{1}")),
        ("route_pattern", json!("/a/{x}/{x}")),
        ("methods", json!(["GET", "get"])),
        ("methods", json!(["FETCH"])),
        ("channel_id", json!("import")),
        ("channel_id", json!("trigger")),
        ("channel_id", json!("-x")),
        ("protocol", json!("carrier")),
    ] {
        let mut document = channel("c", "w", json!({}));
        document[key] = value.clone();
        let refused = client.json("POST", BASE, &document).unwrap();
        let details = details(&error(&refused, 400, "VALIDATION_ERROR"));
        assert!(
            details.iter().any(|(path, _)| path.starts_with(&format!("channel.{key}"))),
            "{key}={value}: {details:?}"
        );
    }
}

#[test]
fn an_unknown_config_key_is_refused() {
    let server = start();
    let document = channel("c", "w", json!({"rate_limits": {}}));
    let refused = server.client().json("POST", BASE, &document).unwrap();
    let error = error(&refused, 400, "VALIDATION_ERROR");
    let expected = [("channel.config.rate_limits".to_owned(), "UNKNOWN_FIELD".to_owned())];
    assert_eq!(details(&error), expected, "{error}");
}

#[test]
fn names_are_unique_across_channels() {
    let server = start();
    let mut client = server.client();
    client.json("POST", BASE, &channel("c", "w", json!({}))).unwrap();
    let mut second = channel("d", "w", json!({}));
    second["name"] = json!("c");
    error(&client.json("POST", BASE, &second).unwrap(), 409, "CONFLICT");
}

#[test]
fn secrets_are_masked_and_restored_on_update() {
    let server = start();
    let mut client = server.client();
    let auth = json!({"auth": {"mode": "api_key", "keys": ["one-secret", "env://OTHER"]}});
    let created = client.json("POST", BASE, &channel("k", "w", auth)).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    let read = client.get(&format!("{BASE}/k")).unwrap();
    assert!(!read.text().contains("one-secret"));
    let body = read.json()["data"].clone();
    assert_eq!(body["config"]["auth"]["keys"], json!(["******", "env://OTHER"]));
    let hash = body["content_hash"].clone();
    let back = client.json("PUT", &format!("{BASE}/k"), &json!({"config": body["config"]})).unwrap().json();
    assert_eq!(back["data"]["content_hash"], hash, "the mask was restored from the stored value");
    let more = json!({"config": {"auth": {"mode": "api_key", "keys": ["******", "env://OTHER", "******"]}}});
    let refused = client.json("PUT", &format!("{BASE}/k"), &more).unwrap();
    error(&refused, 400, "VALIDATION_ERROR");
    let fresh = channel("k2", "w", json!({"auth": {"mode": "api_key", "keys": ["******"]}}));
    error(&client.json("POST", BASE, &fresh).unwrap(), 400, "VALIDATION_ERROR");
}

#[test]
fn unenforceable_guard_quarantines_its_channel_everywhere() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "open", json!({}));
    let closed = json!({"auth": {"mode": "api_key", "keys": ["env://SVC_TEST_NOT_SET_ANYWHERE"]}});
    echo(&mut client, "closed", closed);
    for path in ["/api/v1/data/closed", "/api/v1/data/closed/async"] {
        let answer = client.json("POST", path, &json!({})).unwrap();
        error(&answer, 503, "SERVICE_UNAVAILABLE");
        assert_eq!(answer.header("retry-after"), None, "time does not heal it");
    }
    assert_eq!(client.json("POST", "/api/v1/data/open", &json!({})).unwrap().status, 200);
    let health = client.get("/health").unwrap();
    assert_eq!(health.status, 200, "degraded is not down");
    let health = health.json();
    assert_eq!(health["components"]["channels"], "degraded");
    assert_eq!(health["channels"]["quarantined"][0]["channel"], "closed");
    assert!(health["channels"]["quarantined"][0]["reason"].as_str().unwrap().contains("auth"), "{health}");
    let metrics = client.get("/metrics").unwrap().text();
    for line in ["svc_ready 1", "svc_database_up 1", "svc_channel_quarantined{channel=\"closed\"} 1"] {
        assert!(metrics.contains(&format!("{line}\n")), "{line} not in\n{metrics}");
    }
    assert_eq!(metrics.matches("svc_channel_quarantined{").count(), 1, "{metrics}");
}

#[test]
fn an_undeclared_secret_quarantines_the_channels_of_its_workflow() {
    let server = start();
    let mut client = server.client();
    let mut workflow = echo_workflow("w");
    workflow["condition"] = json!({"!=": [{"secret": "nowhere"}, ""]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("w", "w", json!({}))).unwrap();
    let refused = client.json("POST", "/api/v1/data/w", &json!({})).unwrap();
    error(&refused, 503, "SERVICE_UNAVAILABLE");
    let health = client.get("/health").unwrap().json();
    let reason = health["channels"]["quarantined"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("\"nowhere\" is not declared"), "{reason}");
}

#[test]
fn a_changed_definition_leaves_quarantine() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "q", json!({"auth": {"mode": "api_key", "keys": ["env://SVC_TEST_NOT_SET_ANYWHERE"]}}));
    error(&client.json("POST", "/api/v1/data/q", &json!({})).unwrap(), 503, "SERVICE_UNAVAILABLE");
    client.json("POST", &format!("{BASE}/q/versions"), &json!({})).unwrap();
    client.json("PUT", &format!("{BASE}/q"), &json!({"config": {}})).unwrap();
    client.json("PATCH", &format!("{BASE}/q/status"), &json!({"status": "active"})).unwrap();
    assert_eq!(client.json("POST", "/api/v1/data/q", &json!({})).unwrap().status, 200);
    let health = client.get("/health").unwrap().json();
    assert_eq!(
        (&health["components"]["channels"], &health["channels"]["quarantined"]),
        (&json!("ok"), &json!([]))
    );
}

#[test]
fn type_and_protocol_are_fixed_and_read_whole() {
    let server = start();
    let mut client = server.client();
    client.json("POST", "/api/v1/admin/workflows", &echo_workflow("w")).unwrap();
    client.json("POST", BASE, &channel("c", "w", json!({"timeout_ms": 10}))).unwrap();
    let updated =
        client.json("PUT", &format!("{BASE}/c"), &json!({"protocol": "kafka", "name": "c"})).unwrap();
    assert_eq!(updated.json()["data"]["protocol"], "rest", "{}", updated.text());
    let read = client.get(&format!("{BASE}/c")).unwrap().json()["data"].clone();
    let mut keys: Vec<_> = read.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let expected = "channel_id channel_type config consumer_group content_hash created_at description methods name \
               priority protocol route_pattern status tags topic transport_config updated_at version workflow_id";
    assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!((&read["topic"], &read["transport_config"]), (&Value::Null, &json!({})));
}

#[test]
fn disabled_cron_allows_drafts_but_no_activation() {
    let server = launch().env("SVC_CRON__ENABLED", "false").start().unwrap();
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("w")).unwrap();
    let mut nightly = json!({"channel_id": "n", "name": "n", "channel_type": "async", "protocol": "cron",
        "workflow_id": "w", "transport_config": {"schedule": "@daily", "misfire_policy": "catch_up"}});
    let refused = client.json("POST", BASE, &nightly).unwrap();
    let expected = [("channel.transport_config.max_catch_up".to_owned(), "REQUIRED".to_owned())];
    assert_eq!(details(&error(&refused, 400, "VALIDATION_ERROR")), expected);
    nightly["transport_config"]["max_catch_up"] = json!(2);
    assert_eq!(client.json("POST", BASE, &nightly).unwrap().status, 201);
    let active = client.json("PATCH", &format!("{BASE}/n/status"), &json!({"status": "active"})).unwrap();
    let refused = error(&active, 400, "VALIDATION_ERROR");
    assert!(refused.to_string().contains("cron.enabled"), "{refused}");
    for channel in ["n", "unknown"] {
        let started = client.json("POST", &format!("{BASE}/{channel}/trigger"), &json!({})).unwrap();
        let refused = error(&started, 400, "VALIDATION_ERROR");
        assert_eq!(refused["message"], format!("No active cron channel '{channel}'"));
    }
    assert_eq!(client.get("/health").unwrap().json()["status"], "ok");
}

#[test]
fn channel_may_be_named_like_service_part() {
    let server = start();
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("w")).unwrap();
    for name in ["store", "connectors", "tokens", "keysets", "traces", "registry", "channels", "reconciler"] {
        create_and_activate(&mut client, "channels", "channel_id", &channel(name, "w", json!({}))).unwrap();
        let answer = client.json("POST", &format!("/api/v1/data/{name}"), &json!({"a": 1})).unwrap();
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
    }
}

#[test]
fn different_rates_in_a_group_are_warned_of() {
    let server = start();
    let mut client = server.client();
    let limit = |rate: u64| json!({"rate_limit": {"requests_per_second": rate, "burst": 5, "group": "api"}});
    echo(&mut client, "first", limit(5));
    let same = client.json("POST", &format!("{BASE}/validate"), &channel("same", "first", limit(5))).unwrap();
    assert_eq!(same.json()["data"]["warnings"], json!([]));
    let other = channel("other", "first", limit(9));
    let conflict = |warnings: &Value| {
        let at = |one: &&Value| one["field"] == "channel.config.rate_limit.group";
        let warning = warnings.as_array().into_iter().flatten().find(at);
        let message = warning.unwrap_or_else(|| panic!("{warnings}"))["message"].as_str().unwrap();
        assert!(message.contains("group 'api'") && message.contains("5 per second"), "{message}");
    };
    let validated = client.json("POST", &format!("{BASE}/validate"), &other).unwrap().json();
    conflict(&validated["data"]["warnings"]);
    conflict(&client.json("POST", BASE, &other).unwrap().json()["warnings"]);
    let change = client.json("PUT", &format!("{BASE}/other"), &json!({"tags": ["x"]})).unwrap().json();
    conflict(&change["warnings"]);
    let active = json!({"status": "active"});
    conflict(&client.json("PATCH", &format!("{BASE}/other/status"), &active).unwrap().json()["warnings"]);
    conflict(&client.get(&format!("{BASE}/other")).unwrap().json()["warnings"]);
    assert!(client.get(&format!("{BASE}/first")).unwrap().text().contains("channel 'other' asks"));
    let reloaded = client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap().json();
    assert_eq!(reloaded["data"]["warnings"].as_array().map(Vec::len), Some(2), "{reloaded}");
}

#[test]
fn warnings_say_what_the_workflow_of_a_channel_lacks() {
    let server = start();
    let mut client = server.client();
    let (workflows, document) = ("/api/v1/admin/workflows", channel("c", "w", json!({})));
    let mut lacks = |expected: Option<&str>, method: &str, path: &str, body: Value| {
        if !method.is_empty() {
            let changed = client.json(method, &format!("{workflows}{path}"), &body).unwrap();
            assert!(changed.status < 300, "{}", changed.text());
        }
        let report = client.json("POST", &format!("{BASE}/validate"), &document).unwrap().json();
        let warnings = report["data"]["warnings"].as_array().unwrap();
        let of_workflow = warnings.iter().find(|warning| warning["field"] == "channel.workflow_id");
        let message = of_workflow.map(|warning| warning["message"].as_str().unwrap());
        assert_eq!(message, expected, "after {method} {path}");
    };
    let draft = Some("workflow 'w' has a draft and no active version: activation needs one");
    let absent = "workflow 'w' does not exist: activation needs an active version of it";
    let archived = "workflow 'w' has archived versions only: activation needs an active one";
    lacks(Some(absent), "", "", Value::Null);
    lacks(draft, "POST", "", echo_workflow("w"));
    lacks(None, "PATCH", "/w/status", json!({"status": "active"}));
    lacks(None, "POST", "/w/versions", json!({}));
    lacks(None, "PATCH", "/w/status", json!({"status": "active"}));
    lacks(Some(archived), "PATCH", "/w/status", json!({"status": "archived"}));
    lacks(draft, "POST", "/w/versions", json!({}));
}

#[test]
fn activation_warns_of_quarantine_and_absent_failure_channel() {
    let server = start();
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("w")).unwrap();
    let config = json!({"on_failure": "nobody", "auth": {"mode": "api_key", "keys": ["env://UNSET"]}});
    let document = channel("broken", "w", config);
    let created = client.json("POST", BASE, &document).unwrap().json();
    assert_eq!(created["warnings"][0]["field"], "channel.config.on_failure", "{created}");
    let active = json!({"status": "active"});
    let activated = client.json("PATCH", &format!("{BASE}/broken/status"), &active).unwrap();
    assert_eq!(activated.status, 200, "{}", activated.text());
    for text in [activated.text(), client.get(&format!("{BASE}/broken")).unwrap().text()] {
        assert!(text.contains("the channel is quarantined: auth"), "{text}");
    }
}
