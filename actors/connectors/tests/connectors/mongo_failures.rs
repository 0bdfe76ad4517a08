//! The functions over MongoDB when a server refuses, hangs or goes away.

use std::net::TcpListener;
use std::sync::Arc;

use bson::{Document, doc};
use futures_util::future::join_all;
use mongodb::Client;
use serde_json::{Value, json};
use svc_testkit::mongo::Mongo;
use svc_testkit::server::free_port;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{ConnectorWorld, Setup, connector_to, run, run_in};
use crate::mongo::{client_collection, connect, fresh, input_for};

/// Lets commands of this application fail as they do on real servers.
pub(crate) async fn fail(url: &str, app: &str, mode: Document, data: Document) {
    let client = Client::with_uri_str(url).await.unwrap();
    let mut data = data;
    data.insert("appName", app);
    let point = doc! {"configureFailPoint": "failCommand", "mode": mode, "data": data};
    client.database("admin").run_command(point).await.unwrap();
}

fn read(database: &str) -> Value {
    input_for(database, json!({"filter": {}}))
}

#[test]
fn credentials_are_proved_and_never_shown_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("credentials");
        let who = |user: &str| server.url().replace("://", &format!("://{user}@"));
        connect(world, &who("svc:pencil"), json!({})).await;
        assert_eq!(world.run_task("mongo_read", read(&database), Value::Null).await["out"], json!([]));
        let probe = world.probe("m").await;
        assert_eq!((probe.reachable, probe.supported, probe.probe), (true, true, "ping"), "{probe:?}");
        for wrong in ["svc:swordfish", "swordfish:pencil"] {
            connect(world, &who(wrong), json!({})).await;
            let error = world.task_error("mongo_read", read(&database), Value::Null).await;
            assert_eq!(
                (error.code.name(), error.retryable()),
                ("FUNCTION_ERROR", false),
                "{}",
                error.message
            );
            let probe = world.probe("m").await;
            assert!(!probe.reachable && probe.error.is_some(), "{probe:?}");
            for shown in [format!("{error:?}"), format!("{probe:?}")] {
                assert!(!shown.contains("swordfish") && !shown.contains("pencil"), "{shown}");
            }
        }
    });
}

#[test]
fn tls_trusts_whom_the_service_trusts_by_wire_contract() {
    let Some(server) = Mongo::encrypted() else { return };
    run_in(Setup { authority: server.authority().to_owned(), ..Setup::default() }, async |world| {
        connect(world, server.url(), json!({})).await;
        assert_eq!(world.run_task("mongo_read", read("d"), Value::Null).await["out"], json!([]));
    });
    run(async |world| {
        connect(world, server.url(), json!({"connect_timeout_ms": 1000})).await;
        let error = world.task_error("mongo_read", read("d"), Value::Null).await;
        assert_eq!(
            error.code.name(),
            "IO_ERROR",
            "a stranger's certificate is not believed: {}",
            error.message
        );
    });
}

#[test]
fn invalid_connection_string_fails_load_and_stays_hidden() {
    run(async |world| {
        for text in ["mongodb://svc:xyz/zy@h", "mongodb://", "mongodb://h:xyzzy", "mongodb://svc:xyzzy@h:0"] {
            connect(world, text, json!({})).await;
            let shown = format!("{:?}", world.connectors.status("m").unwrap().state);
            assert!(shown.contains("connector.config.connection_string"), "{shown}");
            assert!(!shown.contains("xyz") && !shown.contains("zy"), "{shown}");
        }
    });
}

#[test]
fn absent_server_is_a_transient_error() {
    run(async |world| {
        let gone = free_port().unwrap();
        connect(world, &format!("mongodb://127.0.0.1:{gone}"), json!({"connect_timeout_ms": 300})).await;
        let error = world.task_error("mongo_read", read("d"), Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("IO_ERROR", true), "{}", error.message);
        assert!(!error.message.contains(&gone.to_string()), "{}", error.message);
        let probe = world.probe("m").await;
        assert!(!probe.reachable && probe.supported, "{probe:?}");
        connect(world, "mongodb://name.invalid", json!({"allow_private_urls": false})).await;
        let error = world.task_error("mongo_read", read("d"), Value::Null).await;
        assert_eq!(error.code.name(), "IO_ERROR", "{}", error.message);
    });
}

#[test]
fn a_private_server_is_not_dialled_without_leave() {
    run(async |world| {
        let trap = TcpListener::bind("127.0.0.1:0").unwrap();
        trap.set_nonblocking(true).unwrap();
        let port = trap.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.1", "8.8.8.8:1,127.0.0.1"] {
            connect(world, &format!("mongodb://{host}:{port}"), json!({"allow_private_urls": false})).await;
            let error = world.task_error("mongo_read", read("d"), Value::Null).await;
            assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false), "{host}");
            assert!(error.message.starts_with("SSRF protection: "), "{host}: {}", error.message);
        }
        connect(world, "mongodb://%2Ftmp%2Fmongodb.sock", json!({"allow_private_urls": false})).await;
        let error = world.task_error("mongo_read", read("d"), Value::Null).await;
        assert!(error.message.starts_with("SSRF protection: "), "{}", error.message);
        assert!(trap.accept().is_err());
    });
}

