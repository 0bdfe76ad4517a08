//! The `request` block: conversion of a request to a message.

use super::block::ConfigBlock;
use super::declare::{block, choice};
use crate::field::FieldError;

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
        /// Bytes of any content type: a text, or base64 if they are not UTF-8.
        Raw = "raw",
        /// JSON, a form or a text, by the content type; JSON if there is none.
        Auto = "auto",
    }
}

impl RequestBodyFormat {
    /// Returns the reading of a record, which has no content type.
    pub fn record_format(self) -> RecordFormat {
        if self == Self::Raw { RecordFormat::Raw } else { RecordFormat::Json }
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
    /// A value that is no JSON is taken as text, or in base64 if it is not UTF-8.
    Raw,
}

block! {
    /// The `request` block.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RequestConfig: Default {
        /// `accept` answers every call of the channel with 202 and runs it later, as `/async` does
        pub mode: RequestMode = "answer" => "accept";
        /// `auto` takes `{"data", "metadata"}` as an envelope and drops its other keys
        pub body_mode: BodyMode = "auto" => "payload";
        /// the reading of a body; its default is `auto` where `auth` names a preset. Records are read as `json` or
        /// `raw`
        pub body_format as "body": RequestBodyFormat = "json" => "auto";
        /// cookies that workflows see
        pub cookies_to_metadata: Vec<String> = _ => ["session"], by(cookies);
        /// the channel answers to its name, in addition to its route
        pub by_name: bool = true => false;
    }
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
