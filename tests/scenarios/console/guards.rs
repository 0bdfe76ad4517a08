//! Refusals by inner reason, and requests that are tried against the guards.

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::refusals::mac;
use crate::support::{echo, error, start};

const CHANNELS: &str = "/api/v1/admin/channels";
const SECRET: &str = "a secret of thirty-two bytes or so";

fn post(client: &mut HttpClient, channel: &str, headers: &[(&str, &str)]) -> HttpResponse {
    let mut all = vec![("content-type", "application/json")];
    all.extend_from_slice(headers);
    client.send("POST", &format!("/api/v1/data/{channel}"), &all, b"{\"n\": 1}").unwrap()
}

fn stats(client: &mut HttpClient, channel: &str) -> Value {
    let answer = client.get(&format!("{CHANNELS}/{channel}/stats")).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Returns guard, status, reason and count of each refusal, in the order of their reasons.
fn counts(stats: &Value) -> Vec<(String, u64, String, u64)> {
    let refusals = stats["refusals"].as_array().unwrap().iter();
    let mut counts: Vec<_> = refusals
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            assert!(!text("explanation").is_empty() && !text("last_seen").is_empty(), "{row}");
            let number = |key: &str| row[key].as_u64().unwrap();
            (text("guard"), number("status"), text("reason"), number("count"))
        })
        .collect();
    counts.sort_by(|one, other| one.2.cmp(&other.2));
    counts
}

fn count(guard: &str, status: u64, reason: &str, count: u64) -> (String, u64, String, u64) {
    (guard.to_owned(), status, reason.to_owned(), count)
}

/// Tries a request and returns the verdict.
fn attempt(client: &mut HttpClient, channel: &str, request: Value) -> Value {
    let answer = client.json("POST", &format!("{CHANNELS}/{channel}/test"), &request).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Returns guard, reason and status of the refusal.
fn refusal(verdict: &Value) -> (Value, Value, Value) {
    assert_eq!(verdict["admitted"], false, "{verdict}");
    let refusal = &verdict["refusal"];
    (refusal["guard"].clone(), refusal["reason"].clone(), refusal["status"].clone())
}

#[test]
fn refusals_are_counted_by_inner_reason() {
    let server = start();
    let mut client = server.client();
    let guards = json!({
        "auth": {"mode": "api_key", "keys": ["the-key-of-a-caller"]},
        "origin_allow_list": ["https://a.example"],
        "deduplication": {"header": "x-key"},
        "validation_logic": {"!=": [{"var": "metadata.headers.x-bad"}, "1"]},
    });
    echo(&mut client, "kept", guards);
    let (key, bad_key) = (("authorization", "Bearer the-key-of-a-caller"), ("authorization", "Bearer other"));
    for (headers, status) in [
        (vec![], 401),
        (vec![bad_key], 401),
        (vec![bad_key], 401),
        (vec![key, ("origin", "https://b.example")], 403),
        (vec![key, ("x-bad", "1")], 400),
        (vec![key, ("x-key", "a")], 200),
        (vec![key, ("x-key", "a")], 409),
    ] {
        let answer = post(&mut client, "kept", &headers);
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.text());
    }
    let text = [("content-type", "text/plain"), key];
    assert_eq!(client.send("POST", "/api/v1/data/kept", &text, b"x").unwrap().status, 415);
    let expected = [
        count("body", 415, "content_type", 1),
        count("deduplication", 409, "duplicate", 1),
        count("auth", 401, "missing", 1),
        count("validation_logic", 400, "not_valid", 1),
        count("origin_allow_list", 403, "origin_not_allowed", 1),
        count("auth", 401, "unknown_key", 2),
    ];
    let shown = stats(&mut client, "kept");
    assert_eq!(counts(&shown), expected);
    let guards = ["shape", "auth", "origin_allow_list", "validation_logic", "deduplication"];
    assert_eq!(shown["guards"], json!(guards));
    assert_eq!((&shown["served"], &shown["version"]), (&json!(true), &json!(1)));
    let nodes = client.get("/api/v1/admin/nodes").unwrap().json();
    assert_eq!(shown["node"], nodes["data"][0]["id"]);
    // A reload keeps the counts, another channel has its own.
    client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap();
    assert_eq!(counts(&stats(&mut client, "kept")), expected);
    echo(&mut client, "other", json!({}));
    assert_eq!(stats(&mut client, "other")["refusals"], json!([]));
    error(&client.get(&format!("{CHANNELS}/absent/stats")).unwrap(), 404, "NOT_FOUND");
}

