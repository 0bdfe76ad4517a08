//! The parts that `data_query` and `data_write` share: the task, its backend, and the checks of authored
//! documents.

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_dialect::{Bindings, DialectPolicy, DialectRefusal, DocumentExtent};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{CompileCx, ErrorCode, Inputs, Path, TaskCx, TaskError, Template};
use svc_model::FieldError;
use svc_model::config::connector::DialectConfig;

use crate::directory::ConnectorDirectory;
#[cfg(feature = "es")]
use crate::drivers::es::EsDriver;
#[cfg(feature = "mongo")]
use crate::drivers::mongo::MongoDriver;
#[cfg(feature = "sql")]
use crate::drivers::sql::{SqlDriver, ValueForm};
use crate::functions::CallSettings;
use crate::functions::input::{self, input_value, text};

/// The parts of a task that `data_query` and `data_write` share.
pub(super) struct DocumentTask {
    pub(super) connectors: ConnectorDirectory,
    pub(super) connector: Arc<str>,
    pub(super) inputs: Inputs,
    /// The database of a connector that has several.
    #[cfg(feature = "mongo")]
    pub(super) database: Option<String>,
    /// Time limit of a request over HTTP whose connector sets none.
    #[cfg(feature = "es")]
    pub(super) http_timeout: std::time::Duration,
    /// Most bytes of what a database answers.
    #[cfg(any(feature = "es", feature = "mongo", feature = "sql"))]
    pub(super) max_result_bytes: u64,
    /// Most rows of a read, and of what a write answers.
    #[cfg(feature = "sql")]
    pub(super) max_limit: u64,
    /// The forms of bytes and decimals.
    #[cfg(feature = "sql")]
    pub(super) form: ValueForm,
    /// The open values of the document.
    pub(super) folded: Vec<Template>,
    pub(super) output: Path,
}

/// The backends that carry out documents.
pub(super) enum DocumentBackend {
    #[cfg(feature = "sql")]
    Sql,
    #[cfg(feature = "mongo")]
    Mongo,
    #[cfg(feature = "es")]
    Es,
}

pub(super) struct WriteResult {
    pub(super) output: Value,
    /// `true` if only a part of the write was applied.
    pub(super) partial: bool,
}

/// The values a message gives a document.
pub(super) struct DocumentValues {
    params: Map<String, Value>,
    folded: Vec<Value>,
}

impl DocumentValues {
    pub(super) fn bindings(&self) -> Bindings<'_> {
        Bindings { params: &self.params, folded: &self.folded }
    }
}

impl DocumentTask {
    pub(super) fn new(
        table: &FunctionEntry,
        input: &Value,
        (connectors, settings): (&ConnectorDirectory, CallSettings),
        open: &[Value],
        cx: &CompileCx<'_>,
    ) -> Result<Self, String> {
        Ok(Self {
            connectors: connectors.clone(),
            connector: text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input, cx)?,
            #[cfg(feature = "mongo")]
            database: text(table, input, "database").map(str::to_owned),
            #[cfg(feature = "es")]
            http_timeout: settings.http_timeout,
            #[cfg(any(feature = "es", feature = "mongo", feature = "sql"))]
            max_result_bytes: settings.query.max_result_bytes,
            #[cfg(feature = "sql")]
            max_limit: settings.query.max_limit,
            #[cfg(feature = "sql")]
            form: ValueForm::from_names(text(table, input, "binary_as"), text(table, input, "numeric_as")),
            folded: open.iter().map(|value| cx.template(value)).collect(),
            output: input::path(text(table, input, "output").unwrap_or("data"))?,
        })
    }

    pub(super) fn values(&self, cx: &TaskCx<'_>) -> Result<DocumentValues, TaskError> {
        let params = match self.inputs.get(cx, "params")? {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        Ok(DocumentValues {
            params,
            folded: self.folded.iter().map(|template| cx.resolve(template)).collect(),
        })
    }

    /// Returns the backend of the connector.
    ///
    /// # Errors
    /// `connector_detail` if the connector is neither a database nor a search engine.
    pub(super) fn backend(&self) -> Result<DocumentBackend, TaskError> {
        let loaded = self.connectors.find(&self.connector)?;
        #[cfg(feature = "sql")]
        if loaded.driver::<SqlDriver>().is_some() {
            return Ok(DocumentBackend::Sql);
        }
        #[cfg(feature = "mongo")]
        if loaded.driver::<MongoDriver>().is_some() {
            return Ok(DocumentBackend::Mongo);
        }
        #[cfg(feature = "es")]
        if loaded.driver::<EsDriver>().is_some() {
            return Ok(DocumentBackend::Es);
        }
        let detail = format!("connector '{}' is not a database or a search engine", self.connector);
        Err(TaskError::new(ErrorCode::ConnectorDetail, detail))
    }
}

/// Refuses what the connector's `dialect` does not let documents reach.
pub(super) fn guard(
    extent: &DocumentExtent,
    dialect: &DialectConfig,
    connector: &str,
) -> Result<(), TaskError> {
    let guard =
        DialectPolicy { require_schema: dialect.require_schema, allowed_entities: &dialect.allowed_entities };
    extent.check(guard).map_err(|refusal| refusal_error(&refusal, connector))
}

/// Returns the error of a task whose document the dialect or the connector refuses.
pub(super) fn refusal_error(refusal: &DialectRefusal, connector: &str) -> TaskError {
    match refusal {
        DialectRefusal::Invalid(why) => TaskError::validation(why.clone()),
        DialectRefusal::Denied(why) => {
            TaskError::new(ErrorCode::ConnectorDetail, format!("connector '{connector}': {why}"))
        }
    }
}

/// A document that the checks found nothing wrong with.
pub(super) fn join_errors<D>(read: Result<D, Vec<FieldError>>) -> Result<D, String> {
    read.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// The authored document and schema.
pub(super) fn document<'i>(
    table: &FunctionEntry,
    input: &'i Value,
    name: &str,
) -> (&'i Value, Option<&'i Value>) {
    (input_value(table, input, name).unwrap_or(&Value::Null), input_value(table, input, "schema"))
}
