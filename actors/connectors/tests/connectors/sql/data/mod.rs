//! Portable documents over real SQL databases.

mod agreement;
mod guards;
mod misfits;
mod mismatch;
mod oracle;
mod paging;
mod random;
mod reads;
mod writes;

use serde_json::{Value, json};
use svc_engine::TaskError;

use super::{Base, Kind, write};
use crate::kit::ConnectorWorld;

/// Runs a document over a payload that its `{"var": "payload.…"}` nodes read.
async fn run(
    world: &ConnectorWorld,
    function: &str,
    mut input: Value,
    payload: Value,
) -> Result<Value, TaskError> {
    input["connector"] = "c".into();
    input["output"] = "data.result".into();
    let mut outcome = world.task(function, input, payload).await;
    match outcome.failure {
        Some(failure) => Err(failure.error),
        None => Ok(outcome.message.data["result"].take()),
    }
}

async fn query(world: &ConnectorWorld, query: Value) -> Value {
    run(world, "data_query", json!({"query": query}), Value::Null).await.unwrap()
}

/// A read over the shop.
async fn shop_query(world: &ConnectorWorld, query: Value) -> Value {
    run(world, "data_query", json!({"query": query, "schema": shop()}), Value::Null).await.unwrap()
}

async fn change(world: &ConnectorWorld, write: Value) -> Value {
    run(world, "data_write", json!({"write": write}), Value::Null).await.unwrap()
}

/// Clients with orders and tags, under names of their own.
fn shop() -> Value {
    json!({"entities": {
        "client": {"physical": "clients",
            "columns": {"id": {}, "name": {}, "since": {"name": "created_at"}, "secret": {"queryable": false}},
            "relations": {
                "orders": {"to": "order", "kind": "has_many", "local": "id", "foreign": "client_id"},
                "tags": {"to": "tag", "kind": "many_to_many", "local": "id", "foreign": "id",
                         "through": {"table": "client_tags", "local": "client_id", "foreign": "tag_id"}}}},
        "order": {"physical": "orders", "columns": {"id": {}, "total": {}, "note": {}},
            "relations": {"client": {"to": "client", "kind": "one", "local": "client_id", "foreign": "id"}}},
        "tag": {"physical": "tags", "columns": {"id": {}, "label": {}}}
    }})
}

/// Makes the tables of the shop, and fills them by documents.
async fn open_shop(base: &mut Base, world: &ConnectorWorld) {
    base.connect(world, json!({})).await;
    let when = match base.kind {
        Kind::Postgres => "TIMESTAMPTZ",
        Kind::MariaDb | Kind::Sqlite => "DATETIME",
    };
    for table in [
        format!(
            "CREATE TABLE clients (id INT PRIMARY KEY, name VARCHAR(40), created_at {when}, secret VARCHAR(9))"
        ),
        "CREATE TABLE orders (id INT PRIMARY KEY, client_id INT, total DOUBLE PRECISION, note VARCHAR(40))"
            .into(),
        "CREATE TABLE tags (id INT PRIMARY KEY, label VARCHAR(40))".into(),
        "CREATE TABLE client_tags (client_id INT, tag_id INT)".into(),
    ] {
        write(world, &table, json!([])).await.unwrap();
    }
    for (target, values) in [
        (
            "clients",
            json!([{"id": 1, "name": "Ann", "created_at": "2024-01-02 03:04:05", "secret": "s"},
                   {"id": 2, "name": "bob", "created_at": "2024-03-01 00:00:00", "secret": null},
                   {"id": 3, "name": null, "created_at": null, "secret": null}]),
        ),
        (
            "orders",
            json!([{"id": 10, "client_id": 1, "total": 5, "note": "x"}, {"id": 11, "client_id": 1, "total": 50.5, "note": null},
                   {"id": 12, "client_id": 1, "total": 7, "note": "x"}, {"id": 13, "client_id": 2, "total": 200, "note": "y"}]),
        ),
        ("tags", json!([{"id": 1, "label": "vip"}, {"id": 2, "label": "new"}])),
        (
            "client_tags",
            json!([{"client_id": 1, "tag_id": 1}, {"client_id": 2, "tag_id": 2}, {"client_id": 2, "tag_id": 1}]),
        ),
    ] {
        let rows = values.as_array().unwrap().len();
        let written = change(world, json!({"op": "insert", "target": target, "values": values})).await;
        assert_eq!((&written["status"], &written["rows_affected"]), (&json!("ok"), &json!(rows)));
    }
}
