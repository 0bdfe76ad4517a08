//! Tests of write documents: the members of each operation, and the permission to match every row.

use serde_json::{Map, Value, json};
use svc_dialect::{Bindings, Predicate, WriteChange, WriteDocument, WriteLimits, WriteOperation};

const LIMITS: WriteLimits = WriteLimits { max_rows: 3, allow_unfiltered: false };

fn problems(write: Value) -> Vec<String> {
    let errors = WriteDocument::read(&write, None, "").err().unwrap_or_default();
    errors.iter().map(|error| format!("{} {}", error.path, error.code.name())).collect()
}

/// Binds a write over values of a message.
fn bind(write: Value, schema: Value, folded: Value, limits: WriteLimits) -> Result<WriteChange, String> {
    let schema = (!schema.is_null()).then_some(&schema);
    let write = WriteDocument::read(&write, schema, "").unwrap();
    let folded = [folded];
    let params = Map::from_iter([("p".to_owned(), json!("v"))]);
    let with = Bindings { params: &params, folded: &folded[..write.folded_values().len()] };
    write.bind(&with, limits).map_err(|refusal| refusal.to_string())
}

#[test]
fn each_operation_takes_its_members() {
    for write in [
        json!({"op": "insert", "target": "t", "values": {"a": 1}}),
        json!({"op": "insert", "target": "t", "values": [{"a": 1, "b": 2}, {"b": 3, "a": {"x": [1]}}], "returning": ["a"]}),
        json!({"op": "update", "target": "t", "set": {"a": {"var": "data.x"}}, "filter": {"==": [{"field": "a"}, 1]}}),
        json!({"op": "update", "target": "t", "set": {"a": 1}, "all": true}),
        json!({"op": "delete", "target": "t", "filter": {}, "all": false, "returning": []}),
        json!({"op": "upsert", "target": "t", "values": {"a": 1}, "on_conflict": {"target": ["a"]}}),
        json!({"op": "upsert", "target": "t", "values": {"a": 1}, "set": {"a": 2},
               "on_conflict": {"target": ["a"], "action": "update"}}),
        json!({"op": "upsert", "target": "t", "values": {"a": 1}, "on_conflict": {"target": ["a"], "action": "nothing"}}),
    ] {
        assert_eq!(problems(write.clone()), [""; 0], "{write}");
    }
    for (write, due) in [
        (json!({"target": "t", "values": {"a": 1}}), "op missing_required"),
        (json!({"op": "merge", "target": "t"}), "op unknown_op"),
        (json!({"op": {"var": "data.op"}, "target": "t"}), "op TYPE_MISMATCH"),
        (json!({"op": "insert", "values": {"a": 1}}), "target missing_required"),
        (json!({"op": "insert", "target": {"var": "data.t"}, "values": {"a": 1}}), "target TYPE_MISMATCH"),
        (json!({"op": "insert", "target": "t"}), "values missing_required"),
        (
            json!({"op": "insert", "target": "t", "values": {"a": 1}, "filter": {}}),
            "filter field_not_applicable",
        ),
        (json!({"op": "insert", "target": "t", "values": {"a": 1}, "all": true}), "all field_not_applicable"),
        (json!({"op": "insert", "target": "t", "values": {"a": 1}, "row": 1}), "row UNKNOWN_FIELD"),
        (json!({"op": "insert", "target": "t", "values": []}), "values INVALID"),
        (json!({"op": "insert", "target": "t", "values": {}}), "values INVALID"),
        (json!({"op": "insert", "target": "t", "values": [1]}), "values[0] TYPE_MISMATCH"),
        (json!({"op": "insert", "target": "t", "values": [{"a": 1}, {"b": 1}]}), "values[1] INVALID"),
        (json!({"op": "insert", "target": "t", "values": [{"a": 1}, {"a": 1, "b": 1}]}), "values[1] INVALID"),
        (json!({"op": "insert", "target": "t", "values": [{"var": "data.x"}]}), "values[0] INVALID"),
        (json!({"op": "insert", "target": "t", "values": {"var": "data.x"}}), "values INVALID"),
        (json!({"op": "insert", "target": "t", "values": {"a\"": 1}}), "values.a\" INVALID"),
        (json!({"op": "insert", "target": "t", "values": {"a": {"field": "b"}}}), "values.a INVALID"),
        (
            json!({"op": "insert", "target": "t", "values": {"a": 1}, "returning": "a"}),
            "returning TYPE_MISMATCH",
        ),
        (json!({"op": "update", "target": "t"}), "set missing_required"),
        (json!({"op": "update", "target": "t", "set": {}}), "set empty_update"),
        (
            json!({"op": "update", "target": "t", "set": {"a": 1}, "values": {"a": 1}}),
            "values field_not_applicable",
        ),
        (json!({"op": "update", "target": "t", "set": {"a": 1}, "all": "yes"}), "all TYPE_MISMATCH"),
        (json!({"op": "delete", "target": "t", "set": {"a": 1}}), "set field_not_applicable"),
        (json!({"op": "upsert", "target": "t", "values": {"a": 1}}), "on_conflict missing_required"),
        (
            json!({"op": "upsert", "target": "t", "values": {"a": 1}, "on_conflict": {}}),
            "on_conflict.target missing_required",
        ),
        (
            json!({"op": "upsert", "target": "t", "values": {"a": 1}, "on_conflict": {"target": []}}),
            "on_conflict.target missing_required",
        ),
        (
            json!({"op": "upsert", "target": "t", "values": {"a": 1}, "on_conflict": {"target": ["a"], "action": "fail"}}),
            "on_conflict.action INVALID",
        ),
        (
            json!({"op": "upsert", "target": "t", "values": {"a": 1}, "set": {"a": 2},
                   "on_conflict": {"target": ["a"], "action": "nothing"}}),
            "set field_not_applicable",
        ),
    ] {
        assert_eq!(problems(write.clone()), [format!("write.{due}")], "{write}");
    }
    assert_eq!(
        problems(json!({"op": "delete", "target": "t", "filter": {"x": 1}})),
        ["write.filter.x unknown_op"]
    );
}

