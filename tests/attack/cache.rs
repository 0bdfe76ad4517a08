//! One tenant's answer, asked for by another; a refusal, asked for again.

use std::io;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::Attack;
use crate::target::{AttackTarget, serve};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "cache",
        text: "a cached answer goes to the principal it was made for, and a shaped error is not cached",
        before: "the other tenant's answer; the error for as long as the entry lives",
    },
    attack,
);

const TENANTS: [&str; 2] = ["the-first-tenants-key", "the-second-tenants-key"];

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let server = target.launch()?.start()?;
    let mut client = server.client();
    let auth = json!({"mode": "api_key", "keys": TENANTS});
    let answer = json!([{"id": "answer", "name": "Answer", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.run", "logic": {"var": "metadata.run.key"}},
        {"path": "data._svc.response", "logic": {"status": {"if": [{"var": "payload.fail"}, 503, 200]}}}
    ]}}}]);
    let shaped = |cache: Value| json!({"auth": auth, "cache": cache, "response": {"mode": "shaped"}});
    serve(&mut client, "tenants", &shaped(json!({"enabled": true, "per_principal": true})), &answer)?;
    let ask = |client: &mut HttpClient, tenant: &str, body: &Value| {
        let key = format!("Bearer {tenant}");
        let headers = [("content-type", "application/json"), ("authorization", key.as_str())];
        client.send("POST", "/api/v1/data/tenants", &headers, body.to_string().as_bytes())
    };
    let body = json!({"n": 1});
    let [first, other, again] =
        [TENANTS[0], TENANTS[1], TENANTS[0]].map(|tenant| ask(&mut client, tenant, &body));
    let (first, other, again) = (first?, other?, again?);
    let failing = json!({"n": 1, "fail": true});
    let failures = [ask(&mut client, TENANTS[0], &failing)?, ask(&mut client, TENANTS[0], &failing)?];
    let implicit = json!({"channel_id": "implicit", "name": "implicit", "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/implicit", "workflow_id": "tenants",
        "config": shaped(json!({"enabled": true}))});
    let undecided = client.json("POST", "/api/v1/admin/channels", &implicit)?.status;
    let leaked = first.text() == other.text();
    let is_cached = failures[0].text() == failures[1].text();
    let works = first.status == 200 && first.text() == again.text() && failures[0].status == 503;
    if !works {
        let answers =
            [&first, &again, &failures[0]].map(|answer| format!("{} {}", answer.status, answer.text()));
        return Err(io::Error::other(format!("the channel does not work: {}", answers.join(", "))));
    }
    let figure = format!(
        "other tenant served: {leaked}; error served again: {is_cached}; undecided channel: {undecided}"
    );
    Ok(AttackOutcome::new(!leaked && !is_cached && undecided == 400, figure))
}
