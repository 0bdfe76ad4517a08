//! Validation of channels on create and update.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::body::BodyReader;
use super::value_stand_ins::ReferencedFields;
use super::{ChannelChecks, cron, distinct, scan, transport};
use crate::config::auth::sends_data_beside_others;
use crate::config::key_reference::names;
use crate::config::value_reference::ValueScope;
use crate::config::{
    AnswerPlace, AuthConfig, BodyMode, ChannelConfig, CronTransport, DuplicatePolicy, PROVIDER_PARAMETER,
    RequestBodyFormat, RequestMode, ResponseMode, SignInProviders, TemplatePart,
};
use crate::documents::MAX_COLUMN;
use crate::entity::{Channel, ChannelContent, ChannelType, EntityKind, Protocol};
use crate::field::{FieldCode, FieldError, Issue, ValidationReport};
use crate::mask::{CREDENTIAL_BLOCKS, MASK, restore_channel_config};
use crate::route::{METHODS, RoutePattern};

/// Reads the body of a create request. Returns the id if the caller chose one, and the content. `null` counts
/// as absent: an optional field takes its default, a required one is missing.
///
/// # Errors
/// All problems; only the first one of each block of the config.
pub fn parse_new_channel(
    body: &Value,
    checks: &dyn ChannelChecks,
) -> Result<(Option<String>, ChannelContent), Vec<FieldError>> {
    read(body, None, checks)
}

/// Reads the body of an update request and merges it into the draft. An absent or `null` field keeps its
/// value (`null` removes `description`); an empty string or list clears the field. Masked secrets are
/// restored. The type and the protocol cannot change; both are ignored.
///
/// # Errors
/// All problems of the merged document; only the first one of each block of the config.
pub fn parse_channel_update(
    body: &Value,
    current: &ChannelContent,
    checks: &dyn ChannelChecks,
) -> Result<ChannelContent, Vec<FieldError>> {
    read(body, Some(current), checks).map(|(_, content)| content)
}

/// Reports the problems for which a create request with this body would be refused, and warnings.
pub fn validate_channel(body: &Value, checks: &dyn ChannelChecks) -> ValidationReport {
    let mut report = match read(body, None, checks) {
        Ok(_) => ValidationReport::default(),
        Err(errors) => errors.into(),
    };
    report.warnings = channel_warnings(body, checks);
    report.warnings.extend(transport::excluded_instants(body));
    report
}

/// Returns warnings about probable mistakes in a valid document.
pub fn channel_warnings(document: &Value, checks: &dyn ChannelChecks) -> Vec<Issue> {
    let config = &document["config"];
    let preset = config.pointer("/auth/preset").and_then(Value::as_str);
    let mut warnings = Vec::new();
    transport::warn(document, &mut warnings);
    for block in CREDENTIAL_BLOCKS {
        let (path, value) = (format!("channel.config.{block}"), &config[block]);
        scan::embedded_references(&path, value, &mut warnings);
        scan::unread_variables(&path, value, false, &mut warnings);
    }
    let fields = ReferencedFields::find(ValueScope::ChannelConfig, config);
    let Ok(config) = fields.read(config, ChannelConfig::parse) else { return warnings };
    warnings.extend(shared_answers(&config));
    warnings.extend(answers_of_accepted(&config));
    warnings.extend(discarded_siblings(&config, preset));
    warnings.extend(checks.suspicions(&config));
    if document["protocol"].as_str().and_then(Protocol::parse) == Some(Protocol::Cron) {
        let payload = document.pointer("/transport_config/payload").filter(|payload| payload.is_object());
        let payload = payload.cloned().unwrap_or_else(|| json!({}));
        warnings.extend(checks.refused_payload(&config, &payload));
    }
    warnings
}

