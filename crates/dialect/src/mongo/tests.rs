use super::*;
use crate::{Bindings, QueryBounds, QueryDocument, WriteDocument, WriteLimits};

const BOUNDS: QueryBounds = QueryBounds { default_limit: 100, max_limit: 1000, max_skip: 10_000 };
const LIMITS: WriteLimits = WriteLimits { max_rows: 1000, allow_unfiltered: true };

fn schema() -> Value {
    json!({"unmapped": "identity", "entities": {
        "client": {
            "physical": "clients",
            "columns": {"id": {"name": "_id"}, "name": {}, "city": {"name": "town"}, "at": {}},
            "relations": {
                "orders": {"to": "order", "kind": "has_many", "local": "id", "foreign": "client_id", "mongo": "embedded"},
                "address": {"to": "place", "kind": "has_one", "local": "id", "foreign": "client_id", "mongo": "embedded"},
                "far": {"to": "order", "kind": "has_many", "local": "id", "foreign": "client_id", "mongo": "referenced"},
                "plain": {"to": "order", "kind": "has_many", "local": "id", "foreign": "client_id"},
            },
        },
        "order": {"columns": {"total": {}, "state": {}}},
        "place": {"columns": {"zip": {}}},
    }})
}

fn select(query: Value) -> Result<Select, String> {
    let params = Map::from_iter([("p".to_owned(), json!("$where"))]);
    let read = QueryDocument::read(&query, Some(&schema()), "in").map_err(|errors| format!("{errors:?}"))?;
    read.bind(&Bindings { params: &params, folded: &[] }, BOUNDS).map_err(|refusal| refusal.to_string())
}

fn filter_query(filter: Value) -> Result<Value, String> {
    let select = select(json!({"source": "client", "filter": filter}))?;
    find(&select).map(|find| find.filter).map_err(|refusal| refusal.to_string())
}

fn write_statement(write: Value) -> Result<MongoStatement, String> {
    let read = WriteDocument::read(&write, Some(&schema()), "in").map_err(|errors| format!("{errors:?}"))?;
    let bound = read.bind(&Bindings { params: &Map::new(), folded: &[] }, LIMITS);
    bound.and_then(|change| statement(&change)).map_err(|refusal| refusal.to_string())
}

#[test]
fn comparisons_are_operators_over_physical_names() {
    let city = json!({"field": "city"});
    for (filter, expected) in [
        (json!({"==": [city, "Ulm"]}), json!({"town": {"$eq": "Ulm"}})),
        (json!({"!=": [city, "Ulm"]}), json!({"town": {"$ne": "Ulm"}})),
        (json!({"<": [5, city]}), json!({"town": {"$gt": 5}})),
        (json!({"!": {"<": [city, 5]}}), json!({"town": {"$gte": 5}})),
        (json!({"==": [city, null]}), json!({"town": {"$eq": null}})),
        (json!({"!=": [city, null]}), json!({"town": {"$ne": null}})),
        (json!({"in": [city, ["a", "b"]]}), json!({"town": {"$in": ["a", "b"]}})),
        (json!({"!": {"in": [city, ["a", "b"]]}}), json!({"town": {"$nin": ["a", "b", null]}})),
        (json!({"missing": ["city"]}), json!({"town": {"$eq": null}})),
        (json!({"<=": [1, city, 3]}), json!({"$and": [{"town": {"$gte": 1}}, {"town": {"$lte": 3}}]})),
        (
            json!({"or": [{"==": [city, 1]}, {"==": [{"field": "name"}, 2]}]}),
            json!({"$or": [{"town": {"$eq": 1}}, {"name": {"$eq": 2}}]}),
        ),
        (json!({"and": []}), json!({})),
        (json!({"or": []}), json!({"_id": {"$in": []}})),
        (json!({"==": [{"field": "id"}, {"$oid": "x"}]}), json!({"_id": {"$eq": {"$oid": "x"}}})),
        (
            json!({"==": [{"field": "id"}, {"$binary": "/wA="}]}),
            json!({"_id": {"$eq": {"$binary": {"base64": "/wA=", "subType": "00"}}}}),
        ),
        (json!({">": [{"field": "at"}, {"$date": "d"}]}), json!({"at": {"$gt": {"$date": "d"}}})),
        (json!({"==": [city, {"param": "p"}]}), json!({"town": {"$eq": "$where"}})),
    ] {
        assert_eq!(filter_query(filter.clone()), Ok(expected), "{filter}");
    }
}

#[test]
fn texts_are_found_as_they_are() {
    let city = json!({"field": "city"});
    for (filter, expected) in [
        (json!({"in": ["a.b", city]}), json!({"town": {"$regex": "a\\.b"}})),
        (json!({"starts_with": [city, "(^$*"]}), json!({"town": {"$regex": "^\\(\\^\\$\\*"}})),
        (json!({"ends_with": [city, "x\u{1}é"]}), json!({"town": {"$regex": "x\u{1}é(?![\\s\\S])"}})),
        (json!({"!": {"in": ["a", city]}}), json!({"town": {"$not": {"$regex": "a"}, "$ne": null}})),
    ] {
        assert_eq!(filter_query(filter.clone()), Ok(expected), "{filter}");
    }
}

