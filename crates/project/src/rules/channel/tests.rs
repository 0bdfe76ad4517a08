use serde_json::{Map, Value, json};
use svc_engine::catalogue::operators;
use svc_model::{FieldCode, validate_channel};

use super::*;

fn rules() -> ChannelRules {
    ChannelRules::new(Arc::new(Engine::builder().build()), false)
}

fn documents() -> [Value; 3] {
    let rest = json!({"channel_id": "orders", "name": "orders", "description": "d", "channel_type": "sync",
        "protocol": "rest", "methods": ["GET"], "route_pattern": "/orders", "workflow_id": "w", "priority": 1, "tags": ["t"],
        "config": {
            "auth": {"mode": "jwt", "algorithms": ["HS256"], "jwt_keys": [{"algorithm": "HS256",
                "key": "0123456789abcdef0123456789abcdef"}], "authorization_logic": {"in": ["a", {"var": "claims.scope"}]}},
            "principal_rate_limit": {"requests_per_second": 5, "burst": 2, "key_logic": {"cat": [{"var": "auth.claims.sub"}]}},
            "cache": {"enabled": true, "ttl_secs": 30, "per_principal": true},
            "response": {"mode": "shaped", "error_bodies": {"default": {"body": "{}"}}},
            "timeout_ms": 100, "tracing": {"mode": "sync", "errors_only": true, "sample_rate": 1.0}}});
    let webhook = json!({"name": "stripe", "channel_type": "async", "protocol": "http", "methods": ["POST"],
        "route_pattern": "/stripe", "workflow_id": "w", "config": {
            "auth": {"mode": "hmac", "preset": "stripe", "secret": "whsec-0123456789"},
            "request": {"body_mode": "payload"}, "backpressure": {"max_concurrent_per_node": 4},
            "rate_limit": {"requests_per_second": 5, "key_logic": {"var": "client_ip"}, "on_backend_error": "deny"},
            "deduplication": {"header": "x-event-id", "window_secs": 60},
            "validation_logic": {"and": [{"!!": [{"var": "data.id"}]}, {">": [{"length": {"var": "data.lines"}}, 0]}]}}});
    let nightly = json!({"name": "nightly", "channel_type": "async", "protocol": "cron", "workflow_id": "w",
        "transport_config": {"schedule": "0 0 3 * * *", "timezone": "Europe/Berlin", "misfire_policy": "latest",
            "concurrency": {"policy": "forbid", "key": "report"}}});
    [rest, webhook, nightly]
}

/// Texts that name something the service knows.
const NAMING: [&str; 9] = [
    "mode",
    "preset",
    "algorithm",
    "protocol",
    "channel_type",
    "body_mode",
    "misfire_policy",
    "policy",
    "on_backend_error",
];

/// Every way to write a name with one letter less, more or other, or two letters swapped.
fn edits(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut edits = Vec::new();
    for at in 0..letters.len() {
        let (before, after) = (&letters[..at], &letters[at + 1..]);
        let join = |middle: &[char]| [before, middle, after].concat().into_iter().collect::<String>();
        edits.extend([join(&[]), join(&[letters[at], 'q']), join(&['q'])]);
        if let Some((next, rest)) = after.split_first() {
            edits.push([before, &[*next, letters[at]], rest].concat().into_iter().collect());
        }
    }
    edits.retain(|edit| edit != name && !edit.is_empty() && operators::find(edit).is_none());
    edits
}