fn read(
    body: &Value,
    current: Option<&ChannelContent>,
    checks: &dyn ChannelChecks,
) -> Result<(Option<String>, ChannelContent), Vec<FieldError>> {
    let mut body = BodyReader::open(EntityKind::Channel, body)?;
    let id = if current.is_none() { body.id("channel_id") } else { None };
    let protocol = match current {
        Some(current) => Some(current.protocol),
        None => {
            require(&mut body, "protocol", Protocol::NAMES);
            choice(&mut body, "protocol", Protocol::parse, Protocol::NAMES)
        }
    };
    let channel_type = match current {
        Some(current) => Some(current.channel_type),
        None => choice(&mut body, "channel_type", ChannelType::parse, ChannelType::NAMES),
    };
    // A substitute allows the remaining checks to run. It is never returned, because an error has been recorded.
    let substitute = protocol.unwrap_or(Protocol::Http);
    let kind = (channel_type.unwrap_or_else(|| substitute.default_channel_type()), substitute);
    let content = merge(&mut body, current, kind);
    body.refuse_unknown(
        &Channel::ONLY_READ,
        &[("config", &names(ChannelConfig::KEYS)), ("transport_config", &names(CronTransport::KEYS))],
    );
    let mut errors = body.errors;
    check_route(&content, &mut errors);
    if protocol.is_some() {
        check_protocol(&content, &mut errors);
    }
    scan::report_uncompiled("channel.transport_config", &content.transport_config, &mut errors);
    scan::report_uncompiled("channel.config", &content.config, &mut errors);
    scan::nul(EntityKind::Channel, &content.hashable(), &mut errors);
    check_config(&content, checks, &mut errors);
    if content.config.get("on_failure").and_then(Value::as_str) == Some(content.name.as_str()) {
        let message = "a channel cannot be told of its own failures: name another one";
        errors.push(FieldError::invalid("channel.config.on_failure", message));
    }
    if errors.is_empty() { Ok((id, content)) } else { Err(distinct(errors)) }
}

fn require(body: &mut BodyReader<'_>, name: &'static str, known: &[&str]) {
    if body.value(name).is_none() {
        body.errors.push(FieldError::required(body.path(name)).with_expected(known));
    }
}

/// Reads the name of a value, if one is sent.
fn choice<T>(
    body: &mut BodyReader<'_>,
    name: &'static str,
    parse: fn(&str) -> Option<T>,
    known: &[&str],
) -> Option<T> {
    let path = body.path(name);
    let text = body.string(name)?;
    let parsed = parse(text);
    if parsed.is_none() {
        let error = FieldError::invalid(path, format!("use one of {}", known.join(", ")));
        body.errors.push(error.with_expected(known).with_got(text));
    }
    parsed
}

fn merge(
    body: &mut BodyReader<'_>,
    current: Option<&ChannelContent>,
    (channel_type, protocol): (ChannelType, Protocol),
) -> ChannelContent {
    let mut config = match body.object("config") {
        Some(config) => config.clone(),
        None => current.map_or_else(|| json!({}), |c| c.config.clone()),
    };
    if body.value("config").is_some() {
        let unrestored = restore_channel_config(&mut config, current.map(|c| &c.config));
        scan::each_string("channel.config", &config, &mut |path, text| {
            if text == MASK && unrestored.iter().all(|error| error.path != path) {
                body.errors
                    .push(FieldError::invalid(path, "this is the read mask, and nothing is hidden here"));
            }
        });
        body.errors.extend(unrestored);
    }
    ChannelContent {
        name: body.name(current.map(|c| c.name.as_str())),
        description: body.description(current.and_then(|c| c.description.as_deref())),
        channel_type,
        protocol,
        methods: methods(body, current),
        route_pattern: text(body, "route_pattern", current.and_then(|c| c.route_pattern.as_ref())),
        topic: text(body, "topic", current.and_then(|c| c.topic.as_ref())),
        consumer_group: text(body, "consumer_group", current.and_then(|c| c.consumer_group.as_ref())),
        transport_config: match body.object("transport_config") {
            Some(transport) => transport.clone(),
            None => current.map_or_else(|| json!({}), |c| c.transport_config.clone()),
        },
        workflow_id: text(body, "workflow_id", current.and_then(|c| c.workflow_id.as_ref())),
        config,
        priority: body.integer("priority").unwrap_or_else(|| current.map_or(0, |c| c.priority)),
        tags: body.strings("tags").unwrap_or_else(|| current.map_or_else(Vec::new, |c| c.tags.clone())),
    }
}

/// Reads an optional text; an empty one clears the field.
fn text(body: &mut BodyReader<'_>, name: &'static str, current: Option<&String>) -> Option<String> {
    match body.string(name) {
        Some("") => None,
        Some(sent) => Some(sent.to_owned()),
        None => current.cloned(),
    }
}

