//! What `data_query` answers.

use serde_json::{Value, json};
use svc_engine::ErrorCode;

use super::{Base, Kind, open_shop, query, run, shop, shop_query, write};
use crate::kit;

#[test]
fn rows_carry_logical_names_in_the_order_asked_for() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let named =
                json!({"source": "client", "fields": ["name", "id"], "sort": [{"name": "desc"}], "limit": 2});
            assert_eq!(
                shop_query(world, named).await,
                json!([{"name": "bob", "id": 2}, {"name": "Ann", "id": 1}]),
                "nulls are the smallest"
            );
            let first = json!({"source": "client", "fields": ["id"], "sort": [{"since": "asc"}], "limit": 2, "skip": 1});
            assert_eq!(shop_query(world, first).await, json!([{"id": 1}, {"id": 2}]));
            let all =
                shop_query(world, json!({"source": "client", "sort": [{"id": "asc"}], "limit": 1})).await;
            let names: Vec<_> = all[0].as_object().unwrap().keys().cloned().collect();
            assert_eq!(names, ["id", "name", "since"], "only what may be read");
            let plain = query(world, json!({"source": "tags", "sort": [{"id": "asc"}]})).await;
            assert_eq!(
                plain,
                json!([{"id": 1, "label": "vip"}, {"id": 2, "label": "new"}]),
                "without a schema"
            );
        }
    });
}

#[test]
fn values_come_from_the_message_and_from_params() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let filter = json!({"and": [
                {">=": [{"field": "since"}, {"param": "since"}]},
                {"in": [{"field": "id"}, {"var": "payload.ids"}]},
                {"!=": [{"field": "name"}, {"var": ["payload.none", "nobody"]}]}
            ]});
            let input = json!({
                "query": {"source": "client", "fields": ["id"], "filter": filter, "limit": {"var": "payload.limit"}},
                "schema": shop(), "params": {"since": {"var": "payload.since"}}
            });
            let payload = json!({"since": "2024-01-31 00:00:00", "ids": [1, 2, 3], "limit": 5});
            assert_eq!(run(world, "data_query", input.clone(), payload).await.unwrap(), json!([{"id": 2}]));
            for wrong in [
                json!({"since": "2024-01-31 00:00:00", "ids": "1", "limit": 5}),
                json!({"since": "2024-01-31 00:00:00", "ids": [[1]], "limit": 5}),
                json!({"since": {"field": "since"}, "ids": [1], "limit": 5}),
                json!({"since": "2024-01-31 00:00:00", "ids": [1], "limit": 1001}),
                json!({"since": "2024-01-31 00:00:00", "ids": [1], "limit": "5"}),
            ] {
                let error = run(world, "data_query", input.clone(), wrong.clone()).await.unwrap_err();
                assert_eq!(error.code, ErrorCode::Validation, "{wrong}: {}", error.message);
            }
        }
    });
}

#[test]
fn relations_choose_rows_and_come_along() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let chosen = async |filter: Value| {
                let query =
                    json!({"source": "client", "fields": ["id"], "sort": [{"id": "asc"}], "filter": filter});
                let rows = shop_query(world, query).await;
                rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect::<Vec<_>>()
            };
            let over = |quantifier: &str, least: f64| json!({ quantifier: [{"field": "orders"}, {">": [{"field": "total"}, least]}] });
            assert_eq!(chosen(over("some", 50.0)).await, [1, 2]);
            assert_eq!(chosen(over("none", 50.0)).await, [3]);
            assert_eq!(chosen(over("all", 50.0)).await, [2], "where there is none, not all of them do");
            assert_eq!(chosen(json!({"!": over("all", 50.0)})).await, [1, 3]);
            let noted = json!({"all": [{"field": "orders"}, {"==": [{"field": "note"}, "x"]}]});
            assert_eq!(chosen(noted).await, [0; 0], "null is not x");
            let tagged = json!({"some": [{"field": "tags"}, {"==": [{"field": "label"}, "vip"]}]});
            assert_eq!(chosen(tagged.clone()).await, [1, 2]);
            let all = json!({"all": [{"field": "tags"}, {"==": [{"field": "label"}, "vip"]}]});
            assert_eq!(chosen(all).await, [1]);
            let nested = json!({"some": [{"field": "orders"}, {"some": [{"field": "client"}, tagged]}]});
            assert_eq!(chosen(nested).await, [1, 2]);

            let include = json!({"source": "client", "fields": ["name"], "sort": [{"id": "asc"}], "include": {
                "orders": {"fields": ["total"], "sort": [{"total": "desc"}], "limit": 2}}});
            assert_eq!(
                shop_query(world, include).await,
                json!([
                    {"name": "Ann", "orders": [{"total": 50.5}, {"total": 7.0}]},
                    {"name": "bob", "orders": [{"total": 200.0}]},
                    {"name": null, "orders": []}
                ])
            );
            let back = json!({"source": "order", "fields": ["id"], "sort": [{"id": "asc"}], "limit": 3,
                              "include": {"client": {"fields": ["name"], "sort": [{"id": "asc"}]}}});
            let rows = shop_query(world, back).await;
            assert!(
                rows.as_array().unwrap().iter().all(|row| row["client"] == json!([{"name": "Ann"}])),
                "{rows}"
            );
        }
    });
}

