//! Validation of cron channels: required and refused settings.

use serde_json::{Map, Value};
use svc_schedule::{Schedule, ScheduleError};

use super::keys::unknown_keys;
use super::scan::each_string;
use crate::entity::{ChannelContent, ChannelType, Protocol};
use crate::field::{FieldCode, FieldError};
use crate::time::Timestamp;

/// Config blocks that need a caller, which a scheduled run does not have.
pub(super) const REFUSED_BLOCKS: [&str; 8] = [
    "auth",
    "origin_allow_list",
    "rate_limit",
    "principal_rate_limit",
    "deduplication",
    "cache",
    "request",
    "response",
];

const ROOT: &str = "channel.transport_config";
pub(super) const KEYS: [&str; 6] =
    ["schedule", "timezone", "payload", "misfire_policy", "max_catch_up", "concurrency"];
const CONCURRENCY_KEYS: [&str; 3] = ["policy", "key", "slots"];
/// A valid schedule, used to check a time zone when the schedule itself is missing.
const ANY: &str = "@hourly";
/// Maximum size of the payload, in bytes of JSON.
const MAX_PAYLOAD: usize = 1_048_576;
const MAX_CATCH_UP: u64 = 1000;
const MAX_SLOTS: u64 = 64;
/// Prefixes of strings that read a secret or a declared value in other places.
const REFERENCES: [&str; 4] = ["env://", "vault://", "secret://", "var://"];

/// Checks the fields of the channel and its transport.
pub(super) fn check(content: &ChannelContent, errors: &mut Vec<FieldError>) {
    if content.channel_type != ChannelType::Async {
        errors.push(
            FieldError::invalid("channel.channel_type", "a cron channel is async")
                .with_expected("async")
                .with_got(content.channel_type.name()),
        );
    }
    let set = [
        ("methods", content.methods.is_some()),
        ("route_pattern", content.route_pattern.is_some()),
        ("topic", content.topic.is_some()),
        ("consumer_group", content.consumer_group.is_some()),
    ];
    for (field, _) in set.into_iter().filter(|(_, is_set)| *is_set) {
        errors.push(FieldError::invalid(format!("channel.{field}"), "a cron channel cannot set this field"));
    }
    if let Value::Object(transport) = &content.transport_config {
        Transport { errors }.check(transport);
    }
}

/// Removes the refused blocks from a config and reports them.
pub(super) fn refuse_blocks(config: &mut Value, errors: &mut Vec<FieldError>) {
    let Value::Object(config) = config else { return };
    for key in REFUSED_BLOCKS {
        if config.remove(key).is_some_and(|block| !block.is_null()) {
            errors.push(FieldError::invalid(
                format!("channel.config.{key}"),
                "a cron channel cannot set this block",
            ));
        }
    }
}

/// Returns the next five fire times of the schedule in the body of a cron channel; `None` without a valid
/// schedule.
pub fn next_fires(body: &Value) -> Option<Vec<Timestamp>> {
    if Protocol::parse(body.get("protocol")?.as_str()?) != Some(Protocol::Cron) {
        return None;
    }
    let transport = body.get("transport_config")?.as_object()?;
    let zone = present(transport, "timezone").map_or(Some(""), Value::as_str)?;
    let now = Timestamp::now().naive().and_utc();
    let schedule = Schedule::parse_at(transport.get("schedule")?.as_str()?, zone, now).ok()?;
    let fires = schedule.next_fires(now).into_iter();
    Some(fires.map(|due| Timestamp::from_naive(due.naive_utc())).collect())
}

struct Transport<'e> {
    errors: &'e mut Vec<FieldError>,
}

