//! Servers whose place another one takes: the address leads elsewhere, connections to the former one go on, and it says
//! that it is the wrong one.

use std::net::SocketAddr;

use bson::doc;
use futures_util::future::join_all;
use serde_json::{Value, json};
use svc_testkit::daemon::Daemon;
use svc_testkit::gateway::Gateway;
use svc_testkit::mariadb::MariaDb;
use svc_testkit::mongo::Mongo;
use svc_testkit::postgres::Postgres;
use svc_testkit::redis::Redis;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{ConnectorWorld, connector_to, run};
use crate::mail;
use crate::mongo_failures::fail;
use crate::scripted::Scripted;

/// Calls under way at the same time.
const CALLERS: usize = 4;

/// A task that writes.
struct WriteCall {
    function: &'static str,
    input: Value,
}

impl WriteCall {
    async fn run(&self, world: &ConnectorWorld) -> Result<(), &'static str> {
        let outcome = world.task(self.function, self.input.clone(), Value::Null).await;
        match outcome.failure {
            None => Ok(()),
            Some(failure) => {
                assert!(failure.error.retryable(), "{:?}", failure.error);
                Err(failure.error.code.name())
            }
        }
    }

    async fn run_all(&self, world: &ConnectorWorld) -> Vec<Result<(), &'static str>> {
        join_all((0..CALLERS).map(|_| self.run(world))).await
    }

    /// Writes until a write succeeds, then as many times as callers wait for connections: none reaches the former
    /// server.
    async fn recovers(&self, world: &ConnectorWorld) {
        while self.run(world).await.is_err() {
            tokio::task::yield_now().await;
        }
        assert_eq!(self.run_all(world).await, [Ok(()); CALLERS]);
    }
}

/// Returns the address of a server, between `@` and the path of its URL.
fn address_of(url: &str) -> SocketAddr {
    let (_, rest) = url.rsplit_once('@').unwrap_or(("", url.trim_start_matches("mongodb://")));
    rest.split(['/', '?']).next().unwrap().parse().unwrap()
}

/// Checks that writes fail while the former server is read-only and recover once the gateway leads to the next one.
fn fails_over(former: &Daemon, next: &Daemon, user: (&str, &str), [setup, freeze, clean]: [&str; 3]) {
    let gateway = Gateway::start(address_of(former.url())).unwrap();
    run(async |world| {
        for (name, server) in [("former", former), ("next", next)] {
            world.put(name, "db", true, config(server.url())).await;
            for query in setup.split(';') {
                write(world, name, query).await;
            }
        }
        let url = former.url().replace(&address_of(former.url()).to_string(), &gateway.address().to_string());
        let url = url.replace(user.0, user.1);
        world.put("c", "db", true, config(&url)).await;
        let insert = WriteCall {
            function: "db_write",
            input: json!({"connector": "c", "query": "INSERT INTO svc_failover.t VALUES (1)"}),
        };
        assert_eq!(insert.run_all(world).await, [Ok(()); CALLERS]);
        for statement in freeze.split(';') {
            write(world, "former", statement).await;
        }
        while insert.run(world).await.is_ok() {}
        assert_eq!(insert.run(world).await, Err("IO_ERROR"));
        gateway.lead_to(address_of(next.url()));
        insert.recovers(world).await;
        write(world, "next", clean).await;
    });
}

fn config(url: &str) -> Value {
    json!({"connection_string": url, "allow_private_urls": true, "max_connections": CALLERS})
}

async fn write(world: &ConnectorWorld, connector: &str, query: &str) {
    let outcome = world.task("db_write", json!({"connector": connector, "query": query}), Value::Null).await;
    assert!(outcome.failure.is_none(), "{query}: {:?}", outcome.failure);
}

#[test]
fn read_only_postgres_is_left_for_its_successor() {
    let (Some(former), Some(next)) = (Postgres::own(), Postgres::shared()) else { return };
    let setup = "CREATE SCHEMA IF NOT EXISTS svc_failover;CREATE TABLE IF NOT EXISTS svc_failover.t (id int)";
    let freeze = "ALTER SYSTEM SET default_transaction_read_only = on;SELECT pg_reload_conf()";
    fails_over(&former, &next, ("", ""), [setup, freeze, "DROP SCHEMA svc_failover CASCADE"]);
}

