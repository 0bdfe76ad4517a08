//! `publish_csv`, `publish_json`, `publish_xml`: write a value of `data` as text into `data`. Nothing leaves the process.

use serde_json::Value;

use super::context::BuiltinCx;
use super::csv_text::write_csv;
use super::input::{BuiltinInput, DELIMITER, TARGET};
use super::xml;
use crate::catalogue::{FunctionEntry, InputField, InputShape};
use crate::error::TaskError;
use crate::error_code::ErrorCode;
use crate::function::TaskOutcome;
use crate::path::Path;

const PUBLISH_SOURCE: InputField = InputField::string("source", "Path below data that is read").required();

/// The catalogue entry of `publish_csv`.
pub(super) static CSV_ENTRY: FunctionEntry = FunctionEntry {
    fields: &[
        PUBLISH_SOURCE,
        TARGET,
        DELIMITER,
        InputField::array("columns", "Names of the columns in their order; by default those of all rows")
            .shape(InputShape::TextList),
    ],
    ..FunctionEntry::built_in("publish_csv", "Writes a list of rows of data as CSV text into data")
};

/// The catalogue entry of `publish_json`.
pub(super) static JSON_ENTRY: FunctionEntry = FunctionEntry {
    fields: &[
        PUBLISH_SOURCE,
        TARGET,
        InputField::bool("pretty", "Writes one member to a line, false by default"),
    ],
    ..FunctionEntry::built_in("publish_json", "Writes a value of data as JSON text into data")
};

/// The catalogue entry of `publish_xml`.
pub(super) static XML_ENTRY: FunctionEntry = FunctionEntry {
    fields: &[
        PUBLISH_SOURCE,
        TARGET,
        InputField::string("root_element", "Name of the outermost element, root by default"),
    ],
    ..FunctionEntry::built_in("publish_xml", "Writes a value of data as XML text into data")
};

#[derive(Debug)]
pub(crate) struct PublishCsvTask {
    source: Path,
    target: Path,
    delimiter: u8,
    columns: Vec<String>,
}

impl PublishCsvTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let source = input.required_below_data("source");
        let target = input.required_below_data("target");
        let delimiter = input.delimiter();
        let columns = input.texts("columns");
        Some(Self { source: source?, target: target?, delimiter: delimiter?, columns: columns? })
    }

    pub(super) fn run(&self, cx: &mut BuiltinCx<'_, '_>) -> Result<TaskOutcome, TaskError> {
        let Value::Array(rows) = present(cx, &self.source)? else {
            return Err(TaskError::validation(format!("{} is no list of rows", self.source)));
        };
        let text = write_csv(&rows, &self.columns, self.delimiter, cx.work.max_bytes)
            .map_err(|reason| TaskError::new(ErrorCode::Task, format!("{}: {reason}", self.source)))?;
        cx.put(&self.target, Value::String(text))
    }
}

#[derive(Debug)]
pub(crate) struct PublishJsonTask {
    source: Path,
    target: Path,
    pretty: bool,
}

impl PublishJsonTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let source = input.required_below_data("source");
        let target = input.required_below_data("target");
        let pretty = input.bool_or("pretty", false);
        Some(Self { source: source?, target: target?, pretty: pretty? })
    }

    pub(super) fn run(&self, cx: &mut BuiltinCx<'_, '_>) -> Result<TaskOutcome, TaskError> {
        let value = present(cx, &self.source)?;
        let text = if self.pretty { format!("{value:#}") } else { value.to_string() };
        cx.put(&self.target, Value::String(text))
    }
}

#[derive(Debug)]
pub(crate) struct PublishXmlTask {
    source: Path,
    target: Path,
    root_element: String,
}

impl PublishXmlTask {
    pub(super) fn compile(input: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let source = input.required_below_data("source");
        let target = input.required_below_data("target");
        let root_element = input.string_or("root_element", "root");
        Some(Self { source: source?, target: target?, root_element: xml::element_name(root_element?) })
    }

    pub(super) fn run(&self, cx: &mut BuiltinCx<'_, '_>) -> Result<TaskOutcome, TaskError> {
        let value = present(cx, &self.source)?;
        let text = xml::write(&self.root_element, &value);
        cx.put(&self.target, Value::String(text))
    }
}

fn present(cx: &mut BuiltinCx<'_, '_>, source: &Path) -> Result<Value, TaskError> {
    match cx.work.get(cx.scope, source) {
        Value::Null => Err(TaskError::validation(format!("{source} holds nothing to publish"))),
        value => Ok(value),
    }
}
