//! Tests of reading: problems of a document are reported with their path, before any message arrives.

use serde_json::{Value, json};
use svc_dialect::QueryDocument;

/// Returns the problems of a query as `path code`.
fn problems(query: Value, schema: Value) -> Vec<String> {
    let schema = (!schema.is_null()).then_some(&schema);
    let errors = QueryDocument::read(&query, schema, "in").err().unwrap_or_default();
    errors.iter().map(|error| format!("{} {}", error.path, error.code.name())).collect()
}

fn filter(filter: Value) -> Vec<String> {
    problems(json!({"source": "t", "filter": filter}), shop())
}

/// A schema of clients with orders and tags.
fn shop() -> Value {
    json!({"entities": {
        "t": {"physical": "things", "columns": {"a": {}, "b": {"name": "b_1"}, "hidden": {"queryable": false}},
              "relations": {
                  "parts": {"to": "part", "kind": "many", "local": "a", "foreign": "t_id"},
                  "tags": {"to": "tag", "kind": "many_to_many", "local": "a", "foreign": "id",
                           "through": {"table": "thing_tags", "local": "thing", "foreign": "tag"}}}},
        "part": {"columns": {"size": {}}},
        "tag": {"columns": {"name": {}}}
    }})
}

#[test]
fn every_operator_of_the_dialect_is_read() {
    let field = json!({"field": "a"});
    for node in [
        json!({"==": [field, 1]}),
        json!({"===": ["x", field]}),
        json!({"!=": [field, null]}),
        json!({"!==": [field, {"param": "p"}]}),
        json!({"<": [field, {"var": "data.x"}]}),
        json!({"<=": [1, field]}),
        json!({">": [field, {"var": ["data.x", 5]}]}),
        json!({">=": [field, true]}),
        json!({"<": [1, field, {"param": "p"}]}),
        json!({"<=": [1.5, field, 2]}),
        json!({"and": []}),
        json!({"or": [{"==": [field, 1]}, {"and": []}]}),
        json!({"!": {"==": [field, 1]}}),
        json!({"!": [{"==": [field, 1]}]}),
        json!({"in": [field, []]}),
        json!({"in": [field, [1, "a", null, {"param": "p"}, {"var": "data.x"}]]}),
        json!({"in": [field, {"param": "p"}]}),
        json!({"in": [field, {"var": "data.list"}]}),
        json!({"in": ["text", field]}),
        json!({"in": [{"var": "data.text"}, field]}),
        json!({"starts_with": [field, "x"]}),
        json!({"ends_with": [field, {"param": "p"}]}),
        json!({"missing": ["a", "b"]}),
        json!({"missing": []}),
        json!({"some": [{"field": "parts"}, {">": [{"field": "size"}, 1]}]}),
        json!({"none": [{"field": "tags"}, {"==": [{"field": "name"}, "x"]}]}),
        json!({"all": [{"field": "parts"}, {"and": []}]}),
        json!({"==": [field, {"$oid": "5f"}]}),
        json!({"==": [field, {"$date": {"var": "data.d"}}]}),
        json!({"==": [field, {"$binary": {"var": "data.b"}}]}),
        json!({"and": [true, {"!": false}]}),
        json!(true),
        json!({}),
        json!(null),
    ] {
        assert_eq!(filter(node.clone()), [""; 0], "{node}");
    }
}

