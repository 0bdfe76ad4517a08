//! The functions over MongoDB, against an independent server of its wire protocol.

use bson::{Document, doc};
use mongodb::Client;
use serde_json::{Value, json};
use svc_testkit::mongo::Mongo;

use crate::kit::{ConnectorWorld, run};

/// Stores a connector `m` at a server.
pub(crate) async fn connect(world: &ConnectorWorld, url: &str, more: Value) {
    let mut config =
        json!({"connection_string": url, "allow_private_urls": true, "connect_timeout_ms": 5000});
    if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
        config.extend(more);
    }
    world.put("m", "db", true, config).await;
}

/// An input over the collection `c` of a database of this test's own.
pub(crate) fn input_for(database: &str, more: Value) -> Value {
    let mut input = json!({"connector": "m", "database": database, "collection": "c", "output": "data.out"});
    if let (Some(input), Value::Object(more)) = (input.as_object_mut(), more) {
        input.extend(more);
    }
    input
}

/// A name no other test has.
pub(crate) fn fresh(test: &str) -> String {
    format!("{test}_{}", std::process::id())
}

/// A collection as another client sees it.
pub(crate) async fn client_collection(url: &str, database: &str) -> mongodb::Collection<Document> {
    let client = Client::with_uri_str(url).await.unwrap();
    let _ = client.database(database).collection::<Document>("c").delete_many(doc! {}).await;
    client.database(database).collection("c")
}

async fn run_task(world: &ConnectorWorld, function: &str, input: Value, payload: Value) -> Value {
    world.run_task(function, input, payload).await["out"].take()
}

#[test]
fn extended_json_crosses_both_ways_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("crossing");
        let stored = client_collection(server.url(), &database).await;
        connect(world, server.url(), json!({})).await;
        let document = json!({
            "_id": {"$oid": "65a1b2c3d4e5f60718293a4b"},
            "at": {"$date": "2024-05-06T07:08:09.123Z"},
            "big": 9_007_199_254_740_993_i64,
            "small": 7,
            "ratio": 1.5,
            "price": {"$numberDecimal": "12.30"},
            "bytes": {"$binary": {"base64": "AAEC", "subType": "00"}},
            "nested": {"list": [1, "x", null, true, {"$where": "stays a value"}]},
        });
        let input = input_for(&database, json!({"op": "insert_one", "document": {"var": "payload.d"}}));
        let written = run_task(world, "mongo_write", input, json!({"d": document})).await;
        assert_eq!(
            written,
            json!({"status": "ok", "inserted": 1, "ids": [{"$oid": "65a1b2c3d4e5f60718293a4b"}]})
        );
        let seen = stored.find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(seen.get_object_id("_id").unwrap().to_hex(), "65a1b2c3d4e5f60718293a4b");
        assert_eq!(seen.get_datetime("at").unwrap().timestamp_millis(), 1_714_979_289_123);
        assert_eq!(
            (seen.get_i64("big").unwrap(), seen.get_i32("small").unwrap()),
            (9_007_199_254_740_993, 7)
        );
        let filter = json!({"_id": {"$oid": {"var": "payload.id"}}});
        let input = input_for(&database, json!({"filter": filter}));
        let outcome = run_task(world, "mongo_read", input, json!({"id": "65a1b2c3d4e5f60718293a4b"})).await;
        assert_eq!(outcome, json!([document]));
    });
}