/// Calls `told` with the document for every name in it that is written another way.
fn each_rename(document: &Value, at: &str, under: &str, told: &mut dyn FnMut(&str, &str, Value)) {
    let Some(value) = document.pointer(at) else { return };
    match value {
        Value::Object(members) => {
            for key in members.keys() {
                for edit in edits(key).into_iter().filter(|edit| !members.contains_key(edit)) {
                    let mut changed = document.clone();
                    let renamed = members.iter().map(|(name, value)| {
                        (if name == key { edit.clone() } else { name.clone() }, value.clone())
                    });
                    *changed.pointer_mut(at).unwrap() = Value::Object(renamed.collect::<Map<_, _>>());
                    told(at, &edit, changed);
                }
                each_rename(document, &format!("{at}/{}", key.replace('/', "~1")), key, told);
            }
        }
        Value::Array(items) => {
            for n in 0..items.len() {
                each_rename(document, &format!("{at}/{n}"), "", told);
            }
        }
        Value::String(text) => {
            let (name, rest) = match under {
                "var" => text
                    .split_once('.')
                    .map_or((text.as_str(), String::new()), |(root, rest)| (root, format!(".{rest}"))),
                under if NAMING.contains(&under) => (text.as_str(), String::new()),
                _ => return,
            };
            for edit in edits(name) {
                let mut changed = document.clone();
                *changed.pointer_mut(at).unwrap() = json!(format!("{edit}{rest}"));
                told(at, &edit, changed);
            }
        }
        _ => {}
    }
}

#[test]
fn impossible_origins_are_refused_at_their_place() {
    let channel = |origins: Value| {
        let [mut document, ..] = documents();
        document["config"]["origin_allow_list"] = origins;
        validate_channel(&document, &rules()).errors
    };
    assert_eq!(channel(json!(["https://a.example", "null", "*"])), []);
    let errors = channel(json!(["https://a.example", "https://b.example/"]));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].field, "channel.config.origin_allow_list[1]");
    assert!(errors[0].message.contains("write https://b.example"), "{errors:?}");
}

#[test]
fn impossible_addresses_of_sign_in_are_refused() {
    let channel = |rules: &ChannelRules, key: &str, url: &str| {
        let mut block = json!({"redirect_uri": "https://shop.example/login/callback",
            "callback_path": "/login/callback", "state_secret": "0123456789abcdef0123456789abcdef",
            "issuer": "https://id.example", "client_id": "shop", "client_secret": "s"});
        block[key] = json!(url);
        let document = json!({"name": "login", "channel_type": "sync", "protocol": "rest", "methods": ["GET"],
            "route_pattern": "/login", "workflow_id": "w", "config": {"oauth2_login": block}});
        validate_channel(&document, rules).errors
    };
    let private = "https://169.254.169.254/token";
    for (key, url) in [
        ("issuer", "https://127.0.0.1"),
        ("token_url", private),
        ("userinfo_url", "https://[::1]/me"),
        ("authorize_url", "https://ada@id.example/"),
        ("redirect_uri", "https://:443/login/callback"),
    ] {
        let errors = channel(&rules(), key, url);
        assert_eq!(errors.len(), 1, "{key}: {errors:?}");
        assert_eq!(errors[0].field, format!("channel.config.oauth2_login.{key}"));
    }
    assert_eq!(channel(&rules().with_private_providers(true), "token_url", private), []);
    for (key, url) in [("authorize_url", "https://127.0.0.1/"), ("token_url", "env://TOKEN_URL")] {
        assert_eq!(channel(&rules(), key, url), [], "{key}");
    }
}

#[test]
fn literals_in_guards_are_refused() {
    let refused = |guard: &str, logic: Value| {
        let [mut document, ..] = documents();
        *document["config"].pointer_mut(guard).unwrap() = logic;
        let errors = validate_channel(&document, &rules()).errors;
        errors.into_iter().map(|error| (error.field, error.code.unwrap())).collect::<Vec<_>>()
    };
    let at = |place: &str| vec![(format!("channel.config.{place}"), FieldCode::Invalid)];
    assert_eq!(refused("/auth/authorization_logic", json!("orders")), at("auth.authorization_logic"));
    assert_eq!(refused("/auth/authorization_logic", json!(1)), at("auth.authorization_logic"));
    assert_eq!(refused("/auth/authorization_logic", json!(false)), Vec::new());
    let key = "/principal_rate_limit/key_logic";
    assert_eq!(refused(key, json!("auth.claims.sub")), at("principal_rate_limit.key_logic"));
    assert_eq!(refused(key, json!(true)), at("principal_rate_limit.key_logic"));
    for data in [json!([]), json!(["a", {}]), json!({"a": 1, "b": [2]})] {
        assert_eq!(refused(key, data.clone()), at("principal_rate_limit.key_logic"), "{data}");
    }
    let parts = json!([{"var": "auth.claims.sub"}, {"a": {"var": "client_ip"}, "b": 1}]);
    assert_eq!(refused(key, parts), Vec::new());
    for list in [json!([]), json!(["claims.sub"])] {
        let errors = refused("/auth/authorization_logic", list.clone());
        assert_eq!(errors, at("auth.authorization_logic"), "{list}");
    }
}