impl Transport<'_> {
    fn check(mut self, transport: &Map<String, Value>) {
        self.unknown(ROOT, transport, &KEYS);
        let zone = self.text(ROOT, transport, "timezone").unwrap_or_default();
        match self.text(ROOT, transport, "schedule") {
            None if present(transport, "schedule").is_some() => self.schedule(ANY, zone),
            Some(schedule) if !schedule.trim().is_empty() => self.schedule(schedule, zone),
            _ => {
                self.errors.push(FieldError::required(format!("{ROOT}.schedule")));
                self.schedule(ANY, zone);
            }
        }
        self.choice(ROOT, transport, "misfire_policy", &["skip", "latest", "catch_up"]);
        self.range(ROOT, transport, "max_catch_up", MAX_CATCH_UP);
        let catches_up = transport.get("misfire_policy").and_then(Value::as_str) == Some("catch_up");
        if catches_up && present(transport, "max_catch_up").is_none() {
            self.errors.push(FieldError::required(format!("{ROOT}.max_catch_up")));
        }
        if let Some(payload) = present(transport, "payload") {
            self.payload(payload);
        }
        match present(transport, "concurrency") {
            None => {}
            Some(Value::Object(concurrency)) => self.concurrency(concurrency),
            Some(other) => self.mismatch(ROOT, "concurrency", "object", other),
        }
    }

    fn schedule(&mut self, expression: &str, zone: &str) {
        // A schedule is new when its document is checked, and a new schedule must fire within years. So the
        // precision of the clock does not matter here.
        let now = Timestamp::now().naive().and_utc();
        for problem in Schedule::problems(expression, zone, now) {
            let (name, got) = match problem {
                ScheduleError::Zone { .. } => ("timezone", zone),
                ScheduleError::Expression { .. } | ScheduleError::NeverFires { .. } => {
                    ("schedule", expression)
                }
            };
            let error = FieldError::invalid(format!("{ROOT}.{name}"), problem.to_string());
            self.errors.push(error.with_got(got));
        }
    }

    fn concurrency(&mut self, concurrency: &Map<String, Value>) {
        let root = format!("{ROOT}.concurrency");
        self.unknown(&root, concurrency, &CONCURRENCY_KEYS);
        self.choice(&root, concurrency, "policy", &["allow", "forbid"]);
        if let Some(key) = self.text(&root, concurrency, "key")
            && !is_key(key)
        {
            let rule =
                "a key starts with a letter or digit and holds at most 128 letters, digits, '_', '.' and '-'";
            self.errors.push(FieldError::invalid(format!("{root}.key"), rule).with_got(key));
        }
        self.range(&root, concurrency, "slots", MAX_SLOTS);
        let forbids = concurrency.get("policy").and_then(Value::as_str) == Some("forbid");
        if present(concurrency, "slots").is_some() && !forbids {
            self.errors.push(FieldError::invalid(format!("{root}.slots"), "slots need the policy forbid"));
        }
    }

    fn payload(&mut self, payload: &Value) {
        let path = format!("{ROOT}.payload");
        if !payload.is_object() {
            self.mismatch(ROOT, "payload", "object", payload);
            return;
        }
        let size = payload.to_string().len();
        if size > MAX_PAYLOAD {
            self.errors.push(FieldError::too_long(path, MAX_PAYLOAD, size, "bytes"));
            return;
        }
        let refuse = |path: &str| {
            let message = "the payload of a schedule resolves no secret";
            FieldError::new(path, FieldCode::UnresolvedSecretRef, message)
        };
        each_string(&path, payload, &mut |path, text| {
            if REFERENCES.iter().any(|scheme| text.starts_with(scheme)) {
                self.errors.push(refuse(path));
            }
        });
        each_secret_node(&path, payload, &mut |path| self.errors.push(refuse(path)));
    }

    fn unknown(&mut self, root: &str, object: &Map<String, Value>, known: &[&str]) {
        self.errors.extend(unknown_keys(object, root, known, &[]));
    }

    fn text<'v>(&mut self, root: &str, object: &'v Map<String, Value>, name: &str) -> Option<&'v str> {
        let value = present(object, name)?;
        if !value.is_string() {
            self.mismatch(root, name, "string", value);
        }
        value.as_str()
    }

    fn choice(&mut self, root: &str, object: &Map<String, Value>, name: &str, known: &[&str]) {
        if let Some(value) = self.text(root, object, name)
            && !known.contains(&value)
        {
            let error = FieldError::invalid(format!("{root}.{name}"), format!("use {}", known.join(", ")));
            self.errors.push(error.with_expected(known).with_got(value));
        }
    }

    fn range(&mut self, root: &str, object: &Map<String, Value>, name: &str, max: u64) {
        match present(object, name) {
            None => {}
            Some(value) if !value.is_i64() && !value.is_u64() => self.mismatch(root, name, "integer", value),
            Some(value) if value.as_u64().is_some_and(|n| (1..=max).contains(&n)) => {}
            Some(value) => {
                let error =
                    FieldError::invalid(format!("{root}.{name}"), format!("must be between 1 and {max}"));
                self.errors.push(error.with_got(value.clone()));
            }
        }
    }

    fn mismatch(&mut self, root: &str, name: &str, expected: &str, got: &Value) {
        self.errors.push(FieldError::type_mismatch(format!("{root}.{name}"), expected, got));
    }
}

/// Returns a member that is present and not null.
fn present<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    object.get(name).filter(|value| !value.is_null())
}

fn is_key(key: &str) -> bool {
    let mut bytes = key.bytes();
    key.len() <= 128
        && bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// Visits `{"secret": "name"}` and `{"secret": ["name"]}` nodes.
fn each_secret_node(path: &str, value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(object) => {
            let name = object.get("secret").filter(|_| object.len() == 1);
            let names_one = name.is_some_and(|name| match name {
                Value::String(_) => true,
                Value::Array(items) => matches!(items.as_slice(), [Value::String(_)]),
                _ => false,
            });
            if names_one {
                visit(path);
                return;
            }
            for (key, member) in object {
                each_secret_node(&format!("{path}.{key}"), member, visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_secret_node(&format!("{path}[{index}]"), item, visit);
            }
        }
        _ => {}
    }
}
