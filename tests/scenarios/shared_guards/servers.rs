//! The kinds of servers that the nodes of a cluster may share: with users, over TLS, and several in a Redis Cluster.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::redis::{Redis, RedisCluster};
use svc_testkit::server::ServerProcess;

use super::{cluster_server, deduplicating, post, post_with_key, readiness};
use crate::support::{echo, error, eventually};

/// The commands and keys that the manual lists.
const RULES: [&str; 11] =
    ["~svc:*", "~dedup:*", "~cache:*", "+get", "+set", "+del", "+eval", "+time", "+incr", "+expire", "+ping"];

/// Serves a channel for each guard that the nodes share.
fn define(client: &mut HttpClient) {
    let rate = json!({"requests_per_second": 1, "burst": 1, "key_logic": {"var": "headers.user-agent"},
        "on_backend_error": "deny"});
    echo(client, "rate", json!({"rate_limit": rate}));
    echo(client, "keys", deduplicating("deny"));
    echo(client, "answers", json!({"cache": {"enabled": true}}));
}

/// Sends messages of one caller until one is refused for its rate.
fn exceed_limit(client: &mut HttpClient, caller: &str) {
    eventually(|| {
        let headers = [("content-type", "application/json"), ("user-agent", caller)];
        let answer = client.send("POST", "/api/v1/data/rate", &headers, b"{}").unwrap();
        assert!(matches!(answer.status, 200 | 429), "{}", answer.text());
        answer.status == 429
    });
}

/// Checks that both nodes share every guard.
fn check_guards(nodes: [&ServerProcess; 2], kind: &str) {
    let [mut one, mut other] = nodes.map(ServerProcess::client);
    for number in 0..20 {
        let key = format!("{kind}-{number}");
        assert_eq!(post_with_key(&mut one, "keys", &key).status, 200);
        error(&post_with_key(&mut other, "keys", &key), 409, "CONFLICT");
        // A caller with braces: they are hash tags to a Redis Cluster.
        exceed_limit(&mut one, &format!("{key}}}{{x}}"));
    }
    let text = post(&mut one, "answers").text();
    assert_eq!(post(&mut other, "answers").text(), text);
    assert_eq!(readiness(&mut one).1["cluster_redis"], "ok");
}

/// The commands that the manual lists for a Redis Cluster.
const CLUSTER_RULES: [&str; 2] = ["+cluster|slots", "+asking"];

/// Creates a user with the listed rights and these.
fn allow_user(redis: &Redis, rules: &[&str]) {
    let user = ["acl", "setuser", "guard", "on", ">pass", "resetkeys"];
    redis.command(&[&user, &RULES[..], rules].concat()).unwrap();
}

/// The URL of a server with that user.
fn user_url(redis: &Redis) -> String {
    redis.url().replace("//:svc@", "//guard:pass@")
}

#[test]
fn user_with_the_listed_rights_is_enough() {
    let (Some(postgres), Some(redis)) = (Postgres::shared(), Redis::own()) else { return };
    let database = postgres.database().unwrap();
    allow_user(&redis, &[]);
    let url = user_url(&redis);
    let first = cluster_server(&database, &url).start().unwrap();
    define(&mut first.client());
    let second = cluster_server(&database, &url).start().unwrap();
    check_guards([&first, &second], "user");
}

#[test]
fn server_over_tls_must_be_trusted() {
    let (Some(postgres), Some(redis)) = (Postgres::shared(), Redis::encrypted()) else { return };
    let database = postgres.database().unwrap();
    let stranger = cluster_server(&database, redis.url()).env("SVC_STORAGE__CONNECT_RETRY_SECS", "0");
    let output = stranger.run_to_end().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("certificate") && !text.contains(redis.url()), "{text}");
    let trusting = || trusting_server(&database, redis.url(), redis.authority().unwrap());
    let first = trusting();
    define(&mut first.client());
    let second = trusting();
    check_guards([&first, &second], "tls");
}

/// Starts a node of a cluster that trusts this authority.
fn trusting_server(database: &PostgresDatabase, redis: &str, authority: &str) -> ServerProcess {
    let node = cluster_server(database, redis);
    let file = node.directory().join("authority.pem");
    std::fs::write(&file, authority).unwrap();
    node.env("SSL_CERT_FILE", file.to_str().unwrap()).start().unwrap()
}

#[test]
fn cluster_guards_notice_a_lost_server() {
    let (Some(postgres), Some(redis)) = (Postgres::shared(), RedisCluster::own()) else { return };
    let database = postgres.database().unwrap();
    let [one, other, _] = redis.servers();
    let first = cluster_server(&database, one.url()).start().unwrap();
    define(&mut first.client());
    let second = cluster_server(&database, other.url()).start().unwrap();
    check_guards([&first, &second], "slots");
    let counts = redis.servers().each_ref().map(|server| server.command(&["dbsize"]).unwrap());
    assert!(counts.iter().all(|count| *count != "0"), "{counts:?}");

    redis.servers()[2].stop().unwrap();
    let mut client = first.client();
    eventually(|| readiness(&mut client) == (503, readiness_without_redis()));
    // The keys of the others may be refused too: without all slots the whole Redis Cluster stops, as it is configured.
    let mut codes: Vec<_> =
        (0..20).map(|n| post_with_key(&mut client, "keys", &format!("lost-{n}")).status).collect();
    codes.dedup();
    assert!(codes.contains(&503), "{codes:?}");
}

#[test]
fn redis_cluster_over_tls_shares_every_guard() {
    let (Some(postgres), Some(redis)) = (Postgres::shared(), RedisCluster::encrypted()) else { return };
    let database = postgres.database().unwrap();
    redis.servers().iter().for_each(|server| allow_user(server, &CLUSTER_RULES));
    let [one, other, _] = redis.servers();
    let node = |server: &Redis| trusting_server(&database, &user_url(server), server.authority().unwrap());
    let first = node(one);
    define(&mut first.client());
    let second = node(other);
    check_guards([&first, &second], "tls-slots");
    let counts = redis.servers().each_ref().map(|server| server.command(&["dbsize"]).unwrap());
    assert!(counts.iter().all(|count| *count != "0"), "{counts:?}");
}

fn readiness_without_redis() -> Value {
    json!({"database": "ok", "engine": "ok", "initialized": true, "cluster_redis": "error"})
}
