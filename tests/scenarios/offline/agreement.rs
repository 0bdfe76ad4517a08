//! A dry run answers as the running server did, if its stubs answer as the server's peers did.

use std::path::Path;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use tempfile::TempDir;

use super::{command, write};

/// Repeats every traced run of some channels offline, and compares its end. `claims` are those of the
/// callers, which no trace keeps. Returns the number of runs.
pub(crate) fn repeat_offline(
    client: &mut HttpClient,
    workflows: &Path,
    channels: &[&str],
    claims: &Value,
) -> usize {
    let mut repeated = 0;
    for channel in channels {
        let page = client.get(&format!("/api/v1/admin/traces?channel={channel}")).unwrap().json();
        for row in page["data"].as_array().unwrap_or_else(|| panic!("{page}")) {
            let path = format!("/api/v1/admin/traces/{}", row["id"].as_str().unwrap());
            let trace = client.get(&path).unwrap();
            assert_eq!(trace.status, 200, "{}", trace.text());
            repeat(&trace.json(), workflows, claims);
            repeated += 1;
        }
    }
    repeated
}

fn repeat(trace: &Value, workflows: &Path, claims: &Value) {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    write(root, "trace.json", trace);
    let project = workflows.to_str().unwrap();
    let case = command(root, &["case", "--from-trace", "trace.json", "--as-observed", "--project", project]);
    assert_eq!(case.code(), Some(0), "{}", case.err());
    let mut case = case.json();
    case["metadata"]["auth"]["claims"] = claims.clone();
    for part in ["input", "metadata", "stubs", "secrets"] {
        write(root, &format!("{part}.json"), case.get(part).unwrap_or(&json!({})));
    }
    let workflow = case["workflow"].as_str().unwrap();
    let run = command(
        root,
        &[
            "dry-run",
            "-w",
            workflow,
            "-i",
            "input.json",
            "-m",
            "metadata.json",
            "-s",
            "stubs.json",
            "--secrets",
            "secrets.json",
        ],
    );
    let (document, steps) = (run.json(), trace["data"]["task_trace_json"]["steps"].as_array().unwrap());
    let ran = |step: &&Value| step["result"] != "skipped";
    let online: Vec<_> = steps.iter().filter(ran).map(|step| &step["task_id"]).collect();
    let offline: Vec<_> =
        document["audit_trail"].as_array().unwrap().iter().map(|entry| &entry["task_id"]).collect();
    assert_eq!(offline, online, "{document}");
    let end = steps.iter().rev().find_map(|step| step.pointer("/message/data")).unwrap();
    let mut data = document["data"].clone();
    // Reads of traces leave out what shapes the response.
    if let Some(control) = data.get_mut("_svc").and_then(Value::as_object_mut) {
        control.remove("response");
    }
    let (mut data, mut end) = (data, end.clone());
    for side in [&mut data, &mut end] {
        if side.get("_svc").is_some_and(|control| *control == json!({})) {
            side.as_object_mut().unwrap().remove("_svc");
        }
    }
    assert_eq!(data, end, "{}", trace["data"]["id"]);
}
