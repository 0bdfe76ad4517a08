//! Probable mistakes in a config that can be served: reads that never find anything, guards that are the same for every
//! message, keys that verify no token, times in another unit.

use serde_json::Value;
use svc_engine::Engine;
use svc_model::Issue;
use svc_model::config::auth::JwtKey;
use svc_model::config::{AuthConfig, ChannelConfig, GuardExpression, KEY_HEADERS};

use super::schemas;

/// Times of a run up to this many milliseconds are likely meant as seconds.
const MEANT_AS_SECONDS: u64 = 5;

/// Keys and answers that are kept for longer than a year are likely meant for milliseconds.
const LONGEST: u64 = 366 * 24 * 60 * 60;

/// Facts of a caller.
const CALLER: [&str; 3] = ["claims", "consumer", "principal"];

/// Operators whose result is not the same every time, or depends on the message.
const INCONSTANT: [&str; 10] =
    ["var", "val", "missing", "missing_some", "exists", "secret", "random", "uuid", "now", "throw"];

/// Returns the probable mistakes in a config.
pub(super) fn find_suspicions(engine: &Engine, config: &ChannelConfig) -> Vec<Issue> {
    let mut issues = Vec::new();
    for expression in config.expressions() {
        warn_of_blind_reads(engine, config, expression, &mut issues);
        let at = format!("channel.config.{}", expression.name);
        issues.extend(engine.texts_of_paths(&at, expression.logic, expression.roots));
        issues.extend(engine.failing_branches(&at, expression.logic));
        if !expression.is_key() {
            issues.extend(describe_constant(engine, &at, expression.logic));
            issues.extend(describe_missing(&at, expression.logic));
        }
    }
    schemas::warn(config, &mut issues);
    issues.extend(unused_keys(config));
    issues.extend(whole_paths(config));
    issues.extend(short_time(config));
    issues.extend(long_times(config));
    issues.extend(underscored_header(config));
    issues
}

/// Warns of reads that never find anything.
fn warn_of_blind_reads(
    engine: &Engine,
    config: &ChannelConfig,
    expression: GuardExpression<'_>,
    issues: &mut Vec<Issue>,
) {
    let reads = engine.literal_reads(&format!("channel.config.{}", expression.name), expression.logic);
    for (at, path) in reads {
        let why = describe_blind_read(config, expression, &path);
        issues.extend(why.map(|why| Issue::new(at, format!("{path} is always null: {why}"))));
    }
}

/// Returns the reason why an expression reads nothing at a path.
fn describe_blind_read(
    config: &ChannelConfig,
    GuardExpression { name, roots, .. }: GuardExpression<'_>,
    path: &str,
) -> Option<String> {
    let root = path.split('.').next().unwrap_or_default();
    if root.is_empty() {
        return None;
    }
    if !roots.contains(&root) {
        return Some(format!("{name} reads {}", roots.join(", ")));
    }
    let below = path.strip_prefix("metadata.").unwrap_or(path);
    if let Some(header) = below.strip_prefix("headers.").filter(|_| root == "headers" || root == "metadata") {
        return describe_header(config, name, header);
    }
    if let Some(fact) = below.strip_prefix("auth.").filter(|_| root == "auth" || root == "metadata") {
        let fact = fact.split('.').next().unwrap_or_default();
        if !CALLER.contains(&fact) {
            return Some(format!("of a caller there are {}", CALLER.join(", ")));
        }
    }
    // A called channel reads what its caller knew of the message.
    if below.starts_with("auth.") && name != "validation_logic" && (root == "auth" || root == "metadata") {
        return match &config.auth {
            None => Some("the channel has no auth".to_owned()),
            Some(AuthConfig::Jwt(_)) => None,
            Some(_) => below.starts_with("auth.claims").then(|| "only a token has claims".to_owned()),
        };
    }
    None
}

/// Returns the reason why an expression does not see a header.
fn describe_header(config: &ChannelConfig, name: &str, header: &str) -> Option<String> {
    if header.bytes().any(|byte| byte.is_ascii_uppercase()) {
        let meant = header.to_ascii_lowercase();
        return Some(format!("names of headers are in lower case, write {meant}"));
    }
    let listed = match name {
        "rate_limit.key_logic" => config.rate_limit.as_ref().map(|block| &block.key_headers),
        "principal_rate_limit.key_logic" => {
            config.principal_rate_limit.as_ref().map(|block| &block.key_headers)
        }
        _ => None,
    }?;
    let is_seen = KEY_HEADERS.contains(&header) || listed.iter().any(|listed| listed == header);
    let block = name.trim_end_matches("key_logic");
    (!is_seen).then(|| format!("name it in {block}key_headers"))
}

/// Describes a guard that passes every message, or none.
fn describe_constant(engine: &Engine, at: &str, logic: &Value) -> Option<Issue> {
    // A boolean switches a guard.
    let truth = Some(logic).filter(|logic| logic.is_object()).and_then(|logic| find_truth(engine, logic))?;
    let message = if truth {
        "this is always true, so that every message passes"
    } else {
        "this is never true, so that no message passes"
    };
    Some(Issue::new(at, message))
}

