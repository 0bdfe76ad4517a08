//! Tests of the documents.

use serde_json::{Value, json};
use svc_model::{ChannelChecks, ChannelConfig, parse_new_channel};

use crate::{DocumentedChannel, asyncapi_document, openapi_document};

/// Rules that refuse nothing.
struct AllowAll;

impl ChannelChecks for AllowAll {
    fn compiles(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
}

fn channel(name: &str, more: &Value) -> DocumentedChannel {
    let mut body = json!({"name": name, "protocol": "rest", "methods": ["POST"], "route_pattern": format!("/{name}"),
        "workflow_id": "w"});
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    let content = parse_new_channel(&body, &AllowAll).unwrap().1;
    let config = ChannelConfig::parse(&content.config).unwrap();
    DocumentedChannel { content, config }
}

fn channels() -> Vec<DocumentedChannel> {
    let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "array",
        "items": {"$ref": "#/$defs/item"}, "$defs": {"item": {"type": "integer"}}});
    let examples = json!([{"name": "two", "request": [1, 2], "status": 201, "response": {"state": "new"}}]);
    let orders = json!({"route_pattern": "/orders/{id}", "methods": ["PUT", "GET"], "tags": ["shop"], "config": {
        "auth": {"mode": "api_key", "keys": ["swordfish"], "header": "x-api-key"},
        "request": {"schema": schema}, "examples": examples,
        "response": {"mode": "shaped", "schema": {"type": "object"}},
    }});
    let kafka = json!({"protocol": "kafka", "channel_type": "async", "methods": null, "route_pattern": null,
        "topic": "events.v1", "config": {"request": {"schema": schema}, "examples": [{"request": [7]}]}});
    let cron = json!({"protocol": "cron", "channel_type": "async", "methods": null, "route_pattern": null,
        "transport_config": {"schedule": "@daily"}});
    vec![
        channel("orders", &orders),
        channel("hidden", &json!({"config": {"document": false}})),
        channel("later", &json!({"config": {"request": {"mode": "accept"}}})),
        channel("events", &kafka),
        channel("nightly", &cron),
    ]
}

#[test]
fn openapi_has_documented_channels_of_requests_alone() {
    let document = openapi_document("Shop", "/api/v1/data", &channels(), None);
    let paths: Vec<_> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(paths, ["/api/v1/data/later", "/api/v1/data/orders/{id}"]);
    let path = &document["paths"]["/api/v1/data/orders/{id}"];
    assert_eq!(path["get"]["operationId"], "orders_get");
    assert!(path["get"].get("requestBody").is_none());
    let put = &path["put"];
    assert_eq!(put["parameters"][0]["name"], "id");
    assert_eq!(put["security"], json!([{"orders": []}]));
    assert_eq!(document["components"]["securitySchemes"]["orders"]["name"], "x-api-key");
    let body = &put["requestBody"]["content"]["application/json"];
    assert_eq!(body["schema"]["$ref"], "#/components/schemas/orders.request");
    assert_eq!(body["examples"]["two"]["value"], json!([1, 2]));
    let answers = &put["responses"];
    let created = &answers["201"]["content"]["application/json"];
    assert_eq!(created["examples"]["two"]["value"]["state"], "new");
    let schema = &answers["200"]["content"]["application/json"]["schema"];
    assert!(schema.is_object() && created["schema"] == *schema, "{created}");
    assert_eq!(
        answers["200"]["content"]["application/json"]["schema"]["$ref"],
        "#/components/schemas/orders.response"
    );
    let later = &document["paths"]["/api/v1/data/later"]["post"]["responses"];
    assert!(later["202"].is_object() && later["200"].is_null(), "{later}");
    assert!(!document.to_string().contains("swordfish"));
}