#[test]
fn read_only_mariadb_is_left_for_its_successor() {
    let (Some(former), Some(next)) = (MariaDb::own(), MariaDb::shared()) else { return };
    // An administrator may write all the same.
    let setup = "CREATE DATABASE IF NOT EXISTS svc_failover;CREATE TABLE IF NOT EXISTS svc_failover.t (id int);\
        CREATE USER IF NOT EXISTS writer@'%' IDENTIFIED BY 'svc-password';\
        GRANT SELECT, INSERT ON *.* TO writer@'%'";
    let statements = [setup, "SET GLOBAL read_only = 1", "DROP SCHEMA svc_failover"];
    fails_over(&former, &next, ("svc:", "writer:"), statements);
}

#[test]
fn demoted_mongo_is_left_by_wire_contract() {
    let (Some(former), Some(next)) = (Mongo::own(), Mongo::shared()) else { return };
    let gateway = Gateway::start(address_of(former.url())).unwrap();
    run(async |world| {
        let (place, app) = (gateway.address(), "svc-failover");
        let url = format!("mongodb://{place}/?directConnection=true&retryWrites=false&appName={app}");
        crate::mongo::connect(world, &url, json!({})).await;
        let database = crate::mongo::fresh("failover");
        let input = json!({"connector": "m", "database": database, "collection": "c", "op": "insert_one",
            "document": {"a": 1}});
        let insert = WriteCall { function: "mongo_write", input };
        assert_eq!(insert.run_all(world).await, [Ok(()); CALLERS]);
        fail(
            former.url(),
            app,
            doc! {"times": 10_000},
            doc! {"failCommands": ["insert"], "errorCode": 10107},
        )
        .await;
        assert_eq!(insert.run(world).await, Err("IO_ERROR"));
        gateway.lead_to(address_of(next.url()));
        insert.recovers(world).await;
    });
}

#[test]
fn demoted_redis_is_left_for_its_successor() {
    let (Some(former), Some(next)) = (Redis::own(), Redis::own()) else { return };
    let gateway = Gateway::start(former.address()).unwrap();
    run(async |world| {
        let url = former.url().replace(former.place(), &gateway.address().to_string());
        let config = json!({"backend": "redis", "url": url, "allow_private_urls": true});
        world.put("r", "cache", true, config).await;
        let input = json!({"connector": "r", "key": "k", "value": 1});
        let set = WriteCall { function: "cache_write", input };
        assert_eq!(set.run_all(world).await, [Ok(()); CALLERS]);
        let (host, port) = next.place().rsplit_once(':').unwrap();
        former.command(&["replicaof", host, port]).unwrap();
        assert_eq!(set.run(world).await, Err("IO_ERROR"));
        gateway.lead_to(next.address());
        set.recovers(world).await;
        assert_eq!(next.command(&["get", "k"]).unwrap(), "1");
    });
}

#[test]
fn mail_server_that_closes_is_dialled_anew() {
    let server = Scripted::start(|talk| {
        let mails = std::cell::Cell::new(0);
        talk.go_on(|talk, line| {
            let is_second = line.starts_with("MAIL") && mails.replace(mails.get() + 1) == 1;
            if is_second {
                talk.say("421 4.3.2 another server has taken over\r\n");
            }
            is_second
        });
    });
    run(async |world| {
        world.put("c", "smtp", true, mail::connector_to(server.port, json!({}))).await;
        let send = WriteCall { function: "send_email", input: mail::short(json!({})) };
        assert_eq!(send.run(world).await, Ok(()));
        assert_eq!(send.run(world).await, Err("IO_ERROR"), "the conversation was over");
        assert_eq!(send.run(world).await, Ok(()));
        assert_eq!(server.count("RSET"), 0, "nothing is asked of a server that closes");
        assert_eq!(server.count("EHLO"), 2);
    });
}

#[test]
fn wrong_http_server_is_left_within_the_call() {
    let upstream = Upstream::start(|asked| match asked.connection {
        0 if asked.target.contains("later") => UpstreamReply::new(421, ""),
        _ => UpstreamReply::new(200, "1"),
    })
    .unwrap();
    run(async |world| {
        world.connect(connector_to(&upstream, json!({"retry": {"max_retries": 0}}))).await;
        assert_eq!(world.call(json!({})).await, 1);
        // A connection that was just opened is kept for a moment.
        while world.run(json!({"path": "/later"}), Value::Null).await.failure.is_some() {
            tokio::task::yield_now().await;
        }
        assert_eq!(upstream.requests().last().unwrap().connection, 1);
    });
}