#[test]
fn payload_that_its_schema_refuses_is_warned_of() {
    let warned = |payload: Value| {
        let [_, _, mut document] = documents();
        document["transport_config"]["payload"] = payload;
        document["config"] = json!({"request": {"schema": {"type": "object", "required": ["days"],
            "properties": {"days": {"type": "integer"}}}}});
        let report = validate_channel(&document, &rules());
        assert!(report.valid(), "{report:?}");
        report.warnings.into_iter().map(|issue| issue.field).collect::<Vec<_>>()
    };
    assert_eq!(warned(json!({"days": 7})), [""; 0]);
    assert_eq!(warned(json!({"days": "7"})), ["channel.transport_config.payload.days"]);
    assert_eq!(warned(Value::Null), ["channel.transport_config.payload.days"]);
}

#[test]
fn schema_above_its_length_is_too_long() {
    let refusals = |schema: Value| {
        let [mut document, ..] = documents();
        document["config"] = json!({"request": {"schema": schema}});
        let report = validate_channel(&document, &rules());
        report.errors.into_iter().map(|issue| (issue.field, issue.code)).collect::<Vec<_>>()
    };
    let refused = |code| vec![("channel.config.request.schema".to_owned(), Some(code))];
    assert_eq!(refusals(json!({"description": "x".repeat(64 << 10)})), refused(FieldCode::TooLong));
    assert_eq!(refusals(json!({"type": "objet"})), refused(FieldCode::Invalid));
}

