//! Servers whose place another one takes: the address leads elsewhere, connections to the former one go on, and it says
//! that it is the wrong one.

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bson::doc;
use futures_util::future::{join, join_all};
use rdkafka::mocking::MockCluster;
use serde_json::{Value, json};
use svc_testkit::daemon::Daemon;
use svc_testkit::gateway::Gateway;
use svc_testkit::mariadb::MariaDb;
use svc_testkit::mongo::Mongo;
use svc_testkit::postgres::Postgres;
use svc_testkit::redis::Redis;
use svc_testkit::state::eventually;
use svc_testkit::upstream::{Upstream, UpstreamReply};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::kafka;
use crate::kit::{ConnectorWorld, connector_to, run, run_in};
use crate::mail;
use crate::mongo_failures::fail;
use crate::scripted::Scripted;

/// Writes under way at the same time.
const CALLERS: usize = 4;
/// Longest time from the moment at which another server takes over until a write is done.
const RECOVERY: Duration = Duration::from_secs(5);

/// A task that writes.
struct WriteCall {
    function: &'static str,
    input: Value,
    /// Codes of a write that no server takes.
    refusals: &'static [&'static str],
}

impl WriteCall {
    fn new(function: &'static str, input: Value) -> Self {
        Self { function, input, refusals: &["IO_ERROR"] }
    }

    async fn run(&self, world: &ConnectorWorld) -> Result<(), &'static str> {
        let outcome = world.task(self.function, self.input.clone(), Value::Null).await;
        match outcome.failure {
            None => Ok(()),
            Some(failure) => {
                let code = failure.error.code.name();
                assert!(self.refusals.contains(&code), "{:?}", failure.error);
                Err(code)
            }
        }
    }
}

/// The writes of a load.
#[derive(Clone, Copy, Debug, Default)]
struct WriteCounts {
    done: usize,
    refused: usize,
    /// Those that were begun after another server took over, and done.
    recovered: usize,
    /// The same, since the last one that was refused.
    unbroken: usize,
}

/// A constant load: each caller writes again as soon as its last write has ended.
struct WriteLoad {
    counts: watch::Sender<WriteCounts>,
    has_successor: Cell<bool>,
    is_over: Cell<bool>,
}

impl WriteLoad {
    /// Writes while `replace` lets another server take over, and checks that writes are done in time, and then from all
    /// callers.
    async fn survives(world: &ConnectorWorld, write: &WriteCall, replace: impl AsyncFnOnce(&Self)) {
        let counts = watch::Sender::new(WriteCounts::default());
        let load = Self { counts, has_successor: Cell::new(false), is_over: Cell::new(false) };
        let failover = async {
            load.reach(|counts| counts.done >= CALLERS).await;
            replace(&load).await;
            load.has_successor.set(true);
            let is_recovered = timeout(RECOVERY, load.reach(|counts| counts.recovered > 0)).await.is_ok();
            assert!(is_recovered, "no write was done within {RECOVERY:?}: {:?}", *load.counts.borrow());
            // Other connections may still lead to the former server until a write meets them.
            load.reach(|counts| counts.unbroken >= 4 * CALLERS).await;
            load.is_over.set(true);
        };
        join(join_all((0..CALLERS).map(|_| load.keep_writing(world, write))), failover).await;
    }

    async fn keep_writing(&self, world: &ConnectorWorld, write: &WriteCall) {
        while !self.is_over.get() {
            let is_late = self.has_successor.get();
            let outcome = write.run(world).await;
            self.counts.send_modify(|counts| match outcome {
                Ok(()) => {
                    counts.done += 1;
                    counts.recovered += usize::from(is_late);
                    counts.unbroken += usize::from(is_late);
                }
                Err(_) => {
                    counts.refused += 1;
                    counts.unbroken = 0;
                }
            });
            tokio::task::yield_now().await;
        }
    }

    /// Waits for a state of the load.
    async fn reach(&self, is_reached: impl FnMut(&WriteCounts) -> bool) {
        let mut counts = self.counts.subscribe();
        counts.wait_for(is_reached).await.unwrap();
    }