/// Reads the methods in upper case and reports unknown and repeated ones; an empty list clears the field.
fn methods(body: &mut BodyReader<'_>, current: Option<&ChannelContent>) -> Option<Vec<String>> {
    let Some(sent) = body.strings("methods") else { return current.and_then(|c| c.methods.clone()) };
    let mut unique_methods = HashSet::new();
    for (index, method) in sent.iter().map(|method| method.to_ascii_uppercase()).enumerate() {
        let path = format!("channel.methods[{index}]");
        if !METHODS.contains(&method.as_str()) {
            let error = FieldError::invalid(path, format!("use one of {}", METHODS.join(", ")));
            body.errors.push(error.with_expected(METHODS.as_slice()).with_got(method));
        } else if !unique_methods.insert(method.clone()) {
            body.errors.push(FieldError::invalid(path, format!("{method} is named twice")).with_got(method));
        }
    }
    let methods: Vec<_> = sent.iter().map(|method| method.to_ascii_uppercase()).collect();
    (!methods.is_empty()).then_some(methods)
}

fn check_route(content: &ChannelContent, errors: &mut Vec<FieldError>) {
    let columns = [
        ("route_pattern", &content.route_pattern),
        ("topic", &content.topic),
        ("consumer_group", &content.consumer_group),
    ];
    for (name, value) in columns {
        let length = value.as_ref().map_or(0, |value| value.chars().count());
        if length > MAX_COLUMN {
            errors.push(FieldError::too_long(format!("channel.{name}"), MAX_COLUMN, length, "characters"));
        }
    }
    if let Some(pattern) = &content.route_pattern
        && let Err(why) = RoutePattern::parse(pattern)
    {
        errors.push(FieldError::invalid("channel.route_pattern", why).with_got(pattern.as_str()));
    }
}

fn check_protocol(content: &ChannelContent, errors: &mut Vec<FieldError>) {
    let mut need = |field: &str, present: bool| {
        if !present {
            let message = format!("the protocol {} needs this field", content.protocol);
            errors.push(FieldError::new(format!("channel.{field}"), FieldCode::RequiredForProtocol, message));
        }
    };
    match content.protocol {
        Protocol::Rest | Protocol::Http => {
            need("methods", content.methods.is_some());
            need("route_pattern", content.route_pattern.is_some());
        }
        Protocol::Kafka => {
            need("topic", content.topic.as_ref().is_some_and(|topic| !topic.trim().is_empty()))
        }
        Protocol::Cron => cron::check(content, errors),
    }
}

fn check_config(content: &ChannelContent, checks: &dyn ChannelChecks, errors: &mut Vec<FieldError>) {
    let uncompiled = |error: &FieldError| error.code == FieldCode::UncompiledSource;
    if errors.iter().any(|error| uncompiled(error) && error.path.starts_with("channel.config")) {
        return;
    }
    let mut config = content.config.clone();
    if content.protocol == Protocol::Cron {
        cron::refuse_blocks(&mut config, errors);
    }
    let fields = ReferencedFields::find(ValueScope::ChannelConfig, &config);
    errors.extend(fields.form_problems());
    let config = match fields.read(&config, ChannelConfig::parse) {
        Ok(config) => config,
        Err(problems) => return errors.extend(problems),
    };
    let mut found: Vec<_> = undecided_sharing(&config).into_iter().collect();
    found.extend(unreadable_records(content));
    found.extend(keys_of_nobody(&config));
    found.extend(misplaced_answers(content, &config));
    found.extend(misplaced_senders(content.protocol, &config));
    found.extend(pause_without_failures(content.protocol, &config));
    found.extend(misplaced_sign_in(content, &config));
    for expression in config.expressions() {
        let compiled = if scan::reads_secret(expression.logic) {
            Err("a secret cannot be read here".to_owned())
        } else {
            checks.compiles(expression.logic)
        };
        if let Err(why) = compiled {
            let message = format!("{} does not compile: {why}", expression.name);
            let error = FieldError::invalid(expression.path, message);
            found.push(error.with_member(format!("channel.config.{}", expression.name)));
        }
    }
    found.extend(checks.config(&config));
    errors.extend(found.into_iter().filter(|problem| !fields.may_heal(problem)));
}

/// Refuses a cache on an authenticated channel that does not decide whether callers share responses. Checked
/// only when a channel is written; a stored channel still loads, with a warning in the log.
fn undecided_sharing(config: &ChannelConfig) -> Option<FieldError> {
    let cache = config.cache.as_ref().filter(|cache| cache.enabled)?;
    let path = "channel.config.cache.per_principal";
    match (&config.auth, cache.per_principal) {
        (Some(_), None) => Some(FieldError::new(
            path,
            FieldCode::Required,
            "the channel authenticates its callers: true keeps answers for each principal, false shares them",
        )),
        (None, Some(true)) => {
            Some(FieldError::invalid(path, "per_principal needs auth, which names a principal"))
        }
        _ => None,
    }
}

