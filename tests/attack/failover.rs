//! A Redis whose place another one takes behind the same address, while clients send messages that it guards.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::gateway::Gateway;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::Postgres;
use svc_testkit::redis::Redis;
use svc_testkit::server::wait_until;

use crate::Attack;
use crate::target::{AttackTarget, expect_soon, serve, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "failover",
        text: "guards and cache tasks work within 5 s after another Redis took over, and readiness told it meanwhile",
        before: "broken until a restart, ready throughout",
    },
    attack,
);

/// Longest time until everything works again.
const LIMIT: Duration = Duration::from_secs(5);
/// Channels that need Redis: guards of the cluster, guards over a connector, a task.
const CHANNELS: [&str; 3] = ["shared", "connected", "task"];

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let servers = (Postgres::shared(), Redis::own(), Redis::own());
    let (Some(postgres), Some(former), Some(next)) = servers else {
        return Ok(AttackOutcome::not_run("no PostgreSQL or no Redis"));
    };
    let database = postgres.database().map_err(io::Error::other)?;
    let gateway = Gateway::start(former.address())?;
    let url = former.url().replace(former.place(), &gateway.address().to_string());
    let server = target
        .launch()?
        .env("SVC_STORAGE__URL", database.url())
        .env("SVC_CLUSTER__ENABLED", "true")
        .env("SVC_CLUSTER__REDIS_URL", &url)
        .start()?;
    define(&mut server.client(), &url)?;
    let address = server.address();
    expect_soon("every channel works", || work(address, "before"))?;
    let (stop, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (told, took) = thread::scope(|scope| {
        for client in 0..target.pick_size(4, 16) {
            let (stop, sent) = (&stop, &sent);
            scope.spawn(move || keep_sending(address, client, stop, sent));
        }
        let outcome = fail_over(address, [&former, &next], &gateway);
        stop.store(true, Ordering::Relaxed);
        outcome
    })?;
    let seconds = took.map_or("never".to_owned(), |took| format!("{:.1} s", took.as_secs_f64()));
    let figure = format!(
        "works after {seconds}; readiness told it: {told}; {} messages, {} connections",
        sent.load(Ordering::Relaxed),
        gateway.connection_count()
    );
    // The short form is run on a binary that is not optimised.
    let limit = if target.short { 2 * LIMIT } else { LIMIT };
    Ok(AttackOutcome::new(told && took.is_some_and(|took| took <= limit), figure))
}

/// Serves the channels.
fn define(client: &mut HttpClient, url: &str) -> io::Result<()> {
    let connector = json!({"id": "r", "name": "r", "connector_type": "cache",
        "config": {"backend": "redis", "url": url, "allow_private_urls": true}});
    let answer = client.json("POST", "/api/v1/admin/connectors", &connector)?;
    if answer.status != 201 {
        return Err(io::Error::other(format!("connector answered {}: {}", answer.status, answer.text())));
    }
    let keys = |more: Value| {
        let mut keys = json!({"header": "Idempotency-Key", "on_backend_error": "deny"});
        if let (Some(keys), Value::Object(more)) = (keys.as_object_mut(), more) {
            keys.extend(more);
        }
        json!({"deduplication": keys})
    };
    serve_echo(client, "shared", &keys(json!({})))?;
    serve_echo(client, "connected", &keys(json!({"connector": "r"})))?;
    let write = json!([{"id": "write", "name": "Write", "function": {"name": "cache_write",
        "input": {"connector": "r", "key": "k", "value": 1}}}]);
    serve(client, "task", &json!({}), &write)
}

/// Sends one message under a key; returns the status.
fn send(address: SocketAddr, channel: &str, key: &str) -> io::Result<u16> {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    let answer =
        HttpClient::new(address).send("POST", &format!("/api/v1/data/{channel}"), &headers, b"{}")?;
    Ok(answer.status)
}

/// Returns `true` if each channel takes a message, and those with keys refuse its repeat.
fn work(address: SocketAddr, key: &str) -> io::Result<bool> {
    for channel in CHANNELS {
        let repeat = if channel == "task" { 200 } else { 409 };
        // A key of a round that failed is taken.
        let first = send(address, channel, key)?;
        if ![200, repeat].contains(&first) || send(address, channel, key)? != repeat {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Sends messages until `stop` is set.
fn keep_sending(address: SocketAddr, client: usize, stop: &AtomicBool, sent: &AtomicUsize) {
    let mut number = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        for channel in CHANNELS {
            // Whatever comes: the service is judged by others.
            let _ = send(address, channel, &format!("{client}-{number}"));
            sent.fetch_add(1, Ordering::Relaxed);
        }
        number += 1;
    }
}

/// Makes the former Redis a replica of the next one, waits until readiness reports it, and leads the address to the
/// next one. Returns `true` if it was reported, and the time until all channels work.
#[expect(clippy::disallowed_methods, reason = "the time of recovery of another process is what is measured")]
fn fail_over(
    address: SocketAddr,
    [former, next]: [&Redis; 2],
    gateway: &Gateway,
) -> io::Result<(bool, Option<Duration>)> {
    let (host, port) = next.place().rsplit_once(':').unwrap_or_default();
    former.command(&["replicaof", host, port]).map_err(io::Error::other)?;
    let told = wait_until(LIMIT, || Ok(HttpClient::new(address).get("/readyz")?.status == 503))?;
    gateway.lead_to(next.address());
    let begin = Instant::now();
    let works = wait_until(4 * LIMIT, || {
        Ok(work(address, "after")? && HttpClient::new(address).get("/readyz")?.status == 200)
    })?;
    Ok((told, works.then(|| begin.elapsed())))
}
