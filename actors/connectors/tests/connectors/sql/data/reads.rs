//! The results of `data_query`.

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
fn rows_come_along_by_keys_of_every_type() {
    kit::run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let hex = |bytes: &str| match base.kind {
                Kind::Postgres => format!("'\\x{bytes}'"),
                Kind::MariaDb | Kind::Sqlite => format!("x'{bytes}'"),
            };
            // The type of both keys, two keys that are easily taken for one another, and one that no row has.
            let (decimal, binary) = match base.kind {
                Kind::Postgres => ("NUMERIC(30,0)", "BYTEA"),
                Kind::MariaDb => ("DECIMAL(30)", "BINARY(16)"),
                Kind::Sqlite => ("BIGINT", "BLOB"),
            };
            let mut types = vec![
                (decimal, ["123456789012345901".into(), "123456789012345902".into()]),
                ("BIGINT", ["9007199254740992".into(), "9007199254740993".into()]),
                (binary, [hex("ff00ff00ff00ff00ff00ff00ff00ff00"), hex("ff00ff00ff00ff00ff00ff00ff00ff01")]),
                ("VARCHAR(40)", ["'ff'".into(), "'FF'".into()]),
            ];
            if base.kind == Kind::Postgres {
                types.extend([
                    ("CHAR(5)", ["'a'".to_owned(), "'b'".to_owned()]),
                    (
                        "UUID",
                        [
                            "'00000000-0000-0000-0000-000000000001'".into(),
                            "'00000000-0000-0000-0000-000000000002'".into(),
                        ],
                    ),
                    (
                        "TIMESTAMPTZ",
                        ["'2024-01-01 00:00:00.000001Z'".into(), "'2024-01-01 00:00:00.000002Z'".into()],
                    ),
                ]);
            }
            for (n, (kind, [one, other])) in types.into_iter().enumerate() {
                let collate = if base.kind == Kind::MariaDb && kind.starts_with("VARCHAR") {
                    "COLLATE utf8mb4_bin"
                } else {
                    ""
                };
                for statement in [
                    format!("CREATE TABLE parents{n} (id INT PRIMARY KEY, k {kind} {collate})"),
                    format!("CREATE TABLE children{n} (id INT PRIMARY KEY, k {kind} {collate})"),
                    format!("INSERT INTO parents{n} VALUES (1, {one}), (2, {other}), (3, NULL), (4, {one})"),
                    format!(
                        "INSERT INTO children{n} VALUES (11, {one}), (12, {other}), (13, NULL), (14, {other})"
                    ),
                ] {
                    write(world, &statement, json!([])).await.unwrap();
                }
                let (parents, children) = (format!("parents{n}"), format!("children{n}"));
                let schema = json!({"unmapped": "identity", "entities": {
                    "p": {"physical": parents, "columns": {}, "relations": {"of": {"to": children, "local": "k", "foreign": "k"}}}}});
                let document = json!({"source": "p", "fields": ["id"], "sort": [{"id": "asc"}],
                    "include": {"of": {"fields": ["id"], "sort": [{"id": "asc"}]}}});
                let input = json!({"query": document, "schema": schema});
                let of = |ids: &[i64]| ids.iter().map(|id| json!({"id": id})).collect::<Vec<_>>();
                assert_eq!(
                    run(world, "data_query", input, Value::Null).await.unwrap(),
                    json!([{"id": 1, "of": of(&[11])}, {"id": 2, "of": of(&[12, 14])}, {"id": 3, "of": []},
                        {"id": 4, "of": of(&[11])}]),
                    "{kind} of {:?}",
                    base.kind
                );
            }
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
            let matches = async |filter: Value| {
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
                assert_eq!(matches(json!({"==": [field, word]})).await, [word]);
                assert_eq!(matches(json!({"in": [field, [word]]})).await, [word]);
                assert_eq!(matches(json!({"!=": [field, word]})).await.len(), words.len() - 1);
                let held: Vec<_> = words.iter().filter(|one| one.contains(word)).collect();
                assert_eq!(
                    matches(json!({"in": [word, field]})).await,
                    held.into_iter().copied().collect::<Vec<_>>()
                );
            }
            assert_eq!(matches(json!({"starts_with": [field, "A"]})).await, ["AB", "Ab"]);
            assert_eq!(matches(json!({"ends_with": [field, "B"]})).await, ["AB"]);
            assert_eq!(
                matches(json!({"!": {"starts_with": [field, "a"]}})).await,
                ["AB", "Ab", "äb", "ß", "0", "10x"]
            );
            // A number is no text: where a database compares them at all, it compares their digits.
            if base.kind != Kind::Postgres {
                assert_eq!(matches(json!({"==": [field, 0]})).await, ["0"]);
                assert_eq!(matches(json!({"==": [field, false]})).await, ["0"]);
                assert_eq!(matches(json!({"in": [field, [10]]})).await, [""; 0]);
            }
        }
    });
}

#[test]
fn unknown_source_or_field_is_named() {
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
