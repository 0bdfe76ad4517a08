//! `data_query` and `data_write` over Elasticsearch, by its wire contract: what is sent is what its versions
//! 7 and 8 document, what is answered has their shapes.

use serde_json::{Value, json};
use svc_testkit::server::free_port;
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};

use crate::kit::{ConnectorWorld, run};

async fn connect(world: &ConnectorWorld, url: String, more: Value) {
    let mut config = json!({"url": url, "allow_private_urls": true});
    if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
        config.extend(more);
    }
    world.put("search", "es", true, config).await;
}

fn schema() -> Value {
    json!({"unmapped": "identity", "entities": {"client": {
        "physical": "clients", "columns": {"id": {"name": "_id"}, "name": {}, "city": {"name": "town"}}}}})
}

fn query(query: Value) -> Value {
    json!({"connector": "search", "query": query, "schema": schema(), "output": "data.out"})
}

fn write(write: Value) -> Value {
    json!({"connector": "search", "write": write, "schema": schema(), "output": "data.out"})
}

async fn run_task(world: &ConnectorWorld, function: &str, input: Value, payload: Value) -> Value {
    world.run_task(function, input, payload).await["out"].take()
}

fn body(asked: &ReceivedRequest) -> Value {
    serde_json::from_slice(&asked.body).unwrap()
}

#[test]
fn search_hits_become_rows_by_wire_contract() {
    run(async |world| {
        let upstream = Upstream::start(|_| {
            let hits = json!([
                {"_index": "clients", "_id": "7", "_score": null, "_source": {"name": "Ann", "town": "Ulm"}},
                {"_index": "clients", "_id": "8", "_score": null, "_source": {"name": "Bob"}},
            ]);
            let total = json!({"value": 2, "relation": "eq"});
            UpstreamReply::new(
                200,
                json!({"took": 1, "timed_out": false, "hits": {"total": total, "hits": hits}}).to_string(),
            )
        })
        .unwrap();
        let auth = json!({"auth": {"type": "apikey", "header": "Authorization", "key": "ApiKey abc"}});
        connect(world, upstream.url("/es/"), auth).await;
        let input =
            query(json!({"source": "client", "fields": ["id", "name", "city"], "sort": [{"name": "asc"}],
            "filter": {"==": [{"field": "city"}, {"var": "payload.city"}]}, "limit": 10}));
        let rows = run_task(world, "data_query", input, json!({"city": "Ulm"})).await;
        let expected =
            json!([{"id": "7", "name": "Ann", "city": "Ulm"}, {"id": "8", "name": "Bob", "city": null}]);
        assert_eq!(rows, expected);
        let request = upstream.requests().pop().unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/es/clients/_search"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("authorization"), Some("ApiKey abc"));
        let filter = json!([{"term": {"town": {"value": "Ulm"}}}]);
        let body = body(&request);
        assert_eq!((&body["query"]["bool"]["filter"], &body["size"]), (&filter, &json!(10)));
    });
}

#[test]
fn count_asks_for_no_hits_by_wire_contract() {
    run(async |world| {
        let upstream = Upstream::start(|_| {
            UpstreamReply::new(200, json!({"count": 12, "_shards": {"total": 1, "failed": 0}}).to_string())
        })
        .unwrap();
        connect(world, upstream.url(""), json!({})).await;
        let input =
            query(json!({"source": "client", "count": true, "filter": {"==": [{"field": "city"}, "Ulm"]}}));
        assert_eq!(run_task(world, "data_query", input, Value::Null).await, json!({"count": 12}));
        let request = upstream.requests().pop().unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/clients/_count"));
        let expected = json!({"query": {"bool": {"filter": [{"term": {"town": {"value": "Ulm"}}}]}}});
        assert_eq!(body(&request), expected);
    });
}

