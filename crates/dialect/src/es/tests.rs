use super::*;
use crate::{Bindings, QueryBounds, QueryDocument, WriteDocument, WriteLimits};

const BOUNDS: QueryBounds = QueryBounds { default_limit: 100, max_limit: 1000, max_skip: 10_000 };
const LIMITS: WriteLimits = WriteLimits { max_rows: 1000, allow_unfiltered: true };

fn schema() -> Value {
    json!({"unmapped": "identity", "entities": {
        "client": {
            "physical": "clients",
            "columns": {"id": {"name": "_id"}, "name": {}, "city": {"name": "town"}},
            "relations": {
                "orders": {"to": "order", "kind": "has_many", "local": "id", "foreign": "client_id", "es": "nested"},
                "visits": {"to": "order", "kind": "has_many", "local": "id", "foreign": "client_id", "es": "child"},
                "plain": {"to": "order", "kind": "has_many", "local": "id", "foreign": "client_id"},
            },
        },
        "order": {"columns": {"total": {}}},
    }})
}

fn select(query: Value) -> Result<Select, String> {
    let read = QueryDocument::read(&query, Some(&schema()), "in").map_err(|errors| format!("{errors:?}"))?;
    read.bind(&Bindings { params: &Map::new(), folded: &[] }, BOUNDS).map_err(|refusal| refusal.to_string())
}

fn search_call(query: Value) -> Result<EsCall, String> {
    search(&select(query)?).map_err(|refusal| refusal.to_string())
}

fn filter_query(filter: Value) -> Result<Value, String> {
    let call = search_call(json!({"source": "client", "filter": filter}))?;
    match call.body {
        EsBody::Json(body) => Ok(body["query"]["bool"]["filter"][0].clone()),
        EsBody::Lines(_) => Err("lines".to_owned()),
    }
}

fn write_call(write: Value) -> Result<EsCall, String> {
    let read = WriteDocument::read(&write, Some(&schema()), "in").map_err(|errors| format!("{errors:?}"))?;
    let bound = read.bind(&Bindings { params: &Map::new(), folded: &[] }, LIMITS);
    bound.and_then(|change| request(&change)).map_err(|refusal| refusal.to_string())
}

#[test]
fn predicates_are_queries_over_physical_names() {
    let city = json!({"field": "city"});
    let not = |query: Value| json!({"bool": {"must_not": [query]}});
    let other =
        |query: Value| json!({"bool": {"filter": [{"exists": {"field": "town"}}], "must_not": [query]}});
    for (filter, expected) in [
        (json!({"==": [city, "Ulm"]}), json!({"term": {"town": {"value": "Ulm"}}})),
        (json!({"!=": [city, "Ulm"]}), not(json!({"term": {"town": {"value": "Ulm"}}}))),
        (json!({"<": [5, city]}), json!({"range": {"town": {"gt": 5}}})),
        (json!({"!": {"<": [city, 5]}}), json!({"range": {"town": {"gte": 5}}})),
        (json!({"==": [city, null]}), not(json!({"exists": {"field": "town"}}))),
        (json!({"!=": [city, null]}), json!({"exists": {"field": "town"}})),
        (json!({"in": [city, ["a", "b"]]}), json!({"terms": {"town": ["a", "b"]}})),
        (json!({"!": {"in": [city, ["a", "b"]]}}), other(json!({"terms": {"town": ["a", "b"]}}))),
        (json!({"!": {"starts_with": [city, "a"]}}), other(json!({"prefix": {"town": {"value": "a"}}}))),
        (json!({"starts_with": [city, "a*"]}), json!({"prefix": {"town": {"value": "a*"}}})),
        (json!({"ends_with": [city, "a*?\\b"]}), json!({"wildcard": {"town": {"value": "*a\\*\\?\\\\b"}}})),
        (json!({"in": ["*", city]}), json!({"wildcard": {"town": {"value": "*\\**"}}})),
        (
            json!({"<=": [1, city, 3]}),
            json!({"bool": {"filter": [{"range": {"town": {"gte": 1}}}, {"range": {"town": {"lte": 3}}}]}}),
        ),
        (
            json!({"or": [{"==": [city, 1]}, {"==": [{"field": "name"}, 2]}]}),
            json!({"bool": {"should": [{"term": {"town": {"value": 1}}}, {"term": {"name": {"value": 2}}}],
                "minimum_should_match": 1}}),
        ),
        (json!({"and": []}), json!({"match_all": {}})),
        (json!({"or": []}), json!({"match_none": {}})),
        (
            json!({"some": [{"field": "orders"}, {">": [{"field": "total"}, 5]}]}),
            json!({"nested": {"path": "orders", "query": {"range": {"orders.total": {"gt": 5}}}}}),
        ),
        (
            json!({"none": [{"field": "visits"}, {">": [{"field": "total"}, 5]}]}),
            not(json!({"has_child": {"type": "order", "query": {"range": {"total": {"gt": 5}}}}})),
        ),
    ] {
        assert_eq!(filter_query(filter.clone()), Ok(expected), "{filter}");
    }
}

#[test]
fn search_pages_orders_and_names_as_asked() {
    let query = json!({"source": "client", "fields": ["id", "city", "name"], "sort": [{"city": "desc"}, {"name": "asc"}],
        "limit": 5, "skip": 2});
    let call = search_call(query.clone()).unwrap();
    assert_eq!((call.method, call.path.join("/").as_str(), call.query), ("POST", "clients/_search", ""));
    let expected = json!({
        "query": {"bool": {"filter": [{"match_all": {}}]}}, "from": 2, "size": 5, "track_total_hits": false,
        "sort": [{"town": {"order": "desc", "missing": "_last"}}, {"name": {"order": "asc", "missing": "_first"}}],
        "_source": ["town", "name"],
    });
    assert_eq!(call.body, EsBody::Json(expected));
    let hit = json!({"_id": "7", "_source": {"town": "Ulm", "x": 1}});
    assert_eq!(
        row(&select(query).unwrap().fields, hit.clone()),
        json!({"id": "7", "city": "Ulm", "name": null})
    );
    assert_eq!(row(&Projection::All, hit), json!({"town": "Ulm", "x": 1, "_id": "7"}));
    assert_eq!(row(&Projection::All, json!([1])), Value::Null, "what is no hit is no row");
}

