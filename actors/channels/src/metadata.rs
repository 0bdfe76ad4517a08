//! The metadata of a message: the part that the caller may send and the part that the service sets.

use serde_json::{Map, Value, json};
use svc_auth::SignInOutcome;
use svc_engine::{Message, Redaction};
use svc_model::MASK;
use svc_model::mask::CREDENTIAL_HEADERS;

use crate::body::CloudEvents;
use crate::request::{DataRequest, Ingress};

/// Longest cookie value that is passed on, in bytes.
const MAX_COOKIE: usize = 4096;

/// Splits a body into payload and caller metadata.
///
/// With `envelope`, an object with a top-level `data` or `metadata` key is one and its siblings are dropped;
/// any other body is the payload unchanged. Without, every body is the payload.
pub(crate) fn split_body(body: Option<Value>, envelope: bool) -> (Value, Map<String, Value>) {
    let empty = || Value::Object(Map::new());
    match body {
        None => (empty(), Map::new()),
        Some(Value::Object(mut body))
            if envelope && (body.contains_key("data") || body.contains_key("metadata")) =>
        {
            let metadata = match body.remove("metadata") {
                Some(Value::Object(metadata)) => metadata,
                _ => Map::new(),
            };
            (body.remove("data").unwrap_or_else(empty), metadata)
        }
        Some(payload) => (payload, Map::new()),
    }
}

/// Returns the members of a body that [`split_body`] drops because it takes the body for an envelope.
pub(crate) fn dropped_members(body: &Value) -> impl Iterator<Item = &str> {
    let envelope = body.as_object().filter(|body| body.contains_key("data") || body.contains_key("metadata"));
    let names = envelope.into_iter().flat_map(Map::keys).map(String::as_str);
    names.filter(|name| !["data", "metadata"].contains(name))
}

/// The metadata that the service sets, whatever the caller sends.
#[derive(Default)]
pub(crate) struct MetadataStamps<'d> {
    pub(crate) channel: &'d str,
    pub(crate) vars: Option<&'d Value>,
    /// Names of the cookies that are passed on.
    pub(crate) cookies: &'d [String],
    /// The header of the channel's own credential, lower case: what it carries is never shown.
    pub(crate) credential: Option<&'d str>,
    /// The claims of the verified token that are shown to the workflow.
    pub(crate) claims: Option<Map<String, Value>>,
    /// The principal of the caller; `None` for a caller without a credential.
    pub(crate) principal: Option<String>,
    /// The name of the consumer that the caller is.
    pub(crate) consumer: Option<&'d str>,
    /// The outcome of a sign-in.
    pub(crate) signed_in: Option<Box<SignInOutcome>>,
}

/// Turns the metadata of the caller into that of the message: drops reserved keys, then sets the facts of the
/// request.
///
/// Takes headers, params and query out of `request` instead of copying them.
pub(crate) fn stamp(
    mut metadata: Map<String, Value>,
    request: &mut DataRequest,
    stamps: MetadataStamps<'_>,
) -> Map<String, Value> {
    Message::strip_stamps(&mut metadata);
    if let Some(vars) = stamps.vars {
        metadata.insert("vars".into(), vars.clone());
    }
    metadata.insert("channel".into(), stamps.channel.into());
    if let Some(auth) = auth_facts(stamps.claims, stamps.principal, stamps.consumer) {
        metadata.insert("auth".into(), auth);
    }
    if let Some(signed_in) = stamps.signed_in {
        let SignInOutcome { oauth, identity } = *signed_in;
        metadata.insert(OAUTH.into(), oauth.into());
        if let Some(identity) = identity {
            metadata.insert("identity".into(), identity.into());
        }
    }
    if request.ingress == Ingress::Http {
        let allowed = allowed_cookies(&request.headers, stamps.cookies);
        if !allowed.is_empty() {
            metadata.insert("cookies".into(), allowed.into());
        }
        metadata.insert("http_method".into(), std::mem::take(&mut request.method).into());
        if let Some(encoding) = request.body_kind.encoding() {
            metadata.insert("body_encoding".into(), encoding.into());
        }
        if let Some(events) = request.cloud_events.take()
            && let CloudEvents::One(event) = *events
        {
            metadata.insert("cloudevent".into(), event.attributes.into());
        }
        for (key, values) in [("params", &mut request.params), ("query", &mut request.query)] {
            if !values.is_empty() {
                metadata.insert(key.into(), std::mem::take(values).into());
            }
        }
        metadata.insert(
            "headers".into(),
            visible_headers(std::mem::take(&mut request.headers), stamps.credential).into(),
        );
    }
    metadata
}

/// The metadata field with the outcome of a sign-in.
const OAUTH: &str = "oauth";

/// Returns the metadata without the tokens of a sign-in, for a trace.
pub(crate) fn mask_grant(metadata: &Map<String, Value>) -> Map<String, Value> {
    let mut masked = metadata.clone();
    if let Some(Value::Object(oauth)) = masked.get_mut(OAUTH)
        && let Some(grant) = oauth.get_mut("grant")
    {
        *grant = MASK.into();
    }
    masked
}