#[test]
fn examples_and_repeats_match_their_answers() {
    let bad = json!({"name": "bad", "status": 400, "response": {"why": "x"}});
    let examples = json!([{"name": "new", "response": {"id": 7}}, bad]);
    let repeated = json!({"deduplication": {"header": "k", "on_duplicate": "accept"}, "examples": examples});
    let mut accepted = repeated.clone();
    accepted["request"] = json!({"mode": "accept"});
    let channels =
        [channel("now", &json!({"config": repeated})), channel("later", &json!({"config": accepted}))];
    let document = openapi_document("Shop", "", &channels, None);
    let content = |path: &str, status: &str| {
        document["paths"][path]["post"]["responses"][status]["content"]["application/json"].clone()
    };
    let (now, bad) = (content("/now", "200"), content("/now", "400"));
    assert_eq!(now["examples"]["new"]["value"], json!({"status": "ok", "data": {"id": 7}, "errors": []}));
    assert_eq!(bad["examples"]["bad"]["value"], json!({"why": "x"}));
    assert_eq!(now["schema"]["anyOf"][1]["properties"]["status"]["const"], "duplicate");
    let errors = &now["schema"]["anyOf"][0]["properties"]["errors"];
    assert_eq!(errors["items"]["properties"]["task_id"]["type"], "string", "generators need the items");
    assert_eq!(content("/later", "200")["schema"]["properties"]["status"]["const"], "duplicate");
    assert_eq!(content("/later", "202")["schema"]["required"], json!(["trace_id", "trace_token"]));
}

#[test]
fn each_type_of_auto_is_documented() {
    let auto = json!({"config": {"request": {"body": "auto"}}});
    let document = openapi_document("Shop", "", &[channel("auto", &auto)], None);
    let contents = document["paths"]["/auto"]["post"]["requestBody"]["content"].as_object().unwrap();
    assert_eq!(contents.len(), 6, "{contents:?}");
    assert!(contents.contains_key("application/json") && contents.contains_key("text/csv"), "{contents:?}");
}

#[test]
fn bodies_of_errors_are_documented_by_their_type() {
    let own = json!({"config": {"response": {"mode": "shaped",
        "error_bodies": {"default": {"content_type": "application/problem+json", "body": "{}"}}},
        "examples": [{"name": "gone", "status": 204}]}});
    let channels = [channel("own", &own), channel("plain", &json!({}))];
    let document = openapi_document("Shop", "", &channels, None);
    let responses = |path: &str| document["paths"][path]["post"]["responses"].clone();
    let contents = responses("/own")["default"]["content"].clone();
    assert_eq!(contents, json!({"application/json": {}, "application/problem+json": {}}));
    assert_eq!(responses("/own")["204"].get("content"), None);
    assert_eq!(responses("/plain")["default"]["$ref"], "#/components/responses/Error");
}

#[test]
fn headers_of_idempotency_keys_are_documented() {
    let keyed = json!({"config": {"deduplication": {"header": "idempotency-key", "on_duplicate": "replay",
        "window_secs": 86400}}});
    let computed = json!({"config": {"deduplication": {"header": "x-id", "key_logic": {"var": "data.id"}}}});
    let document =
        openapi_document("Shop", "", &[channel("keyed", &keyed), channel("computed", &computed)], None);
    let parameters = |path: &str| document["paths"][path]["post"]["parameters"].clone();
    let header = &parameters("/keyed")[0];
    assert_eq!((&header["name"], &header["in"]), (&json!("idempotency-key"), &json!("header")));
    let description = header["description"].as_str().unwrap();
    assert!(description.contains("within 86400 seconds gets the answer"), "{description}");
    assert_eq!(parameters("/computed"), json!([]));
}

