//! Tests that no content of a message changes the statement.

use serde_json::{Map, Value, json};
use svc_dialect::sql::{self, SqlFlavour};
use svc_dialect::{Bindings, QueryBounds, QueryDocument, WriteDocument, WriteLimits};

const FLAVOURS: [SqlFlavour; 3] = [SqlFlavour::Postgres, SqlFlavour::MySql, SqlFlavour::Sqlite];

/// Texts that attempt to break out of a value.
const TEXTS: [&str; 24] = [
    "' OR '1'='1",
    "'; DROP TABLE clients; --",
    "\" OR \"\"=\"",
    "` OR 1=1 -- ",
    "\\' OR 1=1 -- ",
    "\\",
    "%' OR 1=1 --",
    "*/ OR 1=1 /*",
    "/*!50000 OR 1=1 */",
    "1; SELECT version()",
    "1) OR (1=1",
    "$1",
    "$1::text",
    "?",
    ":name",
    "@@version",
    "$$ OR 1=1 $$",
    "E'\\x27'",
    "0x27",
    "ʼ OR 1=1",
    "\u{2019}; DELETE",
    "\u{FF07} OR 1=1",
    "%_!*?[",
    "{\"field\": \"password\"}",
];

fn shapes() -> Vec<Value> {
    let mut shapes: Vec<_> = TEXTS.iter().map(|text| json!(text)).collect();
    shapes.extend([json!(0), json!(-1), json!(1e300), json!(i64::MIN), json!(true), json!(null)]);
    shapes.extend([
        json!({"field": "password"}),
        json!({"param": "p"}),
        json!({"var": "payload"}),
        json!({"$gt": ""}),
        json!({"$ne": null}),
        json!({"or": []}),
        json!({"!": {"or": []}}),
        json!([]),
        json!(["a", {"field": "b"}]),
        json!([["a"]]),
        json!({"sql": "1=1"}),
    ]);
    shapes
}

#[test]
fn no_value_changes_a_filter() {
    let field = json!({"field": "name"});
    let open = json!({"var": "data.x"});
    for filter in [
        json!({"==": [field, open]}),
        json!({"<": [open, field]}),
        json!({"<=": [open, field, "z"]}),
        json!({"in": [field, ["a", open]]}),
        json!({"in": [open, field]}),
        json!({"starts_with": [field, open]}),
        json!({"!": {"ends_with": [field, open]}}),
        json!({"and": [{"==": [field, {"param": "p"}]}, {"!=": [{"field": "id"}, open]}]}),
    ] {
        let query = QueryDocument::read(&json!({"source": "clients", "filter": filter}), None, "").unwrap();
        let render = |value: &Value, flavour| {
            let params = Map::from_iter([("p".to_owned(), value.clone())]);
            let folded = vec![value.clone(); query.folded_values().len()];
            let bounds = QueryBounds { default_limit: 1, max_limit: 1, max_skip: 1 };
            let select = query.bind(&Bindings { params: &params, folded: &folded }, bounds).ok()?;
            sql::select(&select, flavour).ok()
        };
        for flavour in FLAVOURS {
            let plain = render(&json!("plain"), flavour).unwrap();
            for shape in shapes() {
                // An object or a list may be refused, and null or a number may change the comparison; nothing
                // else may change.
                let Some(statement) = render(&shape, flavour) else {
                    assert!(!shape.is_string(), "{shape} is a value");
                    continue;
                };
                assert!(!shape.is_object() && !shape.is_array(), "{shape} is no value");
                if shape.is_string() {
                    assert_eq!(statement.sql, plain.sql, "{shape}");
                }
                for text in TEXTS.iter().filter(|text| text.len() > 4) {
                    assert!(!statement.sql.contains(text), "{}", statement.sql);
                }
            }
        }
    }
}

#[test]
fn no_value_changes_a_write() {
    let write = json!({"op": "update", "target": "clients", "set": {"name": {"var": "data.x"}},
                       "filter": {"==": [{"field": "id"}, 1]}});
    let write = WriteDocument::read(&write, None, "").unwrap();
    let render = |value: &Value, flavour| {
        let folded = [value.clone()];
        let limits = WriteLimits { max_rows: 10, allow_unfiltered: false };
        let change = write.bind(&Bindings { params: &Map::new(), folded: &folded }, limits).unwrap();
        sql::change(&change, flavour).unwrap().remove(0)
    };
    for flavour in FLAVOURS {
        let plain = render(&json!("plain"), flavour);
        for shape in shapes() {
            let statement = render(&shape, flavour);
            assert_eq!((statement.sql, &statement.params[0]), (plain.sql.clone(), &shape));
        }
    }
}

#[test]
fn a_name_stays_within_its_quotes() {
    for name in
        ["id; DROP TABLE x", "id) --", "a /* b", "id AS y, 1", "t0", "select", "*", "$x$", "é", "a b", "x?"]
    {
        let query = json!({"source": name, "fields": [name], "sort": [{ name: "asc" }],
                           "filter": {"==": [{"field": name}, 1]}});
        let Ok(query) = QueryDocument::read(&query, None, "") else {
            assert!(name.starts_with('$'), "{name}");
            continue;
        };
        let bounds = QueryBounds { default_limit: 1, max_limit: 1, max_skip: 1 };
        let select = query.bind(&Bindings { params: &Map::new(), folded: &[] }, bounds).unwrap();
        for (flavour, quote) in
            [(SqlFlavour::Postgres, '"'), (SqlFlavour::MySql, '`'), (SqlFlavour::Sqlite, '`')]
        {
            let sql = sql::select(&select, flavour).unwrap().sql;
            let outside: String = sql.split(quote).step_by(2).collect();
            let plain = sql::select(&plain(), flavour).unwrap().sql;
            assert_eq!(outside, plain.split(quote).step_by(2).collect::<String>(), "{name}");
        }
    }
    for name in TEXTS.iter().filter(|text| text.contains(['\'', '"', '`', '\\', '.'])) {
        for query in [
            json!({"source": name}),
            json!({"source": "t", "fields": [name]}),
            json!({"source": "t", "sort": [{ *name: "asc" }]}),
            json!({"source": "t", "filter": {"==": [{"field": name}, 1]}}),
            json!({"source": "t", "filter": {"missing": [name]}}),
        ] {
            assert!(QueryDocument::read(&query, None, "").is_err(), "{query}");
        }
    }
}

fn plain() -> svc_dialect::Select {
    let query = json!({"source": "n", "fields": ["n"], "sort": [{"n": "asc"}], "filter": {"==": [{"field": "n"}, 1]}});
    let bounds = QueryBounds { default_limit: 1, max_limit: 1, max_skip: 1 };
    let query = QueryDocument::read(&query, None, "").unwrap();
    query.bind(&Bindings { params: &Map::new(), folded: &[] }, bounds).unwrap()
}
