//! Every database answers a filter alike, and as the dialect says: random filters over rows that databases
//! like to disagree about, next to the walk over the same rows in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};
use svc_dialect::sql::{self, SqlFlavour, SqlStatement};
use svc_dialect::{Bindings, QueryBounds, QueryDocument};

use super::oracle::{Row, matching};
use super::{Base, Kind, change, query, random, write};
use crate::kit::{self, ConnectorWorld, Setup};

/// Filters, and how many of them go in one statement.
const FILTERS: usize = 25_000;
const AT_ONCE: usize = 100;
/// Of these one in so many is asked by a task of its own as well.
const ALONE: usize = 500;

fn schema() -> Value {
    let columns = json!({"id": {}, "n": {}, "x": {}, "s": {}, "b": {}});
    json!({"entities": {
        "thing": {"physical": "things", "columns": columns,
                  "relations": {"parts": {"to": "part", "local": "id", "foreign": "thing_id"}}},
        "part": {"physical": "parts", "columns": columns}}})
}

async fn fill(base: &mut Base, world: &ConnectorWorld, rows: &[Row]) {
    base.connect(world, json!({})).await;
    let text = match base.kind {
        Kind::Postgres => "TEXT",
        Kind::MariaDb => "VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        Kind::Sqlite => "TEXT COLLATE NOCASE",
    };
    let columns = format!("n BIGINT, x DOUBLE PRECISION, s {text}, b BOOLEAN");
    write(world, &format!("CREATE TABLE things (id INT PRIMARY KEY, {columns})"), json!([])).await.unwrap();
    write(world, &format!("CREATE TABLE parts (thing_id INT, {columns})"), json!([])).await.unwrap();
    let things: Vec<_> = rows.iter().map(|row| row.columns.clone()).collect();
    let parts = rows.iter().flat_map(|row| {
        row.related.iter().map(|part| {
            let mut part = part.clone();
            part["thing_id"] = row.columns["id"].clone();
            part
        })
    });
    change(world, json!({"op": "insert", "target": "things", "values": things})).await;
    change(world, json!({"op": "insert", "target": "parts", "values": parts.collect::<Vec<_>>()})).await;
}

fn flavour(kind: Kind) -> SqlFlavour {
    match kind {
        Kind::Postgres => SqlFlavour::Postgres,
        Kind::MariaDb => SqlFlavour::MySql,
        Kind::Sqlite => SqlFlavour::Sqlite,
    }
}

/// The statement of one filter, as a task would run it.
fn statement(filter: &Value, flavour: SqlFlavour) -> SqlStatement {
    let query = json!({"source": "thing", "fields": ["id"], "filter": filter});
    let query = QueryDocument::read(&query, Some(&schema()), "").unwrap();
    let bounds = QueryBounds { default_limit: 100, max_limit: 100, max_skip: 0 };
    let select = query.bind(&Bindings { params: &Map::new(), folded: &[] }, bounds).unwrap();
    sql::select(&select, flavour).unwrap()
}

/// Many statements as one: a row for each, with the ids it found in one text.
fn combine_filters(filters: &[Value], flavour: SqlFlavour) -> (String, Vec<Value>) {
    let ids = match flavour {
        SqlFlavour::Postgres => "string_agg(CAST(q.id AS text), ',')",
        SqlFlavour::MySql | SqlFlavour::Sqlite => "group_concat(q.id)",
    };
    let mut params = Vec::new();
    let parts = filters.iter().enumerate().map(|(nth, filter)| {
        let one = statement(filter, flavour);
        // From the last, so that $1 does not find $10.
        let numbered = (1..=one.params.len()).rev().fold(one.sql, |sql, n| match flavour {
            SqlFlavour::Postgres => sql.replace(&format!("${n}"), &format!("$p{}", n + params.len())),
            SqlFlavour::MySql | SqlFlavour::Sqlite => sql,
        });
        params.extend(one.params);
        format!("SELECT {nth} AS f, {ids} AS ids FROM ({}) AS q", numbered.replace("$p", "$"))
    });
    (parts.collect::<Vec<_>>().join(" UNION ALL "), params)
}

async fn matching_rows(
    world: &ConnectorWorld,
    filters: &[Value],
    flavour: SqlFlavour,
) -> BTreeMap<u64, Vec<i64>> {
    let (sql, params) = combine_filters(filters, flavour);
    let rows = super::super::read(world, &sql, params.into()).await.unwrap();
    let answers = rows.as_array().unwrap().iter().map(|row| {
        let ids = row["ids"].as_str().unwrap_or_default().split(',').filter(|id| !id.is_empty());
        let mut ids: Vec<i64> = ids.map(|id| id.parse().unwrap()).collect();
        ids.sort_unstable();
        (row["f"].as_u64().unwrap(), ids)
    });
    answers.collect()
}

/// `SVC_TEST_FILTERS` asks for another number.
fn filters() -> usize {
    let rounds = std::env::var_os("SVC_TEST_FILTERS").and_then(|text| text.to_str()?.parse().ok());
    rounds.unwrap_or(FILTERS)
}

fn agree(kind: Kind) {
    let rows = random::rows();
    let setup = Setup { patience: Some(Duration::from_secs(600)), ..Setup::default() };
    kit::run_in(setup, async |world| {
        let Some(mut base) = Base::new(kind) else { return };
        fill(&mut base, world, &rows).await;
        // The same filters in every run. PostgreSQL refuses a text beside a number, for SQLite it is the
        // larger one.
        let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
        let mut runner = TestRunner::new_with_rng(Config::default(), seed);
        let strategy = random::filter(kind == Kind::MariaDb);
        for _ in 0..filters().div_ceil(AT_ONCE) {
            let batch: Vec<_> =
                (0..AT_ONCE).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
            let answers = matching_rows(world, &batch, flavour(kind)).await;
            for (nth, filter) in batch.iter().enumerate() {
                assert_eq!(answers[&(nth as u64)], matching(filter, &rows), "{kind:?}: {filter}");
            }
        }
        for _ in 0..filters() / ALONE {
            let filter = strategy.new_tree(&mut runner).unwrap().current();
            let read =
                json!({"source": "things", "fields": ["id"], "sort": [{"id": "asc"}], "filter": filter});
            if filter.to_string().contains("parts") {
                continue;
            }
            let answer = query(world, read).await;
            let ids: Vec<_> =
                answer.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
            assert_eq!(ids, matching(&filter, &rows), "{kind:?}: {filter}");
        }
    });
}

#[test]
fn postgresql_agrees_with_the_dialect() {
    agree(Kind::Postgres);
}

#[test]
fn mariadb_agrees_with_the_dialect() {
    agree(Kind::MariaDb);
}

#[test]
fn sqlite_agrees_with_the_dialect() {
    agree(Kind::Sqlite);
}
