//! Values change no query, whatever they hold.

use serde_json::json;

use super::{Base, read, write};
use crate::kit::run;

const CORPUS: [&str; 24] = [
    "' OR '1'='1",
    "' OR 1=1 --",
    "'; DROP TABLE t; --",
    "\"; DROP TABLE t; --",
    "`; DROP TABLE t; --",
    "\\'; DROP TABLE t; --",
    "\\",
    "\\\\'",
    "') UNION SELECT id FROM t --",
    "1; SELECT pg_sleep (10)",
    "$1",
    "?",
    ":a",
    "@@version",
    "%",
    "_",
    "/* */",
    "-- ",
    "# ",
    "\u{00bf}' OR 1=1 /*",
    "\u{02bc} OR 1=1",
    "${jndi:ldap://x}",
    "{\"var\": \"payload\"}",
    "NULL",
];

#[test]
fn hostile_values_round_trip_and_match_only_themselves() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            write(world, "CREATE TABLE t (id INTEGER PRIMARY KEY, v VARCHAR(200))", json!([])).await.unwrap();
            let insert = base.sql("INSERT INTO t VALUES (?, ?)");
            for (id, value) in CORPUS.iter().enumerate() {
                assert_eq!(write(world, &insert, json!([id, value])).await.unwrap(), 1, "{value}");
            }
            let select = base.sql("SELECT id, v FROM t WHERE v = ?");
            for (id, value) in CORPUS.iter().enumerate() {
                let rows = read(world, &select, json!([value])).await.unwrap();
                assert_eq!(rows, json!([{"id": id, "v": value}]), "{:?}", base.kind);
            }
            let delete = base.sql("DELETE FROM t WHERE v = ?");
            for value in CORPUS {
                assert_eq!(
                    write(world, &delete, json!([value])).await.unwrap(),
                    1,
                    "{:?} {value}",
                    base.kind
                );
            }
        }
    });
}

#[test]
fn text_for_a_number_matches_nothing_or_fails() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            write(world, "CREATE TABLE t (id INTEGER PRIMARY KEY)", json!([])).await.unwrap();
            write(world, "INSERT INTO t VALUES (10), (11)", json!([])).await.unwrap();
            let select = base.sql("SELECT id FROM t WHERE id = ?");
            for value in CORPUS {
                match read(world, &select, json!([value])).await {
                    Ok(rows) => assert_eq!(rows, json!([]), "{:?} {value}", base.kind),
                    Err(error) => {
                        assert_eq!(error.code.name(), "VALIDATION_ERROR", "{:?} {error:?}", base.kind);
                        assert!(error.message.starts_with("connector 'c': params[0]: "), "{}", error.message);
                        assert!(!error.message.contains(value) || value.len() < 3, "{}", error.message);
                    }
                }
            }
        }
    });
}