#[test]
fn texts_are_compared_with_case_whatever_the_column_says() {
    kit::run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let kind = match base.kind {
                Kind::Postgres => "TEXT",
                Kind::MariaDb => "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                Kind::Sqlite => "TEXT COLLATE NOCASE",
            };
            let table = format!("CREATE TABLE words (id INT PRIMARY KEY, w {kind}, n INT)");
            write(world, &table, json!([])).await.unwrap();
            let words = [
                "ab", "AB", "Ab", "ab ", "äb", "a%b", "a_b", "a\\b", "a'b", "a\"b", "a*b", "a[b", "a!b", "ß",
                "0", "10x",
            ];
            let rows: Vec<_> =
                words.iter().enumerate().map(|(id, word)| json!({"id": id, "w": word, "n": 0})).collect();
            super::change(world, json!({"op": "insert", "target": "words", "values": rows})).await;
            let found = async |filter: Value| {
                let rows = query(
                    world,
                    json!({"source": "words", "fields": ["w"], "sort": [{"id": "asc"}], "filter": filter}),
                )
                .await;
                rows.as_array()
                    .unwrap()
                    .iter()
                    .map(|row| row["w"].as_str().unwrap().to_owned())
                    .collect::<Vec<_>>()
            };
            let field = json!({"field": "w"});
            for word in words {
                assert_eq!(found(json!({"==": [field, word]})).await, [word]);
                assert_eq!(found(json!({"in": [field, [word]]})).await, [word]);
                assert_eq!(found(json!({"!=": [field, word]})).await.len(), words.len() - 1);
                let held: Vec<_> = words.iter().filter(|one| one.contains(word)).collect();
                assert_eq!(
                    found(json!({"in": [word, field]})).await,
                    held.into_iter().copied().collect::<Vec<_>>()
                );
            }
            assert_eq!(found(json!({"starts_with": [field, "A"]})).await, ["AB", "Ab"]);
            assert_eq!(found(json!({"ends_with": [field, "B"]})).await, ["AB"]);
            assert_eq!(
                found(json!({"!": {"starts_with": [field, "a"]}})).await,
                ["AB", "Ab", "äb", "ß", "0", "10x"]
            );
            // A number is no text: where a database compares them at all, it compares their digits.
            if base.kind != Kind::Postgres {
                assert_eq!(found(json!({"==": [field, 0]})).await, ["0"]);
                assert_eq!(found(json!({"==": [field, false]})).await, ["0"]);
                assert_eq!(found(json!({"in": [field, [10]]})).await, [""; 0]);
            }
        }
    });
}

#[test]
fn what_was_not_understood_is_said() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            let fail = async |query: Value| {
                run(world, "data_query", json!({"query": query}), Value::Null).await.unwrap_err()
            };
            for missing in [
                json!({"source": "nobody"}),
                json!({"source": "clients", "filter": {"==": [{"field": "nothing"}, "nothing"]}}),
                json!({"source": "clients", "fields": ["nothing"]}),
                json!({"source": "clients", "sort": [{"nothing": "asc"}]}),
            ] {
                let error = fail(missing.clone()).await;
                assert_eq!(error.code, ErrorCode::Function, "{:?} {missing}: {}", base.kind, error.message);
                assert!(error.message.starts_with("connector 'c': "), "{}", error.message);
            }
            let date = json!({"source": "clients", "filter": {"==": [{"field": "id"}, {"$oid": "5f"}]}});
            assert_eq!(fail(date).await.code, ErrorCode::Validation);
        }
    });
}
