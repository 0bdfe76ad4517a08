//! Groups of errors, and the words of filters on every list.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;

use crate::support::{channel, echo_workflow, error, eventually, serve, start};

const ADMIN: &str = "/api/v1/admin";
const ERRORS: &str = "/api/v1/admin/errors";

/// The tasks of a workflow that throws a text which names its payload.
fn throwing(text: &str) -> Value {
    json!([
        {"id": "boom", "name": "Boom", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"throw": text}}]}}}
    ])
}

fn groups(client: &mut HttpClient, query: &str) -> Vec<Value> {
    let page = client.get(&format!("{ERRORS}{query}")).unwrap();
    assert_eq!(page.status, 200, "{}", page.text());
    page.json()["data"].as_array().unwrap().clone()
}

fn fail(client: &mut HttpClient, channel: &str) {
    let answer = client.json("POST", &format!("/api/v1/data/{channel}"), &json!({})).unwrap();
    assert!(answer.status >= 400, "{}", answer.text());
}

#[test]
fn failures_are_grouped_over_versions_with_last_change() {
    let server = start();
    let mut client = server.client();
    serve(&mut client, "orders", throwing("order 17 is unknown"));
    fail(&mut client, "orders");
    let group = groups(&mut client, "").remove(0);
    assert_eq!(
        (&group["channel"], &group["task"], &group["count"]),
        (&json!("orders"), &json!("boom"), &json!(1))
    );
    let message = group["message"].as_str().unwrap();
    assert!(message.contains("order # is unknown"), "{message}");
    let change = &group["change"];
    assert_eq!((&change["action"], &change["resource_id"]), (&json!("status_active"), &json!("orders")));
    let draft = client.json("POST", &format!("{ADMIN}/workflows/orders/versions"), &json!({})).unwrap();
    assert_eq!(draft.status, 201, "{}", draft.text());
    let tasks = json!({"tasks": throwing("order 18 is unknown")});
    let mut document = echo_workflow("orders");
    document["tasks"] = tasks["tasks"].clone();
    assert_eq!(client.json("PUT", &format!("{ADMIN}/workflows/orders"), &document).unwrap().status, 200);
    let status = format!("{ADMIN}/workflows/orders/status");
    assert_eq!(client.json("PATCH", &status, &json!({"status": "active"})).unwrap().status, 200);
    fail(&mut client, "orders");
    let again = groups(&mut client, "?channel=orders&since=-1h").remove(0);
    assert_eq!(
        (&again["group"], &again["count"], &again["versions"]),
        (&group["group"], &json!(2), &json!([1, 2]))
    );
    assert_eq!((&again["change"], &again["first_seen"]), (&group["change"], &group["first_seen"]));
    assert_eq!(again["samples"].as_array().unwrap().len(), 2);
    for (version, count) in [("1", 1), ("2", 1), ("1,2", 2)] {
        let of_version = groups(&mut client, &format!("?version={version}")).remove(0);
        assert_eq!(of_version["count"], count, "{version}: {of_version}");
    }
    assert!(groups(&mut client, "?version=3").is_empty());
}

#[test]
fn accepted_work_counts_by_its_dead_letter() {
    let server = start();
    let mut client = server.client();
    serve(&mut client, "jobs", throwing("no"));
    let accepted = client.json("POST", "/api/v1/data/jobs/async", &json!({})).unwrap();
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    eventually(|| client.get(&format!("{ADMIN}/trace-dlq")).unwrap().json()["total"] == 1);
    let group = groups(&mut client, "?q=THROWN").remove(0);
    assert_eq!((&group["count"], &group["samples"]), (&json!(1), &json!([accepted.json()["trace_id"]])));
    let id = group["group"].as_str().unwrap();
    for list in ["traces", "trace-dlq"] {
        let page =
            client.get(&format!("{ADMIN}/{list}?error_group={id}&include_counts=true")).unwrap().json();
        assert_eq!(page["data"].as_array().unwrap().len(), 1, "{page}");
        assert!(page["counts"].is_object(), "{page}");
    }
    assert!(groups(&mut client, "?q=timeout").is_empty());
    let work = accepted.json()["trace_id"].as_str().unwrap().to_owned();
    for (key, count) in [(work.as_str(), 1), ("none", 0)] {
        let page = client.get(&format!("{ADMIN}/trace-dlq?run_key={key}")).unwrap().json();
        assert_eq!(
            (&page["total"], page["data"].as_array().unwrap().len()),
            (&json!(count), count),
            "{page}"
        );
    }
}