#[test]
fn values_of_a_message_stay_values_by_wire_contract() {
    run(async |world| {
        let upstream = Upstream::start(|_| {
            UpstreamReply::new(200, json!({"hits": {"total": 0, "hits": []}}).to_string())
        })
        .unwrap();
        connect(world, upstream.url(""), json!({})).await;
        let text = "a*\"}}]}},{\"match_all\":{}}";
        let input =
            query(json!({"source": "client", "filter": {"in": [{"var": "payload"}, {"field": "city"}]}}));
        assert_eq!(run_task(world, "data_query", input, json!(text)).await, json!([]));
        let document = body(&upstream.requests().pop().unwrap());
        let pattern =
            document["query"]["bool"]["filter"][0]["wildcard"]["town"]["value"].as_str().unwrap().to_owned();
        assert_eq!(pattern, format!("*{}*", text.replace('*', "\\*")));
        let input =
            query(json!({"source": "client", "filter": {"==": [{"field": "city"}, {"var": "payload"}]}}));
        let error = world.task_error("data_query", input, json!({"match_all": {}})).await;
        assert_eq!(error.code.name(), "VALIDATION_ERROR", "{}", error.message);
    });
}

#[test]
fn bulk_reports_every_row_by_wire_contract() {
    run(async |world| {
        let upstream = Upstream::start(|asked| {
            let created = |id: &str| json!({"create": {"_index": "clients", "_id": id, "status": 201, "result": "created"}});
            let conflict = json!({"create": {"_id": "b", "status": 409, "error":
                {"type": "version_conflict_engine_exception", "reason": "[b]: version conflict, key swordfish"}}});
            let lines = asked.text().lines().count();
            let (errors, items) = match lines {
                2 if asked.text().contains("\"b\"") => (true, json!([conflict])),
                2 => (false, json!([created("made")])),
                _ => (true, json!([created("a"), conflict])),
            };
            UpstreamReply::new(200, json!({"took": 3, "errors": errors, "items": items}).to_string())
        })
        .unwrap();
        let auth = json!({"type": "bearer", "token": "swordfish"});
        connect(world, upstream.url(""), json!({"auth": auth})).await;
        let one = write(json!({"op": "insert", "target": "client", "values": {"name": {"var": "payload"}}}));
        let result = run_task(world, "data_write", one, json!("a\nb")).await;
        assert_eq!(result, json!({"status": "ok", "inserted": 1, "ids": ["made"]}));
        let request = upstream.requests().pop().unwrap();
        assert_eq!(
            (request.method.as_str(), request.target.as_str()),
            ("POST", "/clients/_bulk?refresh=wait_for")
        );
        assert_eq!(request.header("content-type"), Some("application/x-ndjson"));
        assert_eq!(request.text(), "{\"create\":{}}\n{\"name\":\"a\\nb\"}\n");
        let values = json!([{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]);
        let two = write(json!({"op": "insert", "target": "client", "values": values}));
        let outcome = world.task("data_write", two, Value::Null).await;
        assert_eq!(outcome.audit_trail[0].status, 207);
        let out = &outcome.message.data["out"];
        assert_eq!((&out["status"], &out["ids"]), (&json!("partial"), &json!(["a"])));
        assert_eq!(out["items"][1]["status"], "error");
        assert!(!out.to_string().contains("swordfish"), "{out}");
        let failing = write(json!({"op": "insert", "target": "client", "values": {"id": "b"}}));
        let error = world.task_error("data_write", failing, Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
        assert!(error.message.contains("version_conflict_engine_exception"), "{}", error.message);
        assert!(!error.message.contains("swordfish"), "{}", error.message);
    });
}

#[test]
fn query_changes_and_upserts_count_by_wire_contract() {
    run(async |world| {
        let upstream = Upstream::start(|asked| {
            let target = asked.target.split('?').next().unwrap_or_default().to_owned();
            let answer = match target.as_str() {
                "/clients/_update_by_query" => json!({"total": 3, "updated": 2, "noops": 1, "failures": []}),
                "/clients/_delete_by_query" => json!({"total": 4, "deleted": 4, "failures": []}),
                "/clients/_update/new" => json!({"_id": "new", "result": "created"}),
                "/clients/_update/a%2Fb" => json!({"_id": "a/b", "result": "updated"}),
                "/clients/_doc/new" => json!({"_id": "new", "result": "created"}),
                _ => {
                    return UpstreamReply::new(
                        409,
                        json!({"status": 409, "error": {"type": "version_conflict"}}).to_string(),
                    );
                }
            };
            UpstreamReply::new(200, answer.to_string())
        })
        .unwrap();
        connect(world, upstream.url(""), json!({})).await;
        let filter = json!({"==": [{"field": "name"}, "x"]});
        let upsert = |id: &str, action: &str| {
            json!({"op": "upsert", "target": "client", "values": {"id": id, "name": "n"},
                "on_conflict": {"target": ["id"], "action": action}})
        };
        for (document, expected) in [
            (
                json!({"op": "update", "target": "client", "set": {"city": "Ulm"}, "filter": filter}),
                json!({"status": "ok", "matched": 3, "modified": 2}),
            ),
            (
                json!({"op": "delete", "target": "client", "filter": filter}),
                json!({"status": "ok", "deleted": 4}),
            ),
            (
                upsert("new", "update"),
                json!({"status": "ok", "matched": 0, "modified": 0, "upserted_id": "new"}),
            ),
            (upsert("a/b", "update"), json!({"status": "ok", "matched": 1, "modified": 1})),
            (
                upsert("new", "nothing"),
                json!({"status": "ok", "matched": 0, "modified": 0, "upserted_id": "new"}),
            ),
            (upsert("old", "nothing"), json!({"status": "ok", "matched": 1, "modified": 0})),
        ] {
            assert_eq!(
                run_task(world, "data_write", write(document.clone()), Value::Null).await,
                expected,
                "{document}"
            );
        }
        let request = upstream.requests().pop().unwrap();
        let expected = ("PUT", "/clients/_doc/old?op_type=create&refresh=wait_for");
        assert_eq!((request.method.as_str(), request.target.as_str()), expected);
        let error = world.task_error("data_write", write(upsert("old", "update")), Value::Null).await;
        assert_eq!(
            error.code.name(),
            "FUNCTION_ERROR",
            "a conflict is an error elsewhere: {}",
            error.message
        );
    });
}

#[test]
fn partial_result_is_a_failure_by_wire_contract() {
    run(async |world| {
        let upstream = Upstream::start(|asked| {
            let hits = json!({"hits": []});
            if asked.target.starts_with("/moved/") {
                return UpstreamReply::redirect(307, "/fine/_search");
            }
            let answer = match asked.target.split('?').next().unwrap_or_default() {
                "/late/_search" => json!({"timed_out": true, "hits": hits}),
                "/lost/_search" => {
                    json!({"timed_out": false, "_shards": {"total": 5, "failed": 1}, "hits": hits})
                }
                "/fine/_search" => {
                    json!({"timed_out": false, "_shards": {"total": 5, "failed": 0}, "hits": hits})
                }
                "/mute/_bulk" => json!({"errors": false, "items": []}),
                "/index/_bulk" => json!({"errors": false, "items": [{"index": {"_id": "a", "status": 201}}]}),
                "/late/_update_by_query" => {
                    json!({"timed_out": true, "total": 3, "updated": 1, "failures": []})
                }
                "/lost/_update_by_query" => {
                    json!({"total": 3, "updated": 2, "version_conflicts": 1, "failures": []})
                }
                "/mute/_update_by_query" => json!({"failures": []}),
                "/lost/_delete_by_query" => json!({"total": 3, "deleted": 2, "failures": [{"status": 500}]}),
                _ => json!({"total": 3, "failures": []}),
            };
            UpstreamReply::new(200, answer.to_string())
        })
        .unwrap();
        connect(world, upstream.url(""), json!({})).await;
        assert_eq!(
            run_task(world, "data_query", query(json!({"source": "fine"})), Value::Null).await,
            json!([])
        );
        for (source, why) in [("late", "timed out"), ("lost", "1 of 5 shards failed")] {
            let error = world.task_error("data_query", query(json!({"source": source})), Value::Null).await;
            assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false));
            assert!(error.message.contains(why), "{}", error.message);
        }
        let error = world.task_error("data_query", query(json!({"source": "moved"})), Value::Null).await;
        assert!(error.message.contains("307"), "no redirect is followed: {}", error.message);
        let last = upstream.requests().pop().unwrap();
        assert_eq!(last.target, "/moved/_search");
        let insert = |target: &str| write(json!({"op": "insert", "target": target, "values": {"a": 1}}));
        let error = world.task_error("data_write", insert("mute"), Value::Null).await;
        assert!(error.message.contains("does not say what became of 1 documents"), "{}", error.message);
        assert_eq!(run_task(world, "data_write", insert("index"), Value::Null).await["ids"], json!(["a"]));
        let filter = json!({"==": [{"field": "a"}, 1]});
        for (op, target, why) in [
            ("update", "late", "1 of 3 documents were updated"),
            ("update", "lost", "1 changed meanwhile"),
            ("update", "mute", "does not say how many"),
            ("delete", "lost", "1 failed"),
            ("delete", "mute", "does not say how many"),
        ] {
            let mut document = json!({"op": op, "target": target, "filter": filter});
            if op == "update" {
                document["set"] = json!({"a": 2});
            }
            let error = world.task_error("data_write", write(document), Value::Null).await;
            assert_eq!(error.code.name(), "FUNCTION_ERROR", "{op} {target}");
            assert!(error.message.contains(why), "{}", error.message);
        }
    });
}

