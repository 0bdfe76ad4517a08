//! The effects of `data_write`.

use serde_json::{Value, json};
use svc_engine::ErrorCode;

use super::super::write;
use super::{Base, Kind, change, open_shop, query, run, shop};
use crate::kit::{self, ConnectorWorld};

async fn names(world: &ConnectorWorld) -> Vec<Value> {
    let rows =
        query(world, json!({"source": "clients", "fields": ["id", "name"], "sort": [{"id": "asc"}]})).await;
    rows.as_array().unwrap().iter().map(|row| row["name"].clone()).collect()
}

#[test]
fn rows_are_changed_removed_and_told() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let update = json!({"write": {"op": "update", "target": "client", "set": {"name": {"var": "payload.name"}},
                                          "filter": {"==": [{"field": "id"}, {"var": "payload.id"}]}}, "schema": shop()});
            let updated =
                run(world, "data_write", update, json!({"id": 3, "name": "O'x; --"})).await.unwrap();
            assert_eq!(updated, json!({"status": "ok", "rows_affected": 1}));
            let related = json!({"write": {"op": "delete", "target": "client",
                "filter": {"some": [{"field": "orders"}, {">": [{"field": "total"}, 100]}]}}, "schema": shop()});
            let deleted = run(world, "data_write", related, Value::Null).await.unwrap();
            assert_eq!(deleted, json!({"status": "ok", "rows_affected": 1}));
            assert_eq!(names(world).await, [json!("Ann"), json!("O'x; --")]);
            let none = json!({"op": "delete", "target": "clients", "filter": {"in": [{"field": "id"}, []]}});
            assert_eq!(change(world, none).await["rows_affected"], 0);
        }
    });
}

#[test]
fn objects_and_arrays_are_stored_as_json() {
    kit::run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let json_type = if base.kind == Kind::Postgres { "JSONB" } else { "JSON" };
            let table = format!(
                "CREATE TABLE t (id INT PRIMARY KEY, doc {json_type}, list {json_type}, text VARCHAR(80))"
            );
            write(world, &table, json!([])).await.unwrap();
            let (doc, list) = (json!({"a": [1, {"b": null}], "c": "x'\"y"}), json!([1, "two", [3], {}]));
            let insert = json!({"op": "insert", "target": "t", "values": [
                {"id": 1, "doc": doc, "list": {"var": "payload.list"}, "text": {"var": "payload.doc"}},
            ]});
            let input = json!({"write": insert, "schema": {"unmapped": "identity"}});
            let payload = json!({"list": list, "doc": doc});
            run(world, "data_write", input, payload.clone()).await.unwrap();
            let update = json!({"op": "update", "target": "t", "set": {"list": doc, "doc": {"var": "payload.list"}},
                "filter": {"==": [{"field": "id"}, 1]}});
            let rows = query(world, json!({"source": "t"})).await;
            // MariaDB keeps JSON as text.
            let read = |value: &Value| match value {
                Value::String(text) => serde_json::from_str(text).unwrap(),
                other => other.clone(),
            };
            assert_eq!(
                [read(&rows[0]["doc"]), read(&rows[0]["list"])],
                [doc.clone(), list.clone()],
                "{:?}",
                base.kind
            );
            assert!(rows[0]["text"].is_string(), "{:?}: {rows}", base.kind);
            assert_eq!(read(&rows[0]["text"]), doc, "{:?}", base.kind);
            let input = json!({"write": update, "schema": {"unmapped": "identity"}});
            run(world, "data_write", input, payload).await.unwrap();
            let rows = query(world, json!({"source": "t"})).await;
            assert_eq!([read(&rows[0]["doc"]), read(&rows[0]["list"])], [list, doc], "{:?}", base.kind);
        }
    });
}

#[test]
fn an_upsert_adds_or_changes() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let upsert = |values: Value, more: Value| {
                let mut write = json!({"op": "upsert", "target": "clients", "values": values, "on_conflict": {"target": ["id"]}});
                write.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                write
            };
            let rows = json!([{"id": 1, "name": "one"}, {"id": 4, "name": "four"}]);
            assert_eq!(change(world, upsert(rows, json!({}))).await["rows_affected"], 2);
            assert_eq!(names(world).await, [json!("one"), json!("bob"), json!(null), json!("four")]);
            change(world, upsert(json!({"id": 2, "name": "two"}), json!({"set": {"secret": "k"}}))).await;
            let nothing = json!({"on_conflict": {"target": ["id"], "action": "nothing"}});
            change(world, upsert(json!([{"id": 3, "name": "three"}, {"id": 5, "name": "five"}]), nothing))
                .await;
            change(world, upsert(json!({"id": 5}), json!({}))).await;
            assert_eq!(
                names(world).await,
                [json!("one"), json!("bob"), json!(null), json!("four"), json!("five")]
            );
            let two = query(
                world,
                json!({"source": "clients", "fields": ["secret"], "filter": {"==": [{"field": "id"}, 2]}}),
            )
            .await;
            assert_eq!(two, json!([{"secret": "k"}]));
        }
    });
}

