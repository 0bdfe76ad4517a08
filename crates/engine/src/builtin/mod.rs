//! The functions of the engine itself: pure, synchronous, without connectors.
//!
//! Each is compiled from its authored input, reporting every problem at its path, so that the
//! same code answers an author's check and builds the task.

mod context;
mod csv_text;
mod filter;
mod input;
mod log;
mod map;
mod map_change;
mod parse;
mod publish;
mod validation;
mod xml;

use serde_json::Value;
use svc_model::FieldError;

use crate::catalogue::FunctionEntry;
use crate::error::TaskError;
use crate::function::TaskOutcome;

pub(crate) use context::BuiltinCx;
pub use csv_text::{CsvBounds, ParseCsvError, add_field, parse_csv_within};
pub(crate) use input::{BuiltinInput, InputCompiler};
pub use xml::{ParseXmlError, parse_xml_within};

/// Compiles one built-in from its input; `None` when the input has problems.
type CompileBuiltin = fn(&mut BuiltinInput<'_, '_>) -> Option<Builtin>;

/// The built-ins: the entry of each and its compiler.
static BUILTINS: [(&FunctionEntry, CompileBuiltin); 10] = [
    (&filter::ENTRY, |input| filter::FilterTask::compile(input).map(Builtin::Filter)),
    (&log::ENTRY, |input| log::LogTask::compile(input).map(Builtin::Log)),
    (&map::ENTRY, map::compile),
    (&parse::CSV_ENTRY, |input| parse::ParseCsvTask::compile(input).map(Builtin::ParseCsv)),
    (&parse::JSON_ENTRY, |input| parse::ParseJsonTask::compile(input).map(Builtin::ParseJson)),
    (&parse::XML_ENTRY, |input| parse::ParseXmlTask::compile(input).map(Builtin::ParseXml)),
    (&publish::CSV_ENTRY, |input| publish::PublishCsvTask::compile(input).map(Builtin::PublishCsv)),
    (&publish::JSON_ENTRY, |input| publish::PublishJsonTask::compile(input).map(Builtin::PublishJson)),
    (&publish::XML_ENTRY, |input| publish::PublishXmlTask::compile(input).map(Builtin::PublishXml)),
    (&validation::ENTRY, |input| validation::ValidationTask::compile(input).map(Builtin::Validation)),
];

/// Lists the entries of the built-ins.
pub(crate) fn entries() -> impl Iterator<Item = &'static FunctionEntry> {
    BUILTINS.iter().map(|(entry, _)| *entry)
}

fn find(name: &str) -> Option<CompileBuiltin> {
    BUILTINS.iter().find(|(entry, _)| entry.names().any(|known| known == name)).map(|(_, compile)| *compile)
}

/// Returns `true` for the name or alias of a built-in.
pub(crate) fn is_builtin(name: &str) -> bool {
    find(name).is_some()
}

/// A built-in bound to its input.
#[derive(Debug)]
pub(crate) enum Builtin {
    Filter(filter::FilterTask),
    Log(log::LogTask),
    Map(map::MapTask<map::Mapping>),
    MapChanges(map::MapTask<map_change::MappingChange>),
    ParseCsv(parse::ParseCsvTask),
    ParseJson(parse::ParseJsonTask),
    ParseXml(parse::ParseXmlTask),
    PublishCsv(publish::PublishCsvTask),
    PublishJson(publish::PublishJsonTask),
    PublishXml(publish::PublishXmlTask),
    Validation(validation::ValidationTask),
}

impl Builtin {
    /// Compiles the built-in `name`; `None` when the input has problems, which are added to `errors`, or when
    /// there is no such built-in.
    pub(crate) fn compile(
        name: &str,
        input: &Value,
        at: &str,
        compiler: &InputCompiler<'_>,
        errors: &mut Vec<FieldError>,
    ) -> Option<Self> {
        let mut input = BuiltinInput::new(input, at, compiler, errors);
        find(name)?(&mut input)
    }

    pub(crate) async fn run<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<TaskOutcome, TaskError> {
        match self {
            Self::Filter(filter) => Ok(filter.run(cx)),
            Self::Log(log) => log.run(cx).await,
            Self::Map(map) => map.run(cx).await,
            Self::MapChanges(map) => map.run(cx).await,
            Self::ParseCsv(parse) => parse.run(cx),
            Self::ParseJson(parse) => parse.run(cx),
            Self::ParseXml(parse) => parse.run(cx),
            Self::PublishCsv(publish) => publish.run(cx),
            Self::PublishJson(publish) => publish.run(cx),
            Self::PublishXml(publish) => publish.run(cx),
            Self::Validation(validation) => validation.run(cx).await,
        }
    }
}
