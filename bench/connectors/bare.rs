//! The bare drivers, used as their documentation shows.

#![expect(clippy::disallowed_methods, reason = "the yardstick has no supervision and checks no address")]

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use redis::AsyncCommands;
use serde_json::{Value, json};
use svc_testkit::postgres::PostgresDatabase;
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

use super::{KEY, Side};

const TOPIC: &str = "orders";
const QUERY: &str = "SELECT id, name FROM people WHERE id = $1";

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

fn io_error(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

/// `http_call` compared with reqwest.
pub(super) fn http(address: SocketAddr) -> Side {
    let order = json!({"order_id": "A-1001", "qty": 3, "price": 50});
    let body = order.clone();
    let bare = move |calls| {
        runtime()?.block_on(async {
            // Without it reqwest makes no client, though nothing here speaks TLS; a second call finds the
            // first.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let client = reqwest::Client::new();
            let url = format!("http://{address}/api/v1/data/orders");
            for _ in 0..calls {
                let request =
                    client.post(&url).header("content-type", "application/json").body(body.to_string());
                let answer = request.send().await.map_err(io_error)?.bytes().await.map_err(io_error)?;
                let _: Value = serde_json::from_slice(&answer)?;
            }
            Ok(())
        })
    };
    Side {
        function: "http_call",
        connector: json!({"type": "http", "url": format!("http://{address}"), "allow_private_urls": true}),
        input: json!({"method": "POST", "path": "/api/v1/data/orders", "body": order, "output": "data.r"}),
        bare: Box::new(bare),
    }
}

/// `db_read` compared with tokio-postgres.
pub(super) fn postgres(database: &PostgresDatabase) -> io::Result<Side> {
    let fill = "CREATE TABLE people (id int8 PRIMARY KEY, name text NOT NULL); \
                INSERT INTO people SELECT n, 'name ' || n FROM generate_series(1, 1000) n";
    database.rows(fill).map_err(io_error)?;
    let url = database.url().to_owned();
    let connector = json!({"type": "db", "connection_string": url, "allow_private_urls": true});
    let bare = move |calls: usize| {
        runtime()?.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.map_err(io_error)?;
            let driven = tokio::task::spawn(connection);
            let statement = client.prepare(QUERY).await.map_err(io_error)?;
            for _ in 0..calls {
                let rows = client.query(&statement, &[&7_i64]).await.map_err(io_error)?;
                let of = |row: &tokio_postgres::Row| {
                    json!({"id": row.get::<_, i64>(0), "name": row.get::<_, String>(1)})
                };
                std::hint::black_box(rows.iter().map(of).collect::<Vec<_>>());
            }
            drop(client);
            driven.await.map_err(io_error)?.map_err(io_error)
        })
    };
    Ok(Side {
        function: "db_read",
        connector,
        input: json!({"query": QUERY, "params": [7], "output": "data.r"}),
        bare: Box::new(bare),
    })
}

/// `cache_read` compared with redis.
pub(super) fn redis(url: &str) -> io::Result<Side> {
    let client = redis::Client::open(url).map_err(io_error)?;
    let bare = move |calls| {
        runtime()?.block_on(async {
            let mut connection = client.get_multiplexed_async_connection().await.map_err(io_error)?;
            let _: () = connection.set(KEY, json!({"a": 1}).to_string()).await.map_err(io_error)?;
            for _ in 0..calls {
                let value: String = connection.get(KEY).await.map_err(io_error)?;
                std::hint::black_box(serde_json::from_str::<Value>(&value)?);
            }
            Ok(())
        })
    };
    // The service is to find what the bare driver finds.
    bare(0)?;
    Ok(Side {
        function: "cache_read",
        connector: json!({"type": "cache", "backend": "redis", "url": url, "allow_private_urls": true}),
        input: json!({"key": KEY, "output": "data.r"}),
        bare: Box::new(bare),
    })
}

/// `publish_kafka` compared with rdkafka.
pub(super) fn kafka(brokers: &str) -> Side {
    let connector =
        json!({"type": "kafka", "brokers": [brokers], "topic": TOPIC, "allow_private_urls": true});
    let brokers = brokers.to_owned();
    let bare = move |calls| {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &brokers).set("enable.idempotence", "true").set("acks", "all");
        config.set("linger.ms", "0").set("compression.type", "lz4");
        runtime()?.block_on(async {
            let producer: FutureProducer = config.create().map_err(io_error)?;
            for _ in 0..calls {
                let record = FutureRecord::<str, str>::to(TOPIC).payload(r#"{"a":1}"#);
                producer.send(record, Duration::from_secs(10)).await.map_err(|(error, _)| io_error(error))?;
            }
            Ok(())
        })
    };
    Side {
        function: "publish_kafka",
        connector,
        input: json!({"topic": TOPIC, "value_logic": {"preserve": {"a": 1}}}),
        bare: Box::new(bare),
    }
}
