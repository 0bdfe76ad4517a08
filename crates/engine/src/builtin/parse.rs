//! `parse_csv`, `parse_json`, `parse_xml`: bring input into `data`.

use serde_json::Value;

use super::context::BuiltinCx;
use super::csv_text::{CsvBounds, ParseCsvError, parse_csv_within};
use super::input::{BuiltinInput, DELIMITER, TARGET};
use super::xml::{ParseXmlError, parse_xml_within};
use crate::bounds::bounded_json::{ParseJsonError, parse_json_within};
use crate::catalogue::{FunctionEntry, InputField, PathUse};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::function::TaskOutcome;
use crate::path::Path;

/// The catalogue entry of `parse_csv`.
pub(super) static CSV_ENTRY: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::string(
            "source",
            "Path of a text of CSV: payload, or below payload, data, metadata or temp_data",
        )
        .required()
        .path(PathUse::Source),
        TARGET,
        DELIMITER,
    ],
    ..FunctionEntry::built_in("parse_csv", "Brings CSV text into data as a list of rows")
};

/// The catalogue entry of `parse_json`.
pub(super) static JSON_ENTRY: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::string(
            "source",
            "Path that is read: payload, or below payload, data, metadata or temp_data",
        )
        .required()
        .path(PathUse::Source),
        TARGET,
    ],
    ..FunctionEntry::built_in("parse_json", "Brings JSON, as text or value, into data")
};

/// The catalogue entry of `parse_xml`.
pub(super) static XML_ENTRY: FunctionEntry = FunctionEntry {
    fields: &[
        InputField::string(
            "source",
            "Path of a text of XML: payload, or below payload, data, metadata or temp_data",
        )
        .required()
        .path(PathUse::Source),
        TARGET,
    ],
    ..FunctionEntry::built_in("parse_xml", "Brings XML text into data as a value")
};

/// Parses a string of CSV.
#[derive(Debug)]
pub(crate) struct ParseCsvTask {
    source: Path,
    target: Path,
    delimiter: u8,
}

impl ParseCsvTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let source = input.required_source("source");
        let target = input.required_below_data("target");
        let delimiter = input.delimiter();
        Some(Self { source: source?, target: target?, delimiter: delimiter? })
    }

    pub(super) fn run(&self, cx: &mut BuiltinCx<'_, '_>) -> Result<TaskOutcome, TaskError> {
        let Value::String(text) = cx.work.get(cx.scope, &self.source) else {
            return Err(TaskError::validation(format!("{} is not a string of CSV", self.source)));
        };
        let bounds =
            CsvBounds { delimiter: self.delimiter, max_rows: usize::MAX, max_bytes: cx.work.max_bytes };
        let value = parse_csv_within(&text, bounds).map_err(|error| {
            let code = match error {
                ParseCsvError::Malformed(_) => ErrorCode::Deserialization,
                ParseCsvError::TooLarge(_) => ErrorCode::Task,
            };
            TaskError::new(code, format!("{}: {error}", self.source))
        })?;
        cx.put(&self.target, value)
    }
}

/// Copies a value, parsing it first when it is a string that holds JSON.
#[derive(Debug)]
pub(crate) struct ParseJsonTask {
    source: Path,
    target: Path,
}

impl ParseJsonTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let source = input.required_source("source");
        let target = input.required_below_data("target");
        Some(Self { source: source?, target: target? })
    }

    pub(super) fn run(&self, cx: &mut BuiltinCx<'_, '_>) -> Result<TaskOutcome, TaskError> {
        let value = match cx.work.get(cx.scope, &self.source) {
            Value::String(text) => match parse_json_within(text.as_bytes(), cx.work.max_bytes) {
                Ok(value) => value,
                Err(ParseJsonError::Malformed(_)) => Value::String(text),
                Err(error) => return Err(error.into_task_error(&self.source.to_string())),
            },
            value => value,
        };
        cx.put(&self.target, value)
    }
}

/// Parses a string of XML.
#[derive(Debug)]
pub(crate) struct ParseXmlTask {
    source: Path,
    target: Path,
}

impl ParseXmlTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let source = input.required_source("source");
        let target = input.required_below_data("target");
        Some(Self { source: source?, target: target? })
    }

    pub(super) fn run(&self, cx: &mut BuiltinCx<'_, '_>) -> Result<TaskOutcome, TaskError> {
        let Value::String(text) = cx.work.get(cx.scope, &self.source) else {
            return Err(TaskError::validation(format!("{} is not a string of XML", self.source)));
        };
        let value = parse_xml_within(&text, cx.work.max_bytes).map_err(|error| match error {
            ParseXmlError::Malformed(reason) => {
                TaskError::new(ErrorCode::Deserialization, format!("{} is not XML: {reason}", self.source))
            }
            ParseXmlError::TooLarge(_) => {
                TaskError::new(ErrorCode::Task, format!("{}: {error}", self.source))
            }
        })?;
        cx.put(&self.target, value)
    }
}