#[test]
fn invalid_filter_is_refused_at_its_path() {
    let (field, other) = (json!({"field": "a"}), json!({"field": "b"}));
    for (node, problem) in [
        (json!({"==": [field, other]}), "== INVALID"),
        (json!({"in": [field, other]}), "in INVALID"),
        (json!({"==": [1, 2]}), "== INVALID"),
        (json!({"==": [{"param": "p"}, 2]}), "== INVALID"),
        (json!({"==": [{"field": "a.b"}, 2]}), "==[0].field INVALID"),
        (json!({"==": [{"field": "$where"}, 2]}), "==[0].field INVALID"),
        (json!({"==": [{"field": {"var": "data.x"}}, 2]}), "==[0].field TYPE_MISMATCH"),
        (json!({"==": [{"field": "a"}, {"val": ["x"]}]}), "==[1].val unknown_op"),
        (json!({"==": [{"field": "a"}, {"var": 5}]}), "==[1].var TYPE_MISMATCH"),
        (json!({"==": [{"field": "a"}, {"upper": ["x"]}]}), "==[1].upper unknown_op"),
        (json!({"==": [{"field": "a"}, {"x": 1, "y": 2}]}), "==[1] INVALID"),
        (json!({"==": [{"field": "a"}, {"$gt": 1}]}), "==[1] INVALID"),
        (json!({"==": [{"field": "a"}, [1]]}), "== INVALID"),
        (json!({"==": [field]}), "== INVALID"),
        (json!({"==": [field, 1, 2]}), "== INVALID"),
        (json!({">": [1, field, 2]}), "> INVALID"),
        (json!({"<": [field, 1, 2]}), "<[1] INVALID"),
        (json!({"<": [1, 5, 2]}), "<[1] INVALID"),
        (json!({"==": "a"}), "== TYPE_MISMATCH"),
        (json!({"in": [field, [[1]]]}), "in[1][0] INVALID"),
        (json!({"in": [field, "text"]}), "in[1] TYPE_MISMATCH"),
        (json!({"in": [5, field]}), "in[0] TYPE_MISMATCH"),
        (json!({"starts_with": ["x", field]}), "starts_with INVALID"),
        (json!({"starts_with": [field, 5]}), "starts_with[1] TYPE_MISMATCH"),
        (json!({"missing": "a"}), "missing TYPE_MISMATCH"),
        (json!({"missing": ["a.b"]}), "missing[0] INVALID"),
        (json!({"missing": [{"field": "a"}]}), "missing[0] TYPE_MISMATCH"),
        (json!({"and": {"==": [field, 1]}}), "and TYPE_MISMATCH"),
        (json!({"and": [{"==": [field, 1]}, {"xor": []}]}), "and[1].xor unknown_op"),
        (json!({"and": [1]}), "and[0] TYPE_MISMATCH"),
        (json!({"var": "data.filter"}), "var unknown_op"),
        (json!({"param": "p"}), "param INVALID"),
        (json!({"!": [{"and": []}, {"and": []}]}), "! INVALID"),
        (json!({"$where": "1"}), "$where unknown_op"),
        (json!({"some": [{"field": "nobody"}, {"and": []}]}), "some[0] INVALID"),
        (json!({"some": ["parts", {"and": []}]}), "some[0] INVALID"),
        (json!({"some": [{"field": "parts"}, {"==": [{"field": "a"}, 1]}]}), "some[1].==[0] INVALID"),
        (json!({"==": [{"field": "unknown"}, 1]}), "==[0] INVALID"),
        (json!({"==": [{"field": "hidden"}, 1]}), "==[0] INVALID"),
    ] {
        assert_eq!(filter(node.clone()), [format!("in.query.filter.{problem}")], "{node}");
    }
    assert_eq!(filter(json!({"==": [field, 1], "!=": [field, 2]})), ["in.query.filter INVALID"]);
    assert_eq!(filter(json!("a = 1")), ["in.query.filter TYPE_MISMATCH"]);
}

