//! `storage_presign`: a URL that lets whoever has it read or write one object for a while.
//!
//! Made with the connector's keys alone: no call leaves the service, so there is nothing for a breaker to
//! count.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, InputShape};
use svc_engine::{CompileCx, CompiledTask, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome};
use svc_model::{ConnectorType, FieldError};

use super::call::{check_operation, driver_of};
use super::input;
use super::storage_head::{check_fixed_key, key};
use crate::directory::ConnectorDirectory;
use crate::drivers::storage::{ObjectAccess, PresignGrant, StorageDriver};

/// The catalogue entry of `storage_presign`.
static ENTRY: FunctionEntry = FunctionEntry {
    retry_safety: "pure",
    strict: true,
    fields: &[
        InputField::connector("Storage connector"),
        InputField::string("method", "What the URL allows, GET by default").one_of(&["GET", "PUT"]),
        InputField::string("key", "Object key").required().resolvable(),
        InputField::any("expires_in", "Seconds, or a duration such as 15m; at most seven days")
            .required()
            .resolvable()
            .shape(InputShape::Duration),
        InputField::string("response_content_type", "Content type the store answers with, GET only")
            .resolvable(),
        InputField::string(
            "response_content_disposition",
            "Content disposition the store answers with, GET only",
        )
        .resolvable(),
        InputField::string("content_type", "Content type the upload must have, PUT only").resolvable(),
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "storage_presign",
        "Signs a URL for one object, without any network access",
        ConnectorRequirement::new(&[ConnectorType::Storage]),
    )
};

/// Maximum lifetime of a URL, in seconds: a week, as the definition of the signature has it.
const LONGEST: u64 = 604_800;
const LIFETIME: &str = "use whole seconds or a duration like 15m, from 1 second to 7 days";
const GET_ONLY: [&str; 2] = ["response_content_type", "response_content_disposition"];
const PUT_ONLY: [&str; 1] = ["content_type"];

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
    fn entry(&self) -> &'static FunctionEntry {
        &ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        check_fixed_key(input, at, errors);
        if input.get("expires_in").is_some_and(Value::is_null) {
            errors.push(FieldError::required(format!("{at}.expires_in")));
        }
        let expires_in = input::literal_value(input, "expires_in");
        errors.extend(expires_in.and_then(|value| lifetime(&format!("{at}.expires_in"), &value).err()));
        let (others, method) =
            if puts(input.get("method")) { (&GET_ONLY[..], "GET") } else { (&PUT_ONLY[..], "PUT") };
        for field in others.iter().filter(|field| input.get(**field).is_some_and(|value| !value.is_null())) {
            errors
                .push(FieldError::invalid(format!("{at}.{field}"), format!("only for the method {method}")));
        }
        for field in GET_ONLY.into_iter().chain(PUT_ONLY) {
            let why =
                input::literal_value(input, field).and_then(|value| header_value(value.as_str()?).err());
            errors.extend(why.map(|why| FieldError::invalid(format!("{at}.{field}"), why)));
        }
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &ENTRY;
        Ok(Box::new(StoragePresignTask {
            connectors: self.connectors.clone(),
            connector: input::text(table, input, "connector").unwrap_or_default().into(),
            put: puts(input.get("method")),
            inputs: Inputs::new(table, input),
            output: input::output(table, input)?,
        }))
    }
}

fn puts(method: Option<&Value>) -> bool {
    method.and_then(Value::as_str) == Some("PUT")
}

/// Seconds, or a number with a unit.
///
/// # Errors
/// The problem, at the place of the value.
fn lifetime(at: &str, value: &Value) -> Result<Duration, FieldError> {
    let seconds = match value {
        Value::String(text) => seconds(text),
        Value::Number(number) => number.as_u64(),
        other => return Err(FieldError::type_mismatch(at, "integer or a duration like 15m", other)),
    };
    let seconds = seconds.filter(|seconds| (1..=LONGEST).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| FieldError::invalid(at, LIFETIME))
}

fn seconds(text: &str) -> Option<u64> {
    let unit = match text.chars().next_back()? {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number = &text[..text.len() - 1];
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| digits)?.checked_mul(unit)
}

fn header_value(text: &str) -> Result<(), &'static str> {
    if text.contains(char::is_control) { Err("a header cannot hold control characters") } else { Ok(()) }
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
            ObjectAccess::Put { content_type: self.header(cx, "content_type")? }
        } else {
            ObjectAccess::Get {
                content_type: self.header(cx, "response_content_type")?,
                content_disposition: self.header(cx, "response_content_disposition")?,
            }
        };
        Ok(PresignGrant { key, to, expires_in })
    }

    fn header(&self, cx: &TaskCx<'_>, field: &str) -> Result<Option<String>, TaskError> {
        let Some(Value::String(text)) = self.inputs.get(cx, field)? else { return Ok(None) };
        header_value(&text).map_err(|why| TaskError::validation(format!("{field}: {why}")))?;
        Ok(Some(text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lifetime_is_a_second_to_a_week() {
        let seconds = |value: Value| lifetime("at", &value).map(|time| time.as_secs());
        for (value, due) in [
            (json!(1), 1),
            (json!(604_800), 604_800),
            (json!("1s"), 1),
            (json!("15m"), 900),
            (json!("2h"), 7_200),
            (json!("7d"), 604_800),
        ] {
            assert_eq!(seconds(value.clone()), Ok(due), "{value}");
        }
        for value in [
            json!(0),
            json!(-1),
            json!(1.5),
            json!(604_801),
            json!("8d"),
            json!("0s"),
            json!("60"),
            json!(""),
            json!("m"),
            json!("+1m"),
            json!("1 m"),
            json!("1w"),
            json!("1é"),
            json!("99999999999999999999d"),
            json!("18446744073709551615d"),
        ] {
            assert_eq!(seconds(value.clone()).unwrap_err().code.name(), "INVALID", "{value}");
        }
        for value in [json!(null), json!(true), json!([1]), json!({"a": 1})] {
            assert_eq!(seconds(value.clone()).unwrap_err().code.name(), "TYPE_MISMATCH", "{value}");
        }
    }
}
