//! `channel_call`.

use std::time::Duration;

use serde_json::{Map, Value};
use svc_engine::catalogue::{
    DefaultInput, DefaultOutput, FunctionEntry, FunctionTarget, InputField, SentForm,
};
use svc_model::FieldError;

use super::FunctionDeclaration;

/// The declaration of `channel_call`.
pub static CHANNEL_CALL: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        category: "control",
        retry_safety: "depends_on:channel",
        fields: &[
            InputField::string("channel", "Channel name; this or channel_logic")
                .required()
                .alias("channel_logic")
                .sent_as(SentForm::Name),
            InputField::any(
                "data",
                "Payload; data_logic wins, and without either it is the original payload",
            )
            .overridden_by("data_logic")
            .or_default(DefaultInput::Payload),
            InputField::output().alias("response_path"),
            InputField::timeout("Milliseconds the call may take").computed(),
        ],
        target: FunctionTarget::Channel,
        default_output: DefaultOutput::MergesIntoData,
        ..FunctionEntry::utility(
            "channel_call",
            "Runs the workflow of another channel and takes over its data",
        )
    },
    check,
};

/// Maximum time limit that a task may set for a call.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The form of a time limit, as errors name it.
pub const TIMEOUT_FORM: &str = "a number above 0 and at most a day, 86400000";

fn check(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    if input.get("channel").and_then(Value::as_str).is_some_and(|name| name.trim().is_empty()) {
        errors.push(FieldError::invalid(format!("{at}.channel"), "a channel has a name"));
    }
    if let Some(millis) = input.get("timeout_ms").filter(|millis| millis.is_number())
        && call_timeout(millis).is_none()
    {
        errors.push(FieldError::invalid(format!("{at}.timeout_ms"), TIMEOUT_FORM));
    }
}

/// Converts milliseconds to a duration; `None` for a value that is not positive or longer than a day.
#[must_use]
pub fn call_timeout(millis: &Value) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(millis.as_f64()? / 1000.0).ok()?;
    (!duration.is_zero() && duration <= MAX_TTL).then_some(duration)
}
