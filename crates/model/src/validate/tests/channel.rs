//! Tests of channel validation.

use serde_json::{Value, json};

use super::{Marked, codes};
use crate::field::FieldCode::{Invalid, Required, RequiredForProtocol, TooLong, TypeMismatch};
use crate::{
    ChannelContent, ChannelType, FieldCode, MASK, Protocol, mask_channel_config, parse_channel_update,
    parse_new_channel, validate_channel,
};

fn rest(extra: Value) -> Value {
    let mut body = json!({"name": "c", "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": "/c/{id}", "workflow_id": "w"});
    for (key, value) in extra.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

fn content(body: &Value) -> ChannelContent {
    parse_new_channel(body, &Marked).unwrap().1
}

fn refusals(body: &Value) -> Vec<(String, FieldCode)> {
    let errors = parse_new_channel(body, &Marked).unwrap_err();
    codes(&errors).into_iter().map(|(path, code)| (path.to_owned(), code)).collect()
}

fn single_error(path: &str, code: FieldCode) -> Vec<(String, FieldCode)> {
    vec![(path.to_owned(), code)]
}

#[test]
fn absent_and_null_fields_take_their_defaults() {
    let nulls = rest(
        json!({"description": null, "topic": null, "consumer_group": null, "transport_config": null,
        "config": null, "priority": null, "tags": null, "channel_id": null, "status": "active", "version": 9}),
    );
    let content = content(&nulls);
    assert_eq!((&content.transport_config, &content.config), (&json!({}), &json!({})));
    assert_eq!((content.priority, content.tags.len(), content.topic), (0, 0, None));
}

#[test]
fn keys_that_reads_show_are_passed_over() {
    let own = ["channel_id", "channel_type", "protocol"];
    for key in crate::entity::Channel::ONLY_READ.into_iter().filter(|key| !own.contains(key)) {
        let body = rest(json!({ (key): {"a": 1} }));
        assert!(parse_new_channel(&body, &Marked).is_ok(), "{key}");
    }
}

#[test]
fn type_protocol_and_method_names_ignore_case() {
    let content =
        content(&rest(json!({"channel_type": "ASync", "protocol": "HTTP", "methods": ["get", "Post"]})));
    assert_eq!((content.channel_type, content.protocol), (ChannelType::Async, Protocol::Http));
    assert_eq!(content.methods.unwrap(), ["GET", "POST"]);
}

#[test]
fn absent_channel_type_follows_the_protocol() {
    let mut body = rest(json!({}));
    body.as_object_mut().unwrap().remove("channel_type");
    assert_eq!(content(&body).channel_type, ChannelType::Sync);
    let kafka = json!({"name": "c", "protocol": "kafka", "topic": "t", "workflow_id": "w"});
    assert_eq!(content(&kafka).channel_type, ChannelType::Async);
    let cron = json!({"name": "c", "protocol": "cron", "workflow_id": "w", "transport_config": {"schedule": "@daily"}});
    assert_eq!(content(&cron).channel_type, ChannelType::Async);
}

#[test]
fn answer_shaping_with_mode_accept_is_warned_of() {
    let warned = |config: Value| {
        let report = validate_channel(&rest(json!({"config": config})), &Marked);
        report.warnings.into_iter().map(|issue| issue.field).collect::<Vec<_>>()
    };
    let shapes = json!({"cache": {"enabled": true, "ttl_secs": 60}, "response": {"mode": "shaped"}});
    assert_eq!(warned(shapes.clone()), [""; 0]);
    let mut accepts = shapes;
    accepts["request"] = json!({"mode": "accept"});
    assert_eq!(warned(accepts), ["channel.config.cache", "channel.config.response.mode"]);
}

#[test]
fn sign_in_needs_routes_that_fit() {
    let block = |callback_path: &str, extra: Value| {
        let mut block = json!({"redirect_uri": "https://shop.test/{provider}", "callback_path": callback_path,
            "state_secret": "k".repeat(32), "providers": {"corp":
                {"issuer": "https://id.test", "client_id": "shop", "client_secret": "s"}}});
        for (key, value) in extra.as_object().unwrap() {
            block[key] = value.clone();
        }
        json!({"oauth2_login": block})
    };
    let channel = |route: &str, methods: Value, config: Value| {
        rest(json!({"route_pattern": route, "methods": methods, "config": config}))
    };
    let path = "channel.config.oauth2_login.callback_path";
    let get = || json!(["GET"]);
    let good = channel("/login/{provider}", get(), block("/callback/{provider}", json!({})));
    assert!(parse_new_channel(&good, &Marked).is_ok());
    for (body, field) in [
        (
            channel("/login/{provider}", json!(["POST"]), block("/cb/{provider}", json!({}))),
            "channel.methods",
        ),
        (channel("/login/{provider}", get(), block("/login/{provider}", json!({}))), path),
        (channel("/login", get(), block("/login/{provider}", json!({}))), "channel.route_pattern"),
    ] {
        assert_eq!(refusals(&body), single_error(field, Invalid), "{body}");
    }
    let mut topic = json!({"name": "c", "protocol": "kafka", "topic": "t", "workflow_id": "w"});
    topic["config"] = block("/cb/{provider}", json!({}));
    assert_eq!(refusals(&topic), single_error("channel.config.oauth2_login", Invalid));
}

#[test]
fn every_missing_field_is_reported_together() {
    assert_eq!(
        refusals(&json!({})),
        [("channel.name".to_owned(), Required), ("channel.protocol".to_owned(), Required),]
    );
    assert_eq!(
        refusals(&json!({"name": "c", "channel_type": "sync", "protocol": "rest"})),
        [
            ("channel.methods".to_owned(), RequiredForProtocol),
            ("channel.route_pattern".to_owned(), RequiredForProtocol),
        ]
    );
    assert_eq!(
        refusals(&json!({"name": "c", "channel_type": "async", "protocol": "kafka"})),
        single_error("channel.topic", RequiredForProtocol)
    );
    assert_eq!(refusals(&rest(json!({"methods": [], "route_pattern": ""}))).len(), 2);
}

#[test]
fn an_unknown_name_says_which_are_known() {
    let errors = parse_new_channel(&rest(json!({"protocol": "carrier"})), &Marked).unwrap_err();
    assert_eq!(codes(&errors), [("channel.protocol", Invalid)]);
    assert_eq!(errors[0].expected.as_deref(), Some(&json!(["rest", "http", "kafka", "cron"])));
    assert_eq!(errors[0].got.as_deref(), Some(&json!("carrier")));
    assert_eq!(
        refusals(&rest(json!({"channel_type": "both"}))),
        single_error("channel.channel_type", Invalid)
    );
}

#[test]
fn misshapen_body_is_named_field_by_field() {
    let wrong =
        rest(json!({"name": 1, "channel_type": 2, "protocol": 3, "methods": "GET", "route_pattern": 4,
        "topic": 5, "transport_config": [], "workflow_id": 6, "config": "x", "priority": "1", "tags": {}}));
    let errors = refusals(&wrong);
    assert!(
        errors.iter().all(|(path, code)| path.starts_with("body.") && *code == TypeMismatch),
        "{errors:?}"
    );
    assert_eq!(errors.len(), 11);
    assert_eq!(refusals(&json!(1)), single_error("body", TypeMismatch));
}

#[test]
fn methods_are_known_and_named_once() {
    assert_eq!(
        refusals(&rest(json!({"methods": ["GET", "get"]}))),
        single_error("channel.methods[1]", Invalid)
    );
    assert_eq!(refusals(&rest(json!({"methods": ["FETCH"]}))), single_error("channel.methods[0]", Invalid));
}

#[test]
fn three_columns_hold_255_characters() {
    for field in ["topic", "consumer_group"] {
        assert!(parse_new_channel(&rest(json!({field: "é".repeat(255)})), &Marked).is_ok());
        assert_eq!(
            refusals(&rest(json!({field: "é".repeat(256)}))),
            single_error(&format!("channel.{field}"), TooLong)
        );
    }
    let long = format!("/{}", "p".repeat(255));
    assert_eq!(
        refusals(&rest(json!({"route_pattern": long}))),
        single_error("channel.route_pattern", TooLong)
    );
    assert_eq!(
        refusals(&rest(json!({"route_pattern": "no-slash"}))),
        single_error("channel.route_pattern", Invalid)
    );
}

#[test]
fn a_reserved_id_is_refused() {
    for id in ["trigger", "pause", "Resume"] {
        assert_eq!(refusals(&rest(json!({"channel_id": id}))), single_error("channel.channel_id", Invalid));
    }
    let (id, _) = parse_new_channel(&rest(json!({"channel_id": "c-1"})), &Marked).unwrap();
    assert_eq!(id.as_deref(), Some("c-1"));
}

#[test]
fn expressions_are_compiled_and_read_no_secret() {
    let jwt = |logic: Value| {
        json!({"mode": "jwt", "algorithms": ["RS256"], "jwks_url": "https://id.test/keys",
        "authorization_logic": logic})
    };
    for bad in [json!("broken"), json!({"==": [{"secret": "s"}, 1]})] {
        for (config, path) in [
            (json!({"validation_logic": bad}), "channel.config.validation_logic"),
            (
                json!({"rate_limit": {"requests_per_second": 1, "key_logic": bad}}),
                "channel.config.rate_limit.key_logic",
            ),
            (json!({"auth": jwt(bad.clone())}), "channel.config.auth"),
            (
                json!({"auth": jwt(json!(true)), "principal_rate_limit": {"requests_per_second": 1, "key_logic": bad}}),
                "channel.config.principal_rate_limit.key_logic",
            ),
        ] {
            let errors = parse_new_channel(&rest(json!({"config": config})), &Marked).unwrap_err();
            assert_eq!(codes(&errors), [(path, Invalid)]);
            assert!(errors[0].message.contains("does not compile"), "{}", errors[0].message);
        }
    }
}

#[test]
fn update_keeps_absent_members_empties_on_request() {
    let current = content(&rest(json!({"description": "d", "topic": "t", "priority": 2, "tags": ["x"]})));
    let update = |body: Value| parse_channel_update(&body, &current, &Marked);
    assert_eq!(update(json!({})).unwrap(), current);
    let document = json!({"protocol": "kafka", "channel_type": "async", "channel_id": "import", "topic": null, "tags": null});
    assert_eq!(update(document).unwrap(), current);
    let emptied = update(json!({"topic": "", "workflow_id": "", "tags": [], "description": null})).unwrap();
    assert_eq!((emptied.topic, emptied.workflow_id, emptied.description), (None, None, None));
    let errors = update(json!({"methods": [], "route_pattern": ""})).unwrap_err();
    assert_eq!(
        codes(&errors),
        [("channel.methods", RequiredForProtocol), ("channel.route_pattern", RequiredForProtocol)]
    );
}

#[test]
fn masked_secret_needs_a_stored_one() {
    let auth = json!({"auth": {"mode": "api_key", "keys": ["literal", "env://K"]}});
    let current = content(&rest(json!({"config": auth})));
    let masked = mask_channel_config(&current.config);
    let updated = parse_channel_update(&json!({"config": masked, "priority": 1}), &current, &Marked).unwrap();
    assert_eq!(updated.config, current.config);
    let more = json!({"config": {"auth": {"mode": "api_key", "keys": [MASK, MASK, MASK]}}});
    let errors = parse_channel_update(&more, &current, &Marked).unwrap_err();
    assert_eq!(
        codes(&errors),
        [("channel.config.auth.keys[1]", Invalid), ("channel.config.auth.keys[2]", Invalid)]
    );
    assert_eq!(
        refusals(&rest(json!({"config": masked}))),
        single_error("channel.config.auth.keys[0]", Invalid)
    );
}

#[test]
fn cache_behind_auth_must_say_who_shares_its_answers() {
    let config = |auth: bool, per_principal: Value| {
        let mut config = json!({"cache": {"enabled": true, "per_principal": per_principal}});
        if auth {
            config["auth"] = json!({"mode": "api_key", "keys": ["env://KEY"]});
        }
        rest(json!({"config": config}))
    };
    let path = "channel.config.cache.per_principal";
    assert_eq!(refusals(&config(true, Value::Null)), single_error(path, Required));
    assert_eq!(refusals(&config(false, json!(true))), single_error(path, Invalid));
    let warned = |body: &Value| {
        let report = validate_channel(body, &Marked);
        assert!(report.valid());
        report.warnings.iter().any(|warning| warning.field == path)
    };
    assert!(warned(&config(true, json!(false))));
    assert!(!warned(&config(true, json!(true))) && !warned(&config(false, Value::Null)));
    let mut unkept = config(true, Value::Null);
    unkept["config"]["cache"]["enabled"] = json!(false);
    assert!(validate_channel(&unkept, &Marked).valid());
}

#[test]
fn idempotency_keys_per_principal_need_auth() {
    let config = |per_principal: Value| {
        rest(json!({"config": {"deduplication": {"header": "k", "per_principal": per_principal}}}))
    };
    let path = "channel.config.deduplication.per_principal";
    assert_eq!(refusals(&config(json!(true))), single_error(path, Invalid));
    assert!(validate_channel(&config(json!(false)), &Marked).valid());
}

#[test]
fn replayed_answers_need_callers_and_one_store() {
    let block = |more: Value| {
        let mut block = json!({"header": "k", "on_duplicate": "replay"});
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"config": {"deduplication": block}})
    };
    for more in [json!({}), json!({"store": "memory"}), json!({"store": "redis", "connector": "redis"})] {
        assert!(validate_channel(&rest(block(more.clone())), &Marked).valid(), "{more}");
    }
    for (more, key) in [
        (json!({"on_duplicate": "refuse", "store": "memory"}), "store"),
        (json!({"on_duplicate": "accept", "max_answer_bytes": 10}), "max_answer_bytes"),
        (json!({"store": "database", "connector": "redis"}), "store"),
        (json!({"store": "disk"}), "store"),
        (json!({"max_answer_bytes": 0}), "max_answer_bytes"),
        (json!({"on_duplicate": "repeat"}), "on_duplicate"),
    ] {
        let path = format!("channel.config.deduplication.{key}");
        assert_eq!(refusals(&rest(block(more.clone()))), single_error(&path, Invalid), "{more}");
    }
    let mut topic = block(json!({}));
    topic["name"] = json!("c");
    topic["protocol"] = json!("kafka");
    topic["topic"] = json!("t");
    topic["workflow_id"] = json!("w");
    assert_eq!(refusals(&topic), single_error("channel.config.deduplication.on_duplicate", Invalid));
}

