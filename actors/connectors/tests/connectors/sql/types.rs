//! Values there and back, type by type.

use serde_json::{Value, json};

use super::{Base, Kind, read, uuid, write};
use crate::kit::{ConnectorWorld, run};

/// Writes a value into a column of a type and reads it back.
async fn there_and_back(world: &ConnectorWorld, base: &Base, kind: &str, value: Value) -> Value {
    // A name of its own: statements stay prepared, and what they were prepared for.
    let table = format!("t{}", uuid());
    write(world, &format!("CREATE TABLE {table} (v {kind})"), json!([])).await.unwrap();
    let insert = base.sql(&format!("INSERT INTO {table} VALUES (?)"));
    let inserted = write(world, &insert, json!([value])).await;
    let rows = read(world, &format!("SELECT v FROM {table}"), json!([])).await;
    inserted.unwrap_or_else(|error| panic!("{kind} {value}: {error:?}"));
    rows.unwrap_or_else(|error| panic!("{kind} {value}: {error:?}"))[0]["v"].take()
}

async fn check(kind: Kind, world: &ConnectorWorld, cases: Vec<(&str, Value, Value)>) {
    let Some(mut base) = Base::new(kind) else { return };
    base.connect(world, json!({})).await;
    for (column, value, expected) in cases {
        let read = there_and_back(world, &base, column, value.clone()).await;
        assert_eq!(read.to_string(), expected.to_string(), "{column} {value}");
        assert_eq!(there_and_back(world, &base, column, Value::Null).await, Value::Null, "{column}");
    }
}

#[test]
fn postgres() {
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let cases = vec![
        ("boolean", json!(true), json!(true)),
        ("boolean", json!("f"), json!(false)),
        ("smallint", json!(-5), json!(-5)),
        ("integer", json!(5.0), json!(5)),
        ("integer", json!("5"), json!(5)),
        ("bigint", json!(i64::MIN), json!(i64::MIN)),
        ("real", json!(0.1), json!(0.1)),
        ("double precision", json!(1e-300), json!(1e-300)),
        ("double precision", json!(5), json!(5.0)),
        ("numeric(12,2)", json!(12.5), json!(12.5)),
        ("numeric", json!("0.0001"), json!(0.0001)),
        ("numeric", json!("-123456789.123456"), json!(-123_456_789.123_456)),
        ("numeric", json!(i64::MAX), json!(i64::MAX)),
        ("text", json!("Zoë 🚀"), json!("Zoë 🚀")),
        ("text", json!(5), json!("5")),
        ("text", json!({"a": [1]}), json!("{\"a\":[1]}")),
        ("varchar(10)", json!("a"), json!("a")),
        ("char(3)", json!("a"), json!("a  ")),
        ("bytea", json!("Zoë"), json!("Zoë")),
        ("bytea", json!({"$binary": "/wD+"}), json!({"$binary": "/wD+"})),
        ("bytea[]", json!([{"$binary": "/wD+"}, "a"]), json!([{"$binary": "/wD+"}, "a"])),
        ("uuid", json!(id), json!(id)),
        ("date", json!("2024-02-29"), json!("2024-02-29")),
        ("date", json!("infinity"), json!("infinity")),
        ("time", json!("01:02:03.5"), json!("01:02:03.500000")),
        ("timetz", json!("01:02:03+05:30"), json!("01:02:03+05:30")),
        ("timestamp", json!("2024-02-29T01:02:03"), json!("2024-02-29T01:02:03")),
        ("timestamp", json!("2024-02-29T03:02:03+02:00"), json!("2024-02-29T01:02:03")),
        ("timestamp[]", json!(["2024-02-29 01:02:03Z"]), json!(["2024-02-29T01:02:03"])),
        ("date", json!("2024-02-29T23:30:00-05:00"), json!("2024-03-01")),
        ("time", json!("00:30:00+01:00"), json!("23:30:00")),
        ("timestamptz", json!("2024-02-29T01:02:03.25+02:00"), json!("2024-02-28T23:02:03.250Z")),
        ("timestamptz", json!("2024-02-29 01:02:03Z"), json!("2024-02-29T01:02:03Z")),
        ("json", json!({"b": 1, "a": [null]}), json!({"b": 1, "a": [null]})),
        ("jsonb", json!({"b": 1}), json!({"b": 1})),
        ("jsonb", json!([1, "x"]), json!([1, "x"])),
        ("jsonb", json!("{\"a\": 1}"), json!({"a": 1})),
        ("integer[]", json!([1, null, 3]), json!([1, null, 3])),
        ("integer[]", json!([[1, 2], [3, 4]]), json!([[1, 2], [3, 4]])),
        ("text[]", json!(["a\"b", "{,}", "\\", ""]), json!(["a\"b", "{,}", "\\", ""])),
        ("uuid[]", json!([id]), json!([id])),
        ("mood", json!("happy"), json!("happy")),
        ("mood[]", json!(["sad"]), json!(["sad"])),
        ("positive", json!(7), json!(7)),
    ];
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({})).await;
        write(world, "CREATE TYPE mood AS ENUM ('sad', 'happy')", json!([])).await.unwrap();
        write(world, "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)", json!([])).await.unwrap();
        for (column, value, expected) in cases {
            let read = there_and_back(world, &base, column, value.clone()).await;
            assert_eq!(read.to_string(), expected.to_string(), "{column} {value}");
            assert_eq!(there_and_back(world, &base, column, Value::Null).await, Value::Null, "{column}");
        }
        for (query, expected) in [
            ("SELECT '\\xff00'::bytea AS v", json!({"$binary": "/wA="})),
            ("SELECT pg_sleep (0) AS v", json!("")),
            ("SELECT 'a'::\"char\" AS v", json!("a")),
            ("SELECT NULL AS v", json!(null)),
            ("SELECT 5 = ANY('{4,5}'::int[]) AS v", json!(true)),
            ("SELECT current_setting('TimeZone') AS v", json!("UTC")),
        ] {
            let rows = read(world, query, json!([])).await.unwrap();
            let expected = if query.contains("sleep") { Value::Null } else { expected };
            assert_eq!(rows, json!([{"v": expected}]), "{query}");
        }
        let any = "SELECT 1 AS v WHERE 5 = ANY($1::bigint[])";
        assert_eq!(read(world, any, json!([[4, 5]])).await.unwrap(), json!([{"v": 1}]));
    });
}