#[test]
fn every_row_is_meant_only_with_both_switches() {
    let allowed = WriteLimits { allow_unfiltered: true, ..LIMITS };
    let field = json!({"field": "a"});
    for filter in [
        json!(null),
        json!({}),
        json!(true),
        json!({"and": []}),
        json!({"!": {"or": []}}),
        json!({"!": {"in": [field, {"var": "data.none"}]}}),
        json!({"or": [{"==": [field, null]}, {"!=": [field, null]}]}),
        json!({"or": [{"missing": ["a"]}, {"!": {"missing": ["a"]}}]}),
    ] {
        for (op, more) in [("delete", json!({})), ("update", json!({"set": {"b": 1}}))] {
            let write = |all: bool| {
                let mut write = json!({"op": op, "target": "t", "filter": filter, "all": all});
                write.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                write
            };
            let run = |all, limits| bind(write(all), Value::Null, json!([]), limits);
            for (all, limits, named) in [
                (false, LIMITS, vec!["\"all\"", "write.allow_unfiltered"]),
                (true, LIMITS, vec!["write.allow_unfiltered"]),
                (false, allowed, vec!["\"all\""]),
            ] {
                let why = run(all, limits).unwrap_err();
                assert!(
                    why.starts_with("write.filter: ") && named.iter().all(|name| why.contains(name)),
                    "{why}"
                );
                assert_eq!(named.len(), why.matches("\"all\"").count() + why.matches("write.allow").count());
            }
            assert!(run(true, allowed).is_ok());
        }
    }
    let some = json!({"op": "delete", "target": "t", "filter": {"==": [field, {"var": "data.x"}]}});
    assert!(matches!(
        bind(some, Value::Null, Value::Null, LIMITS),
        Ok(WriteChange::Delete { predicate: Predicate::Null { negated: false, .. }, .. })
    ));
}