#[test]
fn a_query_has_its_members_and_no_others() {
    for (query, problem) in [
        (json!({}), "query.source missing_required"),
        (json!({"source": {"var": "data.x"}}), "query.source TYPE_MISMATCH"),
        (json!({"source": "a.b"}), "query.source INVALID"),
        (json!({"source": ""}), "query.source INVALID"),
        (json!({"source": "t", "where": {}}), "query.where UNKNOWN_FIELD"),
        (json!({"source": "t", "fields": "a"}), "query.fields TYPE_MISMATCH"),
        (json!({"source": "t", "fields": ["a", "b'"]}), "query.fields[1] INVALID"),
        (json!({"source": "t", "fields": [{"var": "data.x"}]}), "query.fields[0] TYPE_MISMATCH"),
        (json!({"source": "t", "sort": {"a": "asc"}}), "query.sort TYPE_MISMATCH"),
        (json!({"source": "t", "sort": ["a"]}), "query.sort[0] INVALID"),
        (json!({"source": "t", "sort": [{"a": "asc", "b": "asc"}]}), "query.sort[0] INVALID"),
        (json!({"source": "t", "sort": [{"a": "up"}]}), "query.sort[0].a INVALID"),
        (json!({"source": "t", "sort": [{"a": 1}]}), "query.sort[0].a TYPE_MISMATCH"),
        (json!({"source": "t", "limit": 0}), "query.limit INVALID"),
        (json!({"source": "t", "limit": 1.5}), "query.limit INVALID"),
        (json!({"source": "t", "limit": "5"}), "query.limit TYPE_MISMATCH"),
        (json!({"source": "t", "skip": -1}), "query.skip INVALID"),
        (
            json!({"source": "t", "include": {"parts": {"sort": [{"size": "asc"}]}}}),
            "query.include.parts INVALID",
        ),
        (json!("t"), "query TYPE_MISMATCH"),
    ] {
        assert_eq!(problems(query.clone(), Value::Null), [format!("in.{problem}")], "{query}");
    }
    let include = |include| problems(json!({"source": "t", "include": include}), shop());
    assert_eq!(
        include(json!({"parts": {"sort": [{"size": "asc"}], "fields": ["size"], "limit": 2}})),
        [""; 0]
    );
    assert_eq!(include(json!({"parts": {}})), ["in.query.include.parts.sort missing_required"]);
    assert_eq!(include(json!({"tags": {"sort": [{"name": "asc"}]}})), ["in.query.include.tags INVALID"]);
    let mut hiding = shop();
    hiding["entities"]["t"]["columns"]["parts"] = json!({});
    let both = json!({"source": "t", "include": {"parts": {"sort": [{"size": "asc"}]}}});
    assert_eq!(problems(both, hiding.clone()), ["in.query.include.parts INVALID"], "one name for two things");
    let one = json!({"source": "t", "fields": ["a"], "include": {"parts": {"sort": [{"size": "asc"}]}}});
    assert_eq!(problems(one, hiding), [""; 0]);
    let filtered = json!({"parts": {"sort": [{"size": "asc"}], "filter": {}}});
    assert_eq!(include(filtered), ["in.query.include.parts.filter UNKNOWN_FIELD"]);
    let several = json!({"source": "t", "limit": 0, "skip": -1, "filter": {"and": [{"x": 1}, {"y": 2}]}});
    assert_eq!(problems(several, Value::Null).len(), 4, "every problem is named");
}