#[test]
fn query_unsupported_by_elasticsearch_is_refused() {
    for query in [
        json!({"source": "order", "limit": 1000, "skip": 9001}),
        json!({"source": "client", "include": {"plain": {"sort": [{"total": "asc"}]}}}),
        json!({"source": "client", "filter": {"some": [{"field": "plain"}, {"and": []}]}}),
        json!({"source": "client", "filter": {"all": [{"field": "orders"}, {"==": [{"field": "total"}, 1]}]}}),
        json!({"source": "client", "filter": {"==": [{"field": "id"}, {"$oid": "x"}]}}),
    ] {
        assert!(search_call(query.clone()).is_err(), "{query}");
    }
    assert!(search_call(json!({"source": "order", "limit": 1000, "skip": 9000})).is_ok());
    for index in ["_all", "a*", "a,b", "-a", "+a", "a/b", "a?b", "a b", "a#b", "a:b"] {
        assert!(search_call(json!({"source": index})).is_err(), "{index}");
    }
    let upsert = |values: Value, target: &str| json!({"op": "upsert", "target": "order", "values": values, "on_conflict": {"target": [target]}});
    for write in [
        json!({"op": "insert", "target": "order", "values": {"total": 1}, "returning": ["total"]}),
        json!({"op": "insert", "target": "order", "values": {"_id": ".."}}),
        json!({"op": "insert", "target": "order", "values": {"_id": ""}}),
        json!({"op": "insert", "target": "order", "values": {"_id": {"a": 1}}}),
        json!({"op": "insert", "target": "order", "values": {"total": {"$date": "2024-01-01T00:00:00Z"}}}),
        json!({"op": "update", "target": "order", "set": {"total": {"$oid": "x"}}, "all": true}),
        json!({"op": "update", "target": "order", "set": {"_id": "x"}, "all": true}),
        upsert(json!([{"_id": 1}, {"_id": 2}]), "_id"),
        upsert(json!({"total": 1}), "total"),
        upsert(json!({"_id": "."}), "_id"),
    ] {
        assert!(write_call(write.clone()).is_err(), "{write}");
    }
}

#[test]
fn rows_are_inserted_in_bulk() {
    let rows = json!([{"_id": 7, "total": 1}, {"_id": "x", "total": {"$where": 1}}]);
    let call = write_call(json!({"op": "insert", "target": "order", "values": rows})).unwrap();
    assert_eq!(
        (call.method, call.path.join("/").as_str(), call.query),
        ("POST", "order/_bulk", "refresh=wait_for")
    );
    let lines = [
        json!({"create": {"_id": "7"}}),
        json!({"total": 1}),
        json!({"create": {"_id": "x"}}),
        json!({"total": {"$where": 1}}),
    ];
    assert_eq!((call.body, call.expects), (EsBody::Lines(lines.to_vec()), EsExpectation::Items { sent: 2 }));
}

#[test]
fn changes_go_by_query_and_values_are_parameters() {
    let filter = json!({"==": [{"field": "total"}, 1]});
    let hostile = "ctx._source.clear()";
    let update = json!({"op": "update", "target": "client", "set": {"city": hostile}, "filter": filter});
    let call = write_call(update).unwrap();
    assert_eq!((call.path.join("/").as_str(), call.query), ("clients/_update_by_query", "refresh=true"));
    let expected = json!({
        "query": {"term": {"total": {"value": 1}}},
        "script": {"lang": "painless", "source": SET, "params": {"set": {"town": hostile}}},
    });
    assert_eq!((call.body, call.expects), (EsBody::Json(expected), EsExpectation::Updated));
    let call = write_call(json!({"op": "delete", "target": "order", "filter": filter})).unwrap();
    assert_eq!((call.path.join("/").as_str(), call.query), ("order/_delete_by_query", "refresh=true"));
    assert_eq!(call.body, EsBody::Json(json!({"query": {"term": {"total": {"value": 1}}}})));
}

#[test]
fn an_upsert_is_of_one_document() {
    let upsert = |more: Value| {
        let mut write = json!({"op": "upsert", "target": "client", "values": {"id": "a/b", "name": "n", "city": "c"},
            "on_conflict": {"target": ["id"]}});
        write.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        write_call(write).unwrap()
    };
    let call = upsert(json!({}));
    assert_eq!(
        (call.method, call.path.as_slice()),
        ("POST", &["clients", "_update", "a/b"].map(str::to_owned)[..])
    );
    let source = json!({"name": "n", "town": "c"});
    assert_eq!(call.body, EsBody::Json(json!({"doc": source, "doc_as_upsert": true})));
    let call = upsert(json!({"set": {"city": "d"}}));
    assert_eq!(call.body, EsBody::Json(json!({"doc": {"town": "d"}, "upsert": source})));
    let call = upsert(json!({"on_conflict": {"target": ["id"], "action": "nothing"}}));
    assert_eq!((call.method, call.query), ("PUT", "op_type=create&refresh=wait_for"));
    assert_eq!((call.body, call.expects), (EsBody::Json(source), EsExpectation::One { keeps: true }));
}
