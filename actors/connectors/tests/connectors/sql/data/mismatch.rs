//! Values and keys of one type that meet columns of another.

use serde_json::{Value, json};

use super::{Base, Kind, change, query, run, write};
use crate::kit::{self, ConnectorWorld};

/// The ids of the rows that a filter finds, or nothing if the database refuses it.
async fn matching_rows(world: &ConnectorWorld, source: &str, filter: &Value) -> Option<Vec<i64>> {
    let read = json!({"source": source, "fields": ["id"], "sort": [{"id": "asc"}], "filter": filter});
    let rows = run(world, "data_query", json!({"query": read}), Value::Null).await.ok()?;
    Some(rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect())
}

#[test]
fn a_text_that_is_no_number_meets_no_number() {
    kit::run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let bits = if base.kind == Kind::MariaDb { "BIT(1)" } else { "BOOLEAN" };
            let table = format!(
                "CREATE TABLE t (id INT PRIMARY KEY, n BIGINT, x DOUBLE PRECISION, d DECIMAL(20,10), b BOOLEAN, f {bits})"
            );
            write(world, &table, json!([])).await.unwrap();
            write(world, "CREATE INDEX tn ON t (n)", json!([])).await.unwrap();
            let rows = json!([
                {"id": 0, "n": 0, "x": 0, "d": 0, "b": false, "f": false},
                {"id": 1, "n": 1, "x": 1, "d": 1, "b": true, "f": true},
                {"id": 2, "n": null, "x": null, "d": null, "b": null, "f": null}
            ]);
            change(world, json!({"op": "insert", "target": "t", "values": rows})).await;
            for column in ["n", "x", "d", "b", "f"] {
                let field = json!({"field": column});
                for text in ["zz", "abc", "", "1abc", "x", "0x", "1 2", "2024-02-29", "2024-02-29T01:02:03Z"]
                {
                    for filter in [
                        json!({"==": [field, text]}),
                        json!({"in": [field, [text]]}),
                        json!({"in": [field, [text, "other"]]}),
                        json!({"!": {"!=": [field, text]}}),
                    ] {
                        let rows = matching_rows(world, "t", &filter).await;
                        let expected = (base.kind != Kind::Postgres).then(Vec::new);
                        assert_eq!(rows, expected, "{:?} {filter}", base.kind);
                        let delete = json!({"write": {"op": "delete", "target": "t", "filter": filter}});
                        match run(world, "data_write", delete, Value::Null).await {
                            Ok(gone) => assert_eq!(gone["rows_affected"], 0, "{:?} {filter}", base.kind),
                            // A strict MariaDB changes nothing by what it cannot read as a number.
                            Err(error) => {
                                assert_ne!(base.kind, Kind::Sqlite, "{filter}");
                                assert_eq!(error.code.name(), "VALIDATION_ERROR", "{:?} {filter}", base.kind);
                            }
                        }
                    }
                    if base.kind != Kind::MariaDb {
                        continue;
                    }
                    for sign in ["<", "<=", ">", ">="] {
                        let filter = json!({ sign: [field, text] });
                        assert_eq!(matching_rows(world, "t", &filter).await.unwrap(), [0; 0], "{filter}");
                    }
                    for filter in [json!({"!=": [field, text]}), json!({"!": {"in": [field, [text]]}})] {
                        assert_eq!(matching_rows(world, "t", &filter).await.unwrap(), [0, 1], "{filter}");
                    }
                }
                // A text that holds a number is that number, where the database takes it for one.
                if base.kind != Kind::Postgres {
                    for filter in [
                        json!({"==": [field, "1"]}),
                        json!({"in": [field, ["1", "abc"]]}),
                        json!({"==": [field, 1]}),
                        json!({">": [field, 0]}),
                        json!({"!=": [field, "0"]}),
                    ] {
                        assert_eq!(
                            matching_rows(world, "t", &filter).await.unwrap(),
                            [1],
                            "{:?} {filter}",
                            base.kind
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn numbers_are_compared_with_every_digit() {
    kit::run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let decimal = if base.kind == Kind::Sqlite { "BIGINT" } else { "DECIMAL(30,0)" };
            for (index, name) in [(false, "t"), (true, "u")] {
                let table = format!(
                    "CREATE TABLE {name} (id INT PRIMARY KEY, n BIGINT, d {decimal}, x DOUBLE PRECISION)"
                );
                write(world, &table, json!([])).await.unwrap();
                if index {
                    for column in ["n", "d", "x"] {
                        let index = format!("CREATE INDEX {name}{column} ON {name} ({column})");
                        write(world, &index, json!([])).await.unwrap();
                    }
                }
                let first = 9_007_199_254_740_991_i64;
                let rows: Vec<_> = (0..4)
                    .map(|id| json!({"id": id, "n": first + id, "d": first + id, "x": f64::from(id as i32) / 10.0}))
                    .collect();
                change(world, json!({"op": "insert", "target": name, "values": rows})).await;
                for column in ["n", "d"] {
                    let field = json!({"field": column});
                    let middle = 9_007_199_254_740_992_i64;
                    let mut values = vec![json!(middle)];
                    if base.kind != Kind::Postgres {
                        values.push(json!(middle.to_string()));
                    }
                    for value in values {
                        for (filter, expected) in [
                            (json!({"==": [field, value]}), vec![1]),
                            (json!({"in": [field, [value]]}), vec![1]),
                            (json!({"in": [field, [value, 7, 8]]}), vec![1]),
                            (json!({"!=": [field, value]}), vec![0, 2, 3]),
                            (json!({"<": [field, value]}), vec![0]),
                            (json!({"<=": [field, value]}), vec![0, 1]),
                            (json!({">": [field, value]}), vec![2, 3]),
                            (json!({">=": [field, value]}), vec![1, 2, 3]),
                        ] {
                            assert_eq!(
                                matching_rows(world, name, &filter).await.unwrap(),
                                expected,
                                "{:?} {filter}",
                                base.kind
                            );
                        }
                    }
                }
                for (filter, expected) in [
                    (json!({"==": [{"field": "x"}, 0.1]}), vec![1]),
                    (json!({"in": [{"field": "x"}, [0.1, 1e300, 2e-1]]}), vec![1, 2]),
                    (json!({"<": [{"field": "x"}, 1e300]}), vec![0, 1, 2, 3]),
                    (json!({"<": [{"field": "x"}, 1e-7]}), vec![0]),
                ] {
                    assert_eq!(
                        matching_rows(world, name, &filter).await.unwrap(),
                        expected,
                        "{:?} {filter}",
                        base.kind
                    );
                }
            }
        }
    });
}

#[test]
fn other_types_of_mysql_meet_texts_as_before() {
    kit::run(async |world| {
        let Some(mut base) = Base::new(Kind::MariaDb) else { return };
        base.connect(world, json!({})).await;
        let table = "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(40), l VARCHAR(40) CHARACTER SET latin1, d DATE, \
                     h TIME(3), e ENUM('abc', 'x'), y YEAR, v VARBINARY(20), u UUID, a INET6, q INET4)";
        write(world, table, json!([])).await.unwrap();
        let uuid = "0188a3b2-6c5d-7e8f-9a0b-1c2d3e4f5a6b";
        let row = json!({"id": 1, "s": "abc", "l": "é", "d": "2024-02-29", "h": "01:02:03.500", "e": "abc", "y": 2024,
                         "v": "abc", "u": uuid, "a": "::1", "q": "1.2.3.4"});
        change(world, json!({"op": "insert", "target": "t", "values": row})).await;
        for (column, value, other) in [
            ("s", "abc", "ABC"),
            ("l", "é", "É"),
            ("d", "2024-02-29", "2024-03-01"),
            ("h", "01:02:03.5", "01:02:04"),
            ("e", "abc", "x"),
            ("y", "2024", "2023"),
            ("v", "abc", "abd"),
            ("u", uuid, "0188a3b2-6c5d-7e8f-9a0b-1c2d3e4f5a6c"),
            ("a", "::1", "::2"),
            ("q", "1.2.3.4", "1.2.3.5"),
        ] {
            let field = json!({"field": column});
            for (filter, holds) in [
                (json!({"==": [field, value]}), true),
                (json!({"==": [field, other]}), false),
                (json!({"in": [field, [other, value]]}), true),
                (json!({"!=": [field, value]}), false),
                (json!({"!=": [field, other]}), true),
                (json!({"<=": [field, value]}), true),
                (json!({"<": [field, value]}), false),
            ] {
                let rows = matching_rows(world, "t", &filter).await.unwrap();
                assert_eq!(rows.len(), usize::from(holds), "{filter}");
            }
        }
    });
}

#[test]
fn an_instant_is_the_same_whatever_its_offset() {
    kit::run(async |world| {
        for mut base in Base::all().filter(|base| base.kind != Kind::Sqlite) {
            base.connect(world, json!({})).await;
            let types = match base.kind {
                Kind::Postgres => ["TIMESTAMPTZ", "TIMESTAMPTZ"],
                Kind::MariaDb | Kind::Sqlite => ["DATETIME(6)", "TIMESTAMP NULL"],
            };
            let table = format!(
                "CREATE TABLE t (id INT PRIMARY KEY, d {}, ts {}, s VARCHAR(40), o INT)",
                types[0], types[1]
            );
            write(world, &table, json!([])).await.unwrap();
            for index in ["CREATE INDEX td ON t (d)", "CREATE INDEX ts ON t (s)"] {
                write(world, index, json!([])).await.unwrap();
            }
            let rows: Vec<_> = ["00:02:03", "01:02:03", "02:02:03"]
                .iter()
                .enumerate()
                .map(|(id, time)| {
                    let at = format!("2024-02-29 {time}");
                    json!({"id": id, "d": at, "ts": at, "s": format!("2024-02-29T{time}Z"), "o": 2024})
                })
                .collect();
            change(world, json!({"op": "insert", "target": "t", "values": rows})).await;
            for column in ["d", "ts"] {
                let field = json!({"field": column});
                for at in [
                    "2024-02-29T03:02:03+02:00",
                    "2024-02-29T01:02:03Z",
                    "2024-02-28T23:32:03.000-01:30",
                    "2024-02-29 01:02:03",
                ] {
                    for (filter, expected) in [
                        (json!({"==": [field, at]}), vec![1]),
                        (json!({"!=": [field, at]}), vec![0, 2]),
                        (json!({"<": [field, at]}), vec![0]),
                        (json!({"<=": [field, at]}), vec![0, 1]),
                        (json!({">": [field, at]}), vec![2]),
                        (json!({">=": [field, at]}), vec![1, 2]),
                        (json!({"in": [field, [at, "2024-02-29 00:02:03"]]}), vec![0, 1]),
                        (json!({"!": {"in": [field, [at, "2024-02-29 00:02:03"]]}}), vec![2]),
                    ] {
                        assert_eq!(
                            matching_rows(world, "t", &filter).await.unwrap(),
                            expected,
                            "{:?} {filter}",
                            base.kind
                        );
                    }
                }
            }
            let text = json!({"field": "s"});
            for (filter, expected) in [
                (json!({"==": [text, "2024-02-29T01:02:03Z"]}), vec![1]),
                (json!({"==": [text, "2024-02-29T03:02:03+02:00"]}), vec![]),
                (json!({"in": [text, ["2024-02-29T01:02:03Z", "x"]]}), vec![1]),
                (json!({"<": [text, "2024-02-29T01:02:03Z"]}), vec![0]),
            ] {
                assert_eq!(
                    matching_rows(world, "t", &filter).await.unwrap(),
                    expected,
                    "{:?} {filter}",
                    base.kind
                );
            }
            if base.kind == Kind::MariaDb {
                let number = json!({"==": [{"field": "o"}, "2024-02-29T01:02:03Z"]});
                assert_eq!(matching_rows(world, "t", &number).await.unwrap(), [0; 0]);
                let early = json!({"op": "delete", "target": "t", "filter": {"<": [{"field": "d"}, "2024-02-29T03:02:03+02:00"]}});
                assert_eq!(change(world, early).await["rows_affected"], 1);
            }
        }
    });
}

/// Parents and children with keys of these types; pairs of them name the keys of these parents and of all
/// children.
async fn keyed(
    world: &ConnectorWorld,
    types: [&str; 2],
    parents: &[Value],
    children: &[Value],
    paired: &[Value],
) {
    for table in ["links", "children", "parents"] {
        write(world, &format!("DROP TABLE IF EXISTS {table}"), json!([])).await.unwrap();
    }
    for table in [
        format!("CREATE TABLE parents (id INT PRIMARY KEY, k {})", types[0]),
        format!("CREATE TABLE children (id INT PRIMARY KEY, k {})", types[1]),
        format!("CREATE TABLE links (p {}, c {})", types[0], types[1]),
        "CREATE INDEX ck ON children (k)".to_owned(),
        "CREATE INDEX pk ON parents (k)".to_owned(),
    ] {
        write(world, &table, json!([])).await.unwrap();
    }
    for (table, keys) in [("parents", parents), ("children", children)] {
        let rows: Vec<_> = keys.iter().enumerate().map(|(id, key)| json!({"id": id, "k": key})).collect();
        change(world, json!({"op": "insert", "target": table, "values": rows})).await;
    }
    let links: Vec<_> = paired
        .iter()
        .flat_map(|parent| children.iter().map(move |child| json!({"p": parent, "c": child})))
        .collect();
    change(world, json!({"op": "insert", "target": "links", "values": links})).await;
}

/// The parents with children, and those without.
async fn families(world: &ConnectorWorld, relation: &str) -> (Vec<i64>, Vec<i64>) {
    let schema = json!({"entities": {
        "parent": {"physical": "parents", "columns": {"id": {}}, "relations": {
            "children": {"to": "child", "local": "k", "foreign": "k"},
            "linked": {"to": "child", "kind": "many_to_many", "local": "k", "foreign": "k",
                       "through": {"table": "links", "local": "p", "foreign": "c"}}}},
        "child": {"physical": "children", "columns": {"id": {}}}}});
    let mut families = Vec::new();
    for quantifier in ["some", "none"] {
        let read = json!({"source": "parent", "fields": ["id"], "sort": [{"id": "asc"}],
                          "filter": { quantifier: [{"field": relation}, {"and": []}] }});
        let rows =
            run(world, "data_query", json!({"query": read, "schema": schema}), Value::Null).await.unwrap();
        families.push(rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect());
    }
    let without = families.pop().unwrap();
    (families.pop().unwrap(), without)
}

#[test]
fn keys_of_relations_are_compared_as_texts_are() {
    kit::run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let text = match base.kind {
                Kind::Postgres => "VARCHAR(40)",
                Kind::MariaDb => "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                Kind::Sqlite => "VARCHAR(40) COLLATE NOCASE",
            };
            let parents = [json!("a"), json!("A"), json!("a "), json!("á"), json!("b"), json!(null)];
            keyed(world, [text, text], &parents, &[json!("a"), json!("A")], &[json!("a")]).await;
            assert_eq!(families(world, "children").await, (vec![0, 1], vec![2, 3, 4, 5]), "{:?}", base.kind);
            assert_eq!(families(world, "linked").await, (vec![0], vec![1, 2, 3, 4, 5]), "{:?}", base.kind);
        }
    });
}