#[test]
fn trial_names_guard_and_reason_of_refusal() {
    let server = start();
    let mut client = server.client();
    let auth =
        json!({"mode": "hmac", "secret": SECRET, "header": "x-signature", "signature_prefix": "sha256="});
    echo(&mut client, "hook", json!({"auth": auth, "validation_logic": {">": [{"var": "data.n"}, 0]}}));
    let sign = |body: &str| {
        let digest: String = mac(SECRET, body.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256={digest}")
    };
    let request = |body: &str, signature: Option<&str>| {
        let mut headers = json!({"content-type": "application/json"});
        if let Some(signature) = signature {
            headers["X-Signature"] = signature.into();
        }
        json!({"path": "/api/v1/data/hook?x=1", "headers": headers, "body": body})
    };
    let body = "{\"n\":  1}";
    let admitted = attempt(&mut client, "hook", request(body, Some(&sign(body))));
    assert_eq!((&admitted["admitted"], &admitted["refusal"]), (&json!(true), &Value::Null), "{admitted}");
    let names: Vec<_> = admitted["guards"].as_array().unwrap().iter().map(|guard| &guard["guard"]).collect();
    assert_eq!(names, ["shape", "auth", "validation_logic"]);
    for (signature, reason) in [
        (Some(sign("{\"n\":1}")), "bad_signature"),
        (Some("sha1=00".to_owned()), "malformed"),
        (None, "missing"),
    ] {
        let verdict = attempt(&mut client, "hook", request(body, signature.as_deref()));
        assert_eq!(refusal(&verdict), (json!("auth"), json!(reason), json!(401)), "{verdict}");
        assert_eq!(verdict["refusal"]["message"], "Channel authentication failed");
        let last = verdict["guards"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["guard"], &last["result"]), (&json!("validation_logic"), &json!("not_met")));
    }
    let small = "{\"n\": 0}";
    let verdict = attempt(&mut client, "hook", request(small, Some(&sign(small))));
    assert_eq!(refusal(&verdict), (json!("validation_logic"), json!("not_valid"), json!(400)));
    for (path, guard, reason, status) in [
        ("/api/v1/data/nothing", "route", "no_route", 404),
        ("/health", "route", "no_data_path", 404),
        ("/api/v1/data/hook/%zz", "route", "malformed", 400),
    ] {
        let verdict = attempt(&mut client, "hook", json!({"path": path}));
        assert_eq!(refusal(&verdict), (json!(guard), json!(reason), json!(status)), "{path}: {verdict}");
    }
    let verdict = attempt(&mut client, "hook", json!({"method": "GET", "path": "/api/v1/data/hook"}));
    assert_eq!(refusal(&verdict), (json!("route"), json!("method"), json!(405)));
    let form = json!({"headers": {"content-type": "text/csv"}, "body": "a,b"});
    assert_eq!(
        refusal(&attempt(&mut client, "hook", form)),
        (json!("body"), json!("content_type"), json!(415))
    );
    assert_eq!(stats(&mut client, "hook")["refusals"], json!([]), "a trial counts nothing");
    let audited = client.get("/api/v1/admin/audit-logs?action=test&resource_type=channel").unwrap();
    assert!(audited.json()["total"].as_u64().unwrap() >= 10 && !audited.text().contains("sha256="));
    let typo = client.json("POST", &format!("{CHANNELS}/hook/test"), &json!({"heders": {}})).unwrap();
    assert!(error(&typo, 400, "VALIDATION_ERROR").to_string().contains("headers"));
}

#[test]
fn trial_takes_no_token_key_or_permit() {
    let server = start();
    let mut client = server.client();
    let config = json!({
        "rate_limit": {"requests_per_second": 1, "burst": 1},
        "deduplication": {"header": "x-key"},
        "backpressure": {"max_concurrent_per_node": 1},
    });
    echo(&mut client, "rare", config);
    let request = json!({"headers": {"x-key": "a"}, "body": {"n": 1}});
    for _ in 0..5 {
        let verdict = attempt(&mut client, "rare", request.clone());
        assert_eq!(verdict["admitted"], true, "{verdict}");
        let results: Vec<_> =
            verdict["guards"].as_array().unwrap().iter().map(|one| &one["result"]).collect();
        assert_eq!(results, ["unchecked", "passed", "unchecked", "passed"]);
    }
    let answer = post(&mut client, "rare", &[("x-key", "a")]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(stats(&mut client, "rare")["free_permits"], 1);
    client.json("POST", &format!("{CHANNELS}/rare/pause"), &json!({"reason": "repair"})).unwrap();
    let verdict = attempt(&mut client, "rare", request);
    assert_eq!(refusal(&verdict), (json!("pause"), json!("paused"), json!(503)));
    let archived = client.json("PATCH", &format!("{CHANNELS}/rare/status"), &json!({"status": "archived"}));
    assert_eq!(archived.unwrap().status, 200);
    let unserved = client.json("POST", &format!("{CHANNELS}/rare/test"), &json!({})).unwrap();
    error(&unserved, 409, "CONFLICT");
    assert_eq!(stats(&mut client, "rare")["served"], false);
}
