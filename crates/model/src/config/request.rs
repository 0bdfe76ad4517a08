//! The `request` block: conversion of a request to a message.

use serde_json::{Map, Value};

use super::block::ConfigBlock;
use super::declare::{Choice, KeyValue, block, choice};
use crate::field::FieldError;
use crate::http::origin::origin_problem;

choice! {
    /// The interpretation of a request body.
    pub enum BodyMode {
        /// An object with `data` or `metadata` at its top level is an envelope; anything else is the payload.
        Auto = "auto",
        /// The body is always the payload.
        Payload = "payload",
    }
}

choice! {
    /// The reading of a body.
    pub enum RequestBodyFormat {
        /// JSON, and no other content type.
        Json = "json",
        /// The fields of a form (`application/x-www-form-urlencoded`), as texts.
        Form = "form",
        /// Text; one that is JSON is parsed.
        Text = "text",
        /// Rows below a row of names, as objects of texts.
        Csv = "csv",
        /// XML, as `parse_xml` reads it.
        Xml = "xml",
        /// The parts of a form with files (`multipart/form-data`).
        Multipart = "multipart",
        /// Bytes of any content type: a text, or base64 if they are not UTF-8.
        Raw = "raw",
        /// Any of them but `raw`, by the content type; JSON if there is none.
        Auto = "auto",
        /// Events of CloudEvents 1.0, in any mode; their data is the payload.
        CloudEvents = "cloudevents",
    }
}

impl RequestBodyFormat {
    /// Returns the reading of a record; `None` for one that only a request can have.
    pub fn record_format(self) -> Option<RecordFormat> {
        Some(match self {
            Self::Json => RecordFormat::Json,
            Self::Text => RecordFormat::Text,
            Self::Csv => RecordFormat::Csv,
            Self::Xml => RecordFormat::Xml,
            Self::Raw => RecordFormat::Raw,
            Self::Auto => RecordFormat::Auto,
            Self::CloudEvents => RecordFormat::CloudEvents,
            Self::Form | Self::Multipart => return None,
        })
    }
}

choice! {
    /// An encoding that compresses a body, by its registered name.
    pub enum ContentEncoding {
        /// DEFLATE with a header and a checksum.
        Gzip = "gzip",
        /// DEFLATE.
        Deflate = "deflate",
        /// Brotli.
        Brotli = "br",
        /// Zstandard.
        Zstd = "zstd",
    }
}

impl ContentEncoding {
    /// Returns the registered name.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// Finds an encoding by its name, whose case does not matter.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("x-gzip") { "gzip" } else { name };
        Self::WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)).map(|(_, encoding)| *encoding)
    }
}

impl KeyValue for Vec<ContentEncoding> {
    const KIND: &'static str = "list of `gzip`, `deflate`, `br`, `zstd` or boolean";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Self>, FieldError> {
        block.some_or_all(name, ContentEncoding::WORDS)
    }
}

choice! {
    /// The answer that callers of a channel get.
    pub enum RequestMode {
        /// The answer of the run.
        Answer = "answer",
        /// The acceptance of the message, which is run later, as below `/async`.
        Accept = "accept",
    }
}

/// The interpretation of the value of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordFormat {
    /// The value is JSON; any other is a failure.
    #[default]
    Json,
    /// The value is text; one that is JSON is parsed.
    Text,
    /// The value is rows below a row of names.
    Csv,
    /// The value is XML.
    Xml,
    /// A value that is no JSON is taken as text, or in base64 if it is not UTF-8.
    Raw,
    /// The header `content-type` decides; JSON if there is none.
    Auto,
    /// The record is an event of CloudEvents, in structured or binary mode.
    CloudEvents,
}

block! {
    /// The `request` block.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RequestConfig: Default {
        /// `accept` answers every call of the channel with 202 and runs it later, as `/async` does
        pub mode: RequestMode = "answer" => "accept";
        /// `auto` takes `{"data", "metadata"}` as an envelope and drops its other keys
        pub body_mode: BodyMode = "auto" => "payload";
        /// the reading of a body; its default is `auto` where `auth` names a preset. Records are not read as `form` or
        /// `multipart`; of `cloudevents` the data is the payload
        pub body_format as "body": RequestBodyFormat = "json" => "auto";
        /// encodings of compressed bodies that are decoded, `true` for all; a body with another one is refused
        pub decompress: Vec<ContentEncoding> = _ => ["gzip"];
        /// origins of pages that may read its answers, in place of `cors.allowed_origins` of the service
        pub cors_origins: Option<Vec<String>> => ["https://shop.example"], by(cors_origins);
        /// senders of events that may deliver here, by their DNS names, `*` for all: the answer to the validation
        /// request of CloudEvents (`OPTIONS` with `WebHook-Request-Origin`)
        pub cloudevents_origins: Option<Vec<String>> => ["events.example.com"], by(cloudevents_origins);
        /// cookies that workflows see
        pub cookies_to_metadata: Vec<String> = _ => ["session"], by(cookies);
        /// the channel answers to its name, in addition to its route
        pub by_name: bool = true => false;
        /// what a payload must match, in JSON Schema 2020-12: at most 64 KiB, references within itself; formats are
        /// checked
        pub schema: Option<Map<String, Value>> => {"type": "object", "required": ["id"]};
    }
}

fn cors_origins(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Vec<String>>, FieldError> {
    let Some(origins) = block.strings(name)? else { return Ok(None) };
    let has_wildcard = origins.iter().any(|origin| origin == "*");
    if has_wildcard && origins.len() > 1 {
        return Err(block.invalid(name, "\"*\" admits every origin; remove it, or the others"));
    }
    for (index, origin) in origins.iter().enumerate().filter(|_| !has_wildcard) {
        if let Some(problem) = origin_problem(origin) {
            return Err(block.invalid(&format!("{name}[{index}]"), problem));
        }
    }
    Ok(Some(origins))
}

fn cloudevents_origins(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
) -> Result<Option<Vec<String>>, FieldError> {
    let Some(origins) = block.strings(name)? else { return Ok(None) };
    if origins.is_empty() {
        return Err(block.invalid(name, "an empty list admits no sender, omit the field"));
    }
    if origins.len() > 1 && origins.iter().any(|origin| origin == "*") {
        return Err(block.invalid(name, "\"*\" admits every sender; remove it, or the others"));
    }
    if let Some(index) = origins.iter().position(|origin| origin != "*" && !is_dns_name(origin)) {
        let why = "a sender is named by its DNS name alone, as in events.example.com";
        return Err(block.invalid(&format!("{name}[{index}]"), why));
    }
    Ok(Some(origins))
}

/// Returns true for a name of DNS, with or without a port.
fn is_dns_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte))
}

fn cookies(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Vec<String>>, FieldError> {
    let Some(cookies) = block.strings(name)? else { return Ok(None) };
    if cookies.is_empty() {
        return Err(block.invalid(name, "an empty list exposes nothing, omit the field"));
    }
    if let Some(index) = cookies.iter().position(|cookie| !is_cookie_name(cookie)) {
        let why = "a cookie name is not blank and holds no blank, ';' or '='";
        return Err(block.invalid(&format!("{name}[{index}]"), why));
    }
    Ok(Some(cookies))
}

/// Returns true if a request can carry a cookie of this name.
pub(super) fn is_cookie_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || matches!(c, ';' | '='))
}
