//! Tests of binding: the predicates that result from filters and values.

use serde_json::{Map, Value, json};
use svc_dialect::{
    Bindings, Comparison, Constant, DialectPolicy, DialectRefusal, DocumentExtent, Predicate, QueryBounds,
    QueryDocument, Select, WriteChange, WriteDocument, WriteLimits,
};

const BOUNDS: QueryBounds = QueryBounds { default_limit: 10, max_limit: 100, max_skip: 50 };

fn select(query: Value, folded: &[Value]) -> Result<Select, String> {
    let query = QueryDocument::read(&query, None, "").unwrap();
    let params = Map::from_iter([
        ("one".to_owned(), json!(1)),
        ("list".to_owned(), json!([1, null])),
        ("null".to_owned(), Value::Null),
        ("object".to_owned(), json!({"field": "b"})),
    ]);
    assert_eq!(query.folded_values().len(), folded.len());
    query.bind(&Bindings { params: &params, folded }, BOUNDS).map_err(|refusal| refusal.to_string())
}

#[test]
fn text_with_nul_is_refused_by_every_backend() {
    for nul in [json!("a\0b"), json!({"a": ["\0"]}), json!({"a\0": 1})] {
        let write = json!({"op": "insert", "target": "t", "values": [{"a": {"var": "payload"}, "b": nul}]});
        let read = WriteDocument::read(&write, Some(&json!({"unmapped": "identity"})), "").unwrap();
        let limits = WriteLimits { max_rows: 10, allow_unfiltered: true };
        for (folded, at) in [(json!("fine"), "b"), (nul.clone(), "a")] {
            let bound = read.bind(&Bindings { params: &Map::new(), folded: &[folded] }, limits);
            let why = bound.unwrap_err().to_string();
            assert!(why.contains("U+0000") && why.contains(at), "{why}");
        }
        let open = json!({"op": "insert", "target": "t", "values": {"var": "payload.rows"}});
        let schema = json!({"entities": {"t": {"columns": {"a": {}}}}});
        let read = WriteDocument::read(&open, Some(&schema), "").unwrap();
        let rows = json!([{"a": 1}, {"a": nul}]);
        assert!(read.bind(&Bindings { params: &Map::new(), folded: &[rows] }, limits).is_err(), "{nul}");
    }
    let (open, name) = (json!({"var": "payload"}), json!({"field": "a"}));
    for filter in [
        json!({"==": [name, open]}),
        json!({"in": [name, open]}),
        json!({"in": [open, name]}),
        json!({"starts_with": [name, open]}),
    ] {
        let value = if filter["in"][1] == open { json!(["x", "a\0"]) } else { json!("a\0") };
        let why = predicate(filter.clone(), &[value]).unwrap_err();
        assert!(why.contains("U+0000"), "{filter}: {why}");
    }
}

#[test]
fn objects_and_arrays_are_stored_and_never_compared_with() {
    let object = json!({"a": [1, {"b": null}], "$set": 1});
    let write = json!({"op": "insert", "target": "t", "values": [{"a": object, "b": {"var": "payload"}}]});
    let read = WriteDocument::read(&write, Some(&json!({"unmapped": "identity"})), "").unwrap();
    let limits = WriteLimits { max_rows: 10, allow_unfiltered: true };
    let bound = read.bind(&Bindings { params: &Map::new(), folded: &[json!([[1], {}])] }, limits).unwrap();
    let WriteChange::Insert { rows, .. } = bound else { panic!("it is an insert") };
    assert_eq!(rows, [[object.clone(), json!([[1], {}])]]);
    for value in [object, json!([[1]]), json!({})] {
        let why = predicate(json!({"==": [{"field": "a"}, {"var": "payload"}]}), &[value]).unwrap_err();
        assert!(why.contains("no value here"), "{why}");
    }
}

fn predicate(filter: Value, folded: &[Value]) -> Result<Predicate, String> {
    select(json!({"source": "t", "filter": filter}), folded).map(|select| select.predicate)
}