#[test]
fn reads_page_through_cursors_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("reads");
        let stored = client_collection(server.url(), &database).await;
        stored.insert_many((0..1000).map(|n| doc! {"_id": n, "even": n % 2 == 0, "n": n})).await.unwrap();
        connect(world, server.url(), json!({})).await;
        let all = run_task(world, "mongo_read", input_for(&database, json!({})), Value::Null).await;
        assert_eq!(all.as_array().unwrap().len(), 1000, "more than one batch of a cursor");
        let page = json!({
            "filter": {"n": {"$gte": {"var": "payload.from"}}, "even": true},
            "projection": {"n": 1, "_id": 0},
            "sort": {"n": -1},
            "limit": {"var": "payload.limit"},
            "skip": 1.0,
        });
        let payload = json!({"from": 100, "limit": 2});
        let outcome = run_task(world, "mongo_read", input_for(&database, page), payload).await;
        assert_eq!(outcome, json!([{"n": 996}, {"n": 994}]));
        stored.insert_one(doc! {"_id": 1000}).await.unwrap();
        let error = world.task_error("mongo_read", input_for(&database, json!({})), Value::Null).await;
        assert_eq!(error.code.name(), "VALIDATION_ERROR");
        assert!(error.message.contains("more than 1000 documents"), "{}", error.message);
        let most =
            run_task(world, "mongo_read", input_for(&database, json!({"limit": 1000})), Value::Null).await;
        assert_eq!(most.as_array().unwrap().len(), 1000);
        for wrong in [
            json!({"limit": 1001}),
            json!({"limit": {"var": ["payload.none", 0]}}),
            json!({"limit": {"var": ["payload.none", -1]}}),
            json!({"limit": {"var": ["payload.none", 1.5]}}),
            json!({"skip": 10_001}),
            json!({"skip": {"var": ["payload.none", -1]}}),
            json!({"filter": {"var": "payload.none"}}),
            json!({"filter": {"_id": {"$oid": "no id"}}}),
            json!({"filter": {"n": u64::MAX}}),
        ] {
            let error =
                world.task_error("mongo_read", input_for(&database, wrong.clone()), Value::Null).await;
            assert_eq!(error.code.name(), "VALIDATION_ERROR", "{wrong}: {}", error.message);
        }
    });
}

#[test]
fn every_write_does_what_it_says_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("writes");
        let stored = client_collection(server.url(), &database).await;
        connect(world, server.url(), json!({})).await;
        let write = async |input: Value, payload: Value| {
            run_task(world, "mongo_write", input_for(&database, input), payload).await
        };
        let documents = json!([{"_id": 1, "n": 1}, {"_id": 2, "n": 2}, {"_id": 3, "n": 3}]);
        let many = write(json!({"op": "insert_many", "documents": {"var": "payload"}}), documents).await;
        assert_eq!(many, json!({"status": "ok", "inserted": 3, "ids": [1, 2, 3]}));
        let named = write(json!({"op": "insert_one", "document": {"n": 9}}), Value::Null).await;
        assert!(named["ids"][0]["$oid"].is_string(), "an id is made: {named}");
        let one =
            json!({"op": "update_one", "filter": {"_id": 1}, "update": {"$set": {"n": {"var": "payload"}}}});
        assert_eq!(write(one, json!(10)).await, json!({"status": "ok", "matched": 1, "modified": 1}));
        let most = json!({"op": "update_many", "filter": {"n": {"$lt": 9}}, "update": {"$inc": {"n": 1}}});
        assert_eq!(write(most, Value::Null).await, json!({"status": "ok", "matched": 2, "modified": 2}));
        let upsert =
            json!({"op": "update_one", "filter": {"_id": 7}, "update": {"$set": {"n": 7}}, "upsert": true});
        let upserted = json!({"status": "ok", "matched": 0, "modified": 0, "upserted_id": 7});
        assert_eq!(write(upsert.clone(), Value::Null).await, upserted);
        let again = write(upsert, Value::Null).await;
        assert_eq!((&again["matched"], again.get("upserted_id")), (&json!(1), None));
        let replaced =
            json!({"op": "replace_one", "filter": {"_id": 2}, "document": {"whole": {"var": "payload"}}});
        assert_eq!(write(replaced, json!("new")).await, json!({"status": "ok", "matched": 1, "modified": 1}));
        assert_eq!(stored.find_one(doc! {"_id": 2}).await.unwrap().unwrap(), doc! {"_id": 2, "whole": "new"});
        stored.insert_one(doc! {"_id": 8, "grades": [1, 5, 9]}).await.unwrap();
        let low = json!({"op": "update_one", "filter": {"_id": 8}, "update": {"$set": {"grades.$[low]": 0}},
            "array_filters": [{"low": {"$lt": {"var": "payload"}}}]});
        assert_eq!(write(low, json!(6)).await["modified"], 1);
        assert_eq!(
            stored.find_one(doc! {"_id": 8}).await.unwrap().unwrap().get_array("grades").unwrap()[..2],
            [0.into(), 0.into()]
        );
        assert_eq!(
            write(json!({"op": "delete_one", "filter": {"_id": 1}}), Value::Null).await,
            json!({"status": "ok", "deleted": 1})
        );
        let rest = json!({"op": "delete_many", "filter": {"_id": {"$gte": 0}}});
        assert_eq!(write(rest, Value::Null).await["deleted"], 4);
    });
}