#[test]
fn event_senders_need_a_channel_of_events() {
    let request = |body: &str| {
        let origins = json!(["events.example.com"]);
        json!({"config": {"request": {"body": body, "cloudevents_origins": origins}}})
    };
    let path = "channel.config.request.cloudevents_origins";
    assert!(validate_channel(&rest(request("cloudevents")), &Marked).valid());
    assert_eq!(refusals(&rest(request("json"))), single_error(path, Invalid));
    let mut topic = request("cloudevents");
    topic["name"] = json!("c");
    topic["protocol"] = json!("kafka");
    topic["topic"] = json!("t");
    topic["workflow_id"] = json!("w");
    assert_eq!(refusals(&topic), single_error(path, Invalid));
}

#[test]
fn envelope_mistakes_are_warned_of_in_mode_auto() {
    let warned = |config: Value| {
        let report = validate_channel(&rest(json!({ "config": config })), &Marked);
        assert!(report.valid(), "{config}");
        report.warnings.iter().any(|warning| warning.field == "channel.config.request.body_mode")
    };
    for preset in ["zoom", "slack", "stripe", "github", "shopify", "webex", "standard_webhooks", "P1"] {
        let auth = json!({"mode": "hmac", "preset": preset, "secret": "env://KEY"});
        assert!(warned(json!({"auth": auth})), "{preset}");
        assert!(!warned(json!({"auth": auth, "request": {"body_mode": "payload"}})), "{preset}");
    }
    for events in [
        json!({"deduplication": {"header": "ce-id"}}),
        json!({"deduplication": {"key_logic": {"cat": [{"var": "metadata.headers.ce-source"}, "x"]}}}),
        json!({"validation_logic": {"==": [{"var": "data.specversion"}, "1.0"]}}),
    ] {
        assert!(warned(events.clone()), "{events}");
    }
    assert!(!warned(json!({"deduplication": {"header": "idempotency-key"}})));
}