/// Returns the redaction of the tokens of a sign-in; empty without one.
pub(crate) fn redact_grant(metadata: &Map<String, Value>) -> Redaction {
    let grant = metadata.get(OAUTH).and_then(|oauth| oauth.get("grant")).and_then(Value::as_object);
    let tokens = ["access_token", "refresh_token", "id_token"];
    Redaction::default().with(tokens.iter().filter_map(|name| grant?.get(*name)))
}

/// Returns the facts that the credential of a caller proves; `None` for a caller without one.
pub(crate) fn auth_facts(
    claims: Option<Map<String, Value>>,
    principal: Option<String>,
    consumer: Option<&str>,
) -> Option<Value> {
    let mut auth = Map::new();
    if let Some(claims) = claims {
        auth.insert("claims".into(), claims.into());
    }
    if let Some(principal) = principal {
        auth.insert("principal".into(), principal.into());
    }
    if let Some(consumer) = consumer {
        auth.insert("consumer".into(), consumer.into());
    }
    (!auth.is_empty()).then(|| auth.into())
}

/// Builds the metadata of a scheduled run.
pub(crate) fn for_scheduled_run(
    channel: &str,
    vars: Option<&Value>,
    trigger: Map<String, Value>,
) -> Map<String, Value> {
    let mut metadata = Map::new();
    if let Some(vars) = vars {
        metadata.insert("vars".into(), vars.clone());
    }
    metadata.insert("channel".into(), channel.into());
    metadata.insert("trigger".into(), trigger.into());
    metadata
}

/// The metadata field with the key of the run.
const RUN: &str = "run";

/// Sets the key of a run, which is the same at every attempt: idempotent work under it is done once for all
/// attempts.
pub(crate) fn set_run_key(metadata: &mut Map<String, Value>, key: String) {
    metadata.insert(RUN.into(), json!({ "key": key }));
}

/// Returns the key of a run that has one.
pub(crate) fn read_run_key(metadata: &Map<String, Value>) -> Option<&str> {
    metadata.get(RUN)?.get("key")?.as_str()
}

/// Renders headers as text: credentials masked, values outside ASCII dropped, repeated names joined as RFC
/// 9110 allows.
fn visible_headers(headers: Vec<(String, Vec<u8>)>, credential: Option<&str>) -> Map<String, Value> {
    let mut visible = Map::new();
    for (name, value) in headers {
        if carries_credential(&name, credential) {
            visible.insert(name, MASK.into());
        } else if header_text(&value).is_some() {
            add_header(&mut visible, name, String::from_utf8(value).unwrap_or_default());
        }
    }
    visible
}

/// Returns `true` for a header that carries a credential: one of those that usually do, or `own`, that of the channel.
pub(crate) fn carries_credential(name: &str, own: Option<&str>) -> bool {
    CREDENTIAL_HEADERS.contains(&name) || own == Some(name)
}

/// Returns the headers of the metadata without the masked ones: a mask distinguishes no callers.
pub(crate) fn unmasked_headers(metadata: &Map<String, Value>) -> Vec<(String, Vec<u8>)> {
    let headers = metadata.get("headers").and_then(Value::as_object).into_iter().flatten();
    let shown =
        headers.filter_map(|(name, value)| Some((name, value.as_str().filter(|value| *value != MASK)?)));
    shown.map(|(name, value)| (name.clone(), value.into())).collect()
}

/// The value of a header as text; `None` for one outside ASCII.
pub(crate) fn header_text(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().filter(|text| text.is_ascii())
}

/// Adds a header, joined to an earlier one of the same name.
pub(crate) fn add_header(headers: &mut Map<String, Value>, name: String, value: String) {
    match headers.get_mut(&name) {
        Some(Value::String(present)) => {
            present.push_str(", ");
            present.push_str(&value);
        }
        _ => drop(headers.insert(name, value.into())),
    }
}

/// Returns the allowed cookies that are present, by name. The first of a repeated name wins; an empty or
/// oversized value counts as absent.
fn allowed_cookies(headers: &[(String, Vec<u8>)], allowed: &[String]) -> Map<String, Value> {
    let mut cookies = Map::new();
    if allowed.is_empty() {
        return cookies;
    }
    let pairs = headers
        .iter()
        .filter(|(name, _)| name == "cookie")
        .filter_map(|(_, value)| std::str::from_utf8(value).ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.split_once('='));
    let mut names = Vec::new();
    for (name, value) in pairs {
        let name = name.trim();
        if names.contains(&name) || !allowed.iter().any(|allowed| allowed == name) {
            continue;
        }
        names.push(name);
        let value = unquote(value.trim());
        if !value.is_empty() && value.len() <= MAX_COOKIE {
            cookies.insert(name.to_owned(), value.into());
        }
    }
    cookies
}

fn unquote(value: &str) -> &str {
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests;