#[test]
fn run_key_finds_runs_of_every_origin() {
    let server = start();
    let mut client = server.client();
    let tasks = json!([
        {"id": "key", "name": "Key", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.key", "logic": {"var": "metadata.run.key"}}]}}}
    ]);
    serve(&mut client, "jobs", tasks);
    let answer = client.json("POST", "/api/v1/data/jobs", &json!({})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let key = answer.json()["data"]["key"].as_str().unwrap().to_owned();
    let accepted = client.json("POST", "/api/v1/data/jobs/async", &json!({})).unwrap().json();
    let work = accepted["trace_id"].as_str().unwrap().to_owned();
    for key in [key, work] {
        eventually(|| {
            let page = client.get(&format!("{ADMIN}/traces?run_key={key}")).unwrap().json();
            page["data"].as_array().is_some_and(|rows| rows.len() == 1)
        });
    }
    let page = client.get(&format!("{ADMIN}/traces?run_key=none&include_counts=true")).unwrap().json();
    assert_eq!((&page["data"], &page["counts"]["completed"]), (&json!([]), &json!(0)));
}

#[test]
fn every_list_takes_its_words_and_no_other() {
    let server = start();
    let mut client = server.client();
    let lists = [
        "traces",
        "trace-dlq",
        "cron/occurrences",
        "audit-logs",
        "errors",
        "channels",
        "workflows",
        "connectors",
    ];
    for list in lists {
        let path = format!("{ADMIN}/{list}");
        let endpoint = svc_api::endpoints::find("GET", &path).unwrap();
        for parameter in endpoint.query {
            let value = match parameter.name {
                "cursor" => continue,
                "since" | "until" | "start_time" | "end_time" => "-1h",
                "sort_by" | "q" | "limit" | "offset" | "version" | "workflow_version" | "min_duration_ms" => {
                    "1"
                }
                _ => "true",
            };
            let value = parameter.kind.names().map_or(value, |names| names[0]);
            let answer = client.get(&format!("{path}?{}={value}", parameter.name)).unwrap();
            assert_eq!(answer.status, 200, "{list}: {}: {}", parameter.name, answer.text());
        }
        let refused = error(&client.get(&format!("{path}?limti=1")).unwrap(), 400, "VALIDATION_ERROR");
        assert!(refused.to_string().contains("limit"), "{refused}");
    }
    for range in ["traces", "trace-dlq", "cron/occurrences", "audit-logs", "errors"] {
        let answer = client.get(&format!("{ADMIN}/{range}?since=-1h&until=-2h")).unwrap();
        error(&answer, 400, "VALIDATION_ERROR");
    }
    let sorted = client.get(&format!("{ADMIN}/traces?order=asc&sort_by=status")).unwrap();
    error(&sorted, 400, "VALIDATION_ERROR");
    let several = client.get(&format!("{ADMIN}/traces?status=failed,retyring")).unwrap();
    error(&several, 400, "VALIDATION_ERROR");
    let repeated = client.get(&format!("{ADMIN}/traces?status=faild&status=failed")).unwrap();
    error(&repeated, 400, "VALIDATION_ERROR");
}

#[test]
fn tags_select_channels_with_any_of_them() {
    let server = start();
    let mut client = server.client();
    let workflow = json!({"workflow_id": "no", "name": "no", "tasks": throwing("no")});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    for (id, tag) in [("orders", "red"), ("refunds", "blue"), ("returns", "green")] {
        let mut tagged = channel(id, "no", json!({}));
        tagged["tags"] = json!([tag]);
        create_and_activate(&mut client, "channels", "channel_id", &tagged).unwrap();
        fail(&mut client, id);
    }
    eventually(|| groups(&mut client, "").len() == 3);
    for (query, count) in [("tag=red", 1), ("tag=red,blue", 2), ("tag=red&tag=green", 2), ("tag=none", 0)] {
        assert_eq!(groups(&mut client, &format!("?{query}")).len(), count, "{query}");
        let page = client.get(&format!("{ADMIN}/traces?{query}")).unwrap().json();
        assert_eq!(page["data"].as_array().unwrap().len(), count, "{query}: {page}");
    }
}

#[test]
fn cursor_of_another_list_is_refused() {
    let server = start();
    let mut client = server.client();
    serve(&mut client, "orders", throwing("no"));
    (0..2).for_each(|_| fail(&mut client, "orders"));
    let page = client.get(&format!("{ADMIN}/traces?limit=1")).unwrap().json();
    let cursor = page["next_cursor"].as_str().unwrap();
    for refused in ["trace-dlq", "cron/occurrences", "audit-logs"] {
        error(&client.get(&format!("{ADMIN}/{refused}?cursor={cursor}")).unwrap(), 400, "VALIDATION_ERROR");
    }
    error(
        &client.get(&format!("{ADMIN}/traces?order=asc&cursor={cursor}")).unwrap(),
        400,
        "VALIDATION_ERROR",
    );
}