#[test]
fn partial_batch_lists_stored_documents_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("partial");
        let stored = client_collection(server.url(), &database).await;
        stored.insert_one(doc! {"_id": 1}).await.unwrap();
        connect(world, server.url(), json!({})).await;
        let batch = |ordered: bool| {
            let documents = json!([{"_id": 10}, {"_id": 1}, {"_id": 11}]);
            input_for(&database, json!({"op": "insert_many", "documents": documents, "ordered": ordered}))
        };
        let outcome = world.task("mongo_write", batch(true), Value::Null).await;
        assert_eq!(outcome.audit_trail[0].status, 207);
        let mut data = outcome.message.data;
        let items = data["out"]["items"].take();
        assert_eq!((&data["out"]["status"], &data["out"]["ids"]), (&json!("partial"), &json!([10])));
        let status: Vec<_> =
            items.as_array().unwrap().iter().map(|item| item["status"].as_str().unwrap()).collect();
        assert_eq!(status, ["ok", "error", "skipped"]);
        assert_eq!(items[1]["error"], "the write violates a unique constraint (11000)");
        stored.delete_many(doc! {"_id": 10}).await.unwrap();
        let result = run_task(world, "mongo_write", batch(false), Value::Null).await;
        assert_eq!((&result["status"], &result["inserted"]), (&json!("partial"), &json!(2)));
        let error = world.task_error("mongo_write", batch(true), Value::Null).await;
        assert_eq!(error.code.name(), "integrity_unique", "nothing was stored: {}", error.message);
        let single = input_for(&database, json!({"op": "insert_one", "document": {"_id": 1}}));
        let error = world.task_error("mongo_write", single, Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("integrity_unique", false));
        assert!(error.message.contains("11000"), "{}", error.message);
    });
}

