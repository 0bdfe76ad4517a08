//! What a caller gets back, rendered once.

use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use svc_engine::{RunOutcome, TaskError};
use svc_model::{Code, ServiceError};

use crate::profile::Profile;
use crate::settings::Settings;

/// Stands for the text of a task error that is for operators only.
const TASK_FAILED: &str = "Task processing failed; full detail is available in the trace";

/// A finished answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, ready to send.
    pub body: Bytes,
}

#[derive(Serialize)]
struct Envelope<'a> {
    id: &'a str,
    status: &'static str,
    data: &'a Value,
    errors: Vec<PublicError<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(rename = "_svc", skip_serializing_if = "Option::is_none")]
    platform: Option<Platform<'a>>,
}

#[derive(Serialize)]
struct Platform<'a> {
    profile: &'a Profile,
}

#[derive(Serialize)]
struct PublicError<'a> {
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
}

impl<'a> PublicError<'a> {
    fn of(error: &'a TaskError, verbose: bool) -> Self {
        Self {
            code: error.code.name(),
            message: if verbose { &error.message } else { TASK_FAILED },
            task_id: error.task_id.as_deref(),
        }
    }
}

/// Renders a run in the standard envelope.
///
/// # Errors
/// The mapped failure of a run that stopped, or `RESPONSE_TOO_LARGE`.
pub(crate) fn render(
    mut outcome: RunOutcome,
    request_id: &str,
    settings: &Settings,
    profile: Option<Duration>,
) -> Result<Answer, ServiceError> {
    if let Some(failure) = &outcome.failure {
        return Err(failure.to_service_error());
    }
    drain_control(&mut outcome.message.data);
    let profile = profile.map(|total| Profile::of(&outcome.timings, total));
    let mut buffer = uuid::Uuid::encode_buffer();
    let envelope = Envelope {
        id: outcome.message.id.hyphenated().encode_lower(&mut buffer),
        status: "ok",
        data: &outcome.message.data,
        errors: outcome.errors.iter().map(|error| PublicError::of(error, settings.verbose_errors)).collect(),
        request_id: (!outcome.errors.is_empty() && !request_id.is_empty()).then_some(request_id),
        platform: profile.as_ref().map(|profile| Platform { profile }),
    };
    let body = serde_json::to_vec(&envelope)
        .map_err(|error| ServiceError::from_code(Code::SerializationError).with_internal(error))?;
    if let Some(limit) = settings.max_result_bytes.filter(|limit| body.len() > *limit) {
        return Err(ServiceError::new(
            Code::ResponseTooLarge,
            format!("The result has {} bytes, the limit is {limit}", body.len()),
        ));
    }
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Ok(Answer { status: 200, headers, body: body.into() })
}

/// Removes the control document a workflow may have written: it is never returned, in any mode.
fn drain_control(data: &mut Value) {
    let Some(root) = data.as_object_mut() else { return };
    let Some(Value::Object(platform)) = root.get_mut("_svc") else { return };
    platform.remove("response");
    if platform.is_empty() {
        root.remove("_svc");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::drain_control;

    #[test]
    fn the_control_document_leaves_no_trace() {
        for (data, left) in [
            (json!({"_svc": {"response": {"status": 201}}, "a": 1}), json!({"a": 1})),
            (json!({"_svc": {"response": 1, "own": 2}}), json!({"_svc": {"own": 2}})),
            (json!({"_svc": 7}), json!({"_svc": 7})),
            (json!([1]), json!([1])),
        ] {
            let mut data = data;
            drain_control(&mut data);
            assert_eq!(data, left);
        }
    }
}