#[test]
fn keys_of_other_types_meet_as_before() {
    kit::run(async |world| {
        let Some(mut base) = Base::new(Kind::MariaDb) else { return };
        base.connect(world, json!({})).await;
        let big = 9_007_199_254_740_993_i64;
        let latin = "VARCHAR(40) CHARACTER SET latin1";
        let raw = json!("\u{1}\u{2}");
        for (parent, child, parents, children, expected) in [
            ("INT", "BIGINT UNSIGNED", vec![json!(0), json!(1), json!(2)], vec![json!(1)], vec![1]),
            ("DECIMAL(20,2)", "INT", vec![json!(1), json!(1.5)], vec![json!(1)], vec![0]),
            ("INT", "DOUBLE", vec![json!(0), json!(3)], vec![json!(3)], vec![1]),
            (
                "INT",
                "VARCHAR(40)",
                vec![json!(0), json!(1), json!(10)],
                vec![json!("abc"), json!("1abc"), json!("10")],
                vec![2],
            ),
            (
                "VARCHAR(40)",
                "INT",
                vec![json!("abc"), json!(""), json!("01"), json!("0")],
                vec![json!(0), json!(1)],
                vec![2, 3],
            ),
            (
                "BIGINT",
                "VARCHAR(40)",
                vec![json!(big - 1), json!(big)],
                vec![json!(big.to_string())],
                vec![1],
            ),
            (
                "DATE",
                "DATETIME",
                vec![json!("2024-02-29"), json!("2024-03-01")],
                vec![json!("2024-02-29 00:00:00")],
                vec![0],
            ),
            (
                "DATE",
                "VARCHAR(40)",
                vec![json!("2024-02-29"), json!("2024-03-01")],
                vec![json!("2024-02-29")],
                vec![0],
            ),
            (
                "TIMESTAMP NULL",
                "DATETIME",
                vec![json!("2024-02-29 01:02:03")],
                vec![json!("2024-02-29 01:02:03")],
                vec![0],
            ),
            (latin, "VARCHAR(40)", vec![json!("é"), json!("É"), json!("e")], vec![json!("é")], vec![0]),
            ("VARCHAR(40)", latin, vec![json!("é"), json!("É"), json!("e")], vec![json!("é")], vec![0]),
            ("VARBINARY(9)", "VARBINARY(9)", vec![raw.clone(), json!("x")], vec![raw], vec![0]),
            (
                "ENUM('a','b')",
                "VARCHAR(9)",
                vec![json!("a"), json!("b")],
                vec![json!("b"), json!("A")],
                vec![1],
            ),
            (
                "UUID",
                "CHAR(36)",
                vec![json!("0188a3b2-6c5d-7e8f-9a0b-1c2d3e4f5a6b")],
                vec![json!("0188a3b2-6c5d-7e8f-9a0b-1c2d3e4f5a6b")],
                vec![0],
            ),
            (
                "UUID",
                "UUID",
                vec![json!("0188a3b2-6c5d-7e8f-9a0b-1c2d3e4f5a6b")],
                vec![json!("0188a3b2-6c5d-7e8f-9a0b-1c2d3e4f5a6b")],
                vec![0],
            ),
        ] {
            keyed(world, [parent, child], &parents, &children, &parents).await;
            assert_eq!(families(world, "children").await.0, expected, "{parent} {child}");
            let all: Vec<_> = (0..i64::try_from(parents.len()).unwrap()).collect();
            assert_eq!(families(world, "linked").await.0, all, "{parent} {child}");
        }
    });
}