#[test]
fn guard_that_never_differs_is_warned_of() {
    let warned = |config: Value| {
        let [mut document, ..] = documents();
        document["config"] = config;
        let report = validate_channel(&document, &rules());
        assert!(report.valid(), "{report:?}");
        report.warnings.into_iter().map(|issue| (issue.field, issue.message)).collect::<Vec<_>>()
    };
    let jwt = |algorithms: Value| {
        json!({"mode": "jwt", "algorithms": algorithms,
            "jwt_keys": [{"algorithm": "HS256", "key": "0123456789abcdef0123456789abcdef"}]})
    };
    let keys = json!({"mode": "api_key", "keys": ["k"]});
    let tenant = json!({"var": "headers.x-tenant"});
    for (config, place, part) in [
        (json!({"validation_logic": {"or": [true, {"var": "data.q"}]}}), "validation_logic", "always true"),
        (json!({"validation_logic": {"==": [1, 2]}}), "validation_logic", "never true"),
        (
            json!({"validation_logic": {"missing": ["data.id"]}}),
            "validation_logic.missing",
            "put it into '!'",
        ),
        (json!({"validation_logic": {"!!": "data.id"}}), "validation_logic.!!", r#"{"var": "data.id"}"#),
        (
            json!({"validation_logic": {"!!": {"var": "metadata.headers.X-Id"}}}),
            "validation_logic.!!",
            "write x-id",
        ),
        (
            json!({"rate_limit": {"requests_per_second": 1, "key_logic": tenant}}),
            "rate_limit.key_logic",
            "name it in rate_limit.key_headers",
        ),
        (
            json!({"quota": {"limit": 1, "per": "day", "key_logic": {"var": "auth.claims.sub"}}}),
            "quota.key_logic",
            "the channel has no auth",
        ),
        (
            json!({"auth": keys, "deduplication": {"key_logic": {"var": "metadata.auth.claims.sub"}}}),
            "deduplication.key_logic",
            "only a token has claims",
        ),
        (
            json!({"validation_logic": {"!!": {"try": [{"var": "order.id"}, {"val": "type"}]}}}),
            "validation_logic.!!.try[0]",
            "order.id is always null",
        ),
        (json!({"auth": jwt(json!(["RS256"]))}), "auth.jwt_keys[0].algorithm", "has no HS256"),
        (
            json!({"cache": {"enabled": true, "cache_key_fields": ["id", "payload.sku"]}}),
            "cache.cache_key_fields[1]",
            "write 'sku'",
        ),
        (json!({"timeout_ms": 5}), "timeout_ms", "5 seconds are 5000"),
        (
            json!({"validation_logic": {"if": [{"var": "data.x"}, {">": [{"length": 5}, 1]}, true]}}),
            "validation_logic.if[1].>[0].length",
            "always fails",
        ),
        (
            json!({"deduplication": {"header": "x-id", "window_secs": 86_400_000}}),
            "deduplication.window_secs",
            "1000 days: 86400000 milliseconds are 86400",
        ),
        (json!({"deduplication": {"header": "event_id"}}), "deduplication.header", "'event-id'"),
        (
            json!({"auth": keys, "quota": {"limit": 1, "per": "day", "key_logic": {"var": "auth.sub"}}}),
            "quota.key_logic",
            "of a caller there are claims, consumer, principal",
        ),
        (
            json!({"request": {"schema": {"required": ["dta"], "properties": {"data": {}}}}}),
            "request.schema.required[0]",
            "did you mean 'data'?",
        ),
    ] {
        let found = warned(config.clone());
        assert!(
            found.iter().any(|(field, _)| *field == format!("channel.config.{place}")),
            "{config}: {found:?}"
        );
        assert!(found.iter().any(|(_, message)| message.contains(part)), "{config}: {found:?}");
    }
    for config in [
        json!({"validation_logic": true}),
        json!({"timeout_ms": 20}),
        json!({"validation_logic": {"!!": {"var": "metadata.auth.claims.sub"}}}),
        json!({"validation_logic": {"==": [{"type": [{"var": "data.qty"}]}, "number"]}}),
        json!({"validation_logic": {"==": [{"try": [{"/": [1, {"var": "data.n"}]}, {"val": "type"}]}, "NaN"]}}),
        json!({"rate_limit": {"requests_per_second": 1, "key_logic": tenant, "key_headers": ["X-Tenant"]}}),
        json!({"rate_limit": {"requests_per_second": 1, "key_logic": {"var": "headers.x-tenant-id"}}}),
        json!({"auth": jwt(json!(["HS256"])), "quota": {"limit": 1, "per": "day", "key_logic": {"var": "auth.claims.sub"}}}),
        json!({"cache": {"enabled": true, "cache_key_fields": ["payload.sku", "data.id"]},
            "request": {"schema": {"type": "object", "properties": {"payload": {"type": "object"}}}}}),
    ] {
        assert_eq!(warned(config.clone()), [], "{config}");
    }
}

#[test]
fn respelt_channel_name_is_refused_or_warned_of() {
    let rules = rules();
    let mut seen = 0;
    for document in documents() {
        let report = validate_channel(&document, &rules);
        assert!(report.valid() && report.warnings.is_empty(), "{report:?}");
        each_rename(&document, "", "", &mut |at, edit, changed| {
            seen += 1;
            let report = validate_channel(&changed, &rules);
            let told = !report.valid() || !report.warnings.is_empty();
            assert!(told || means_the_same(at, edit), "{at}: {edit}: {changed}");
        });
    }
    assert!(seen > 1000, "{seen} renames");
}

/// Names that an author is free to choose.
fn means_the_same(at: &str, edit: &str) -> bool {
    edit.starts_with("x-") || (at == "/channel_type" && edit == "sync")
}