/// Returns the truth of an expression that is the same for every message.
fn find_truth(engine: &Engine, logic: &Value) -> Option<bool> {
    if let Value::Bool(truth) = logic {
        return Some(*truth);
    }
    let members = logic.as_object().filter(|members| members.len() == 1)?;
    let (operator, operands) = members.iter().next()?;
    let operands = operands.as_array().map_or(std::slice::from_ref(operands), Vec::as_slice);
    let mut truths = operands.iter().map(|operand| find_truth(engine, operand));
    match operator.as_str() {
        "or" if truths.any(|truth| truth == Some(true)) => return Some(true),
        "and" if truths.any(|truth| truth == Some(false)) => return Some(false),
        _ => {}
    }
    if reads_something(logic) {
        return None;
    }
    let expression = engine.compile_expression(logic).ok()?;
    engine.evaluate(&expression, &[]).ok()?.as_bool()
}

fn reads_something(logic: &Value) -> bool {
    match logic {
        Value::Object(members) => {
            let is_read =
                members.len() == 1 && members.keys().any(|name| INCONSTANT.contains(&name.as_str()));
            is_read || members.values().any(reads_something)
        }
        Value::Array(items) => items.iter().any(reads_something),
        _ => false,
    }
}

/// Describes a rule that holds if something is missing.
fn describe_missing(at: &str, logic: &Value) -> Option<Issue> {
    let members = logic.as_object().filter(|members| members.len() == 1)?;
    let operator = members.keys().next().filter(|name| name.starts_with("missing"))?;
    let message = format!(
        "'{operator}' gives the names of what is missing, so that this holds where something is: put it into '!'"
    );
    Some(Issue::new(format!("{at}.{operator}"), message))
}

/// Warns of static keys whose algorithm no token may have.
fn unused_keys(config: &ChannelConfig) -> Vec<Issue> {
    let Some(AuthConfig::Jwt(jwt)) = &config.auth else { return Vec::new() };
    let unused = jwt.keys.iter().enumerate().filter(|(_, key)| !jwt.algorithms.contains(&key.algorithm));
    let warn = |(index, key): (usize, &JwtKey)| {
        let message =
            format!("no token is verified by this key: auth.algorithms has no {}", key.algorithm.name());
        Issue::new(format!("channel.config.auth.jwt_keys[{index}].algorithm"), message)
    };
    unused.map(warn).collect()
}

/// Warns of fields of a cache key that begin with `payload`: they are looked for below the payload.
fn whole_paths(config: &ChannelConfig) -> Vec<Issue> {
    let fields = config.cache.as_ref().and_then(|cache| cache.cache_key_fields.as_deref());
    let declared = config.request.schema.as_ref().and_then(|schema| schema.get("properties"));
    let is_member = declared.is_some_and(|members| members.get("payload").is_some());
    let mut issues = Vec::new();
    for (index, field) in fields.unwrap_or_default().iter().enumerate() {
        let Some(rest) = field.strip_prefix("payload.").filter(|_| !is_member) else { continue };
        let message = format!("a path begins below the payload, so that this finds nothing: write '{rest}'");
        issues.push(Issue::new(format!("channel.config.cache.cache_key_fields[{index}]"), message));
    }
    issues
}

/// Warns of a time in which hardly a run ends.
fn short_time(config: &ChannelConfig) -> Option<Issue> {
    let millis = config.timeout_ms.filter(|millis| *millis <= MEANT_AS_SECONDS)?;
    let message =
        format!("a run gets {millis} milliseconds; {millis} seconds are {}", millis.saturating_mul(1000));
    Some(Issue::new("channel.config.timeout_ms", message))
}

/// Warns of times in seconds that are likely milliseconds.
fn long_times(config: &ChannelConfig) -> impl Iterator<Item = Issue> {
    let window = config.deduplication.as_ref().map(|block| ("deduplication.window_secs", block.window_secs));
    let lifetime = config.cache.as_ref().map(|block| ("cache.ttl_secs", block.ttl_secs));
    let long = [window, lifetime].into_iter().flatten().filter(|(_, seconds)| *seconds > LONGEST);
    long.map(|(name, seconds)| {
        let days = seconds / (24 * 60 * 60);
        let message =
            format!("these are seconds, {days} days: {seconds} milliseconds are {}", seconds / 1000);
        Issue::new(format!("channel.config.{name}"), message)
    })
}

/// Warns of a key in a header that many proxies leave out, so that no repeat would be known.
fn underscored_header(config: &ChannelConfig) -> Option<Issue> {
    let header = config.deduplication.as_ref()?.header.as_deref().filter(|name| name.contains('_'))?;
    let message = format!(
        "many proxies drop a header with '_', and a message without the header is not checked: did you mean '{}'?",
        header.replace('_', "-")
    );
    Some(Issue::new("channel.config.deduplication.header", message))
}