#[test]
fn a_connector_of_another_kind_is_refused() {
    run(async |world| {
        let upstream = Upstream::start(|_| UpstreamReply::new(200, "1")).unwrap();
        world.put("m", "http", true, connector_to(&upstream, json!({}))).await;
        let error = world.task_error("mongo_read", read("d"), Value::Null).await;
        assert_eq!(error.code.name(), "connector_detail", "{}", error.message);
        connect(world, "mongodb://127.0.0.1:1", json!({})).await;
        assert_eq!(world.fail(json!({"connector": "m"})).await.code.name(), "connector_detail");
        assert!(upstream.requests().is_empty());
    });
}

#[test]
fn hanging_server_costs_its_timeout_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("hanging");
        let url = format!("{}/?appName={database}", server.url());
        connect(world, &url, json!({"query_timeout_ms": 3000})).await;
        assert_eq!(world.run_task("mongo_read", read(&database), Value::Null).await["out"], json!([]));
        let data = doc! {"failCommands": ["find", "insert"], "blockConnection": true, "blockTimeMS": 6000};
        fail(server.url(), &database, doc! {"times": 2}, data).await;
        let insert = input_for(&database, json!({"op": "insert_one", "document": {}}));
        for (function, input) in [("mongo_read", read(&database)), ("mongo_write", insert)] {
            let error = world.task_error(function, input, Value::Null).await;
            assert_eq!((error.code.name(), error.retryable()), ("TIMEOUT_ERROR", true), "{}", error.message);
        }
        world.run_task("mongo_read", read(&database), Value::Null).await;
    });
}

#[test]
fn server_error_code_decides_retry_by_wire_contract() {
    let Some(server) = Mongo::own() else { return };
    run(async |world| {
        let database = fresh("answers");
        connect(world, &format!("{}/?appName=answers&retryReads=false", server.url()), json!({})).await;
        for (answer, code) in [
            (doc! {"errorCode": 13, "codeName": "Unauthorized"}, "FUNCTION_ERROR"),
            (doc! {"errorCode": 50, "codeName": "MaxTimeMSExpired"}, "TIMEOUT_ERROR"),
            (doc! {"errorCode": 10_107, "codeName": "NotWritablePrimary"}, "IO_ERROR"),
            (doc! {"errorCode": 2, "codeName": "BadValue"}, "FUNCTION_ERROR"),
            (doc! {"closeConnection": true}, "IO_ERROR"),
        ] {
            let mut data = doc! {"failCommands": ["find"]};
            data.extend(answer.clone());
            fail(server.url(), "answers", doc! {"times": 1}, data).await;
            let error = world.task_error("mongo_read", read(&database), Value::Null).await;
            assert_eq!(error.code.name(), code, "{answer}: {}", error.message);
            world.run_task("mongo_read", read(&database), Value::Null).await;
        }
    });
}

#[test]
fn calls_recover_after_server_kill_by_wire_contract() {
    let Some(server) = Mongo::own() else { return };
    let server = Arc::new(server);
    run(async |world| {
        let database = fresh("killed");
        connect(world, server.url(), json!({"connect_timeout_ms": 1000, "query_timeout_ms": 2000})).await;
        client_collection(server.url(), &database).await.insert_one(doc! {"_id": 1}).await.unwrap();
        let blocking = async |act: fn(&Mongo) -> Result<(), String>| {
            let server = Arc::clone(&server);
            tokio::task::spawn_blocking(move || act(&server)).await.unwrap().unwrap();
        };
        let calls = join_all((0..20).map(|_| calls(world, &database, 30)));
        let (counts, ()) = futures_util::future::join(calls, async {
            blocking(Mongo::stop).await;
            blocking(Mongo::restart).await;
        })
        .await;
        let (fine, failed) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        assert_eq!(fine + failed, 600, "every call has one outcome");
        // Whatever was in flight has ended; the next call finds the server.
        let mut healed = false;
        for _ in 0..20 {
            healed = world.task("mongo_read", read(&database), Value::Null).await.failure.is_none();
            if healed {
                break;
            }
        }
        assert!(healed, "{fine} calls were fine, {failed} failed");
    });
}

/// Counts the calls that succeeded, and those that failed as they may.
async fn calls(world: &ConnectorWorld, database: &str, times: usize) -> (usize, usize) {
    let (mut fine, mut failed) = (0, 0);
    for _ in 0..times {
        match world.task("mongo_read", read(database), Value::Null).await.failure {
            None => fine += 1,
            Some(failure) => {
                let error = failure.error;
                assert!(matches!(error.code.name(), "IO_ERROR" | "TIMEOUT_ERROR"), "{error:?}");
                failed += 1;
            }
        }
    }
    (fine, failed)
}
