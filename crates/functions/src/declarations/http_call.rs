//! `http_call`.

use serde_json::{Map, Value};
use svc_engine::catalogue::{
    ConnectorRequirement, DefaultInput, DefaultOutput, FunctionEntry, InputField, PathUse, SentForm,
};
use svc_model::config::connector::check_header;
use svc_model::{ConnectorType, FieldError};

use super::FunctionDeclaration;
use super::cloud_event::{CLOUDEVENT, check_event};
use super::input::check_timeout;

/// The declaration of `http_call`.
pub static HTTP_CALL: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "depends_on:method",
        strict: true,
        fields: &[
            InputField::connector("HTTP connector"),
            InputField::string("method", "HTTP method, GET by default")
                .one_of(&["GET", "POST", "PUT", "PATCH", "DELETE"])
                .or_default(DefaultInput::Text("GET")),
            InputField::string("path", "Appended to the connector's URL; path_logic wins")
                .overridden_by("path_logic")
                .sent_as(SentForm::TextOrEmpty),
            InputField::logic(
                "url_logic",
                "Expression for a whole https URL in the place of path, such as one that a customer chose; the connector's allow_urls must allow it, and of the connector it gets the signature alone",
            ),
            InputField::object("headers", "Headers of this request").sent_as(SentForm::ObjectOrNothing),
            InputField::logic(
                "headers_logic",
                "Expression for an object of more headers; they win over headers, a null leaves one out",
            )
            .sent_as(SentForm::ObjectOrNothing),
            InputField::logic(
                "idempotency_key",
                "Expression for the header Idempotency-Key: true sends the key of the run and the id of the task, which are the same at every attempt; text sends that text; null or false sends none",
            ),
            InputField::any("body", "Body as written; body_logic wins").overridden_by("body_logic"),
            InputField::string("body_format", "How the body is sent, json by default")
                .one_of(&["json", "form", "text"])
                .sent_as(SentForm::Unsent),
            CLOUDEVENT,
            InputField::string(
                "output",
                "Path the response is written to; without it the response is discarded",
            )
            .alias("response_path")
            .path(PathUse::Target { alone: false })
            .sent_as(SentForm::Unsent),
            InputField::string("response_format", "How the response is read, json by default")
                .one_of(&["json", "text"])
                .sent_as(SentForm::Unsent),
            InputField::bool(
                "capture_error_body",
                "Keep the body of an answer that is no success, up to 4096 bytes, in the error of the task",
            )
            .sent_as(SentForm::Unsent),
            InputField::timeout(
                "Milliseconds one attempt may take; engine.global_http_timeout_secs is the most, and the default",
            )
            .computed(),
        ],
        default_output: DefaultOutput::Discarded,
        ..FunctionEntry::connector(
            "http_call",
            "Calls an HTTP endpoint of a connector",
            ConnectorRequirement::new(&[ConnectorType::Http]).addressed_by("url_logic"),
        )
    },
    check,
};

fn check(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    check_timeout(input, "timeout_ms", at, errors);
    check_event(input, at, errors);
    check_event_method(input, at, errors);
    let path = input.get("path").and_then(Value::as_str).and_then(|path| check_path(path).err());
    errors.extend(path.map(|why| FieldError::invalid(format!("{at}.path"), why)));
    let is_given = |name: &str| input.get(name).is_some_and(|value| !value.is_null());
    if is_given("url_logic") && (is_given("path") || is_given("path_logic")) {
        let why = "url_logic is the whole address: leave out path and path_logic";
        errors.push(FieldError::invalid(format!("{at}.url_logic"), why));
    }
    for (name, value) in input.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{at}.headers.{name}");
        match value {
            Value::String(text) => {
                errors.extend(check_header(name, text).err().map(|why| FieldError::invalid(path, why)));
            }
            other => errors.push(FieldError::type_mismatch(path, "string", other)),
        }
    }
}

/// Refuses an event in a request that has no body.
fn check_event_method(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    if input.get("cloudevent").is_none_or(Value::is_null) {
        return;
    }
    let method = input.get("method").and_then(Value::as_str).unwrap_or("GET");
    if ["GET", "DELETE"].contains(&method) {
        let why = format!("an event is sent with method POST, PUT or PATCH, not {method}");
        errors.push(FieldError::invalid(format!("{at}.cloudevent"), why));
    }
}

/// Refuses what a URL would lose, or hide from its reader.
///
/// # Errors
/// The problem.
pub fn check_path(text: &str) -> Result<(), &'static str> {
    if text.contains(char::is_control) { Err("no control characters; percent-encode them") } else { Ok(()) }
}
