//! Pages of `data_query` behind a row, and counts.

use serde_json::{Value, json};

use super::{Base, change, open_shop, query, run, shop, write};
use crate::kit;

/// Reads all pages of two rows, each behind the last row of the one before.
async fn read_pages(world: &kit::ConnectorWorld, sort: &Value) -> Vec<Value> {
    let document = json!({"source": "people", "fields": ["id", "name", "born", "grade"], "sort": sort, "limit": 2,
        "after": {"var": "payload.last"}});
    let (mut rows, mut last) = (Vec::new(), Value::Null);
    loop {
        let payload = json!({"last": last});
        let page = run(world, "data_query", json!({"query": document}), payload).await.unwrap();
        let Some(end) = page.as_array().unwrap().last() else { return rows };
        last = end.clone();
        rows.extend(page.as_array().unwrap().iter().cloned());
        assert!(rows.len() <= 9, "the pages do not end: {rows:?}");
    }
}

#[test]
fn pages_together_are_the_sorted_whole() {
    kit::run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let table = "CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(20), born DATE, grade INT)";
            write(world, table, json!([])).await.unwrap();
            let values = json!([
                {"id": 1, "name": "ann", "born": "2000-01-01", "grade": 1},
                {"id": 2, "name": "Ann", "born": "2000-01-02", "grade": null},
                {"id": 3, "name": "bob", "born": null, "grade": 1},
                {"id": 4, "name": null, "born": null, "grade": null},
                {"id": 5, "name": "zoë", "born": "1999-12-31", "grade": 2},
                {"id": 6, "name": null, "born": "2000-01-01", "grade": 2},
                {"id": 7, "name": "bob", "born": "2000-01-01", "grade": null}]);
            change(world, json!({"op": "insert", "target": "people", "values": values})).await;
            for sort in [
                json!([{"id": "asc"}]),
                json!([{"id": "desc"}]),
                json!([{"name": "asc"}, {"id": "desc"}]),
                json!([{"name": "desc"}, {"id": "asc"}]),
                json!([{"born": "asc"}, {"grade": "desc"}, {"id": "asc"}]),
                json!([{"grade": "desc"}, {"born": "desc"}, {"id": "desc"}]),
            ] {
                let document =
                    json!({"source": "people", "fields": ["id", "name", "born", "grade"], "sort": sort});
                let whole = query(world, document).await;
                let pages = read_pages(world, &sort).await;
                assert_eq!(Value::Array(pages), whole, "{:?} {sort}", base.kind);
            }
        }
    });
}

#[test]
fn count_is_that_of_the_filtered_rows() {
    kit::run(async |world| {
        for mut base in Base::all() {
            open_shop(&mut base, world).await;
            for (filter, expected) in [
                (Value::Null, 3),
                (json!({"missing": ["name"]}), 1),
                (json!({"some": [{"field": "orders"}, {">": [{"field": "total"}, 6]}]}), 2),
                (json!({"==": [{"field": "id"}, 99]}), 0),
            ] {
                let document = json!({"source": "client", "count": true, "filter": filter});
                let input = json!({"query": document, "schema": shop()});
                let counted = run(world, "data_query", input, Value::Null).await.unwrap();
                assert_eq!(counted, json!({"count": expected}), "{:?} {filter}", base.kind);
            }
        }
    });
}
