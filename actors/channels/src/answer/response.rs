//! The response to a caller, rendered once.

use std::fmt;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use svc_contract::{DroppedPart, ResponseControl, ResponseShaper, ShapedAnswer};
use svc_engine::{ElementIndex, ElementIndexes, RunOutcome, TaskError};
use svc_model::{Code, ServiceError};
use uuid::Uuid;

use crate::profile::Profile;
use crate::settings::Settings;

/// The header that names the trace of a run, if one is stored.
pub const TRACE_ID_HEADER: &str = "x-trace-id";

/// The header of an answer that an earlier request had.
const REPLAYED_HEADER: &str = "idempotent-replayed";

/// The header that says if the response cache had the answer.
const CACHE_HEADER: &str = "x-cache";

/// The field `trace_id` of a log line, if a trace is stored.
#[derive(Debug)]
pub struct TraceIdField<T>(pub Option<T>);

impl<T: fmt::Display> slog::KV for TraceIdField<T> {
    fn serialize(&self, _: &slog::Record<'_>, line: &mut dyn slog::Serializer) -> slog::Result {
        self.0.as_ref().map_or(Ok(()), |id| line.emit_arguments("trace_id", &format_args!("{id}")))
    }
}

/// Replaces the text of a task error that is for operators only.
const TASK_FAILED: &str = "Task processing failed; full detail is available in the trace";

/// A rendered response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelResponse {
    /// HTTP status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, ready to send.
    pub body: Bytes,
    /// Set if it refuses a key that the caller may have guessed.
    pub is_guess: bool,
    /// Set if its body is the envelope of an error, in whose place its caller may have asked for problem details.
    pub is_envelope: bool,
}

impl ChannelResponse {
    /// Returns `true` if the response sets a cookie and is therefore for one caller alone.
    pub(crate) fn sets_cookie(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == "set-cookie")
    }

    /// Builds the response to a repeat that the channel accepts.
    pub(crate) fn duplicate() -> Self {
        Self::json(200, r#"{"status":"duplicate"}"#.to_owned())
    }

    /// Adds the header that names the trace of the run.
    pub(crate) fn set_trace_id(&mut self, id: Uuid) {
        self.set_header(TRACE_ID_HEADER, id.to_string());
    }

    /// Adds the headers of an answer out of the cache; its age in seconds may be unknown.
    pub(crate) fn note_hit(&mut self, age: Option<u64>) {
        self.set_header(CACHE_HEADER, "hit".to_owned());
        if let Some(age) = age {
            self.set_header("age", age.to_string());
        }
    }

    /// Adds the header of an answer that the cache did not have.
    pub(crate) fn note_miss(&mut self) {
        self.set_header(CACHE_HEADER, "miss".to_owned());
    }

    /// Sets a header of the service, whatever the workflow gave it.
    pub(crate) fn set_header(&mut self, name: &str, value: String) {
        self.headers.retain(|(present, _)| present != name);
        self.headers.push((name.to_owned(), value));
    }

    /// Marks an answer that an earlier request had.
    pub(crate) fn mark_replayed(&mut self) {
        self.set_header(REPLAYED_HEADER, "true".to_owned());
    }

    /// Returns `true` for an answer that an earlier request had.
    pub(crate) fn is_replayed(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == REPLAYED_HEADER)
    }

    /// Builds the response to an error, as the edge would.
    pub(crate) fn from_error(error: &ServiceError, request_id: &str) -> Self {
        let mut answer = Self::json(error.status(), error.body(Some(request_id)).to_string());
        answer.is_envelope = true;
        if let Some(seconds) = error.retry_after() {
            answer.headers.push(("retry-after".to_owned(), seconds.to_string()));
        }
        if let Some(id) = error.trace_id() {
            answer.set_trace_id(id);
        }
        for (name, value) in error.headers() {
            answer.set_header(name, value.clone());
        }
        answer
    }

    /// Builds a response whose body is this JSON text.
    pub(crate) fn json(status: u16, text: String) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Self { status, headers, body: text.into(), is_guess: false, is_envelope: false }
    }
}

/// The envelope of a response. `E` is the form of the errors, for callers or for operators.
#[derive(Serialize)]
struct ResponseEnvelope<'a, E> {
    id: &'a str,
    status: &'static str,
    data: &'a Value,
    errors: E,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(rename = "_svc", skip_serializing_if = "Option::is_none")]
    platform: Option<Platform<'a>>,
}

#[derive(Clone, Copy, Serialize)]
struct Platform<'a> {
    profile: &'a Profile,
}

#[derive(Serialize)]
struct PublicError<'a> {
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<ElementIndex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    indexes: Option<&'a ElementIndexes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a Value>,
}