/// Refuses a reading of bodies that only browsers send, on a channel that reads the records of a topic.
fn unreadable_records(content: &ChannelContent) -> Option<FieldError> {
    let format = content.config.pointer("/request/body")?.as_str()?;
    let is_refused = content.protocol == Protocol::Kafka && matches!(format, "form" | "multipart");
    is_refused.then(|| {
        let why = "a record is read as json, text, csv, xml, raw, auto or cloudevents";
        FieldError::invalid("channel.config.request.body", why).with_got(format)
    })
}

/// Refuses a sign-in on a channel that no browser reaches, or whose routes do not fit it.
fn misplaced_sign_in(content: &ChannelContent, config: &ChannelConfig) -> Vec<FieldError> {
    let Some(block) = &config.oauth2_login else { return Vec::new() };
    if !content.protocol.is_http() {
        let why = "people sign in over HTTP: the protocol is rest or http";
        return vec![FieldError::invalid("channel.config.oauth2_login", why)];
    }
    let mut errors = Vec::new();
    if content.methods.as_ref().is_some_and(|methods| !methods.iter().any(|method| method == "GET")) {
        let why = "a browser signs in by GET: add it, for oauth2_login";
        errors.push(FieldError::invalid("channel.methods", why));
    }
    let Some(Ok(route)) = content.route_pattern.as_deref().map(RoutePattern::parse) else { return errors };
    if RoutePattern::shape_of(&block.callback_path).as_ref() == Some(&route.shape()) {
        let why = "this is the route of the channel, at which a sign-in begins: choose another path";
        errors.push(FieldError::invalid("channel.config.oauth2_login.callback_path", why));
    }
    let names_provider = route.params().any(|param| param == PROVIDER_PARAMETER);
    if matches!(block.providers, SignInProviders::Named(_)) && !names_provider {
        let why = "with oauth2_login.providers it has the parameter {provider}";
        errors.push(FieldError::invalid("channel.route_pattern", why));
    }
    errors
}

/// Refuses a pause after repeated failures on a channel whose callers get its failures as answers.
fn pause_without_failures(protocol: Protocol, config: &ChannelConfig) -> Option<FieldError> {
    let fails_alone =
        matches!(protocol, Protocol::Cron | Protocol::Kafka) || config.request.mode == RequestMode::Accept;
    (config.on_repeated_failure.is_some() && !fails_alone).then(|| {
        let why = "only a channel of the protocol cron or kafka, or with request.mode accept, pauses itself";
        FieldError::invalid("channel.config.on_repeated_failure", why)
    })
}

/// Refuses idempotency keys per principal on a channel that knows none.
fn keys_of_nobody(config: &ChannelConfig) -> Option<FieldError> {
    let per_principal = config.deduplication.as_ref().is_some_and(|block| block.per_principal == Some(true));
    let path = "channel.config.deduplication.per_principal";
    (per_principal && config.auth.is_none())
        .then(|| FieldError::invalid(path, "per_principal needs auth, which names a principal"))
}

/// Refuses senders of events on a channel that reads no events, or that no sender asks.
fn misplaced_senders(protocol: Protocol, config: &ChannelConfig) -> Option<FieldError> {
    config.request.cloudevents_origins.as_ref()?;
    let why = match config.request.body_format {
        _ if !protocol.is_http() => "records come without a validation request: omit the field",
        RequestBodyFormat::CloudEvents => return None,
        _ => "needs body: cloudevents, which reads their events",
    };
    Some(FieldError::invalid("channel.config.request.cloudevents_origins", why))
}

/// Refuses the replay of answers for senders that get none, and keys of kept answers that contradict the others.
fn misplaced_answers(content: &ChannelContent, config: &ChannelConfig) -> Option<FieldError> {
    let block = config.deduplication.as_ref()?;
    let refused =
        |key: &str, why: &str| Some(FieldError::invalid(format!("channel.config.deduplication.{key}"), why));
    let replays = block.on_duplicate == DuplicatePolicy::Replay;
    match block.store {
        _ if replays && content.protocol == Protocol::Kafka => {
            refused("on_duplicate", "records of a topic get no answer that could be replayed: use refuse")
        }
        Some(_) if !replays => refused("store", "only on_duplicate: replay keeps answers, omit the field"),
        Some(AnswerPlace::Memory | AnswerPlace::Database) if block.connector.is_some() => {
            refused("store", "connector names a Redis server: use redis, or omit connector")
        }
        _ if !replays && !content.config["deduplication"]["max_answer_bytes"].is_null() => {
            refused("max_answer_bytes", "only on_duplicate: replay keeps answers, omit the field")
        }
        _ => None,
    }
}

