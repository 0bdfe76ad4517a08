//! `storage_presign`: a URL that lets whoever has it read or write one object for a while.
//!
//! Made with the connector's keys alone: no call leaves the service, so there is nothing for a breaker to
//! count.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use svc_engine::{CompileCx, CompiledTask, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome};
use svc_functions::declarations::STORAGE_PRESIGN;
use svc_functions::declarations::storage::{content_length, header_value, lifetime, puts};

use super::call::{check_operation, driver_of};
use super::input;
use super::storage_head::key;
use crate::directory::ConnectorDirectory;
use crate::drivers::storage::{ObjectAccess, PresignGrant, StorageDriver};

/// The task function.
pub(crate) struct StoragePresign {
    connectors: ConnectorDirectory,
}

impl StoragePresign {
    pub(crate) fn new(connectors: ConnectorDirectory) -> Self {
        Self { connectors }
    }
}

impl Function for StoragePresign {
    svc_functions::declared_by!(STORAGE_PRESIGN);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &STORAGE_PRESIGN.entry;
        Ok(Box::new(StoragePresignTask {
            connectors: self.connectors.clone(),
            connector: input::text(table, input, "connector").unwrap_or_default().into(),
            put: puts(input.get("method")),
            inputs: Inputs::new(table, input, cx)?,
            output: input::output(table, input)?,
        }))
    }
}

struct StoragePresignTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    put: bool,
    inputs: Inputs,
    output: Path,
}

impl CompiledTask for StoragePresignTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let grant = self.grant(cx)?;
            let loaded = self.connectors.find(&self.connector)?;
            let StorageDriver { settings, .. } = driver_of(&self.connector, &loaded)?;
            let operation = if self.put { "presign_put" } else { "presign_get" };
            check_operation(&settings.operations, operation, &self.connector)?;
            cx.write(&self.output, String::from(settings.sign(&grant)).into())?;
            Ok(TaskOutcome::Success)
        })
    }
}

impl StoragePresignTask {
    fn grant(&self, cx: &TaskCx<'_>) -> Result<PresignGrant, TaskError> {
        let key = key(&self.inputs, cx)?;
        let expires_in = lifetime("expires_in", &self.inputs.require(cx, "expires_in")?)
            .map_err(|error| TaskError::validation(format!("{}: {}", error.path, error.message)))?;
        let to = if self.put {
            ObjectAccess::Put {
                content_type: self.header(cx, "content_type")?,
                content_length: self.content_length(cx)?,
            }
        } else {
            ObjectAccess::Get {
                content_type: self.header(cx, "response_content_type")?,
                content_disposition: self.header(cx, "response_content_disposition")?,
            }
        };
        Ok(PresignGrant { key, to, expires_in })
    }

    fn content_length(&self, cx: &TaskCx<'_>) -> Result<Option<u64>, TaskError> {
        let given = self.inputs.get(cx, "content_length")?;
        let length = given.map(|value| content_length(&value)).transpose();
        length.map_err(|why| TaskError::validation(format!("content_length: {why}")))
    }

    fn header(&self, cx: &TaskCx<'_>, field: &str) -> Result<Option<String>, TaskError> {
        let Some(Value::String(text)) = self.inputs.get(cx, field)? else { return Ok(None) };
        header_value(&text).map_err(|why| TaskError::validation(format!("{field}: {why}")))?;
        Ok(Some(text))
    }
}