impl<'a> PublicError<'a> {
    fn from_task_error(error: &'a TaskError, verbose: bool) -> Self {
        Self {
            code: error.code.name(),
            message: if verbose { &error.message } else { TASK_FAILED },
            task_id: error.task_id.as_deref(),
            index: error.index,
            indexes: error.indexes.as_deref(),
            status: error.http_status.filter(|_| verbose),
            body: error.body.as_deref().filter(|_| verbose),
        }
    }
}

/// Renders a run that did not fail.
pub(crate) struct ResponseRenderer<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) settings: &'a Settings,
    /// Set if the workflow may shape the response.
    pub(crate) shaper: Option<&'a ResponseShaper>,
    /// The result is also rendered for a trace.
    pub(crate) traced: bool,
}

/// A rendered run.
pub(crate) struct RenderedResponse {
    pub(crate) answer: ChannelResponse,
    /// The workflow shaped it.
    pub(crate) shaped: bool,
    /// The whole envelope with the real errors, JSON, for the trace.
    pub(crate) result: Option<String>,
    /// The parts of the control document that were left out.
    pub(crate) dropped: Vec<DroppedPart>,
}

impl ResponseRenderer<'_> {
    /// Renders in the standard envelope, or as the workflow asks. Removes the control document from the data:
    /// it is never returned, in any mode.
    ///
    /// # Errors
    /// `RESPONSE_TOO_LARGE`.
    pub(crate) fn render(&self, outcome: &mut RunOutcome) -> Result<RenderedResponse, ServiceError> {
        let control = ResponseControl::take(&mut outcome.message.data);
        let shaped =
            self.shaper.zip(control).map(|(shaper, control)| shaper.shape(&control, &outcome.message.data));
        let rendered = match shaped {
            Some((ShapedAnswer { status, headers, body }, dropped)) => {
                self.check(body.len())?;
                let body = body.into();
                let answer = ChannelResponse { status, headers, body, is_guess: false, is_envelope: false };
                let result = self.traced.then(|| self.full(outcome)).transpose()?;
                RenderedResponse { answer, shaped: true, result, dropped }
            }
            None => {
                let text = self.public(outcome, None)?;
                self.check(text.len())?;
                let result = match self.traced {
                    false => None,
                    // Without errors there is nothing to hide: both are the same text.
                    true if outcome.errors.is_empty() => Some(text.clone()),
                    true => Some(self.full(outcome)?),
                };
                RenderedResponse {
                    answer: ChannelResponse::json(200, text),
                    shaped: false,
                    result,
                    dropped: Vec::new(),
                }
            }
        };
        Ok(rendered)
    }

    /// Adds a profile to a response in the standard envelope.
    ///
    /// # Errors
    /// `RESPONSE_TOO_LARGE`.
    pub(crate) fn add_profile(
        &self,
        rendered: &mut RenderedResponse,
        outcome: &RunOutcome,
        profile: &Profile,
    ) -> Result<(), ServiceError> {
        if !rendered.shaped {
            let text = self.public(outcome, Some(profile))?;
            self.check(text.len())?;
            rendered.answer = ChannelResponse::json(200, text);
        }
        Ok(())
    }

    /// Renders the envelope for the caller.
    fn public(&self, outcome: &RunOutcome, profile: Option<&Profile>) -> Result<String, ServiceError> {
        let verbose = self.settings.verbose_errors;
        let errors: Vec<_> =
            outcome.errors.iter().map(|error| PublicError::from_task_error(error, verbose)).collect();
        self.envelope(outcome, errors, profile)
    }

    /// Renders the envelope for operators; `null` if it exceeds the limit.
    fn full(&self, outcome: &RunOutcome) -> Result<String, ServiceError> {
        let text = self.envelope(outcome, &outcome.errors, None)?;
        Ok(if self.check(text.len()).is_ok() { text } else { "null".to_owned() })
    }

    fn envelope<E: Serialize>(
        &self,
        outcome: &RunOutcome,
        errors: E,
        profile: Option<&Profile>,
    ) -> Result<String, ServiceError> {
        let mut id = uuid::Uuid::encode_buffer();
        let envelope = ResponseEnvelope {
            id: outcome.message.id.hyphenated().encode_lower(&mut id),
            status: "ok",
            data: &outcome.message.data,
            errors,
            request_id: (!outcome.errors.is_empty() && !self.request_id.is_empty())
                .then_some(self.request_id),
            platform: profile.map(|profile| Platform { profile }),
        };
        serde_json::to_string(&envelope)
            .map_err(|error| ServiceError::from_code(Code::SerializationError).with_internal(error))
    }

    fn check(&self, bytes: usize) -> Result<(), ServiceError> {
        let checked = self.settings.check_result(bytes);
        checked.map_err(|message| ServiceError::new(Code::ResponseTooLarge, message))
    }
}