#[test]
fn validate_tells_what_a_create_would_be_refused_for() {
    let report = validate_channel(&rest(json!({})), &Marked);
    assert!(report.valid() && report.warnings.is_empty());
    let broken = validate_channel(&rest(json!({"name": " ", "config": {"nope": 1}})), &Marked).to_json();
    assert_eq!(broken["valid"], false);
    let fields: Vec<_> =
        broken["errors"].as_array().unwrap().iter().map(|issue| issue["field"].clone()).collect();
    assert_eq!(fields, ["channel.name", "channel.config.nope"]);
}

#[test]
fn pause_after_failures_needs_ingress_without_answers() {
    let block = json!({"failures": 3, "within_secs": 60});
    let path = "channel.config.on_repeated_failure";
    assert_eq!(
        refusals(&rest(json!({"config": {"on_repeated_failure": block}}))),
        single_error(path, Invalid)
    );
    content(&rest(json!({"config": {"on_repeated_failure": block, "request": {"mode": "accept"}}})));
    for body in [
        json!({"name": "c", "protocol": "kafka", "topic": "t", "workflow_id": "w"}),
        json!({"name": "c", "protocol": "cron", "workflow_id": "w", "transport_config": {"schedule": "@daily"}}),
    ] {
        let mut body = body;
        body["config"] = json!({"on_repeated_failure": block});
        content(&body);
        body["config"] = json!({"on_repeated_failure": {"failures": 0, "within_secs": 60}});
        assert_eq!(refusals(&body), single_error(&format!("{path}.failures"), Invalid));
        body["config"] = json!({"on_repeated_failure": {"failures": 1}});
        assert_eq!(refusals(&body), single_error(&format!("{path}.within_secs"), Required));
    }
}