#[test]
fn forbidden_write_sends_nothing_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("refused");
        let stored = client_collection(server.url(), &database).await;
        stored.insert_one(doc! {"_id": 1}).await.unwrap();
        connect(world, server.url(), json!({})).await;
        let set = json!({"$set": {"a": 1}});
        for (input, code) in [
            (json!({"op": "insert_many", "documents": {"var": "payload.none"}}), "VALIDATION_ERROR"),
            (json!({"op": "insert_many", "documents": {"var": "payload.empty"}}), "VALIDATION_ERROR"),
            (json!({"op": "insert_many", "documents": {"var": "payload.many"}}), "VALIDATION_ERROR"),
            (
                json!({"op": "update_one", "filter": {}, "update": {"var": "payload.object"}}),
                "VALIDATION_ERROR",
            ),
            (
                json!({"op": "update_one", "filter": {}, "update": {"var": "payload.plain"}}),
                "VALIDATION_ERROR",
            ),
            (
                json!({"op": "update_one", "filter": {}, "update": {"var": "payload.open"}}),
                "VALIDATION_ERROR",
            ),
            (
                json!({"op": "replace_one", "filter": {}, "document": {"var": "payload.set"}}),
                "VALIDATION_ERROR",
            ),
            (json!({"op": "delete_many"}), "VALIDATION_ERROR"),
            (json!({"op": "delete_many", "filter": {"var": "payload.object"}}), "VALIDATION_ERROR"),
            (json!({"op": "delete_many", "filter": {"var": "payload.every"}}), "VALIDATION_ERROR"),
            (json!({"op": "update_many", "filter": {}, "update": set}), "VALIDATION_ERROR"),
            (json!({"op": "delete_many", "filter": {}, "all": true}), "VALIDATION_ERROR"),
        ] {
            let payload = json!({"empty": [], "many": vec![json!({}); 1001], "object": {}, "plain": {"a": 1},
                "open": {"$set": {"a.$[x]": 1}}, "set": set, "every": {"$or": [{"_id": {"$exists": true}}]}});
            let error = world.task_error("mongo_write", input_for(&database, input.clone()), payload).await;
            assert_eq!(error.code.name(), code, "{input}: {}", error.message);
        }
        assert_eq!(stored.find_one(doc! {}).await.unwrap(), Some(doc! {"_id": 1}));
        let closed =
            json!({"operations": {"read": false, "insert": false, "upsert": false, "delete": false}});
        connect(world, server.url(), closed).await;
        let update =
            |upsert: bool| json!({"op": "update_one", "filter": {"_id": 5}, "update": set, "upsert": upsert});
        for (function, input) in [
            ("mongo_write", json!({"op": "insert_one", "document": {}})),
            ("mongo_write", json!({"op": "delete_one", "filter": {}})),
            ("mongo_write", update(true)),
            ("mongo_read", json!({})),
            ("mongo_aggregate", json!({"pipeline": [{"$limit": 1}]})),
        ] {
            let error = world.task_error(function, input_for(&database, input.clone()), Value::Null).await;
            assert_eq!(error.code.name(), "connector_detail", "{input}: {}", error.message);
        }
        assert_eq!(
            run_task(world, "mongo_write", input_for(&database, update(false)), Value::Null).await["matched"],
            0
        );
    });
}

#[test]
fn authors_are_told_the_place_and_the_code() {
    run(async |world| {
        let (set, field) = (json!({"$set": {"a": 1}}), json!({"a": 1}));
        for (input, expected) in [
            (json!({"op": "insert_one", "document": field}), vec![]),
            (json!({"op": "insert_many", "documents": [{"var": "data.d"}], "ordered": false}), vec![]),
            (json!({"op": "update_one", "filter": {}, "update": set, "upsert": true}), vec![]),
            (json!({"op": "update_many", "update": {"var": "data.u"}, "all": true}), vec![]),
            (
                json!({"op": "update_one", "filter": {}, "update": {"$set": {"var": "data.s"}},
                    "array_filters": [{"low": 1}]}),
                vec![],
            ),
            (json!({"op": "delete_many", "all": true}), vec![]),
            (json!({"op": "merge"}), vec!["op unknown_op"]),
            (json!({}), vec!["op REQUIRED"]),
            (json!({"op": "insert_one"}), vec!["document missing_required"]),
            (
                json!({"op": "insert_one", "document": field, "filter": {}, "upsert": false}),
                vec!["filter field_not_applicable", "upsert field_not_applicable"],
            ),
            (json!({"op": "insert_many", "documents": []}), vec!["documents INVALID"]),
            (json!({"op": "update_one", "update": set}), vec!["filter missing_required"]),
            (
                json!({"op": "update_one", "filter": {}, "update": set, "ordered": true, "all": true}),
                vec!["ordered field_not_applicable", "all field_not_applicable"],
            ),
            (json!({"op": "update_one", "filter": {}, "update": {}}), vec!["update empty_update"]),
            (
                json!({"op": "update_one", "filter": {}, "update": {"a": {"var": "data.a"}}}),
                vec!["update update_requires_operators"],
            ),
            (
                json!({"op": "update_one", "filter": {}, "update": {"$set": {"a.$[x]": 1}}}),
                vec!["array_filters unusable_array_filters"],
            ),
            (
                json!({"op": "update_one", "filter": {}, "update": set, "array_filters": [{"x": 1}]}),
                vec!["array_filters unusable_array_filters"],
            ),
            (
                json!({"op": "replace_one", "filter": {}, "document": set}),
                vec!["document replace_document_is_plain"],
            ),
            (
                json!({"op": "update_one", "filter": {}, "update": set, "upsert": {"var": "data.u"}}),
                vec!["upsert TYPE_MISMATCH"],
            ),
        ] {
            assert_eq!(world.problems("mongo_write", input_for("d", input.clone())), expected, "{input}");
        }
        for (function, input, expected) in [
            ("mongo_read", json!({"limit": 0, "skip": -1}), vec!["limit INVALID", "skip INVALID"]),
            ("mongo_read", json!({"limit": 1, "skip": 0}), vec![]),
            ("mongo_read", json!({"collection": ""}), vec!["collection INVALID"]),
            (
                "mongo_aggregate",
                json!({"pipeline": [{"$currentOp": {}}]}),
                vec!["pipeline[0] invalid_pipeline"],
            ),
        ] {
            let mut whole = input_for("d", json!({}));
            whole.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
            assert_eq!(world.problems(function, whole), expected, "{input}");
        }
        assert_eq!(
            world.problems("mongo_read", input_for("", json!({}))),
            ["database INVALID"],
            "an empty name"
        );
    });
}