#[test]
fn rows_are_bounded_and_alike() {
    let rows = |n: usize| json!({"op": "insert", "target": "t", "values": vec![json!({"a": 1}); n]});
    assert!(bind(rows(3), Value::Null, Value::Null, LIMITS).is_ok());
    assert_eq!(bind(rows(4), Value::Null, Value::Null, LIMITS).unwrap_err(), "write.values: at most 3 rows");
    let mixed = json!({"op": "insert", "target": "t", "values": [{"a": {"param": "p"}, "b": {"var": "data.x"}}, {"b": 2, "a": null}]});
    let Ok(WriteChange::Insert { columns, rows, .. }) =
        bind(mixed, Value::Null, json!({"deep": [1]}), LIMITS)
    else {
        panic!("it was not bound");
    };
    assert_eq!(columns.iter().map(|one| &*one.physical).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(rows, [[json!("v"), json!({"deep": [1]})], [Value::Null, json!(2)]]);
}

#[test]
fn message_columns_are_limited_to_writable_ones() {
    let schema = json!({"entities": {"t": {"columns": {
        "a": {}, "b": {"name": "b_1"}, "role": {"writable": false}, "c": {"queryable": false}
    }}}});
    let insert = json!({"op": "insert", "target": "t", "values": {"var": "data.rows"}});
    let run = |row| bind(insert.clone(), schema.clone(), row, LIMITS);
    let Ok(WriteChange::Insert { columns, rows, .. }) =
        run(json!([{"b": 1, "c": 2}, {"c": 3, "b": {"var": "x"}}]))
    else {
        panic!("it was not bound");
    };
    assert_eq!(columns.iter().map(|one| &*one.physical).collect::<Vec<_>>(), ["b_1", "c"]);
    assert_eq!(rows[1], [json!({"var": "x"}), json!(3)], "a message is never read as a document");
    for wrong in [
        json!({"role": "admin"}),
        json!({"a": 1, "unknown": 1}),
        json!({"a\"; DROP TABLE t; --": 1}),
        json!({}),
        json!([]),
        json!([1]),
        json!("x"),
        json!(null),
        json!([{"a": 1}, {"b": 1}]),
        json!([{"a": 1}, {"a": 1, "b": 1}]),
        json!([{"a": 1}, {"a": 1, "role": 1}]),
        json!(vec![json!({"a": 1}); 4]),
    ] {
        assert!(run(wrong.clone()).is_err(), "{wrong}");
    }
    let update = json!({"op": "update", "target": "t", "set": {"var": "data.set"}, "filter": {"==": [{"field": "a"}, 1]}});
    assert!(bind(update.clone(), schema.clone(), json!({"a": 2}), LIMITS).is_ok());
    assert!(bind(update, schema.clone(), json!({"role": 2}), LIMITS).is_err());
    let written = json!({"op": "insert", "target": "t", "values": {"role": 1}});
    assert_eq!(WriteDocument::read(&written, Some(&schema), "").unwrap_err()[0].path, "write.values.role");
}

#[test]
fn operation_is_named_as_its_switch() {
    for op in ["insert", "update", "delete", "upsert"] {
        let write = json!({"op": op, "target": "t"});
        let all = json!({"values": {"a": 1}, "set": {"a": 1}, "on_conflict": {"target": ["a"]}});
        let mut read = write.clone();
        for (name, value) in all.as_object().unwrap() {
            read[name] = value.clone();
            if problems(read.clone()).iter().any(|one| one.ends_with("field_not_applicable")) {
                read.as_object_mut().unwrap().remove(name);
            }
        }
        let operation: WriteOperation = WriteDocument::read(&read, None, "").unwrap().operation();
        assert_eq!(operation.name(), op);
    }
}
