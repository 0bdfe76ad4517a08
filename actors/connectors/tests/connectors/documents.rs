//! `data_query` and `data_write` over MongoDB, against an independent server of its wire protocol.

use bson::doc;
use serde_json::{Value, json};
use svc_testkit::mongo::Mongo;

use crate::kit::{ConnectorWorld, run};
use crate::mongo::{client_collection, connect, fresh};

fn schema() -> Value {
    json!({"unmapped": "identity", "entities": {
        "client": {
            "physical": "c",
            "columns": {"id": {"name": "_id"}, "name": {}, "city": {"name": "town"}},
            "relations": {"orders": {"to": "order", "kind": "has_many", "local": "id", "foreign": "client", "mongo": "embedded"}},
        },
        "order": {"columns": {"total": {}}},
    }})
}

fn input_for(database: &str, document: &str, body: Value) -> Value {
    json!({"connector": "m", "database": database, document: body, "schema": schema(), "output": "data.out"})
}

async fn run_task(world: &ConnectorWorld, function: &str, input: Value, payload: Value) -> Value {
    world.run_task(function, input, payload).await["out"].take()
}

#[test]
fn every_filter_finds_rows_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("found");
        let stored = client_collection(server.url(), &database).await;
        stored
            .insert_many([
                doc! {"_id": 1, "name": "a.b", "town": "Ulm", "orders": [{"total": 5}, {"total": 9}]},
                doc! {"_id": 2, "name": "axb", "town": null, "orders": [{"total": 1}]},
                doc! {"_id": 3, "name": "Z", "orders": []},
            ])
            .await
            .unwrap();
        connect(world, server.url(), json!({})).await;
        let (name, city, orders) =
            (json!({"field": "name"}), json!({"field": "city"}), json!({"field": "orders"}));
        let total = |least: i64| json!({">=": [{"field": "total"}, least]});
        for (filter, expected) in [
            (json!({"and": []}), json!([1, 2, 3])),
            (json!({"or": []}), json!([])),
            (json!({"==": [city, "Ulm"]}), json!([1])),
            (json!({"!=": [city, "Ulm"]}), json!([2, 3])),
            (json!({"==": [city, null]}), json!([2, 3])),
            (json!({"missing": ["city"]}), json!([2, 3])),
            (json!({"in": ["a.b", name]}), json!([1])),
            (json!({"starts_with": [name, "a"]}), json!([1, 2])),
            (json!({"ends_with": [name, "b"]}), json!([1, 2])),
            (json!({"!": {"starts_with": [name, "a"]}}), json!([3])),
            (json!({"!": {"in": [city, ["Ulm"]]}}), json!([])),
            (json!({"!": {"in": ["x", city]}}), json!([1])),
            (json!({"!": {"in": [city, ["Bonn", null]]}}), json!([1])),
            (json!({"in": [{"field": "id"}, [1, 3]]}), json!([1, 3])),
            (json!({"some": [orders, total(9)]}), json!([1])),
            (json!({"none": [orders, total(9)]}), json!([2, 3])),
            (json!({"all": [orders, total(5)]}), json!([1])),
        ] {
            let query =
                json!({"source": "client", "fields": ["id"], "sort": [{"id": "asc"}], "filter": filter});
            let rows = run_task(world, "data_query", input_for(&database, "query", query), Value::Null).await;
            let ids: Value = rows.as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
            assert_eq!(ids, expected, "{filter}");
        }
        let behind = json!({"source": "client", "fields": ["id", "city"], "sort": [{"city": "asc"}, {"id": "desc"}],
            "after": {"var": "payload"}});
        for (last, expected) in [
            (Value::Null, json!([3, 2, 1])),
            (json!({"city": null, "id": 3}), json!([2, 1])),
            (json!({"city": "Ulm", "id": 1}), json!([])),
        ] {
            let rows =
                run_task(world, "data_query", input_for(&database, "query", behind.clone()), last).await;
            let ids: Value = rows.as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
            assert_eq!(ids, expected);
        }
        for (filter, expected) in [(json!({"==": [city, null]}), 2), (json!({"==": [city, "Bonn"]}), 0)] {
            let count = json!({"source": "client", "count": true, "filter": filter});
            let counted =
                run_task(world, "data_query", input_for(&database, "query", count), Value::Null).await;
            assert_eq!(counted, json!({"count": expected}));
        }
        let query = json!({"source": "client", "fields": ["name", "city"], "sort": [{"id": "desc"}], "limit": 2, "skip": 1});
        let rows = run_task(world, "data_query", input_for(&database, "query", query), Value::Null).await;
        assert_eq!(rows, json!([{"name": "axb", "city": null}, {"name": "a.b", "city": "Ulm"}]));
    });
}