#[test]
fn rows_are_chosen_by_relations_to_their_own_table() {
    kit::run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            write(world, "CREATE TABLE nodes (id INT PRIMARY KEY, parent INT, v INT)", json!([]))
                .await
                .unwrap();
            write(world, "CREATE TABLE pairs (p INT, c INT)", json!([])).await.unwrap();
            let rows = json!([{"id": 1, "parent": null, "v": 0}, {"id": 2, "parent": 1, "v": 0}, {"id": 3, "parent": 2, "v": 0}]);
            change(world, json!({"op": "insert", "target": "nodes", "values": rows})).await;
            change(world, json!({"op": "insert", "target": "pairs", "values": [{"p": 1, "c": 2}]})).await;
            let schema = json!({"entities": {"node": {"physical": "nodes", "columns": {"id": {}, "v": {}}, "relations": {
                "children": {"to": "node", "local": "id", "foreign": "parent"},
                "paired": {"to": "node", "kind": "many_to_many", "local": "id", "foreign": "id",
                           "through": {"table": "pairs", "local": "p", "foreign": "c"}}}}}});
            let answer = async |write: Value| {
                let input = json!({"write": write, "schema": schema});
                run(world, "data_write", input, Value::Null).await.unwrap()["rows_affected"].clone()
            };
            let over =
                |quantifier: &str, relation: &str| json!({ quantifier: [{"field": relation}, {"and": []}] });
            let update = json!({"op": "update", "target": "node", "set": {"v": 1}, "filter": over("none", "children")});
            assert_eq!(answer(update).await, 1, "{:?}", base.kind);
            let delete = |filter: Value| json!({"op": "delete", "target": "node", "filter": filter});
            assert_eq!(answer(delete(over("none", "children"))).await, 1, "{:?}", base.kind);
            assert_eq!(answer(delete(over("some", "paired"))).await, 1, "{:?}", base.kind);
            let left = query(world, json!({"source": "nodes", "fields": ["id"]})).await;
            assert_eq!(left, json!([{"id": 2}]), "{:?}", base.kind);
        }
    });
}