#[test]
fn written_rows_return_if_the_database_can() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let insert = json!({"write": {"op": "insert", "target": "client",
                "values": [{"id": 7, "name": "g"}, {"id": 8, "name": "h"}], "returning": ["name", "since"]}, "schema": shop()});
            let answer = run(world, "data_write", insert, Value::Null).await;
            if base.kind == Kind::MariaDb {
                assert_eq!(answer.unwrap_err().code, ErrorCode::Validation);
                assert_eq!(names(world).await.len(), 3);
                continue;
            }
            let answer = answer.unwrap();
            assert_eq!(answer["rows_affected"], 2);
            assert_eq!(
                answer["returning"],
                json!([{"name": "g", "since": null}, {"name": "h", "since": null}])
            );
            let delete = json!({"op": "delete", "target": "clients", "filter": {">": [{"field": "id"}, 6]}, "returning": ["id"]});
            let answer = change(world, delete).await;
            assert_eq!(answer["returning"].as_array().unwrap().len(), 2);
            let update = json!({"op": "update", "target": "clients", "set": {"name": "z"}, "filter": {"==": [{"field": "id"}, 1]}, "returning": ["name"]});
            assert_eq!(change(world, update).await["returning"], json!([{"name": "z"}]));
        }
    });
}

#[test]
fn write_returning_too_many_rows_writes_nothing() {
    kit::run(async |world| {
        for mut base in Base::all().filter(|base| base.kind != Kind::MariaDb) {
            base.connect(world, json!({})).await;
            write(world, "CREATE TABLE n (id INT, done INT)", json!([])).await.unwrap();
            let numbers = "INSERT INTO n WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1001) \
                           SELECT i, 0 FROM c";
            assert_eq!(write(world, numbers, json!([])).await.unwrap(), 1001);
            let update = |most: u32| {
                let filter = json!({"<=": [{"field": "id"}, most]});
                json!({"write": {"op": "update", "target": "n", "set": {"done": most}, "filter": filter,
                    "returning": ["id"]}})
            };
            let answer = run(world, "data_write", update(1000), Value::Null).await.unwrap();
            assert_eq!(answer["returning"].as_array().map(Vec::len), Some(1000));
            let error = run(world, "data_write", update(1001), Value::Null).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::Validation, "{:?}", base.kind);
            assert!(error.message.contains("more than 1000 rows"), "{}", error.message);
            let done = json!({"source": "n", "fields": ["id"], "filter": {"==": [{"field": "done"}, 1001]}});
            assert_eq!(query(world, done).await, json!([]), "{:?}", base.kind);
        }
    });
}

#[test]
fn a_write_is_all_or_nothing() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let twice = json!({"write": {"op": "insert", "target": "clients", "values": [{"id": 20}, {"id": 21}, {"id": 1}]}});
            let error = run(world, "data_write", twice, Value::Null).await.unwrap_err();
            assert_eq!(
                (error.code, error.retryable()),
                (ErrorCode::IntegrityUnique, false),
                "{}",
                error.message
            );
            assert_eq!(names(world).await.len(), 3);
            let many: Vec<_> = (0..1001).map(|id| json!({"id": id + 100})).collect();
            let many = json!({"write": {"op": "insert", "target": "clients", "values": many}});
            let error = run(world, "data_write", many, Value::Null).await.unwrap_err();
            assert_eq!(
                (error.code, error.message.as_str()),
                (ErrorCode::Validation, "write.values: at most 1000 rows")
            );
            let every = json!({"write": {"op": "delete", "target": "clients", "all": true}});
            assert_eq!(
                run(world, "data_write", every, Value::Null).await.unwrap_err().code,
                ErrorCode::Validation
            );
            assert_eq!(names(world).await.len(), 3);
        }
    });
}

#[test]
fn rows_of_a_message_are_columns_the_schema_declares() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let insert = json!({"write": {"op": "insert", "target": "client", "values": {"var": "payload"}}, "schema": shop()});
            let rows = json!([{"id": 30, "name": "m"}, {"name": {"a": [1]}, "id": 31}]);
            run(world, "data_write", insert.clone(), rows).await.unwrap();
            assert_eq!(names(world).await[3..], [json!("m"), json!("{\"a\":[1]}")]);
            let error =
                run(world, "data_write", insert, json!({"id": 32, "created_at": "x"})).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::Validation);
            let generated = match base.kind {
                Kind::Postgres => "SERIAL PRIMARY KEY",
                Kind::MariaDb => "INT AUTO_INCREMENT PRIMARY KEY",
                Kind::Sqlite => "INTEGER PRIMARY KEY",
            };
            super::write(world, &format!("CREATE TABLE counted (id {generated}, v INT)"), json!([]))
                .await
                .unwrap();
            let one = change(world, json!({"op": "insert", "target": "counted", "values": {"v": 1}})).await;
            let count = if base.kind == Kind::Postgres { Value::Null } else { json!(1) };
            assert_eq!(one["last_insert_id"], count);
            let gone = change(
                world,
                json!({"op": "delete", "target": "counted", "filter": {"==": [{"field": "id"}, 1]}}),
            )
            .await;
            assert_eq!(gone, json!({"status": "ok", "rows_affected": 1}));
        }
    });
}