    /// Waits until the former server has refused a write.
    async fn is_refused(&self) {
        self.reach(|counts| counts.refused > 0).await;
    }
}

/// Returns the address of a server, between `@` and the path of its URL.
fn address_of(url: &str) -> SocketAddr {
    let (_, rest) = url.rsplit_once('@').unwrap_or(("", url.trim_start_matches("mongodb://")));
    rest.split(['/', '?']).next().unwrap().parse().unwrap()
}

/// Checks that writes are refused while the former server is read-only, and recover once the gateway leads to the next
/// one.
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
        let input = json!({"connector": "c", "query": "INSERT INTO svc_failover.t VALUES (1)"});
        WriteLoad::survives(world, &WriteCall::new("db_write", input), async |load| {
            for statement in freeze.split(';') {
                write(world, "former", statement).await;
            }
            load.is_refused().await;
            gateway.lead_to(address_of(next.url()));
        })
        .await;
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
fn writes_recover_after_failover_of_postgres() {
    let (Some(former), Some(next)) = (Postgres::own(), Postgres::shared()) else { return };
    let setup = "CREATE SCHEMA IF NOT EXISTS svc_failover;CREATE TABLE IF NOT EXISTS svc_failover.t (id int)";
    let freeze = "ALTER SYSTEM SET default_transaction_read_only = on;SELECT pg_reload_conf()";
    fails_over(&former, &next, ("", ""), [setup, freeze, "DROP SCHEMA svc_failover CASCADE"]);
}

#[test]
fn writes_recover_after_failover_of_mariadb() {
    let (Some(former), Some(next)) = (MariaDb::own(), MariaDb::shared()) else { return };
    // An administrator may write all the same.
    let setup = "CREATE DATABASE IF NOT EXISTS svc_failover;CREATE TABLE IF NOT EXISTS svc_failover.t (id int);\
        CREATE USER IF NOT EXISTS writer@'%' IDENTIFIED BY 'svc-password';\
        GRANT SELECT, INSERT ON *.* TO writer@'%'";
    let statements = [setup, "SET GLOBAL read_only = 1", "DROP SCHEMA svc_failover"];
    fails_over(&former, &next, ("svc:", "writer:"), statements);
}

#[test]
fn writes_recover_after_mongo_failover_by_wire_contract() {
    let (Some(former), Some(next)) = (Mongo::own(), Mongo::shared()) else { return };
    let gateway = Gateway::start(address_of(former.url())).unwrap();
    run(async |world| {
        let (place, app) = (gateway.address(), "svc-failover");
        let url = format!("mongodb://{place}/?directConnection=true&retryWrites=false&appName={app}");
        crate::mongo::connect(world, &url, json!({})).await;
        let database = crate::mongo::fresh("failover");
        let input = json!({"connector": "m", "database": database, "collection": "c", "op": "insert_one",
            "document": {"a": 1}});
        WriteLoad::survives(world, &WriteCall::new("mongo_write", input), async |load| {
            // More than the load has time for.
            let (mode, data) =
                (doc! {"times": 1_000_000}, doc! {"failCommands": ["insert"], "errorCode": 10107});
            fail(former.url(), app, mode, data).await;
            load.is_refused().await;
            gateway.lead_to(address_of(next.url()));
        })
        .await;
    });
}

#[test]
fn writes_recover_after_failover_of_redis() {
    let (Some(former), Some(next)) = (Redis::own(), Redis::own()) else { return };
    let gateway = Gateway::start(former.address()).unwrap();
    run(async |world| {
        let url = former.url().replace(former.place(), &gateway.address().to_string());
        let config = json!({"backend": "redis", "url": url, "allow_private_urls": true});
        world.put("r", "cache", true, config).await;
        let input = json!({"connector": "r", "key": "k", "value": 1});
        WriteLoad::survives(world, &WriteCall::new("cache_write", input), async |load| {
            let (host, port) = next.place().rsplit_once(':').unwrap();
            former.command(&["replicaof", host, port]).unwrap();
            load.is_refused().await;
            gateway.lead_to(next.address());
        })
        .await;
        assert_eq!(next.command(&["get", "k"]).unwrap(), "1");
    });
}

