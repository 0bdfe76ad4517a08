//! `storage_read` and `storage_write`: a small object as a value of the message.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompiledTask, ErrorCode, Function, Inputs, ParseJsonError, Path, TaskCx, TaskError,
    TaskOutcome,
};
use svc_functions::declarations::storage::{MAX_OBJECT_BYTES, header_value, object_bytes};
use svc_functions::declarations::{STORAGE_READ, STORAGE_WRITE};
use svc_outbound::header::{CONTENT_TYPE, ETAG, HeaderValue, LAST_MODIFIED};
use svc_outbound::{OutboundResponse, StatusCode};

use super::call::{Caller, call_driver, call_with_breaker, check_operation};
use super::storage_head::{header_text, key, refused};
use super::{input, response};
use crate::directory::ConnectorDirectory;
use crate::drivers::storage::{ReadObject, StorageDriver, WriteObject};

/// `storage_read`.
pub(crate) struct StorageRead(pub(crate) ConnectorDirectory);

/// `storage_write`.
pub(crate) struct StorageWrite(pub(crate) ConnectorDirectory);

/// The form in which a body is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectForm {
    Text,
    Json,
    Base64,
}

impl ObjectForm {
    fn of_task(table: &FunctionEntry, task: &Value) -> Self {
        match input::text(table, task, "body_format") {
            Some("json") => Self::Json,
            Some("base64") => Self::Base64,
            _ => Self::Text,
        }
    }

    /// Returns the content type of an object for which a task names none.
    const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; charset=utf-8",
            Self::Json => "application/json",
            Self::Base64 => "application/octet-stream",
        }
    }

    /// Returns the value of a body.
    fn decode(self, cx: &TaskCx<'_>, connector: &str, body: &[u8]) -> Result<Value, TaskError> {
        let unfit = |why: String| {
            let message = format!("connector '{connector}': the object is {why}");
            TaskError::new(ErrorCode::Deserialization, message)
        };
        match self {
            Self::Text => match std::str::from_utf8(body) {
                Ok(text) => Ok(text.into()),
                Err(_) => Err(unfit("no text in UTF-8; read it with \"body_format\": \"base64\"".to_owned())),
            },
            Self::Json => cx.parse_json(body).map_err(|error| match error {
                ParseJsonError::Malformed(error) => unfit(format!("no JSON ({error})")),
                error => error.into_task_error(&format!("connector '{connector}': the object")),
            }),
            Self::Base64 => Ok(STANDARD.encode(body).into()),
        }
    }

    /// Returns the bytes of a value.
    fn encode(self, value: &Value) -> Result<Vec<u8>, TaskError> {
        let form = match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Base64 => "base64",
        };
        object_bytes(form, value).map_err(|why| TaskError::validation(format!("body: {why}")))
    }
}

impl Function for StorageRead {
    svc_functions::declared_by!(STORAGE_READ);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &STORAGE_READ.entry;
        Ok(Box::new(StorageReadTask {
            connectors: self.0.clone(),
            connector: input::text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input, cx)?,
            format: ObjectForm::of_task(table, input),
            output: input::output(table, input)?,
        }))
    }
}

impl Function for StorageWrite {
    svc_functions::declared_by!(STORAGE_WRITE);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &STORAGE_WRITE.entry;
        Ok(Box::new(StorageWriteTask {
            connectors: self.0.clone(),
            connector: input::text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input, cx)?,
            format: ObjectForm::of_task(table, input),
            output: input::text(table, input, "output").map(input::path).transpose()?,
        }))
    }
}

struct StorageReadTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    inputs: Inputs,
    format: ObjectForm,
    output: Path,
}

impl CompiledTask for StorageReadTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let key = key(&self.inputs, cx)?;
            let caller = Caller::of_task(cx);
            let call = self.read_object(&key);
            let answer = call_with_breaker(&self.connectors, &caller, &self.connector, call).await?;
            let object = match answer {
                Some(answer) => json!({
                    "exists": true,
                    "body": self.format.decode(cx, &self.connector, &answer.body)?,
                    "size": answer.body.len(),
                    "etag": header_text(&answer, ETAG),
                    "last_modified": header_text(&answer, LAST_MODIFIED),
                    "content_type": header_text(&answer, CONTENT_TYPE),
                }),
                None => json!({"exists": false}),
            };
            cx.write(&self.output, object)?;
            Ok(TaskOutcome::Success)
        })
    }
}

impl StorageReadTask {
    /// Returns the answer with the object; `None` if there is no such object.
    async fn read_object(&self, key: &str) -> Result<Option<OutboundResponse>, TaskError> {
        let read = |driver: &StorageDriver| {
            check_operation(&driver.settings.operations, "read", &self.connector)?;
            Ok((driver.address.clone(), ReadObject { key: key.to_owned(), max_bytes: MAX_OBJECT_BYTES }))
        };
        let (_, answer) = call_driver(&self.connectors, &self.connector, read).await?;
        let answer = answer.map_err(|error| response::unfetched_error(&self.connector, &error))?;
        match answer.status {
            status if status.is_success() => Ok(Some(answer)),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(refused(&self.connector, status)),
        }
    }
}

struct StorageWriteTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    inputs: Inputs,
    format: ObjectForm,
    output: Option<Path>,
}

impl CompiledTask for StorageWriteTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let key = key(&self.inputs, cx)?;
            let body = self.format.encode(&self.inputs.require(cx, "body")?)?;
            let (size, content_type) = (body.len(), self.content_type(cx)?);
            let caller = Caller::of_task(cx);
            let call = self.write_object(&key, &content_type, &body);
            let answer = call_with_breaker(&self.connectors, &caller, &self.connector, call).await?;
            if let Some(output) = &self.output {
                cx.write(output, json!({"size": size, "etag": header_text(&answer, ETAG)}))?;
            }
            Ok(TaskOutcome::Success)
        })
    }
}

impl StorageWriteTask {
    fn content_type(&self, cx: &TaskCx<'_>) -> Result<HeaderValue, TaskError> {
        let Some(Value::String(text)) = self.inputs.get(cx, "content_type")? else {
            return Ok(HeaderValue::from_static(self.format.content_type()));
        };
        let unfit = |why: &str| TaskError::validation(format!("content_type: {why}"));
        header_value(&text).map_err(unfit)?;
        HeaderValue::from_str(&text).map_err(|_| unfit("a content type has visible ASCII characters only"))
    }

    async fn write_object(
        &self,
        key: &str,
        content_type: &HeaderValue,
        body: &[u8],
    ) -> Result<OutboundResponse, TaskError> {
        let write = |driver: &StorageDriver| {
            check_operation(&driver.settings.operations, "write", &self.connector)?;
            let object =
                WriteObject { key: key.to_owned(), content_type: content_type.clone(), body: body.to_vec() };
            Ok((driver.address.clone(), object))
        };
        let (_, answer) = call_driver(&self.connectors, &self.connector, write).await?;
        let answer = answer.map_err(|error| response::unfetched_error(&self.connector, &error))?;
        if answer.status.is_success() { Ok(answer) } else { Err(refused(&self.connector, answer.status)) }
    }
}
