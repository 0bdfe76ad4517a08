//! Statements that are prepared on a live database and not run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, json};
use svc_connectors::{AuthoredStatement, StatementSources, check_statements};
use svc_outbound::{Outbound, Trust};
use svc_secrets::{EnvironmentResolver, Keyring};

use super::{Base, Kind, config, read, write};
use crate::kit::run;

fn sources() -> StatementSources {
    let nothing = |_: &str| None::<String>;
    StatementSources {
        environment: Arc::new(nothing),
        secrets: Keyring::new(Arc::new(EnvironmentResolver(nothing)), BTreeMap::new()),
        vars: Map::new(),
        outbound: Outbound::new(&Trust::Only(String::new())).unwrap(),
    }
}

#[test]
fn statements_are_judged_and_not_run() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            write(world, "CREATE TABLE t (id INT PRIMARY KEY, a INT)", json!([])).await.unwrap();
            write(world, "INSERT INTO t VALUES (1, 2)", json!([])).await.unwrap();
            let statement =
                |sql: &str, params| AuthoredStatement { sql: base.sql(sql), params: Some(params) };
            let statements = [
                statement("SELECT a FROM t WHERE id = ?", 1),
                statement("DELETE FROM t", 0),
                statement("SELECT b FROM t", 0),
                statement("UPDATE t SET a = ? WHERE id = ?", 1),
                statement("INSERT INTO t VALUES (2, 3)", 0),
                statement("SELEC 1", 0),
            ];
            let checked = check_statements(&config(&base.url, json!({})), &sources(), &statements).await;
            let checked = checked.unwrap();
            let errors: Vec<_> = checked.statements.iter().map(|one| !one.errors.is_empty()).collect();
            let counts = base.kind != Kind::Sqlite;
            assert_eq!(errors, [false, false, true, counts, false, true], "{:?}: {checked:?}", base.kind);
            assert_eq!(checked.statements[3].warnings.is_empty(), counts, "{:?}", base.kind);
            assert_eq!(
                read(world, "SELECT id, a FROM t", json!([])).await.unwrap(),
                json!([{"id": 1, "a": 2}])
            );
        }
    });
}

#[test]
fn unreachable_database_is_an_error_without_its_password() {
    run(async |_| {
        for url in [
            "postgres://u:swordfish@127.0.0.1:1/app",
            "mysql://u:swordfish@127.0.0.1:1/app",
            "sqlite:/no/such/file.db",
        ] {
            let refused = check_statements(&config(url, json!({})), &sources(), &[]).await.unwrap_err();
            assert!(!refused.contains("swordfish"), "{refused}");
        }
    });
}
