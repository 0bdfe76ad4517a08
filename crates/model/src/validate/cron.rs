//! Validation of cron channels: required and refused settings.

use serde_json::{Map, Value};
use svc_schedule::{Schedule, ScheduleError};

use super::is_annotation;
use super::scan::each_string;
use super::value_stand_ins::ReferencedFields;
use crate::config::CronTransport;
use crate::config::cron::ROOT;
use crate::config::value_reference::ValueScope;
use crate::documents::REFUSED_CRON_BLOCKS;
use crate::entity::{ChannelContent, ChannelType, Protocol};
use crate::field::{FieldCode, FieldError};
use crate::time::Timestamp;

/// A valid schedule, used to check a time zone when the schedule itself is missing.
const ANY: &str = "@hourly";
/// Maximum size of the payload, in bytes of JSON.
const MAX_PAYLOAD: usize = 1_048_576;
/// Prefixes of strings that read a secret or a declared value in other places.
const REFERENCES: [&str; 5] = ["env://", "file://", "vault://", "secret://", "var://"];

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
    let fields = ReferencedFields::find(ValueScope::ChannelTransport, &content.transport_config);
    errors.extend(fields.form_problems());
    let mut problems = Vec::new();
    let transport = CronTransport::read_valid(&content.transport_config, &mut problems);
    check_schedule(&transport, &mut problems);
    errors.extend(problems.into_iter().filter(|problem| !fields.may_heal(problem)));
    check_payload(&transport.payload, errors);
}

/// Removes the refused blocks from a config and reports them.
pub(super) fn refuse_blocks(config: &mut Value, errors: &mut Vec<FieldError>) {
    let Value::Object(config) = config else { return };
    for key in REFUSED_CRON_BLOCKS {
        if key == "request" && config.get(key).is_some_and(holds_schema_alone) {
            continue;
        }
        if config.remove(key).is_some_and(|block| !block.is_null()) {
            errors.push(FieldError::invalid(
                format!("channel.config.{key}"),
                "a cron channel cannot set this block",
            ));
        }
    }
}

/// Returns true for a `request` block with the schema of the payload and nothing else.
fn holds_schema_alone(block: &Value) -> bool {
    let Value::Object(members) = block else { return false };
    let is_set = |key: &String| !members[key].is_null() && !is_annotation(key);
    members.contains_key("schema") && members.keys().filter(|key| is_set(key)).all(|key| key == "schema")
}

/// Returns the next five fire times of the schedule in the body of a cron channel; `None` without a valid
/// schedule.
pub fn next_fires(body: &Value) -> Option<Vec<Timestamp>> {
    if Protocol::parse(body.get("protocol")?.as_str()?) != Some(Protocol::Cron) {
        return None;
    }
    let transport = body.get("transport_config")?.as_object()?;
    let zone = match transport.get("timezone") {
        None | Some(Value::Null) => "",
        Some(zone) => zone.as_str()?,
    };
    let now = Timestamp::now().naive().and_utc();
    let schedule = Schedule::parse_at(transport.get("schedule")?.as_str()?, zone, now).ok()?;
    let fires = schedule.next_fires(now).into_iter();
    Some(fires.map(|due| Timestamp::from_naive(due.naive_utc())).collect())
}

fn check_schedule(transport: &CronTransport, errors: &mut Vec<FieldError>) {
    // The reader has reported a missing schedule; the time zone is checked nevertheless.
    let is_missing = transport.schedule.trim().is_empty();
    let expression = if is_missing { ANY } else { &transport.schedule };
    // A schedule is new when its document is checked, and a new schedule must fire within years. So the
    // precision of the clock does not matter here.
    let now = Timestamp::now().naive().and_utc();
    for problem in Schedule::problems(expression, &transport.timezone, now) {
        let (name, got) = match problem {
            ScheduleError::Zone { .. } => ("timezone", transport.timezone.as_str()),
            ScheduleError::Expression { .. } | ScheduleError::NeverFires { .. } => ("schedule", expression),
        };
        errors.push(FieldError::invalid(format!("{ROOT}.{name}"), problem.to_string()).with_got(got));
    }
}

fn check_payload(payload: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let path = format!("{ROOT}.payload");
    let payload = Value::Object(payload.clone());
    let size = payload.to_string().len();
    if size > MAX_PAYLOAD {
        errors.push(FieldError::too_long(path, MAX_PAYLOAD, size, "bytes"));
        return;
    }
    let refuse = |path: &str| {
        let message = "the payload of a schedule resolves no secret";
        FieldError::new(path, FieldCode::UnresolvedSecretRef, message)
    };
    each_string(&path, &payload, &mut |path, text| {
        if REFERENCES.iter().any(|scheme| text.starts_with(scheme)) {
            errors.push(refuse(path));
        }
    });
    each_secret_node(&path, &payload, &mut |path| errors.push(refuse(path)));
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