#[test]
fn relations_are_looked_through_where_they_are_embedded() {
    let large = json!({">": [{"field": "total"}, 5]});
    let over = |word: &str, relation: &str, filter: &Value| json!({word: [{"field": relation}, filter]});
    let large_mongo = json!({"total": {"$gt": 5}});
    let there = json!({"orders.0": {"$exists": true}});
    for (filter, expected) in [
        (over("some", "orders", &large), json!({"orders": {"$elemMatch": large_mongo}})),
        (over("none", "orders", &large), json!({"$nor": [{"orders": {"$elemMatch": large_mongo}}]})),
        (
            over("all", "orders", &large),
            json!({"$and": [there, {"$nor": [{"orders": {"$elemMatch": {"$nor": [large_mongo]}}}]}]}),
        ),
        (over("some", "orders", &json!({"and": []})), there),
        (
            over("some", "address", &json!({"==": [{"field": "zip"}, "1"]})),
            json!({"$and": [{"address": {"$ne": null}}, {"address.zip": {"$eq": "1"}}]}),
        ),
    ] {
        assert_eq!(filter_query(filter.clone()), Ok(expected), "{filter}");
    }
    for relation in ["far", "plain"] {
        assert!(
            filter_query(over("some", relation, &large)).is_err_and(|why| why.contains("embedded")),
            "{relation}"
        );
    }
}

#[test]
fn read_projects_orders_and_names_as_asked() {
    let query = json!({"source": "client", "fields": ["name", "city"], "sort": [{"city": "desc"}, {"id": "asc"}],
        "limit": 5, "skip": 2});
    let select = select(query).unwrap();
    let find = find(&select).unwrap();
    assert_eq!((find.collection.as_str(), find.limit, find.skip), ("clients", 5, 2));
    assert_eq!(find.projection, Some(json!({"name": 1, "town": 1, "_id": 0})));
    assert_eq!(find.sort.to_string(), r#"{"town":-1,"_id":1}"#);
    assert_eq!(row(&select.fields, json!({"town": "Ulm"})), json!({"name": null, "city": "Ulm"}));
    assert_eq!(row(&Projection::All, json!({"_id": 1})), json!({"_id": 1}));
}

#[test]
fn statement_unsupported_by_mongodb_is_refused() {
    let include = json!({"source": "client", "include": {"plain": {"sort": [{"total": "asc"}]}}});
    assert!(find(&select(include).unwrap()).is_err());
    for write in [
        json!({"op": "insert", "target": "order", "values": {"total": 1}, "returning": ["total"]}),
        json!({"op": "upsert", "target": "order", "values": [{"total": 1}, {"total": 2}],
            "on_conflict": {"target": ["total"]}}),
    ] {
        assert!(write_statement(write.clone()).is_err(), "{write}");
    }
}

#[test]
fn writes_are_of_many_documents_and_upserts_of_one() {
    let orders = "order".to_owned();
    let rows = json!([{"total": 1, "state": {"$oid": "x"}}, {"total": 2, "state": null}]);
    let insert = write_statement(json!({"op": "insert", "target": "order", "values": rows})).unwrap();
    let documents = rows.as_array().unwrap().clone();
    assert_eq!(insert, MongoStatement::Insert { collection: orders.clone(), documents });
    let filter = json!({"==": [{"field": "total"}, 1]});
    let expected = json!({"total": {"$eq": 1}});
    let update =
        write_statement(json!({"op": "update", "target": "order", "set": {"state": "x"}, "filter": filter}));
    let set = json!({"$set": {"state": "x"}});
    let (collection, filter_) = (orders.clone(), expected.clone());
    assert_eq!(
        update,
        Ok(MongoStatement::Update { collection, filter: filter_, update: set, upsert: false })
    );
    let delete = write_statement(json!({"op": "delete", "target": "order", "filter": filter}));
    assert_eq!(delete, Ok(MongoStatement::Delete { collection: orders, filter: expected }));
}

#[test]
fn upsert_sets_given_fields_and_inserts_the_rest() {
    let upsert = |more: Value| {
        let mut write = json!({"op": "upsert", "target": "client", "values": {"id": 1, "name": "a", "city": "b"},
            "on_conflict": {"target": ["id"]}});
        write.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match write_statement(write).unwrap() {
            MongoStatement::Update { filter, update, upsert: true, .. } => (filter, update),
            other => panic!("{other:?}"),
        }
    };
    let filter = json!({"_id": {"$eq": 1}});
    assert_eq!(upsert(json!({})), (filter.clone(), json!({"$set": {"name": "a", "town": "b"}})));
    let nothing = json!({"on_conflict": {"target": ["id"], "action": "nothing"}});
    assert_eq!(upsert(nothing), (filter.clone(), json!({"$setOnInsert": {"name": "a", "town": "b"}})));
    let expected = json!({"$set": {"town": "c"}, "$setOnInsert": {"name": "a"}});
    assert_eq!(upsert(json!({"set": {"city": "c"}})), (filter.clone(), expected));
    let only = json!({"values": {"id": 1}});
    assert_eq!(upsert(only), (filter, json!({"$setOnInsert": {"_id": 1}})));
}