/// Warns about a sender whose bodies are no envelopes of this service, on a channel that takes a body with `data` or
/// `metadata` for one and drops its other members.
fn discarded_siblings(config: &ChannelConfig, preset: Option<&str>) -> Option<Issue> {
    let takes_events = config.request.body_format == RequestBodyFormat::CloudEvents;
    if config.request.body_mode != BodyMode::Auto || takes_events {
        return None;
    }
    let why = match preset {
        Some(preset) if sends_data_beside_others(preset) => {
            format!("{preset} sends data beside other members, and all but data and metadata are dropped")
        }
        Some(preset) => {
            format!(
                "a body of {preset} with a member data or metadata is taken for an envelope, and loses the others"
            )
        }
        None if expects_cloud_events(config) => {
            let why = "CloudEvents have data beside other members, and all but data and metadata are dropped";
            let remedy = "set body to cloudevents, or body_mode to payload";
            return Some(Issue::new("channel.config.request.body_mode", format!("{why}: {remedy}")));
        }
        None => return None,
    };
    Some(Issue::new("channel.config.request.body_mode", format!("{why}: set body_mode to payload")))
}

/// Returns true for a channel that reads attributes of CloudEvents: headers `ce-…`, or `specversion`.
fn expects_cloud_events(config: &ChannelConfig) -> bool {
    fn names_attribute(logic: &Value) -> bool {
        match logic {
            Value::String(text) => text.split('.').any(is_attribute),
            Value::Array(items) => items.iter().any(names_attribute),
            Value::Object(members) => members.values().any(names_attribute),
            _ => false,
        }
    }
    let is_sent =
        config.deduplication.as_ref().and_then(|block| block.header.as_deref()).is_some_and(is_attribute);
    let is_signed = match &config.auth {
        Some(AuthConfig::Hmac(auth)) => auth.message.parts().iter().any(|part| match part {
            TemplatePart::Header(field) => is_attribute(&field.name),
            _ => false,
        }),
        _ => false,
    };
    is_sent || is_signed || config.expressions().iter().any(|expression| names_attribute(expression.logic))
}

fn is_attribute(name: &str) -> bool {
    name.eq_ignore_ascii_case("specversion")
        || name.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("ce-"))
}

/// Warns of blocks that shape an answer, if calls are answered before they run.
fn answers_of_accepted(config: &ChannelConfig) -> Vec<Issue> {
    if config.request.mode != RequestMode::Accept {
        return Vec::new();
    }
    let is_cached = config.cache.as_ref().is_some_and(|cache| cache.enabled);
    let is_shaped = config.response.mode == ResponseMode::Shaped;
    let blocks = [
        ("cache", is_cached, "has no effect"),
        ("response.mode", is_shaped, "has no effect but on the data that the state of a submission shows"),
    ];
    let warn = |(name, _, effect): (&str, bool, &str)| {
        let why = format!("{effect}: with request.mode accept every call is answered before it runs");
        Issue::new(format!("channel.config.{name}"), why)
    };
    blocks.into_iter().filter(|(_, is_set, _)| *is_set).map(warn).collect()
}

/// Warns about cached responses that callers share although the workflow can distinguish the callers.
fn shared_answers(config: &ChannelConfig) -> Vec<Issue> {
    let Some(cache) = config.cache.as_ref().filter(|cache| cache.enabled) else { return Vec::new() };
    let shared = (config.auth.is_some() && cache.per_principal == Some(false)).then(|| {
        let why = "every caller that is let in gets the answers of the others";
        Issue::new("channel.config.cache.per_principal", why)
    });
    let cookies = (!config.request.cookies_to_metadata.is_empty()).then(|| {
        let why = "cookies take no part in the cache key: callers with other cookies share answers";
        Issue::new("channel.config.request.cookies_to_metadata", why)
    });
    shared.into_iter().chain(cookies).collect()
}