#[test]
fn postgres_type_without_json_form_is_named() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({"max_connections": 1})).await;
        for (query, column, kind) in [
            ("SELECT 1 AS a, '10.0.0.0/8'::cidr AS net", "net", "cidr"),
            ("SELECT int4range(1, 5) AS r", "r", "int4range"),
            ("SELECT ROW(1, 2) AS pair", "pair", "record"),
            ("SELECT interval '1 day' AS i", "i", "interval"),
            ("SELECT 'NaN'::float8 AS f", "f", "float8"),
            ("SELECT 'Infinity'::numeric AS f", "f", "numeric"),
        ] {
            let error = read(world, query, json!([])).await.unwrap_err();
            let named = format!("column '{column}' of type {kind} ");
            let named = format!("connector 'c': {named}");
            assert!(error.message.starts_with(&named), "{query}: {}", error.message);
            assert!(!error.retryable());
        }
        assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
    });
}

#[test]
fn mismatched_parameter_is_named_with_expected_type() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({"max_connections": 1})).await;
        for (kind, value) in [
            ("integer", json!("many")),
            ("smallint", json!(40_000)),
            ("integer", json!(1.5)),
            ("boolean", json!("perhaps")),
            ("uuid", json!("swordfish")),
            ("date", json!("2023-02-29")),
            ("jsonb", json!("{")),
            ("integer[]", json!(["x"])),
        ] {
            let query = format!("SELECT $1::text AS a, $2::{kind} AS b");
            let error = read(world, &query, json!(["fine", value])).await.unwrap_err();
            assert_eq!(error.code.name(), "VALIDATION_ERROR", "{kind} {error:?}");
            assert!(error.message.starts_with("connector 'c': params[1]: "), "{}", error.message);
            assert!(!error.message.contains("swordfish"), "{}", error.message);
        }
        assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
    });
}

#[test]
fn parameter_follows_changed_type_of_its_column() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({"max_connections": 1})).await;
        write(world, "CREATE TABLE t (v boolean)", json!([])).await.unwrap();
        let insert = "INSERT INTO t VALUES ($1)";
        assert_eq!(write(world, insert, json!([true])).await.unwrap(), 1);
        let alter =
            json!({"connector": "other", "query": "ALTER TABLE t ALTER v TYPE integer USING v::integer"});
        world.put("other", "db", true, super::config(&base.url, json!({}))).await;
        assert!(world.task("db_write", alter, Value::Null).await.failure.is_none());
        assert_eq!(write(world, insert, json!([5])).await.unwrap(), 1);
    });
}