#[test]
fn records_are_published_after_failover_of_kafka() {
    let cluster = MockCluster::new(2).unwrap();
    cluster.create_topic("t", 1, 2).unwrap();
    cluster.partition_leader("t", 0, Some(1)).unwrap();
    run_in(kafka::setup(&cluster), async |world| {
        world.put("k", "kafka", true, json!({"brokers": []})).await;
        let input = json!({"connector": "k", "topic": "t", "value": 1});
        let refusals = &["IO_ERROR", "TIMEOUT_ERROR"];
        let publish = WriteCall { refusals, ..WriteCall::new("publish_kafka", input) };
        // The former leader says that it is none.
        WriteLoad::survives(world, &publish, async |_| cluster.partition_leader("t", 0, Some(2)).unwrap())
            .await;
        // The leader goes away.
        WriteLoad::survives(world, &publish, async |_| {
            cluster.partition_leader("t", 0, Some(1)).unwrap();
            cluster.broker_down(2).unwrap();
        })
        .await;
    });
}

/// Starts a mail server that takes mails until another one has taken over.
fn mail_server(is_former: &Arc<AtomicBool>) -> Scripted {
    let is_former = Arc::clone(is_former);
    Scripted::start(move |talk| {
        talk.go_on(|talk, line| {
            let is_leaving = line.starts_with("MAIL") && is_former.load(Ordering::SeqCst);
            if is_leaving {
                talk.say("421 4.3.2 another server has taken over\r\n");
            }
            is_leaving
        });
    })
}

#[test]
fn mails_are_sent_after_failover_of_smtp() {
    let is_former = Arc::new(AtomicBool::new(false));
    let (former, next) = (mail_server(&is_former), mail_server(&Arc::default()));
    let [from, to] = [former.port, next.port].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let gateway = Gateway::start(from).unwrap();
    run(async |world| {
        let config = mail::connector_to(gateway.address().port(), json!({}));
        world.put("c", "smtp", true, config).await;
        let send = WriteCall::new("send_email", mail::short(json!({})));
        WriteLoad::survives(world, &send, async |load| {
            is_former.store(true, Ordering::SeqCst);
            load.is_refused().await;
            gateway.lead_to(to);
        })
        .await;
        assert!(next.count("MAIL") >= 4 * CALLERS);
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
        let send = WriteCall::new("send_email", mail::short(json!({})));
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
        let is_answered = async || world.run(json!({"path": "/later"}), Value::Null).await.failure.is_none();
        eventually("a call is answered", is_answered).await;
        assert!(upstream.requests().last().unwrap().connection > 0, "another connection");
    });
}

#[test]
fn requests_are_served_after_failover_of_http() {
    let is_former = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_former);
    let former = Upstream::start(move |_| match told.load(Ordering::SeqCst) {
        true => UpstreamReply::new(421, ""),
        false => UpstreamReply::new(200, "1"),
    });
    let (former, next) = (former.unwrap(), Upstream::start(|_| UpstreamReply::new(200, "2")).unwrap());
    let gateway = Gateway::start(former.address()).unwrap();
    run(async |world| {
        let url = format!("http://{}", gateway.address());
        world.connect(connector_to(&former, json!({"url": url, "retry": {"max_retries": 0}}))).await;
        // The answer of a server that nobody has replaced yet is passed on.
        let post =
            WriteCall { refusals: &["HTTP_ERROR"], ..WriteCall::new("http_call", json!({"method": "POST"})) };
        WriteLoad::survives(world, &post, async |load| {
            is_former.store(true, Ordering::SeqCst);
            load.is_refused().await;
            gateway.lead_to(next.address());
        })
        .await;
        assert!(next.requests().len() >= 4 * CALLERS);
    });
}