#[test]
fn events_are_documented_in_every_mode() {
    let config = |mode: &str| {
        json!({"config": {"request": {"body": "cloudevents", "mode": mode, "schema": {"type": "object"}},
            "examples": [{"name": "one", "request": {"id": 7}}]}})
    };
    let channels = [channel("now", &config("answer")), channel("later", &config("accept"))];
    let document = openapi_document("Shop", "", &channels, None);
    let contents = |path: &str| document["paths"][path]["post"]["requestBody"]["content"].clone();
    let types = |contents: &Value| contents.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (now, later) = (contents("/now"), contents("/later"));
    assert_eq!(types(&now), ["application/cloudevents+json", "application/json"]);
    assert!(types(&later).contains(&"application/cloudevents-batch+json".to_owned()));
    let event = &now["application/cloudevents+json"];
    assert_eq!(event["schema"]["properties"]["data"]["$ref"], "#/components/schemas/now.request");
    assert_eq!(event["examples"]["one"]["value"]["data"], json!({"id": 7}));
    let parameters = &document["paths"]["/now"]["post"]["parameters"];
    assert_eq!((&parameters[0]["name"], &parameters[0]["in"]), (&json!("ce-specversion"), &json!("header")));
    let topic = json!({"protocol": "kafka", "channel_type": "async", "methods": null, "route_pattern": null,
        "topic": "t", "config": {"request": {"body": "cloudevents"}}});
    let document = asyncapi_document("Shop", &[channel("topic", &topic)], None);
    let messages = &document["channels"]["topic"]["messages"];
    assert_eq!(messages["event"]["contentType"], "application/cloudevents+json");
    assert_eq!(messages["record"]["headers"]["properties"]["ce_id"]["type"], "string");
}

#[test]
fn references_of_schemas_move_with_them() {
    let document = openapi_document("Shop", "", &channels(), Some("shop"));
    assert_eq!(document["paths"].as_object().unwrap().len(), 1, "the others lack the tag");
    let schema = &document["components"]["schemas"]["orders.request"];
    assert_eq!(schema["items"]["$ref"], "#/components/schemas/orders.request.item");
    assert_eq!(document["components"]["schemas"]["orders.request.item"]["type"], "integer");
    assert!(schema.get("$schema").is_none());
}

#[test]
fn asyncapi_has_documented_topics() {
    let document = asyncapi_document("Shop", &channels(), None);
    let described = document["channels"].as_object().unwrap();
    assert_eq!(described.len(), 1);
    let message = &described["events"]["messages"]["record"];
    assert_eq!(described["events"]["address"], "events.v1");
    assert_eq!(message["payload"]["$ref"], "#/components/schemas/events.record");
    assert_eq!(message["examples"], json!([{"name": "example 1", "payload": [7]}]));
    assert_eq!(document["operations"]["receive_events"]["action"], "receive");
    let own_topic = json!({"channel_type": "async", "topic": "both.v1"});
    let both = asyncapi_document("Shop", &[channel("both", &own_topic)], None);
    assert_eq!(both["channels"]["both"]["address"], "both.v1");
    let tagged = asyncapi_document("Shop", &channels(), Some("shop"));
    assert_eq!(tagged["channels"], json!({}));
}

#[test]
fn records_have_types_and_headers_of_their_channel() {
    let message = |body: &str, name: &str| {
        let topic = json!({"protocol": "kafka", "channel_type": "async", "methods": null, "route_pattern": null,
            "topic": "t", "config": {"request": {"body": body}, "deduplication": {"header": "Order-Id"}}});
        let document = asyncapi_document("Shop", &[channel("topic", &topic)], None);
        document["channels"]["topic"]["messages"][name].clone()
    };
    for (body, name, media_type) in [
        ("json", "record", "application/json"),
        ("text", "record", "text/plain"),
        ("csv", "record", "text/csv"),
        ("xml", "record", "application/xml"),
        ("raw", "record", "application/octet-stream"),
        ("auto", "record", "application/json"),
        ("auto", "csv", "text/csv"),
        ("cloudevents", "event", "application/cloudevents+json"),
        ("cloudevents", "record", "application/json"),
    ] {
        let message = message(body, name);
        assert_eq!(message["contentType"], media_type, "{body} {name}");
        assert_eq!(message["headers"]["properties"]["Order-Id"]["type"], "string", "{body} {name}");
    }
    assert_eq!(message("auto", "xml")["headers"]["required"], json!(["content-type"]));
    assert_eq!(message("cloudevents", "record")["headers"]["properties"]["ce_id"]["type"], "string");
}