#[test]
fn pipelines_write_only_where_permitted_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("pipelines");
        let stored = client_collection(server.url(), &database).await;
        stored.insert_many((0..10).map(|n| doc! {"_id": n, "kind": n % 2, "n": n})).await.unwrap();
        connect(world, server.url(), json!({})).await;
        let pipeline = json!([
            {"$match": {"n": {"$gte": {"var": "payload.from"}}}},
            {"$group": {"_id": "$kind", "sum": {"$sum": "$n"}}},
            {"$sort": {"_id": 1}},
        ]);
        let input = input_for(&database, json!({"pipeline": pipeline, "allow_disk_use": true}));
        let sums = run_task(world, "mongo_aggregate", input, json!({"from": 5})).await;
        assert_eq!(sums, json!([{"_id": 0, "sum": 14}, {"_id": 1, "sum": 21}]));
        let writing = input_for(&database, json!({"pipeline": [{"$match": {"kind": 1}}, {"$out": "odd"}]}));
        let error = world.task_error("mongo_aggregate", writing.clone(), Value::Null).await;
        assert_eq!(error.code.name(), "connector_detail", "{}", error.message);
        connect(world, server.url(), json!({"aggregate_write_stages": true})).await;
        assert_eq!(run_task(world, "mongo_aggregate", writing, Value::Null).await, json!([]));
        let odd = json!({"connector": "m", "database": database, "collection": "odd", "output": "data.out"});
        assert_eq!(run_task(world, "mongo_read", odd, Value::Null).await.as_array().unwrap().len(), 5);
    });
}

#[test]
fn operators_in_a_message_match_nothing_by_wire_contract() {
    let Some(server) = Mongo::shared() else { return };
    run(async |world| {
        let database = fresh("injection");
        let stored = client_collection(server.url(), &database).await;
        stored.insert_one(doc! {"user": "ann", "password": "pencil"}).await.unwrap();
        connect(world, server.url(), json!({})).await;
        let login =
            json!({"filter": {"user": {"var": "payload.user"}, "password": {"var": "payload.password"}}});
        let outcome = async |payload: Value| {
            run_task(world, "mongo_read", input_for(&database, login.clone()), payload).await
        };
        let honest = outcome(json!({"user": "ann", "password": "pencil"})).await;
        assert_eq!(honest.as_array().unwrap().len(), 1);
        for attack in [
            json!({"$ne": null}),
            json!({"$gt": ""}),
            json!({"$where": "true"}),
            json!({"$exists": true}),
            json!({"$regularExpression": {"pattern": ".*", "options": ""}}),
            json!({"$in": ["pencil"]}),
            json!(["pencil"]),
        ] {
            assert_eq!(outcome(json!({"user": "ann", "password": attack})).await, json!([]), "{attack}");
        }
    });
}
