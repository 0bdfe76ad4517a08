//! The `response` block: conversion of a result or an error to a response.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::block::ConfigBlock;
use super::declare::{KeyValue, block, choice};
use crate::field::FieldError;
use crate::http::markup::escape_markup;
use crate::http::token::is_token;

/// Maximum length of an error template, in bytes.
const MAX_ERROR_BODY: usize = 4096;

choice! {
    /// The form of a successful response.
    pub enum ResponseMode {
        /// The standard envelope.
        Envelope = "envelope",
        /// The form that the workflow produced.
        Shaped = "shaped",
    }
}

block! {
    reports all;
    /// The `response` block. The problem of each header name and of each error body is reported: they do not depend on
    /// each other. The names of headers are in lower case.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ResponseConfig: Default {
        /// `shaped` answers as the workflow says at `data._svc.response`
        pub mode: ResponseMode = "envelope" => "shaped";
        /// headers that the workflow may set
        pub allowed_headers: Option<Vec<String>> => ["location"], by(allowed_headers);
        /// the workflow may set cookies at `data._svc.response.cookies`; they need no entry in `allowed_headers`
        pub cookies: bool = false => true;
        /// answers report what is left of the rates of the channel, in `RateLimit` and `RateLimit-Policy`; a 401 does
        /// not
        pub rate_limit_headers: bool = false => true;
        /// bodies of refusals and errors by status, `400` to `599`, or `default`
        pub error_bodies: BTreeMap<ErrorBodyKey, ErrorBody> = _ => {"default": {"body": "{}"}};
        /// what `data` of an answer matches, or a shaped body, in JSON Schema 2020-12 as `request.schema`; for the
        /// documents of callers
        pub schema: Option<Map<String, Value>> => {"type": "object"};
    }
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

block! {
    /// The body template of an error response, as it is written.
    pub(super) struct ErrorBodyKeys {
        /// the body; `{status} {code} {message} {request_id} {channel} {timestamp}` are filled in
        body: String => "{\"code\": \"{code}\"}", by(error_text);
        /// its `Content-Type`
        content_type: String = "application/json" => "text/plain", by(content_type);
    }
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
    /// Renders the template. In a JSON body, values are escaped for the inside of a JSON string; in HTML and XML, for
    /// that of an element or a quoted attribute: a message may repeat what a caller sent.
    pub fn render(&self, value: impl Fn(Placeholder) -> String) -> String {
        let escape = self.escape();
        self.parts.iter().fold(String::new(), |mut body, part| {
            match part {
                Piece::Text(text) => body.push_str(text),
                Piece::Field(field) => body.push_str(&escape(&value(*field))),
            }
            body
        })
    }

    /// Returns the escape of values for the content type.
    fn escape(&self) -> fn(&str) -> String {
        let content_type = self.content_type.to_ascii_lowercase();
        if content_type.contains("json") {
            escape_json
        } else if content_type.contains("html") || content_type.contains("xml") {
            escape_markup
        } else {
            str::to_owned
        }
    }

    fn is_json(&self) -> bool {
        self.content_type.to_ascii_lowercase().contains("json")
    }
}

/// Escapes a text for the inside of a JSON string.
fn escape_json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn allowed_headers(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
) -> Result<Option<Vec<String>>, FieldError> {
    let Some(headers) = block.strings(name)? else { return Ok(None) };
    for (index, header) in headers.iter().enumerate() {
        if !is_token(header) {
            block.report(block.invalid(&format!("{name}[{index}]"), "this is no header name"));
        }
    }
    Ok(Some(headers.iter().map(|header| header.to_ascii_lowercase()).collect()))
}

impl KeyValue for BTreeMap<ErrorBodyKey, ErrorBody> {
    const KIND: &'static str = "object of blocks";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Self>, FieldError> {
        let Some(templates) = block.map(name)? else { return Ok(None) };
        let mut error_bodies = Self::new();
        for (key, value) in templates {
            let status = error_key(block, key);
            let status = block.keep(status);
            let template = block.member(name, key, value, error_body);
            let template = block.keep(template);
            error_bodies.extend(status.zip(template));
        }
        Ok(Some(error_bodies))
    }
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

fn error_text(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<String>, FieldError> {
    match block.string(name)? {
        Some(text) if text.len() > MAX_ERROR_BODY => {
            Err(FieldError::too_long(block.field(name), MAX_ERROR_BODY, text.len(), "bytes"))
        }
        text => Ok(text),
    }
}

fn content_type(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<String>, FieldError> {
    let is_legal = |b: u8| b == b'\t' || (b' '..0x7f).contains(&b);
    match block.string(name)? {
        Some(text) if text.trim().is_empty() || !text.bytes().all(is_legal) => {
            Err(block.invalid(name, "this is no header value"))
        }
        text => Ok(text),
    }
}

fn error_body(block: &mut ConfigBlock<'_>) -> Result<ErrorBody, FieldError> {
    let ErrorBodyKeys { body, content_type } = ErrorBodyKeys::read(block)?;
    let parts = pieces(&body).map_err(|why| block.invalid("body", why))?;
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
