//! The `request` block: conversion of a request to a message.

use super::block::ConfigBlock;
use crate::field::FieldError;

/// The interpretation of a request body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyMode {
    /// An object with `data` or `metadata` at its top level is an envelope; anything else is the payload.
    #[default]
    Auto,
    /// The body is always the payload.
    Payload,
}

/// The reading of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestBodyFormat {
    /// JSON, and no other content type.
    #[default]
    Json,
    /// The fields of a form (`application/x-www-form-urlencoded`), as texts.
    Form,
    /// Text; one that is JSON is parsed.
    Text,
    /// Bytes of any content type: a text, or base64 if they are not UTF-8.
    Raw,
    /// JSON, a form or a text, by the content type; JSON if there is none.
    Auto,
}

impl RequestBodyFormat {
    /// The words of the formats.
    const NAMES: [(&'static str, Self); 5] = [
        ("json", Self::Json),
        ("form", Self::Form),
        ("text", Self::Text),
        ("raw", Self::Raw),
        ("auto", Self::Auto),
    ];

    /// Returns the reading of a record, which has no content type.
    pub fn record_format(self) -> RecordFormat {
        if self == Self::Raw { RecordFormat::Raw } else { RecordFormat::Json }
    }
}

/// The answer that callers of a channel get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestMode {
    /// The answer of the run.
    #[default]
    Answer,
    /// The acceptance of the message, which is run later, as below `/async`.
    Accept,
}

/// The interpretation of the value of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordFormat {
    /// The value is JSON; any other is a failure.
    #[default]
    Json,
    /// A value that is no JSON is taken as text, or in base64 if it is not UTF-8.
    Raw,
}

/// The `request` block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestConfig {
    /// The answer that callers get.
    pub mode: RequestMode,
    /// The interpretation of the body.
    pub body_mode: BodyMode,
    /// The reading of the body. Its default is [`RequestBodyFormat::Auto`] if `auth` names a preset, because providers
    /// send forms and JSON as text; [`RequestBodyFormat::Json`] elsewhere.
    pub body_format: RequestBodyFormat,
    /// Cookies that are copied to the metadata.
    pub cookies_to_metadata: Vec<String>,
    /// True if the channel is reachable only by its route and not by its name.
    pub is_closed_by_name: bool,
}

/// Reads the block; `default_format` is that of a channel that names none.
pub(super) fn parse(
    block: &mut ConfigBlock<'_>,
    default_format: RequestBodyFormat,
) -> Result<RequestConfig, FieldError> {
    let answers = [("answer", RequestMode::Answer), ("accept", RequestMode::Accept)];
    let mode = block.choice("mode", &answers)?.unwrap_or_default();
    let modes = [("auto", BodyMode::Auto), ("payload", BodyMode::Payload)];
    let body_mode = block.choice("body_mode", &modes)?.unwrap_or_default();
    let body_format = block.choice("body", &RequestBodyFormat::NAMES)?.unwrap_or(default_format);
    let cookies = block.strings("cookies_to_metadata")?;
    if let Some(names) = &cookies {
        if names.is_empty() {
            return Err(block.invalid("cookies_to_metadata", "an empty list exposes nothing, omit the field"));
        }
        for (index, name) in names.iter().enumerate() {
            if !is_cookie_name(name) {
                return Err(block.invalid(
                    &format!("cookies_to_metadata[{index}]"),
                    "a cookie name is not blank and holds no blank, ';' or '='",
                ));
            }
        }
    }
    let is_closed_by_name = block.boolean("by_name")? == Some(false);
    let cookies_to_metadata = cookies.unwrap_or_default();
    Ok(RequestConfig { mode, body_mode, body_format, cookies_to_metadata, is_closed_by_name })
}

/// Returns true if a request can carry a cookie of this name.
pub(super) fn is_cookie_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || matches!(c, ';' | '='))
}
