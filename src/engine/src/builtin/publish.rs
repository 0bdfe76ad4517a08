//! `publish_json`, `publish_xml`: write a value of `data` as text into `data`. Nothing leaves the process.

use serde_json::Value;

use super::{Cx, Input, xml};
use crate::error::TaskError;
use crate::function::Outcome;
use crate::path::Path;

#[derive(Debug)]
pub(crate) struct PublishJson {
    source: Path,
    target: Path,
    pretty: bool,
}

impl PublishJson {
    pub(super) fn compile(input: &mut Input<'_, '_>) -> Option<Self> {
        let source = input.required_below_data("source");
        let target = input.required_below_data("target");
        let pretty = input.bool_or("pretty", false);
        Some(Self { source: source?, target: target?, pretty: pretty? })
    }

    pub(super) fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Outcome, TaskError> {
        let value = present(cx, &self.source)?;
        let text = if self.pretty { format!("{value:#}") } else { value.to_string() };
        cx.put(&self.target, Value::String(text))
    }
}

#[derive(Debug)]
pub(crate) struct PublishXml {
    source: Path,
    target: Path,
    root_element: String,
}

impl PublishXml {
    pub(super) fn compile(input: &mut Input<'_, '_>) -> Option<Self> {
        let source = input.required_below_data("source");
        let target = input.required_below_data("target");
        let root_element = input.string_or("root_element", "root");
        Some(Self { source: source?, target: target?, root_element: xml::element_name(root_element?) })
    }

    pub(super) fn run(&self, cx: &mut Cx<'_, '_>) -> Result<Outcome, TaskError> {
        let value = present(cx, &self.source)?;
        let text = xml::write(&self.root_element, &value);
        cx.put(&self.target, Value::String(text))
    }
}

fn present(cx: &mut Cx<'_, '_>, source: &Path) -> Result<Value, TaskError> {
    match cx.work.get(cx.scope, source) {
        Value::Null => Err(TaskError::validation(format!("{source} holds nothing to publish"))),
        value => Ok(value),
    }
}
