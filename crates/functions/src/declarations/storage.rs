//! `storage_head`, `storage_presign`, `storage_read` and `storage_write`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use svc_engine::catalogue::{
    ConnectorRequirement, DefaultOutput, FunctionEntry, InputField, InputShape, PathUse, SentForm,
};
use svc_model::{ConnectorType, FieldError};

use super::FunctionDeclaration;
use super::input::{literal_scalar, literal_value};

/// The declaration of `storage_head`.
pub static STORAGE_HEAD: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "read",
        strict: true,
        fields: &[
            InputField::connector("Storage connector"),
            InputField::string("key", "Object key").required().computed(),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "storage_head",
            "Tells whether an object exists, and its size and type",
            ConnectorRequirement::new(&[ConnectorType::Storage]),
        )
    },
    check: check_key_input,
};

/// The declaration of `storage_presign`.
pub static STORAGE_PRESIGN: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "pure",
        strict: true,
        fields: &[
            InputField::connector("Storage connector"),
            InputField::string("method", "What the URL allows, GET by default").one_of(&["GET", "PUT"]),
            InputField::string("key", "Object key").required().computed(),
            InputField::any("expires_in", "Seconds, or a duration such as 15m; at most seven days")
                .required()
                .computed()
                .shape(InputShape::Duration),
            InputField::string("response_content_type", "Content type the store answers with, GET only")
                .computed(),
            InputField::string(
                "response_content_disposition",
                "Content disposition the store answers with, GET only",
            )
            .computed(),
            InputField::string("content_type", "Content type the upload must have, PUT only").computed(),
            InputField::number("content_length", "Exact number of bytes the upload must have, PUT only")
                .computed(),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "storage_presign",
            "Signs a URL for one object, without any network access",
            ConnectorRequirement::new(&[ConnectorType::Storage]),
        )
    },
    check: check_presign,
};

/// The declaration of `storage_read`.
pub static STORAGE_READ: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "read",
        strict: true,
        fields: &[
            InputField::connector("Storage connector"),
            InputField::string("key", "Object key").required().computed(),
            InputField::string("body_format", "Form of the body, text by default")
                .one_of(&BODY_FORMATS)
                .sent_as(SentForm::Unsent),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "storage_read",
            "Reads an object of at most 1 MiB, with its type",
            ConnectorRequirement::new(&[ConnectorType::Storage]),
        )
    },
    check: check_key_input,
};

/// The declaration of `storage_write`.
pub static STORAGE_WRITE: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "idempotent_write",
        strict: true,
        fields: &[
            InputField::connector("Storage connector"),
            InputField::string("key", "Object key").required().computed(),
            InputField::any("body", "Content of the object: a text, or any value as JSON")
                .required()
                .resolvable(),
            InputField::string("body_format", "Form of the body, text by default").one_of(&BODY_FORMATS),
            InputField::string("content_type", "Content type of the object; by default that of the form")
                .computed(),
            InputField::string("output", "Path that gets {size, etag}; without it nothing is written")
                .path(PathUse::Target { alone: false })
                .sent_as(SentForm::Unsent),
        ],
        default_output: DefaultOutput::Discarded,
        ..FunctionEntry::connector(
            "storage_write",
            "Writes an object of at most 1 MiB",
            ConnectorRequirement::new(&[ConnectorType::Storage]),
        )
    },
    check: check_object,
};

/// The forms of the body of an object, the default first.
const BODY_FORMATS: [&str; 3] = ["text", "json", "base64"];

/// Bytes of an object that a task reads or writes.
pub const MAX_OBJECT_BYTES: usize = 1 << 20;

/// Maximum lifetime of a URL, in seconds: a week, as the definition of the signature has it.
const LONGEST: u64 = 604_800;
const LIFETIME: &str = "use whole seconds or a duration like 15m, from 1 second to 7 days";
const GET_ONLY: [&str; 2] = ["response_content_type", "response_content_disposition"];
const PUT_ONLY: [&str; 2] = ["content_type", "content_length"];

/// Refuses a key that no message changes and no URL can name.
fn check_key_input(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let key = literal_scalar(input, "key");
    let why = key.and_then(|key| check_key(key.as_str()?).err());
    errors.extend(why.map(|why| FieldError::invalid(format!("{at}.key"), why)));
}

/// Refuses keys that a URL cannot name: readers of URLs resolve the segments `.` and `..`, and would come to
/// another object, or to another bucket.
///
/// # Errors
/// The problem.
pub fn check_key(key: &str) -> Result<(), &'static str> {
    if key.is_empty() {
        return Err("must not be empty");
    }
    if key.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err("'.' and '..' cannot stand between slashes: no URL can name such an object");
    }
    Ok(())
}

fn check_presign(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    check_key_input(input, at, errors);
    if input.get("expires_in").is_some_and(Value::is_null) {
        errors.push(FieldError::required(format!("{at}.expires_in")));
    }
    let expires_in = literal_scalar(input, "expires_in");
    errors.extend(expires_in.and_then(|value| lifetime(&format!("{at}.expires_in"), &value).err()));
    let (others, method) =
        if puts(input.get("method")) { (&GET_ONLY[..], "GET") } else { (&PUT_ONLY[..], "PUT") };
    for field in others.iter().filter(|field| input.get(**field).is_some_and(|value| !value.is_null())) {
        errors.push(FieldError::invalid(format!("{at}.{field}"), format!("only for the method {method}")));
    }
    for field in GET_ONLY.into_iter().chain(PUT_ONLY) {
        let why = literal_scalar(input, field).and_then(|value| header_value(value.as_str()?).err());
        errors.extend(why.map(|why| FieldError::invalid(format!("{at}.{field}"), why)));
    }
    let length = literal_scalar(input, "content_length").filter(Value::is_number);
    let why = length.and_then(|value| content_length(&value).err());
    errors.extend(why.map(|why| FieldError::invalid(format!("{at}.content_length"), why)));
}