#[test]
fn parameter_in_another_notation_is_warned_of() {
    let warned = |route: &str| {
        let report = validate_channel(&rest(json!({"route_pattern": route})), &Marked);
        assert!(report.valid(), "{route}: {report:?}");
        report.warnings
    };
    for (route, meant) in [("/c/:id", "{id}"), ("/<customer>/c", "{customer}"), ("/c/:", "{id}")] {
        let warnings = warned(route);
        assert_eq!(warnings.len(), 1, "{route}: {warnings:?}");
        assert_eq!(warnings[0].field, "channel.route_pattern", "{route}");
        assert!(warnings[0].message.ends_with(meant), "{warnings:?}");
        content(&rest(json!({"route_pattern": route})));
    }
    for route in ["/items:batch", "/c/{id}", "/a-b/<c"] {
        assert_eq!(warned(route), [], "{route}");
    }
}

#[test]
fn way_that_no_message_takes_is_warned_of() {
    let warned = |document: Value| {
        let report = validate_channel(&document, &Marked);
        assert!(report.valid(), "{report:?}");
        report.warnings.into_iter().map(|issue| issue.field).collect::<Vec<_>>()
    };
    let cron = |transport: Value| json!({"name": "c", "protocol": "cron", "workflow_id": "w", "transport_config": transport});
    assert_eq!(warned(rest(json!({"route_pattern": "/api/v1/data/c"}))), ["channel.route_pattern"]);
    assert_eq!(
        warned(rest(json!({"transport_config": {"schedule": "@daily"}}))),
        ["channel.transport_config"]
    );
    for (transport, place) in [
        (json!({"schedule": "@daily", "max_catch_up": 3}), "max_catch_up"),
        (json!({"schedule": "* 2 * * *"}), "schedule"),
        (json!({"schedule": "* 30 2 * * *"}), "schedule"),
        (json!({"schedule": "@daily", "payload": {"days": [{"now": []}]}}), "payload.days[0]"),
    ] {
        assert_eq!(warned(cron(transport)), [format!("channel.transport_config.{place}")]);
    }
    for schedule in ["* 9-17 * * *", "* * * * *", "0 2 * * *", "* * 2 * * *"] {
        assert_eq!(warned(cron(json!({"schedule": schedule}))), [""; 0], "{schedule}");
    }
    let missed = |concurrency: Value| {
        warned(cron(json!({"schedule": "@daily", "misfire_policy": "catch_up", "max_catch_up": 7,
            "concurrency": concurrency})))
    };
    assert_eq!(missed(json!({"policy": "forbid"})), ["channel.transport_config.concurrency"]);
    for concurrency in [json!({"policy": "forbid", "slots": 7}), json!({"policy": "allow"})] {
        assert_eq!(missed(concurrency.clone()), [""; 0], "{concurrency}");
    }
}

#[test]
fn credential_like_a_variable_is_warned_of() {
    let warned = |key: &str| {
        let config = json!({"auth": {"mode": "api_key", "keys": [key]}});
        let report = validate_channel(&rest(json!({ "config": config })), &Marked);
        report.warnings.into_iter().map(|issue| issue.field).collect::<Vec<_>>()
    };
    for key in [
        "${CALLER_KEY}",
        "$CALLER_KEY",
        "env:CALLER_KEY",
        "env//CALLER_KEY",
        "secret://caller",
        "{{ CALLER_KEY }}",
    ] {
        assert_eq!(warned(key), ["channel.config.auth.keys[0]"], "{key}");
    }
    for key in ["env://CALLER_KEY", "$2b$10$abc", "S3CRET", "${mixed}"] {
        assert_eq!(warned(key), [""; 0], "{key}");
    }
}
