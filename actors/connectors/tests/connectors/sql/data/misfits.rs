//! Values of documents that do not fit, and those that keep their kind.

use serde_json::{Value, json};
use svc_engine::ErrorCode;

use super::super::read;
use super::{Base, Kind, change, query, run, write};
use crate::kit::{self, ConnectorWorld};

async fn open(world: &ConnectorWorld) -> Option<Base> {
    let mut base = Base::new(Kind::Postgres)?;
    base.connect(world, json!({})).await;
    let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, ok BOOLEAN, qty INTEGER, small SMALLINT, b JSONB, j JSON, bs JSONB[])";
    write(world, table, json!([])).await.unwrap();
    Some(base)
}

#[test]
fn value_of_wrong_type_is_an_input_error() {
    kit::run(async |world| {
        let Some(_base) = open(world).await else { return };
        let filtered = |column: &str| json!({"==": [{"field": column}, {"var": "payload.x"}]});
        for (column, value) in [
            ("name", json!(5)),
            ("ok", json!(1)),
            ("qty", json!(true)),
            ("qty", json!("many")),
            ("j", json!("x")),
        ] {
            let payload = json!({"x": value});
            for (function, input) in [
                ("data_query", json!({"query": {"source": "t", "filter": filtered(column)}})),
                ("data_write", json!({"write": {"op": "delete", "target": "t", "filter": filtered(column)}})),
            ] {
                let error = run(world, function, input, payload.clone()).await.unwrap_err();
                assert_eq!(error.code, ErrorCode::Validation, "{column} {value}: {error:?}");
                assert!(
                    error.message.starts_with("connector 'c': a value of the document"),
                    "{}",
                    error.message
                );
            }
        }
        for (column, value) in [("qty", json!("many")), ("ok", json!("perhaps")), ("small", json!(40_000))] {
            let values = json!({"id": 1, column: value});
            let input = json!({"write": {"op": "insert", "target": "t", "values": values}});
            let error = run(world, "data_write", input, Value::Null).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::Validation, "{column} {value}: {error:?}");
            let named = format!(
                "a value of the document, {} for the column '{column}'",
                if value.is_string() { "a string" } else { "a number" }
            );
            assert!(error.message.contains(&named), "{}", error.message);
            assert!(!error.message.contains("params"), "{}", error.message);
        }
        let named = json!({"query": {"source": "t", "filter": filtered("name")}});
        let error = run(world, "data_query", named, json!({"x": 5})).await.unwrap_err();
        assert!(error.message.contains("does not fit the column 'name'"), "{}", error.message);
        // Who writes the document, says what is sorted and related.
        let sorted = json!({"query": {"source": "t", "sort": [{"j": "asc"}]}});
        let schema = json!({"entities": {"t": {"columns": {"id": {}, "name": {}},
            "relations": {"own": {"to": "t", "kind": "many", "local": "id", "foreign": "name"}}}}});
        let own = json!({"some": [{"field": "own"}, {"==": [{"field": "id"}, 1]}]});
        let related = json!({"schema": schema, "query": {"source": "t", "filter": own}});
        for input in [sorted, related] {
            let error = run(world, "data_query", input, Value::Null).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::Function, "{error:?}");
        }
        // Who writes the SQL, writes its types.
        let error =
            read(world, "SELECT 1 AS a FROM t WHERE name = $1::bigint", json!([5])).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Function, "{error:?}");
    });
}

#[test]
fn text_is_stored_as_text_in_json_column() {
    kit::run(async |world| {
        let Some(_base) = open(world).await else { return };
        let kinds = json!(["5", "true", "hello", "{\"a\":1}", 5, true, {"a": "5"}, ["5"], "null"]);
        for (id, value) in kinds.as_array().unwrap().iter().enumerate() {
            let values = json!({"id": id, "b": value, "j": value, "bs": [value]});
            change(world, json!({"op": "insert", "target": "t", "values": values})).await;
            let one = json!({"==": [{"field": "id"}, id]});
            let fields = json!(["b", "j", "bs"]);
            let rows = query(world, json!({"source": "t", "fields": fields, "filter": one})).await;
            assert_eq!(rows, json!([{"b": value, "j": value, "bs": [value]}]));
        }
        change(world, json!({"op": "insert", "target": "t", "values": {"id": 90, "b": null}})).await;
        change(
            world,
            json!({"op": "update", "target": "t", "set": {"b": "7"}, "filter": {"==": [{"field": "id"}, 90]}}),
        )
        .await;
        let search = json!({"source": "t", "fields": ["id"], "filter": {"==": [{"field": "b"}, "7"]}});
        assert_eq!(query(world, search).await, json!([{"id": 90}]));
        // What the author of SQL binds is JSON already.
        let rows = read(world, "SELECT $1::jsonb AS b", json!(["{\"a\": 1}"])).await.unwrap();
        assert_eq!(rows, json!([{"b": {"a": 1}}]));
    });
}

#[test]
fn returned_key_is_of_a_row_just_inserted() {
    kit::run(async |world| {
        let mut base = Base::new(Kind::Sqlite).unwrap();
        base.connect(world, json!({"max_connections": 1})).await;
        for table in [
            "CREATE TABLE counted (id INTEGER PRIMARY KEY, k TEXT UNIQUE, v INT)",
            "CREATE TABLE keyed (k TEXT PRIMARY KEY, v INT) WITHOUT ROWID",
            "CREATE TABLE log (id INTEGER PRIMARY KEY, k TEXT)",
            "CREATE TRIGGER logs AFTER UPDATE ON counted BEGIN INSERT INTO log (k) VALUES (new.k); END",
        ] {
            write(world, table, json!([])).await.unwrap();
        }
        let upsert = |values: Value, more: Value| {
            let mut write = json!({"op": "upsert", "target": "Counted", "values": values, "on_conflict": {"target": ["k"]}});
            write.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            write
        };
        let first = change(world, upsert(json!({"k": "a", "v": 1}), json!({}))).await;
        assert_eq!(first["last_insert_id"], 1);
        let other = json!({"op": "insert", "target": "log", "values": {"id": 4242, "k": "z"}});
        assert_eq!(change(world, other).await["last_insert_id"], 4242);
        for more in [
            json!({}),
            json!({"returning": ["id"]}),
            json!({"on_conflict": {"target": ["k"], "action": "nothing"}}),
        ] {
            let updated = change(world, upsert(json!({"k": "a", "v": 2}), more)).await;
            assert!(updated.get("last_insert_id").is_none(), "{updated}");
        }
        let keyed = json!({"op": "insert", "target": "keyed", "values": {"k": "a", "v": 1}});
        assert!(change(world, keyed).await.get("last_insert_id").is_none());
        let both = json!([{"k": "b", "v": 1}, {"k": "a", "v": 3}]);
        assert_eq!(change(world, upsert(both, json!({"returning": ["k"]}))).await["last_insert_id"], 2);
    });
}
