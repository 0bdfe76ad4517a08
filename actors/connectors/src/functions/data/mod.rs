//! `data_query` and `data_write`: one document, whatever database a connector leads to.
//!
//! A document is read when its task is compiled, bound to the message when it runs, and carried out by the backend of its
//! connector: one file for each.

mod es;
mod mongo;
mod query;
mod sql;
mod write;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use svc_dialect::{Bindings, DialectPolicy, DialectRefusal, DocumentExtent};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{CompileCx, ErrorCode, Inputs, Path, TaskCx, TaskError, Template};
use svc_model::FieldError;
use svc_model::config::connector::DialectConfig;

use super::CallSettings;
use super::input::{self, given, text};
use crate::drivers::Driver;
use crate::handle::Connectors;

pub(crate) use query::DataQuery;
pub(crate) use write::DataWrite;

/// What both functions have in common.
struct Base {
    connectors: Connectors,
    connector: Arc<str>,
    inputs: Inputs,
    /// The database of a connector that has several.
    database: Option<String>,
    /// For a request over HTTP whose connector does not say.
    http_timeout: Duration,
    /// Most bytes of what a database answers.
    max_result_bytes: u64,
    /// The open values of the document.
    folded: Vec<Template>,
    output: Path,
}

/// What can carry documents out.
enum Backend {
    Sql,
    Mongo,
    Es,
}

/// The values a message gives a document.
struct Values {
    params: Map<String, Value>,
    folded: Vec<Value>,
}

impl Values {
    fn bindings(&self) -> Bindings<'_> {
        Bindings { params: &self.params, folded: &self.folded }
    }
}

impl Base {
    fn new(
        table: &FunctionEntry,
        input: &Value,
        (connectors, settings): (&Connectors, CallSettings),
        open: &[Value],
        cx: &CompileCx<'_>,
    ) -> Result<Self, String> {
        Ok(Self {
            connectors: connectors.clone(),
            connector: text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input),
            database: text(table, input, "database").map(str::to_owned),
            http_timeout: settings.http_timeout,
            max_result_bytes: settings.query.max_result_bytes,
            folded: open.iter().map(|value| cx.template(value)).collect(),
            output: input::path(text(table, input, "output").unwrap_or("data"))?,
        })
    }

    fn values(&self, cx: &TaskCx<'_>) -> Result<Values, TaskError> {
        let params = match self.inputs.get(cx, "params")? {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        Ok(Values { params, folded: self.folded.iter().map(|template| cx.resolve(template)).collect() })
    }

    fn backend(&self) -> Result<Backend, TaskError> {
        let loaded = self.connectors.find(&self.connector)?;
        match &loaded.driver {
            Driver::Sql(_) => Ok(Backend::Sql),
            Driver::Mongo(_) => Ok(Backend::Mongo),
            Driver::Es(_) => Ok(Backend::Es),
            _ => {
                let detail = format!("connector '{}' is not a database or a search engine", self.connector);
                Err(TaskError::new(ErrorCode::ConnectorDetail, detail))
            }
        }
    }
}

/// Refuses what the connector's `dialect` does not let documents reach.
fn guard(extent: &DocumentExtent, dialect: &DialectConfig, connector: &str) -> Result<(), TaskError> {
    let guard =
        DialectPolicy { require_schema: dialect.require_schema, allowed_entities: &dialect.allowed_entities };
    extent.check(guard).map_err(|refusal| refused(&refusal, connector))
}

fn refused(refusal: &DialectRefusal, connector: &str) -> TaskError {
    match refusal {
        DialectRefusal::Invalid(why) => TaskError::validation(why.clone()),
        DialectRefusal::Denied(why) => {
            TaskError::new(ErrorCode::ConnectorDetail, format!("connector '{connector}': {why}"))
        }
    }
}

/// The schema of an input that fits the table; `Err` where it does not, which the table says.
fn schema(input: &Map<String, Value>) -> Result<Option<&Value>, ()> {
    match input.get("schema") {
        None => Ok(None),
        Some(schema) if schema.is_object() => Ok(Some(schema)),
        Some(_) => Err(()),
    }
}

/// Adds what is wrong with a document, as reading it found, and the parameters it names that are not given.
fn check<D>(
    read: Result<D, Vec<FieldError>>,
    missing: impl Fn(&D, &Map<String, Value>) -> Vec<FieldError>,
    input: &Map<String, Value>,
    errors: &mut Vec<FieldError>,
) {
    match (read, input.get("params")) {
        (Err(found), _) => errors.extend(found),
        (Ok(document), None | Some(Value::Null)) => errors.extend(missing(&document, &Map::new())),
        // Where all of them come with the message, what they are is not known yet.
        (Ok(document), Some(Value::Object(params))) if !params.contains_key("var") => {
            errors.extend(missing(&document, params));
        }
        (Ok(_), Some(_)) => {}
    }
}

/// A document that the checks found nothing wrong with.
fn compiled<D>(read: Result<D, Vec<FieldError>>) -> Result<D, String> {
    read.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// The authored document and schema.
fn document<'i>(table: &FunctionEntry, input: &'i Value, name: &str) -> (&'i Value, Option<&'i Value>) {
    (given(table, input, name).unwrap_or(&Value::Null), given(table, input, "schema"))
}