#[test]
fn each_refusal_has_its_code_by_wire_contract() {
    run(async |world| {
        let upstream = Upstream::start(|asked| match asked.target.as_str() {
            "/busy/_search" => UpstreamReply::new(
                429,
                json!({"error": {"type": "es_rejected_execution_exception"}}).to_string(),
            ),
            "/large/_search" => UpstreamReply::new(200, "x".repeat(3000)),
            "/odd/_search" => UpstreamReply::new(200, "[]"),
            "/held/_search" => UpstreamReply::Held,
            _ => UpstreamReply::new(
                404,
                json!({"error": {"type": "index_not_found_exception", "k": "swordfish"}}).to_string(),
            ),
        })
        .unwrap();
        let auth = json!({"type": "bearer", "token": "swordfish"});
        let config = json!({"max_response_size": 2000, "request_timeout_ms": 2000, "auth": auth,
            "operations": {"delete": false}, "dialect": {"allowed_entities": ["busy", "large", "odd", "held", "gone"]}});
        connect(world, upstream.url(""), config).await;
        for (source, code) in [
            ("busy", "FUNCTION_ERROR"),
            ("large", "FUNCTION_ERROR"),
            ("odd", "FUNCTION_ERROR"),
            ("gone", "FUNCTION_ERROR"),
            ("held", "TIMEOUT_ERROR"),
            ("secret", "connector_detail"),
            ("_all", "VALIDATION_ERROR"),
        ] {
            let error = world.task_error("data_query", query(json!({"source": source})), Value::Null).await;
            assert_eq!(error.code.name(), code, "{source}: {}", error.message);
            assert!(!format!("{error:?}").contains("swordfish"), "{error:?}");
        }
        let filter = json!({"==": [{"field": "a"}, 1]});
        let closed = write(json!({"op": "delete", "target": "busy", "filter": filter}));
        assert_eq!(world.task_error("data_write", closed, Value::Null).await.code.name(), "connector_detail");
        let gone = free_port().unwrap();
        connect(world, format!("http://127.0.0.1:{gone}"), json!({})).await;
        let error = world.task_error("data_query", query(json!({"source": "a"})), Value::Null).await;
        assert_eq!((error.code.name(), error.retryable()), ("IO_ERROR", true), "{}", error.message);
        let probe = world.probe("search").await;
        assert!(!probe.reachable && probe.supported && probe.probe == "GET /", "{probe:?}");
    });
}
