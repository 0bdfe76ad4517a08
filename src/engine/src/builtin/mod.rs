//! The functions of the engine itself: pure, synchronous, without connectors.
//!
//! Each is compiled from its authored input, reporting every problem at the path where it stands, so that the same
//! code answers an author's check and builds the task.

mod filter;
mod input;
mod log;
mod map;
mod parse;
mod publish;
mod validation;
mod xml;

use datalogic_rs::DataValue;
use serde_json::Value;
use slog::Logger;
use svc_model::FieldError;

use crate::error::TaskError;
use crate::expression::{Evaluator, Expression};
use crate::function::Outcome;
use crate::pace::Pace;
use crate::path::Path;
use crate::scope::{Arena, Scope};
use crate::work::Work;

pub(crate) use input::{Compiler, Input};

/// Names of the built-ins, the alias included.
pub(crate) const NAMES: [&str; 9] = [
    "filter",
    "log",
    "map",
    "parse_json",
    "parse_xml",
    "publish_json",
    "publish_xml",
    "validate",
    "validation",
];

/// A built-in bound to its input.
#[derive(Debug)]
pub(crate) enum Builtin {
    Filter(filter::Filter),
    Log(log::Log),
    Map(map::Map),
    ParseJson(parse::ParseJson),
    ParseXml(parse::ParseXml),
    PublishJson(publish::PublishJson),
    PublishXml(publish::PublishXml),
    Validation(validation::Validation),
}

/// What a built-in runs with.
pub(crate) struct Cx<'c, 'r> {
    pub(crate) evaluator: &'c Evaluator,
    pub(crate) logger: &'c Logger,
    pub(crate) workflow: &'c str,
    pub(crate) task: &'c str,
    pub(crate) work: &'c mut Work,
    pub(crate) scope: &'c mut Scope<'r>,
    pub(crate) pace: &'c mut Pace,
}

impl<'r> Cx<'_, 'r> {
    /// Evaluates an expression over the message. A task that has filled the arena goes on with one of its own for each
    /// expression.
    fn evaluate<T>(
        &mut self,
        expression: &'r Expression,
        then: impl FnOnce(&DataValue<'_>) -> T,
    ) -> Result<T, String> {
        if !self.scope.is_full() {
            let context = self.work.context(self.scope, expression.reads());
            return self.evaluator.evaluate(expression, context, self.scope.bump()).map(then);
        }
        let arena = Arena::lease();
        let context =
            self.work.context(&mut Scope::new(arena.bump(), expression.reads()), expression.reads());
        self.evaluator.evaluate(expression, context, arena.bump()).map(then)
    }

    /// Writes what the task made.
    fn put(&mut self, path: &Path, value: Value) -> Result<Outcome, TaskError> {
        self.work.put(self.scope, path, value).map_err(|error| error.at(path))?;
        Ok(Outcome::Success)
    }
}

/// Only exactly `true` passes.
fn is_true(value: &DataValue<'_>) -> bool {
    matches!(value, DataValue::Bool(true))
}

impl Builtin {
    /// Compiles the built-in `name`; `None` when the input has problems, which are added to `errors`, or when there
    /// is no such built-in.
    pub(crate) fn compile(
        name: &str,
        input: &Value,
        at: &str,
        compiler: &Compiler<'_>,
        errors: &mut Vec<FieldError>,
    ) -> Option<Self> {
        let mut input = Input::new(input, at, compiler, errors);
        let input = &mut input;
        match name {
            "filter" => filter::Filter::compile(input).map(Self::Filter),
            "log" => log::Log::compile(input).map(Self::Log),
            "map" => map::Map::compile(input).map(Self::Map),
            "parse_json" => parse::ParseJson::compile(input).map(Self::ParseJson),
            "parse_xml" => parse::ParseXml::compile(input).map(Self::ParseXml),
            "publish_json" => publish::PublishJson::compile(input).map(Self::PublishJson),
            "publish_xml" => publish::PublishXml::compile(input).map(Self::PublishXml),
            "validate" | "validation" => validation::Validation::compile(input).map(Self::Validation),
            _ => None,
        }
    }

    pub(crate) async fn run<'r>(&'r self, cx: &mut Cx<'_, 'r>) -> Result<Outcome, TaskError> {
        match self {
            Self::Filter(filter) => Ok(filter.run(cx)),
            Self::Log(log) => log.run(cx).await,
            Self::Map(map) => map.run(cx).await,
            Self::ParseJson(parse) => parse.run(cx),
            Self::ParseXml(parse) => parse.run(cx),
            Self::PublishJson(publish) => publish.run(cx),
            Self::PublishXml(publish) => publish.run(cx),
            Self::Validation(validation) => validation.run(cx).await,
        }
    }
}
