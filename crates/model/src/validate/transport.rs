//! Probable mistakes in the way by which messages come to a channel: its route, or its schedule.

use serde_json::Value;

use crate::config::{CronTransport, MisfirePolicy};
use crate::entity::Protocol;
use crate::field::Issue;

/// The mount of the data plane, below which a route is served.
const MOUNT: &str = "/api/v1/data/";

/// Operators of which a payload likely means the result.
const OPERATORS: [&str; 6] = ["cat", "format_date", "now", "secret", "val", "var"];

/// Adds warnings about the route and the schedule of a channel in the form of its document.
pub(super) fn warn(document: &Value, warnings: &mut Vec<Issue>) {
    let route = document["route_pattern"].as_str();
    if route.is_some_and(|route| route.starts_with(MOUNT)) {
        let message = format!("a route begins below {MOUNT}, so that callers would have to write that twice");
        warnings.push(Issue::new("channel.route_pattern", message));
    }
    warnings.extend(route.and_then(foreign_parameter));
    let transport = &document["transport_config"];
    let has_schedule = transport.as_object().is_some_and(|members| !members.is_empty());
    if has_schedule && protocol(document).is_some_and(|protocol| protocol != Protocol::Cron) {
        let message = "it has no effect: only a channel of the protocol cron has a schedule";
        warnings.push(Issue::new("channel.transport_config", message));
    }
    if protocol(document) == Some(Protocol::Cron) {
        warnings.extend(unused_catch_up(transport));
        warnings.extend(transport["schedule"].as_str().and_then(repeated_instant));
        warn_of_expressions("channel.transport_config.payload", &transport["payload"], warnings);
    }
}

/// Warns of a bound of `catch_up` next to another policy.
fn unused_catch_up(transport: &Value) -> Option<Issue> {
    let policy = transport["misfire_policy"].as_str().unwrap_or("latest");
    let is_unused = !transport["max_catch_up"].is_null() && policy != "catch_up";
    is_unused.then(|| {
        let message = format!(
            "it has no effect with the policy {policy}: write \"misfire_policy\": \"catch_up\", or leave it out"
        );
        Issue::new("channel.transport_config.max_catch_up", message)
    })
}

/// Warns of a schedule whose smallest field is `*` next to a single value, such as `* 2 * * *` for two o'clock.
fn repeated_instant(schedule: &str) -> Option<Issue> {
    let fields: Vec<_> = schedule.split_whitespace().collect();
    let (part, whole) = match fields.len() {
        5 => ("minute", "hour"),
        6 => ("second", "minute"),
        _ => return None,
    };
    let [first, second, ..] = &*fields else { return None };
    let is_single = *first == "*" && second.bytes().all(|byte| byte.is_ascii_digit());
    is_single.then(|| {
        let once = format!("0 {}", fields.iter().skip(1).copied().collect::<Vec<_>>().join(" "));
        let message = format!("it runs every {part} of that {whole}, sixty times: '{once}' runs once");
        Issue::new("channel.transport_config.schedule", message)
    })
}

/// Warns of expressions in the payload of a schedule: none is evaluated there.
fn warn_of_expressions(at: &str, value: &Value, warnings: &mut Vec<Issue>) {
    match value {
        Value::Object(members) => {
            if members.len() == 1 && members.keys().any(|name| OPERATORS.contains(&name.as_str())) {
                let message = "a payload is kept as it is written: compute this in the workflow, from \
                               metadata.trigger.scheduled_for if it depends on the instant";
                return warnings.push(Issue::new(at, message));
            }
            for (name, member) in members {
                warn_of_expressions(&format!("{at}.{name}"), member, warnings);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                warn_of_expressions(&format!("{at}[{index}]"), item, warnings);
            }
        }
        _ => {}
    }
}

fn protocol(document: &Value) -> Option<Protocol> {
    document["protocol"].as_str().and_then(Protocol::parse)
}

/// Warns of a parameter in another notation: it is a literal segment, which hardly a caller sends.
fn foreign_parameter(pattern: &str) -> Option<Issue> {
    pattern.split('/').find_map(|segment| {
        let name = segment.strip_prefix(':').or_else(|| segment.strip_prefix('<')?.strip_suffix('>'))?;
        let name = if name.is_empty() { "id" } else { name };
        let message = format!("'{segment}' is a literal segment: a parameter is written {{{name}}}");
        Some(Issue::new("channel.route_pattern", message))
    })
}

/// Returns a remark about missed instants that would be due at once, and exclude one another.
///
/// The combination is a valid choice: a server mentions it among its warnings, `lint` in a note.
pub fn excluded_instants(document: &Value) -> Option<Issue> {
    if protocol(document) != Some(Protocol::Cron) {
        return None;
    }
    let transport = CronTransport::read_valid(&document["transport_config"], &mut Vec::new());
    let is_exclusive = transport.exclusion.as_ref().is_some_and(|exclusion| exclusion.slots == 1);
    let runs_several = transport.misfire_policy == MisfirePolicy::CatchUp
        && transport.max_catch_up.is_some_and(|max| max > 1);
    (is_exclusive && runs_several).then(|| {
        let message = "instants that are caught up are due at once: one takes the slot, and those that come to it \
                       meanwhile are skipped_singleton; give it more slots, or use the policy allow";
        Issue::new("channel.transport_config.concurrency", message)
    })
}