#[test]
fn a_schema_says_what_there_is() {
    let schema = |schema| problems(json!({"source": "t"}), schema);
    let relation =
        |relation| schema(json!({"entities": {"t": {"columns": {"a": {}}, "relations": {"r": relation}}}}));
    let at = "in.schema.entities.t";
    assert_eq!(schema(shop()), [""; 0]);
    assert_eq!(schema(json!({"unmapped": "identity"})), [""; 0]);
    for (wrong, expected) in [
        (json!({}), vec!["in.query.source INVALID"]),
        (json!({"entities": {}, "x": 1}), vec!["in.schema.x UNKNOWN_FIELD", "in.query.source INVALID"]),
        (
            json!({"entities": {}, "unmapped": "maybe"}),
            vec!["in.schema.unmapped INVALID", "in.query.source INVALID"],
        ),
        (json!({"entities": {}}), vec!["in.query.source INVALID"]),
        (json!({"entities": {"t": {}}}), vec!["in.query.fields INVALID"]),
        (
            json!({"entities": {"t": {"columns": {"a": {"queryable": false}}}}}),
            vec!["in.query.fields INVALID"],
        ),
        (
            json!({"unmapped": "identity", "entities": {"t": {"columns": {"a": {"queryable": false}}}}}),
            vec!["in.query.fields INVALID"],
        ),
    ] {
        assert_eq!(schema(wrong.clone()), expected, "{wrong}");
    }
    for (wrong, expected) in [
        (json!({"table": "x", "columns": {"a": {}}}), "table UNKNOWN_FIELD"),
        (json!({"physical": "a.b", "columns": {"a": {}}}), "physical INVALID"),
        (json!({"columns": {"a": {}, "b": {"column": "x"}}}), "columns.b.column UNKNOWN_FIELD"),
        (json!({"columns": {"a": {}, "b": {"name": "x`"}}}), "columns.b.name INVALID"),
        (json!({"columns": {"a": {}, "b\"": {}}}), "columns.b\" INVALID"),
        (json!({"columns": {"a": {}, "b": {"queryable": 1}}}), "columns.b.queryable TYPE_MISMATCH"),
    ] {
        assert_eq!(schema(json!({"entities": {"t": wrong}})), [format!("{at}.{expected}")]);
    }
    for (wrong, expected) in [
        (json!({"to": "t", "local": "a"}), "foreign REQUIRED"),
        (json!({"to": "u", "local": "a", "foreign": "a"}), "to INVALID"),
        (json!({"to": "t", "local": "a", "foreign": "a", "kind": "some"}), "kind INVALID"),
        (json!({"to": "t", "local": "a", "foreign": "a", "kind": "many_to_many"}), "through REQUIRED"),
        (json!({"to": "t", "local": "a", "foreign": "a", "mongo": "x"}), "mongo INVALID"),
        (json!({"to": "t", "local": "a", "foreign": "a", "es": "x"}), "es INVALID"),
        (json!({"to": "t", "local": "a", "foreign": "a", "on": "x"}), "on UNKNOWN_FIELD"),
        (
            json!({"to": "t", "local": "a", "foreign": "a", "through": {"table": "p", "local": "x"}}),
            "through.foreign REQUIRED",
        ),
    ] {
        assert_eq!(relation(wrong.clone()), [format!("{at}.relations.r.{expected}")], "{wrong}");
    }
    for kind in ["has_one", "has_many", "one", "many"] {
        assert_eq!(relation(json!({"to": "t", "local": "a", "foreign": "a", "kind": kind})), [""; 0]);
    }
}

#[test]
fn unknown_schema_name_suggests_the_nearest_one() {
    for (query, meant) in [
        (json!({"source": "pat"}), "did you mean \"part\"?"),
        (json!({"source": "t", "filter": {"==": [{"field": "hiddn"}, 1]}}), "did you mean \"hidden\"?"),
        (
            json!({"source": "t", "filter": {"some": [{"field": "partz"}, {"and": []}]}}),
            "did you mean \"parts\"?",
        ),
    ] {
        let errors = QueryDocument::read(&query, Some(&shop()), "in").err().unwrap();
        assert!(errors.iter().any(|error| error.message.ends_with(meant)), "{query}: {errors:?}");
    }
}

#[test]
fn page_start_and_count_refuse_what_contradicts_them() {
    for (more, expected) in [
        (json!({"after": {"a": 1}}), vec!["in.query.after INVALID"]),
        (json!({"sort": [{"a": "asc"}], "after": {"a": 1}, "skip": 5}), vec!["in.query.skip INVALID"]),
        (json!({"sort": [{"a": "asc"}], "after": {"a": 1}, "fields": ["b"]}), vec!["in.query.after INVALID"]),
        (
            json!({"sort": [{"a": "asc"}, {"b": "asc"}], "after": {"a": 1, "c": 2}}),
            vec!["in.query.after.c UNKNOWN_FIELD", "in.query.after.b missing_required"],
        ),
        (json!({"sort": [{"a": "asc"}], "after": 1}), vec!["in.query.after TYPE_MISMATCH"]),
        (
            json!({"count": true, "limit": 5, "fields": ["a"]}),
            vec!["in.query.fields INVALID", "in.query.limit INVALID"],
        ),
        (json!({"count": 1}), vec!["in.query.count TYPE_MISMATCH"]),
        (
            json!({"count": true, "filter": {"==": [{"field": "a"}, 1]}, "skip": 1}),
            vec!["in.query.skip INVALID"],
        ),
        (json!({"count": true}), vec![]),
        (json!({"sort": [{"a": "asc"}], "after": null, "skip": 5}), vec![]),
        (json!({"sort": [{"a": "asc"}], "after": {"param": "last"}, "fields": ["a"]}), vec![]),
    ] {
        let mut query = json!({"source": "t"});
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(problems(query, shop()), expected, "{more}");
    }
}