#[test]
fn a_statement_outlives_the_types_it_was_prepared_with() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({"max_connections": 1})).await;
        world.put("other", "db", true, super::config(&base.url, json!({}))).await;
        let change = async |sql: &str| {
            let input = json!({"connector": "other", "query": sql});
            assert!(world.task("db_write", input, Value::Null).await.failure.is_none(), "{sql}");
        };
        change("CREATE TABLE t (v text, m text)").await;
        let key = "00000000-0000-0000-0000-000000000001";
        write(world, "INSERT INTO t VALUES ($1, 'sad')", json!([key])).await.unwrap();
        let look = async || {
            let rows = read(world, "SELECT v, m FROM t WHERE v = $1", json!([key])).await.unwrap();
            let filter = json!({"==": [{"field": "v"}, key]});
            let query = json!({"source": "t", "fields": ["v"], "filter": filter});
            let schema = json!({"unmapped": "identity", "entities": {}});
            let input = json!({"connector": "c", "schema": schema, "query": query, "output": "data.rows"});
            let outcome = world.task("data_query", input, Value::Null).await;
            assert_eq!(outcome.message.data["rows"], json!([{"v": key}]), "{:?}", outcome.failure);
            assert_eq!(rows, json!([{"v": key, "m": "sad"}]));
        };
        look().await;
        change("ALTER TABLE t ALTER v TYPE uuid USING v::uuid").await;
        look().await;
        for words in ["'sad'", "'happy', 'sad'"] {
            change(&format!("CREATE TYPE mood AS ENUM ({words})")).await;
            change("ALTER TABLE t ALTER m TYPE mood USING m::mood").await;
            look().await;
            change("ALTER TABLE t ALTER m TYPE text").await;
            change("DROP TYPE mood").await;
        }
    });
}

#[test]
fn a_number_in_a_filter_meets_itself_alone() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({})).await;
        write(world, "CREATE TABLE t (n numeric(20,0), b bigint, d double precision)", json!([]))
            .await
            .unwrap();
        let rows = "INSERT INTO t VALUES (18446744073709551614, 1000000000000000000, 0.1), \
                    (18446744073709551615, 1000000000000000001, 0.25)";
        write(world, rows, json!([])).await.unwrap();
        for (column, value, found) in [
            ("n", json!(u64::MAX), 1),
            ("b", json!(1e18), 1),
            ("b", json!(1.5), 0),
            ("n", json!(1e300), 0),
            ("d", json!(0.1), 1),
            ("d", json!(2.5e-1), 1),
        ] {
            let query = json!({"source": "t", "fields": ["d"], "filter": {"==": [{"field": column}, value]}});
            let schema = json!({"unmapped": "identity", "entities": {}});
            let input = json!({"connector": "c", "schema": schema, "query": query, "output": "data.rows"});
            let outcome = world.task("data_query", input, Value::Null).await;
            let rows = outcome.message.data["rows"].as_array().map(Vec::len);
            assert_eq!(rows, Some(found), "{column} {value} {:?}", outcome.failure);
        }
    });
}

