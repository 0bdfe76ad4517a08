//! `storage_head`: the existence and the metadata of an object.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use svc_engine::{
    CompileCx, CompiledTask, ErrorCode, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome,
};
use svc_functions::declarations::STORAGE_HEAD;
use svc_functions::declarations::storage::check_key;
use svc_outbound::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED};
use svc_outbound::{OutboundResponse, StatusCode};

use super::call::{Caller, call_driver, call_with_breaker, check_operation};
use super::{input, response};
use crate::directory::ConnectorDirectory;
use crate::drivers::storage::{HeadObject, StorageDriver};

/// The task function.
pub(crate) struct StorageHead {
    connectors: ConnectorDirectory,
}

impl StorageHead {
    pub(crate) fn new(connectors: ConnectorDirectory) -> Self {
        Self { connectors }
    }
}

impl Function for StorageHead {
    svc_functions::declared_by!(STORAGE_HEAD);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &STORAGE_HEAD.entry;
        Ok(Box::new(StorageHeadTask {
            connectors: self.connectors.clone(),
            connector: input::text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input, cx)?,
            output: input::output(table, input)?,
        }))
    }
}

/// The key of an object, as the message has it.
pub(super) fn key(inputs: &Inputs, cx: &TaskCx<'_>) -> Result<String, TaskError> {
    let key = inputs.require_text(cx, "key")?;
    check_key(&key).map_err(|why| TaskError::validation(format!("key: {why}")))?;
    Ok(key)
}

struct StorageHeadTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    inputs: Inputs,
    output: Path,
}

impl CompiledTask for StorageHeadTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let key = key(&self.inputs, cx)?;
            let caller = Caller::of_task(cx);
            let metadata =
                call_with_breaker(&self.connectors, &caller, &self.connector, self.read_metadata(&key))
                    .await?;
            cx.write(&self.output, metadata)?;
            Ok(TaskOutcome::Success)
        })
    }
}

impl StorageHeadTask {
    async fn read_metadata(&self, key: &str) -> Result<Value, TaskError> {
        let head = |driver: &StorageDriver| {
            check_operation(&driver.settings.operations, "head", &self.connector)?;
            Ok((driver.address.clone(), HeadObject(key.to_owned())))
        };
        let (_, answer) = call_driver(&self.connectors, &self.connector, head).await?;
        let answer = answer.map_err(|error| response::unfetched_error(&self.connector, &error))?;
        match answer.status {
            status if status.is_success() => Ok(object(&answer)),
            StatusCode::NOT_FOUND => Ok(json!({"exists": false})),
            status => Err(refused(&self.connector, status)),
        }
    }
}

/// Returns the error of a status with which the store refuses.
pub(super) fn refused(connector: &str, status: StatusCode) -> TaskError {
    let status = status.as_u16();
    let hint = match status {
        401 | 403 => "; check the keys, their rights, the region and the clock",
        301 | 307 | 400 => "; check the endpoint and the region",
        _ => "",
    };
    let message = format!("connector '{connector}': the answer has the status {status}{hint}");
    TaskError::new(ErrorCode::Function, message)
}

/// Returns a header of a response as a text.
pub(super) fn header_text(answer: &OutboundResponse, name: HeaderName) -> Option<String> {
    let value = answer.headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Returns the metadata in the headers of a response.
fn object(answer: &OutboundResponse) -> Value {
    let text = |name: HeaderName| header_text(answer, name);
    let size = text(CONTENT_LENGTH).and_then(|size| size.parse::<u64>().ok());
    json!({
        "exists": true,
        "size": size,
        "etag": text(ETAG),
        "last_modified": text(LAST_MODIFIED),
        "content_type": text(CONTENT_TYPE),
    })
}