/// Formats a predicate in short form.
fn short(predicate: &Predicate) -> String {
    let value = |value: &Constant| match value {
        Constant::Number(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let joined = |parts: &[Predicate], by: &str| parts.iter().map(short).collect::<Vec<_>>().join(by);
    match predicate {
        Predicate::True => "true".into(),
        Predicate::False => "false".into(),
        Predicate::And(parts) => format!("({})", joined(parts, " & ")),
        Predicate::Or(parts) => format!("({})", joined(parts, " | ")),
        Predicate::Compare(column, comparison, constant) | Predicate::Order(column, comparison, constant) => {
            let sign = match comparison {
                Comparison::Equal => "=",
                Comparison::NotEqual => "<>",
                Comparison::Less => "<",
                Comparison::LessOrEqual => "<=",
                Comparison::Greater => ">",
                Comparison::GreaterOrEqual => ">=",
            };
            format!("{}{sign}{}", column.name, value(constant))
        }
        Predicate::Null { column, negated } => {
            format!("{}{}", if *negated { "set " } else { "null " }, column.name)
        }
        Predicate::OneOf { column, values, negated } => {
            let values: Vec<_> = values.iter().map(value).collect();
            format!("{}{}[{}]", column.name, if *negated { "!" } else { "" }, values.join(","))
        }
        Predicate::Text { column, place, text, negated } => {
            format!("{}{}{place:?}:{text}", column.name, if *negated { "!" } else { "~" })
        }
        Predicate::Related { relation, quantifier, predicate } => {
            format!("{quantifier:?} {}({})", relation.name, short(predicate))
        }
    }
}

#[test]
fn page_follows_its_keys_in_each_direction() {
    let sort = json!([{"a": "asc"}, {"b": "desc"}]);
    let page = |after: Value, folded: &[Value]| {
        let query = json!({"source": "t", "sort": sort, "after": after});
        select(query, folded).map(|select| short(&select.predicate))
    };
    for (after, expected) in [
        (json!(null), "true"),
        (json!({"a": 1, "b": 2}), "(a>1 | (a=1 & (b<2 | null b)))"),
        (json!({"a": null, "b": 2}), "(set a | (null a & (b<2 | null b)))"),
        (json!({"a": 1, "b": null}), "a>1"),
        (json!({"b": {"param": "one"}, "a": {"param": "one"}}), "(a>1 | (a=1 & (b<1 | null b)))"),
        (json!({"param": "null"}), "true"),
    ] {
        assert_eq!(page(after.clone(), &[]).as_deref(), Ok(expected), "{after}");
    }
    let whole = json!({"var": "payload.last"});
    assert_eq!(page(whole.clone(), &[Value::Null]).as_deref(), Ok("true"));
    let row = json!({"a": 1, "b": 2, "more": [1]});
    assert_eq!(page(whole.clone(), &[row]).as_deref(), Ok("(a>1 | (a=1 & (b<2 | null b)))"));
    for (row, why) in [
        (json!({"a": 1}), "it has no \"b\""),
        (json!([1, 2]), "an object with the sort keys"),
        (json!({"a": [1], "b": 2}), "a list is no value"),
    ] {
        let refused = page(whole.clone(), &[row]).unwrap_err();
        assert!(refused.contains("query.after") && refused.contains(why), "{refused}");
    }
    let filtered = json!({"source": "t", "sort": [{"a": "desc"}], "after": {"a": 5}, "filter": {"==": [{"field": "b"}, 1]}});
    assert_eq!(short(&select(filtered, &[]).unwrap().predicate), "(b=1 & (a<5 | null a))");
}

#[test]
fn nulls_lists_and_negations_are_settled() {
    let field = json!({"field": "a"});
    for (filter, expected) in [
        (json!({"==": [field, null]}), "null a"),
        (json!({"!=": [{"param": "null"}, field]}), "set a"),
        (json!({"!": {"==": [field, null]}}), "set a"),
        (json!({"<": [field, null]}), "false"),
        (json!({"!": {"<": [field, null]}}), "false"),
        (json!({"!": {"!=": [field, 1]}}), "a=1"),
        (json!({"<": [1, field]}), "a>1"),
        (json!({"!": {">=": [field, 1]}}), "a<1"),
        (json!({"<": [1, field, 5]}), "(a>1 & a<5)"),
        (json!({"<=": [1, field, 5]}), "(a>=1 & a<=5)"),
        (json!({"!": {"<=": [1, field, 5]}}), "(a<1 | a>5)"),
        (json!({"<=": [null, field, 5]}), "false"),
        (json!({"in": [field, []]}), "false"),
        (json!({"!": {"in": [field, []]}}), "true"),
        (json!({"in": [field, [null]]}), "null a"),
        (json!({"in": [field, {"param": "list"}]}), "(a[1] | null a)"),
        (json!({"!": {"in": [field, {"param": "list"}]}}), "(a![1] & set a)"),
        (json!({"in": ["", field]}), "set a"),
        (json!({"!": {"in": ["", field]}}), "false"),
        (json!({"!": {"in": ["x", field]}}), "a!Anywhere:x"),
        (json!({"starts_with": [field, "x"]}), "a~Start:x"),
        (json!({"missing": ["a", "b"]}), "(null a | null b)"),
        (json!({"!": {"missing": ["a", "b"]}}), "(set a & set b)"),
        (json!({"missing": []}), "false"),
        (json!({"and": []}), "true"),
        (json!({"or": []}), "false"),
        (json!({"!": {"and": [{"==": [field, 1]}, {"==": [field, 2]}]}}), "(a<>1 | a<>2)"),
        (json!({"!": {"!": {"==": [field, 1]}}}), "a=1"),
        (json!({"and": [{"==": [field, 1]}, {"and": [{"==": [field, 2]}, {"and": []}]}]}), "(a=1 & a=2)"),
        (json!({"and": [{"missing": ["a"]}, {"!": {"missing": ["a"]}}]}), "false"),
        (json!({"or": [{"==": [field, 1]}, {"or": []}]}), "a=1"),
    ] {
        assert_eq!(short(&predicate(filter.clone(), &[]).unwrap()), expected, "{filter}");
    }
}

#[test]
fn constant_conditions_over_relations_are_settled() {
    let schema = json!({"unmapped": "identity", "entities": {"t": {
        "relations": {"r": {"to": "u", "local": "id", "foreign": "t_id"}}
    }}});
    let run = |filter: Value| {
        let query = json!({"source": "t", "filter": filter, "fields": ["id"]});
        let query = QueryDocument::read(&query, Some(&schema), "").unwrap();
        let bound = query.bind(&Bindings { params: &Map::new(), folded: &[] }, BOUNDS).unwrap();
        short(&bound.predicate)
    };
    let over = |quantifier: &str, filter: Value| json!({ quantifier: [{"field": "r"}, filter] });
    let (yes, no, some) = (json!({"and": []}), json!({"or": []}), json!({"<": [{"field": "x"}, 1]}));
    for (filter, expected) in [
        (over("some", yes.clone()), "Some r(true)"),
        (over("some", no.clone()), "false"),
        (over("none", no.clone()), "true"),
        (over("all", no), "false"),
        (over("all", yes), "Some r(true)"),
        (json!({"!": over("some", some.clone())}), "None r(x<1)"),
        (json!({"!": over("none", some.clone())}), "Some r(x<1)"),
        (json!({"!": over("all", some)}), "NotAll r(x<1)"),
    ] {
        assert_eq!(run(filter.clone()), expected, "{filter}");
    }
}

#[test]
fn value_resembling_syntax_stays_a_value() {
    let compared = |value: Value| predicate(json!({"==": [{"field": "a"}, {"var": "data.x"}]}), &[value]);
    for shape in [
        json!({"field": "b"}),
        json!({"param": "one"}),
        json!({"var": "data.y"}),
        json!({"$gt": ""}),
        json!({"$ne": null}),
        json!({"or": []}),
        json!({"$oid": {"$gt": 1}}),
        json!({"$binary": "no base64"}),
        json!([1]),
        json!({}),
    ] {
        let refused = compared(shape.clone()).unwrap_err();
        assert!(refused.starts_with("query.filter.==[1]: "), "{refused}");
        let listed = json!({"in": [{"field": "a"}, {"var": "data.x"}]});
        let nested = predicate(listed, &[json!([shape])]).unwrap_err();
        assert!(nested.starts_with("query.filter.in[1]: "), "{nested}");
    }
    assert_eq!(compared(json!({"$oid": "5f"})).map(|one| short(&one)), Ok("a=Oid(\"5f\")".into()));
    let named = json!({"==": [{"field": "a"}, {"param": "object"}]});
    assert!(predicate(named, &[]).is_err());
    let missing = json!({"==": [{"field": "a"}, {"param": "nobody"}]});
    assert_eq!(predicate(missing, &[]).unwrap_err(), "query.filter.==[1]: params has no \"nobody\"");
    let listed = json!({"in": [{"field": "a"}, {"var": "data.x"}]});
    assert_eq!(predicate(listed, &[json!("abc")]).unwrap_err(), "query.filter.in[1]: this must be a list");
    let text = json!({"in": [{"var": "data.x"}, {"field": "a"}]});
    assert_eq!(predicate(text, &[json!(5)]).unwrap_err(), "query.filter.in[0]: this must be a text");
}

#[test]
fn bounds_refuse_and_do_not_clamp() {
    let run = |more: Value, folded: &[Value]| {
        let mut query = json!({"source": "t"});
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        select(query, folded).map(|select| (select.limit, select.skip))
    };
    assert_eq!(run(json!({}), &[]), Ok((10, 0)));
    assert_eq!(run(json!({"limit": 100, "skip": 50}), &[]), Ok((100, 50)));
    assert_eq!(
        run(json!({"limit": {"param": "one"}, "skip": {"var": "data.skip"}}), &[json!(7)]),
        Ok((1, 7))
    );
    assert_eq!(run(json!({"limit": 7.0, "skip": {"var": "data.skip"}}), &[json!(5.0)]), Ok((7, 5)));
    for (wrong, at) in [(json!({"limit": 101}), "query.limit: "), (json!({"skip": 51}), "query.skip: ")] {
        assert!(run(wrong, &[]).unwrap_err().starts_with(at));
    }
    for wrong in [json!(0), json!(-1), json!(1.5), json!(1e300), json!("1"), json!(null), json!([1])] {
        assert!(
            run(json!({"limit": {"var": "data.limit"}}), std::slice::from_ref(&wrong)).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn a_guard_sees_physical_names_and_relations() {
    let schema = |unmapped: &str| {
        json!({"unmapped": unmapped, "entities": {
            "client": {"physical": "clients", "columns": {"id": {}}, "relations": {
                "orders": {"to": "order", "local": "id", "foreign": "client_id"},
                "tags": {"to": "tag", "local": "id", "foreign": "id",
                         "through": {"table": "client_tags", "local": "c", "foreign": "t"}}}},
            "order": {"physical": "orders", "columns": {"id": {}}},
            "tag": {"columns": {"id": {}}},
            "unused": {"columns": {"id": {}}}}})
    };
    let extent = |query: Value, schema: Option<&Value>| -> DocumentExtent {
        QueryDocument::read(&query, schema, "").unwrap().extent().clone()
    };
    let over = |relation: &str| json!({"some": [{"field": relation}, {"and": []}]});
    let plain = extent(json!({"source": "client"}), Some(&schema("reject")));
    assert_eq!((plain.mapped, plain.entities.len()), (true, 1));
    let check = |extent: &DocumentExtent, require_schema: bool, allowed: &[&str]| {
        let allowed: Vec<_> = allowed.iter().map(|&name| name.to_owned()).collect();
        extent.check(DialectPolicy { require_schema, allowed_entities: &allowed })
    };
    assert!(check(&plain, true, &["clients"]).is_ok());
    assert!(matches!(check(&plain, true, &["client"]), Err(DialectRefusal::Denied(_))));
    let wide = json!({"source": "client", "filter": {"and": [over("orders"), over("tags")]}});
    let wide = extent(wide, Some(&schema("reject")));
    assert!(check(&wide, true, &["clients", "orders", "tag", "client_tags"]).is_ok());
    for one in ["clients", "orders", "tag", "client_tags"] {
        let others: Vec<_> =
            ["clients", "orders", "tag", "client_tags"].into_iter().filter(|name| *name != one).collect();
        assert!(check(&wide, false, &others).is_err(), "{one}");
    }
    let included = json!({"source": "client", "include": {"orders": {"sort": [{"id": "asc"}]}}});
    assert!(check(&extent(included, Some(&schema("reject"))), false, &["clients"]).is_err());
    for open in [
        extent(json!({"source": "client"}), None),
        extent(json!({"source": "client"}), Some(&schema("identity"))),
    ] {
        assert!(
            check(&open, false, &[]).is_ok()
                && matches!(check(&open, true, &[]), Err(DialectRefusal::Denied(_)))
        );
    }
}
