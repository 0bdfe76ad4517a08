//! A submission whose run ends the process, at every start anew.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerProcess, wait_until};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::Attack;
use crate::target::{AttackTarget, expect_soon, serve_call, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "recoveries",
        text: "a job that kills its process ten times is taken up 5 times, then a dead letter; jobs behind it end",
        before: "a 13th run after 12 kills",
    },
    attack,
);

/// Kills that the job tries to cause.
const KILLS: usize = 10;
/// Runs it is allowed: the first and five recoveries.
const RUNS: usize = 6;
/// Longest time of a start until it has begun the job or given it up.
const TAKEN_UP: Duration = Duration::from_secs(60);

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let upstream = Upstream::start(|_| UpstreamReply::Held)?;
    let mut server = target.launch()?.start()?;
    let mut client = server.client();
    serve_call(&mut client, "poison", &upstream.url("/"), &json!({}))?;
    serve_echo(&mut client, "behind", &json!({}))?;
    let poison = submit(&mut client, "poison")?;
    upstream.wait_for(1);
    let behind = submit(&mut client, "behind")?;
    for _ in 0..KILLS {
        let runs = upstream.requests().len();
        server = server.crash_and_restart()?;
        // Either the job has begun once more, or it was given up.
        wait_until(TAKEN_UP, || {
            Ok(upstream.requests().len() > runs || status(&server, &poison)? == "failed")
        })?;
    }
    expect_soon("the job behind has ended", || Ok(status(&server, &behind)? == "completed"))?;
    let runs = upstream.requests().len();
    let letters = server.client().get("/api/v1/admin/trace-dlq?exhausted=true")?.text();
    let given_up = letters.contains("attempts_exhausted:");
    let figure = format!("{runs} runs, dead letter: {}", if given_up { "yes" } else { "no" });
    Ok(AttackOutcome::new(runs == RUNS && given_up, figure))
}

fn submit(client: &mut HttpClient, channel: &str) -> io::Result<(String, String)> {
    let accepted = client.json("POST", &format!("/api/v1/data/{channel}/async"), &json!({}))?.json();
    let text = |key: &str| accepted[key].as_str().unwrap_or_default().to_owned();
    Ok((text("trace_id"), text("trace_token")))
}

fn status(server: &ServerProcess, (id, token): &(String, String)) -> io::Result<String> {
    let trace = server.client().get(&format!("/api/v1/admin/traces/{id}?token={token}"))?.json();
    Ok(trace.pointer("/data/status").and_then(Value::as_str).unwrap_or_default().to_owned())
}