#[test]
fn objects_and_arrays_are_stored_natively_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("nested");
        let stored = client_collection(server.url(), &database).await;
        connect(world, server.url(), json!({})).await;
        let body = json!({"op": "insert", "target": "client", "values": [
            {"id": 1, "name": {"first": "A", "more": [1, {"b": null}]}, "city": {"var": "payload"}},
        ]});
        run_task(world, "data_write", input_for(&database, "write", body), json!([1, ["x"]])).await;
        assert_eq!(
            stored.find_one(doc! {"_id": 1}).await.unwrap(),
            Some(doc! {"_id": 1, "name": {"first": "A", "more": [1, {"b": null}]}, "town": [1, ["x"]]})
        );
        let body =
            json!({"op": "insert", "target": "client", "values": [{"id": 2, "name": {"var": "payload"}}]});
        let error =
            world.task_error("data_write", input_for(&database, "write", body), json!({"a": "x\0"})).await;
        assert_eq!(error.code.name(), "VALIDATION_ERROR", "{error:?}");
        assert!(error.message.contains("U+0000"), "{}", error.message);
    });
}

#[test]
fn rows_are_written_by_every_operation_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("written");
        let stored = client_collection(server.url(), &database).await;
        connect(world, server.url(), json!({})).await;
        let write = async |body: Value| {
            run_task(world, "data_write", input_for(&database, "write", body), json!("$ne")).await
        };
        let rows = json!([{"id": 1, "name": "a"}, {"id": 2, "name": {"var": "payload"}}]);
        let inserted = write(json!({"op": "insert", "target": "client", "values": rows})).await;
        assert_eq!(inserted, json!({"status": "ok", "inserted": 2, "ids": [1, 2]}));
        let filter = json!({"==": [{"field": "name"}, {"var": "payload"}]});
        let updated =
            write(json!({"op": "update", "target": "client", "set": {"city": "Ulm"}, "filter": filter}))
                .await;
        assert_eq!(updated, json!({"status": "ok", "matched": 1, "modified": 1}));
        assert_eq!(
            stored.find_one(doc! {"_id": 2}).await.unwrap(),
            Some(doc! {"_id": 2, "name": "$ne", "town": "Ulm"})
        );
        let upsert = |id: i64, more: Value| {
            let mut body = json!({"op": "upsert", "target": "client", "values": {"id": id, "name": "n", "city": "c"},
                "on_conflict": {"target": ["id"]}});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let made = write(upsert(9, json!({}))).await;
        assert_eq!(made, json!({"status": "ok", "matched": 0, "modified": 0, "upserted_id": 9}));
        assert_eq!(write(upsert(9, json!({"set": {"city": "d"}}))).await["modified"], 1);
        assert_eq!(
            stored.find_one(doc! {"_id": 9}).await.unwrap(),
            Some(doc! {"_id": 9, "name": "n", "town": "d"})
        );
        let on_conflict = json!({"on_conflict": {"target": ["id"], "action": "nothing"}});
        assert_eq!(write(upsert(1, on_conflict)).await, json!({"status": "ok", "matched": 1, "modified": 0}));
        let deleted =
            write(json!({"op": "delete", "target": "client", "filter": {">": [{"field": "id"}, 1]}})).await;
        assert_eq!(deleted, json!({"status": "ok", "deleted": 2}));
        let values = json!([{"id": 5}, {"id": 1}]);
        let input =
            input_for(&database, "write", json!({"op": "insert", "target": "client", "values": values}));
        let outcome = world.task("data_write", input, Value::Null).await;
        assert_eq!(
            (outcome.audit_trail[0].status, &outcome.message.data["out"]["status"]),
            (207, &json!("partial"))
        );
    });
}
