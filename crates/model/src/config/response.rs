//! The `response` block: conversion of a result or an error to a response.

use std::collections::BTreeMap;

use serde_json::Value;

use super::block::{ConfigBlock, keep_or_report};
use super::guards::is_token;
use crate::field::FieldError;

/// Maximum length of an error template, in bytes.
const MAX_ERROR_BODY: usize = 4096;

/// The form of a successful response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseMode {
    /// The standard envelope.
    #[default]
    Envelope,
    /// The form that the workflow produced.
    Shaped,
}

/// The `response` block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseConfig {
    /// The form of a successful response.
    pub mode: ResponseMode,
    /// Headers that a workflow may set, in lower case; `None` uses the default list.
    pub allowed_headers: Option<Vec<String>>,
    /// Body templates of error responses.
    pub error_bodies: BTreeMap<ErrorBodyKey, ErrorBody>,
}

impl ResponseConfig {
    /// Returns the template for an error response with this status.
    pub fn error_body(&self, status: u16) -> Option<&ErrorBody> {
        self.error_bodies
            .get(&ErrorBodyKey::Status(status))
            .or_else(|| self.error_bodies.get(&ErrorBodyKey::Default))
    }
}

/// The statuses that a template applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorBodyKey {
    /// This status, 400 to 599.
    Status(u16),
    /// All statuses without a template of their own.
    Default,
}

/// The body template of an error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    parts: Vec<Piece>,
    /// The value of `Content-Type`.
    pub content_type: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Placeholder),
}

/// A value that an error template can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The HTTP status.
    Status,
    /// The error code.
    Code,
    /// The public message.
    Message,
    /// The id of the request.
    RequestId,
    /// The name of the channel.
    Channel,
    /// The current time, RFC 3339 with milliseconds.
    Timestamp,
}

const PLACEHOLDERS: [(&str, Placeholder); 6] = [
    ("status", Placeholder::Status),
    ("code", Placeholder::Code),
    ("message", Placeholder::Message),
    ("request_id", Placeholder::RequestId),
    ("channel", Placeholder::Channel),
    ("timestamp", Placeholder::Timestamp),
];

impl ErrorBody {
    /// Renders the template. In a JSON body, values are escaped for the inside of a JSON string.
    pub fn render(&self, value: impl Fn(Placeholder) -> String) -> String {
        let json = self.is_json();
        self.parts.iter().fold(String::new(), |mut body, part| {
            match part {
                Piece::Text(text) => body.push_str(text),
                Piece::Field(field) if json => body.push_str(&escape(&value(*field))),
                Piece::Field(field) => body.push_str(&value(*field)),
            }
            body
        })
    }

    fn is_json(&self) -> bool {
        self.content_type.to_ascii_lowercase().contains("json")
    }
}

/// Escapes a text for the inside of a JSON string.
fn escape(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Reads the block. The problems of its fields, of each header name and of each error body are added to `errors`: the
/// templates do not depend on each other.
pub(super) fn parse(block: &mut ConfigBlock<'_>, errors: &mut Vec<FieldError>) -> ResponseConfig {
    let modes = [("envelope", ResponseMode::Envelope), ("shaped", ResponseMode::Shaped)];
    let mode = keep_or_report(block.choice("mode", &modes), errors).unwrap_or_default();
    let allowed_headers = keep_or_report(block.strings("allowed_headers"), errors);
    for (index, name) in allowed_headers.iter().flatten().enumerate() {
        if !is_token(name) {
            errors.push(block.invalid(&format!("allowed_headers[{index}]"), "this is no header name"));
        }
    }
    let mut error_bodies = BTreeMap::new();
    let templates = keep_or_report(block.map("error_bodies"), errors);
    for (key, value) in templates.into_iter().flatten() {
        let status = error_key(block, key).map_err(|error| errors.push(error));
        let template =
            block.member("error_bodies", key, value, error_body).map_err(|error| errors.push(error));
        if let (Ok(status), Ok(template)) = (status, template) {
            error_bodies.insert(status, template);
        }
    }
    let allowed_headers = allowed_headers.map(|names| names.iter().map(|n| n.to_ascii_lowercase()).collect());
    ResponseConfig { mode, allowed_headers, error_bodies }
}

fn error_key(block: &ConfigBlock<'_>, key: &str) -> Result<ErrorBodyKey, FieldError> {
    if key == "default" {
        return Ok(ErrorBodyKey::Default);
    }
    match key.parse() {
        Ok(status @ 400..=599) if key.len() == 3 => Ok(ErrorBodyKey::Status(status)),
        _ => Err(FieldError::invalid(
            format!("{}.{key}", block.field("error_bodies")),
            "use \"400\" to \"599\" or \"default\"",
        )),
    }
}

fn error_body(block: &mut ConfigBlock<'_>) -> Result<ErrorBody, FieldError> {
    let text = block.required_string("body")?;
    if text.len() > MAX_ERROR_BODY {
        return Err(FieldError::too_long(block.field("body"), MAX_ERROR_BODY, text.len(), "bytes"));
    }
    let content_type = block.string("content_type")?.unwrap_or_else(|| "application/json".into());
    let legal = |b: u8| b == b'\t' || (b' '..0x7f).contains(&b);
    if content_type.trim().is_empty() || !content_type.bytes().all(legal) {
        return Err(block.invalid("content_type", "this is no header value"));
    }
    let parts = pieces(&text).map_err(|why| block.invalid("body", why))?;
    let parsed = ErrorBody { parts, content_type };
    if parsed.is_json() && serde_json::from_str::<Value>(&parsed.render(probe)).is_err() {
        return Err(block.invalid("body", "the filled template is not JSON"));
    }
    Ok(parsed)
}

/// Returns a sample value, with which a template is tested.
fn probe(field: Placeholder) -> String {
    match field {
        Placeholder::Status => "400",
        Placeholder::Timestamp => "2026-01-01T00:00:00.000Z",
        _ => "probe \" \\",
    }
    .into()
}

/// Parses a template: `{{` and `}}` are literal braces, `{name}` in lower case is a placeholder, any other
/// brace is text.
fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        literal.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{{") {
            literal.push('{');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("}}") {
            literal.push('}');
            rest = after;
        } else if let Some((name, after)) = identifier(rest) {
            let Some((_, field)) = PLACEHOLDERS.iter().find(|(known, _)| *known == name) else {
                let names = PLACEHOLDERS.map(|(known, _)| known).join(", ");
                return Err(format!("unknown placeholder '{{{name}}}'; known: {names}"));
            };
            if !literal.is_empty() {
                parts.push(Piece::Text(std::mem::take(&mut literal)));
            }
            parts.push(Piece::Field(*field));
            rest = after;
        } else {
            literal.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(Piece::Text(literal));
    }
    Ok(parts)
}

/// Splits a placeholder name off the start of `text`.
fn identifier(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('{')?.split_once('}')?;
    let fits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    fits.then_some((name, after))
}