#[test]
fn mariadb() {
    let cases = vec![
        ("boolean", json!(true), json!(true)),
        ("tinyint", json!(1), json!(1)),
        ("integer", json!("5"), json!(5)),
        ("bigint", json!(i64::MIN), json!(i64::MIN)),
        ("bigint unsigned", json!(u64::MAX), json!(u64::MAX)),
        ("float", json!(0.1), json!(0.1)),
        ("double", json!(1e-300), json!(1e-300)),
        ("decimal(12,2)", json!(12.5), json!(12.5)),
        ("decimal(20,0)", json!(i64::MAX), json!(i64::MAX)),
        ("decimal(20,6)", json!("-123456789.123456"), json!(-123_456_789.123_456)),
        ("varchar(50) character set utf8mb4", json!("Zoë 🚀"), json!("Zoë 🚀")),
        ("text", json!({"a": [1]}), json!("{\"a\":[1]}")),
        ("char(3)", json!("a"), json!("a")),
        ("blob", json!("Zoë"), json!("Zoë")),
        ("blob", json!({"$binary": "/wD+"}), json!({"$binary": "/wD+"})),
        ("varbinary(9)", json!({"$binary": "/wD+"}), json!({"$binary": "/wD+"})),
        ("date", json!("2024-02-29"), json!("2024-02-29")),
        ("time", json!("-26:03:04"), json!("-26:03:04")),
        ("time(6)", json!("01:02:03.5"), json!("01:02:03.500000")),
        ("datetime", json!("2024-02-29T01:02:03"), json!("2024-02-29T01:02:03")),
        ("timestamp null", json!("2024-02-29 01:02:03"), json!("2024-02-29T01:02:03Z")),
        ("year", json!(2024), json!(2024)),
        ("enum('sad','happy')", json!("happy"), json!("happy")),
        ("bit(1)", json!(true), json!(true)),
        ("bit(16)", json!(258), json!(258)),
    ];
    run(async |world| {
        check(Kind::MariaDb, world, cases).await;
        let Some(mut base) = Base::new(Kind::MariaDb) else { return };
        base.connect(world, json!({})).await;
        for (query, expected) in [
            ("SELECT X'ff00' AS v", json!({"$binary": "/wA="})),
            ("SELECT 7 DIV 2 AS v", json!(3)),
            ("SELECT count(*) AS v FROM seq_1_to_5", json!(5)),
            ("SELECT sum(seq) AS v FROM seq_1_to_5", json!(15)),
            ("SELECT @@time_zone AS v", json!("+00:00")),
        ] {
            assert_eq!(read(world, query, json!([])).await.unwrap(), json!([{"v": expected}]), "{query}");
        }
        let error = read(world, "SELECT POINT(1, 1) AS p", json!([])).await.unwrap_err();
        assert!(error.message.contains("column 'p' of type geometry "), "{}", error.message);
    });
}

#[test]
fn sqlite() {
    let cases = vec![
        ("boolean", json!(true), json!(true)),
        ("integer", json!(i64::MAX), json!(i64::MAX)),
        ("integer", json!("5"), json!(5)),
        ("real", json!(5), json!(5.0)),
        ("numeric", json!(12.5), json!(12.5)),
        ("text", json!("Zoë 🚀"), json!("Zoë 🚀")),
        ("text", json!(5), json!("5")),
        ("blob", json!("Zoë"), json!("Zoë")),
        ("blob", json!({"$binary": "/wD+"}), json!({"$binary": "/wD+"})),
        ("json", json!({"b": 1, "a": [null]}), json!({"b": 1, "a": [null]})),
        ("text", json!([1]), json!("[1]")),
        ("any", json!("2024-02-29"), json!("2024-02-29")),
    ];
    run(async |world| {
        check(Kind::Sqlite, world, cases).await;
        let mut base = Base::new(Kind::Sqlite).unwrap();
        base.connect(world, json!({})).await;
        let rows = read(world, "SELECT X'ff00' AS a, 1 = 1 AS b, NULL AS c", json!([])).await.unwrap();
        assert_eq!(rows, json!([{"a": {"$binary": "/wA="}, "b": 1, "c": null}]));
        let error = read(world, "SELECT 9e999 AS f", json!([])).await.unwrap_err();
        assert!(error.message.contains("column 'f' of type real "), "{}", error.message);
        let error = read(world, "SELECT ? AS n", json!([u64::MAX])).await.unwrap_err();
        assert_eq!(error.code.name(), "VALIDATION_ERROR");
    });
}