fn check_object(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    check_key_input(input, at, errors);
    let why = literal_scalar(input, "content_type").and_then(|value| header_value(value.as_str()?).err());
    errors.extend(why.map(|why| FieldError::invalid(format!("{at}.content_type"), why)));
    let form = input.get("body_format").and_then(Value::as_str).unwrap_or(BODY_FORMATS[0]);
    let why = literal_value(input, "body").and_then(|body| object_bytes(form, &body).err());
    errors.extend(why.map(|why| FieldError::invalid(format!("{at}.body"), why)));
}

/// Returns the bytes of an object whose body has a form.
///
/// # Errors
/// The problem.
pub fn object_bytes(form: &str, body: &Value) -> Result<Vec<u8>, String> {
    let bytes = match (form, body) {
        ("json", body) => body.to_string().into_bytes(),
        ("base64", body) => {
            let decoded = body.as_str().and_then(|text| STANDARD.decode(text).ok());
            decoded.ok_or("expected a text in base64")?
        }
        (_, Value::String(text)) => text.clone().into_bytes(),
        _ => return Err("expected a text; write other values with \"body_format\": \"json\"".to_owned()),
    };
    match bytes.len() {
        length if length > MAX_OBJECT_BYTES => {
            Err(format!("{length} bytes are more than {MAX_OBJECT_BYTES}"))
        }
        _ => Ok(bytes),
    }
}

/// Returns the number of bytes that an upload must have.
///
/// # Errors
/// The problem.
pub fn content_length(value: &Value) -> Result<u64, &'static str> {
    // A store that gets none cannot hold the uploader to it.
    whole_number(value).ok_or("must be a whole number from 1")
}

/// Returns a whole number from 1.
fn whole_number(value: &Value) -> Option<u64> {
    // A message may have a whole number as a float.
    let float =
        value.as_f64().filter(|number| number.fract() == 0.0 && (1.0..=LARGEST_FLOAT).contains(number));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and within bounds")]
    let whole = value.as_u64().or_else(|| float.map(|number| number as u64));
    whole.filter(|number| *number > 0)
}

/// The bound of the whole numbers that a float holds exactly, more than any store takes and any URL lives.
const LARGEST_FLOAT: f64 = 9_007_199_254_740_992.0;

/// Returns `true` if the method of a grant uploads.
#[must_use]
pub fn puts(method: Option<&Value>) -> bool {
    method.and_then(Value::as_str) == Some("PUT")
}

/// Reads a lifetime: seconds, or a number with a unit.
///
/// # Errors
/// The problem, at the place of the value.
pub fn lifetime(at: &str, value: &Value) -> Result<Duration, FieldError> {
    let seconds = match value {
        Value::String(text) => seconds(text),
        Value::Number(_) => whole_number(value),
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

/// Refuses what a header cannot hold.
///
/// # Errors
/// The problem.
pub fn header_value(text: &str) -> Result<(), &'static str> {
    if text.contains(char::is_control) { Err("a header cannot hold control characters") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literal_body_fits_its_form_and_bound() {
        let long = "x".repeat(MAX_OBJECT_BYTES);
        for (input, problem) in [
            (json!({"body": "a"}), None),
            (json!({"body": long}), None),
            (json!({"body": {"var": "payload"}}), None),
            (json!({"body": {"a": 1}, "body_format": "json"}), None),
            (json!({"body": "aGk=", "body_format": "base64"}), None),
            (json!({"body": format!("{long}x")}), Some("1048577 bytes are more than 1048576")),
            (json!({"body": long, "body_format": "json"}), Some("1048578 bytes are more than 1048576")),
            (json!({"body": 5}), Some("write other values with \"body_format\": \"json\"")),
            (json!({"body": "###", "body_format": "base64"}), Some("expected a text in base64")),
            (json!({"body": 5, "body_format": "base64"}), Some("expected a text in base64")),
        ] {
            let mut errors = Vec::new();
            check_object(input.as_object().unwrap(), "input", &mut errors);
            let found: Vec<_> = errors.iter().map(|error| (&*error.path, &*error.message)).collect();
            match (problem, &*found) {
                (None, []) => {}
                (Some(problem), [("input.body", message)]) if message.contains(problem) => {}
                _ => panic!("{problem:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_lifetime_is_a_second_to_a_week() {
        let seconds = |value: Value| lifetime("at", &value).map(|time| time.as_secs());
        for (value, expected) in [
            (json!(1), 1),
            (json!(604_800), 604_800),
            (json!(900.0), 900),
            (json!("1s"), 1),
            (json!("15m"), 900),
            (json!("2h"), 7_200),
            (json!("7d"), 604_800),
        ] {
            assert_eq!(seconds(value.clone()), Ok(expected), "{value}");
        }
        for value in [
            json!(0),
            json!(-1),
            json!(1.5),
            json!(0.0),
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