#[test]
fn binary_columns_work_in_every_database() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let kind = if base.kind == Kind::Postgres { "bytea" } else { "blob" };
            write(world, &format!("CREATE TABLE t (id INT PRIMARY KEY, b {kind})"), json!([])).await.unwrap();
            let (bytes, text) = (json!({"$binary": "/wD+"}), json!("Zoë"));
            // SQLite keeps a text as a text, whatever the column.
            let rows = json!([{"id": 1, "b": bytes}, {"id": 2, "b": {"$binary": "Wm/Dqw=="}}]);
            let insert = json!({"op": "insert", "target": "t", "values": rows});
            let input = json!({"connector": "c", "write": insert, "output": "data.w"});
            let outcome = world.task("data_write", input, Value::Null).await;
            assert!(outcome.failure.is_none(), "{:?}: {:?}", base.kind, outcome.failure);
            for (binary_as, first, second) in [
                (None, Some(bytes.clone()), text.clone()),
                (Some("hex"), Some(json!("ff00fe")), json!("5a6fc3ab")),
                (Some("base64"), Some(json!("/wD+")), json!("Wm/Dqw==")),
                (Some("text"), None, text.clone()),
            ] {
                for (id, expected) in [(1, first), (2, Some(second))] {
                    let query = format!("SELECT b FROM t WHERE id = {id}");
                    let mut read = json!({"connector": "c", "query": query, "output": "data.r"});
                    let filter = json!({"==": [{"field": "id"}, id]});
                    let query = json!({"source": "t", "fields": ["b"], "filter": filter});
                    let mut portable = json!({"connector": "c", "query": query, "output": "data.r"});
                    if let Some(form) = binary_as {
                        read["binary_as"] = form.into();
                        portable["binary_as"] = form.into();
                    }
                    for (function, input) in [("db_read", read), ("data_query", portable)] {
                        let outcome = world.task(function, input, Value::Null).await;
                        match (&expected, outcome.failure) {
                            (Some(expected), None) => {
                                assert_eq!(
                                    outcome.message.data["r"],
                                    json!([{"b": expected}]),
                                    "{binary_as:?}"
                                );
                            }
                            (None, Some(failure)) => {
                                let text = failure.error.message;
                                assert!(text.contains("column 'b'") && text.contains("binary_as"), "{text}");
                            }
                            (expected, failure) => panic!("{:?} {expected:?}: {failure:?}", base.kind),
                        }
                    }
                }
            }
            for (filter, found) in [
                (json!({"==": [{"field": "b"}, bytes]}), json!([{"id": 1}])),
                (json!({"!=": [{"field": "b"}, bytes]}), json!([{"id": 2}])),
                (json!({"in": [{"field": "b"}, [bytes]]}), json!([{"id": 1}])),
                (json!({">": [{"field": "b"}, {"$binary": "WgA="}]}), json!([{"id": 1}, {"id": 2}])),
            ] {
                let query =
                    json!({"source": "t", "fields": ["id"], "filter": filter, "sort": [{"id": "asc"}]});
                let input = json!({"connector": "c", "query": query, "output": "data.r"});
                let outcome = world.task("data_query", input, Value::Null).await;
                assert_eq!(
                    outcome.message.data["r"], found,
                    "{:?} {filter}: {:?}",
                    base.kind, outcome.failure
                );
            }
            let insert = base.sql("INSERT INTO t VALUES (3, ?)");
            let error = write(world, &insert, json!([{"$binary": "?"}])).await.unwrap_err();
            assert!(error.message.contains("params[0]: $binary must be base64"), "{}", error.message);
        }
    });
}

#[test]
fn non_json_columns_are_texts_in_portable_reads() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({})).await;
        let table = "CREATE TABLE hosts (id int, net cidr, ip inet, mac macaddr, nets inet[], up interval, r int4range)";
        write(world, table, json!([])).await.unwrap();
        let row = "INSERT INTO hosts VALUES (1, '10.0.0.0/8', '10.0.0.1', '08:00:2b:01:02:03', '{10.0.0.1,::1}', \
                   '1 day', '[1,5)')";
        write(world, row, json!([])).await.unwrap();
        let expected = json!({"id": 1, "net": "10.0.0.0/8", "ip": "10.0.0.1", "mac": "08:00:2b:01:02:03",
            "nets": ["10.0.0.1", "::1"], "up": "1 day", "r": "[1,5)"});
        let query = json!({"source": "hosts", "filter": {"==": [{"field": "ip"}, "10.0.0.1"]},
            "sort": [{"id": "asc"}]});
        let input = json!({"connector": "c", "query": query, "output": "data.r"});
        for _ in 0..2 {
            let outcome = world.task("data_query", input.clone(), Value::Null).await;
            assert_eq!(outcome.message.data["r"], json!([expected]), "{:?}", outcome.failure);
        }
        let write = json!({"op": "update", "target": "hosts", "set": {"ip": "10.0.0.2"},
            "filter": {"==": [{"field": "id"}, 1]}, "returning": ["ip", "id"]});
        let input = json!({"connector": "c", "write": write, "output": "data.w"});
        let outcome = world.task("data_write", input, Value::Null).await;
        let written = &outcome.message.data["w"];
        assert_eq!(written["returning"], json!([{"ip": "10.0.0.2", "id": 1}]), "{:?}", outcome.failure);
        assert_eq!(written["rows_affected"], 1);
    });
}
