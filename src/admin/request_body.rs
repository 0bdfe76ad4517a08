//! The check that every body of the admin API passes, and the members that several have.

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_model::{FieldError, ServiceError, Timestamp, unknown_keys};

use crate::http::{Error, OptionalJsonBody};

/// The body of a request that takes none: it is absent, `null` or an empty object. A key would ask for something that is
/// not done.
#[derive(Debug)]
pub(crate) struct NoBody;

impl FromRequest for NoBody {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let body = OptionalJsonBody::from_request(request, payload);
        Box::pin(async move {
            let OptionalJsonBody(body) = body.await?;
            if !body.is_null() {
                require_known_keys(&body, &[])?;
            }
            Ok(Self)
        })
    }
}

/// The members of a body that has no others than these.
///
/// # Errors
/// 400: it is no object, or has a key that nothing reads.
pub(super) fn require_known_keys<'b>(
    body: &'b Value,
    known: &[&str],
) -> Result<&'b Map<String, Value>, ServiceError> {
    let Value::Object(members) = body else {
        return Err(FieldError::type_mismatch("body", "object", body).into());
    };
    let unknown = unknown_keys(members, "body", known, &[]);
    if unknown.is_empty() { Ok(members) } else { Err(unknown.into()) }
}

/// Reads a text from a body, if there is one; `null` counts as absent.
///
/// # Errors
/// 400 for anything else.
pub(super) fn read_text<'m>(
    members: &'m Map<String, Value>,
    key: &str,
) -> Result<Option<&'m str>, ServiceError> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(FieldError::type_mismatch(format!("body.{key}"), "string", other).into()),
    }
}

/// Reads a flag from a body; `null` counts as absent, for which `default` holds.
///
/// # Errors
/// 400 for anything else.
pub(super) fn read_flag(
    members: &Map<String, Value>,
    key: &str,
    default: bool,
) -> Result<bool, ServiceError> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(default),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(FieldError::type_mismatch(format!("body.{key}"), "boolean", other).into()),
    }
}

/// Reads an instant in RFC 3339 from a body, if there is one; `null` counts as absent.
///
/// # Errors
/// 400 for anything else, such as an instant without an offset.
pub(crate) fn read_instant(
    members: &Map<String, Value>,
    key: &str,
) -> Result<Option<Timestamp>, ServiceError> {
    let path = format!("body.{key}");
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Timestamp::parse_rfc3339(text).map(Some).ok_or_else(|| {
            let remedy = "use an RFC 3339 instant with an offset or Z, such as 2026-01-31T08:00:00Z";
            FieldError::invalid(path, remedy).with_got(text.as_str()).into()
        }),
        Some(other) => Err(FieldError::type_mismatch(path, "string", other).into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn instant_of_a_body_needs_an_offset() {
        let read = |value: Value| {
            let body = json!({ "until": value });
            read_instant(body.as_object().unwrap(), "until")
        };
        let expected = Timestamp::parse("2026-01-02T03:04:05Z");
        for text in ["2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00"] {
            assert_eq!(read(json!(text)).unwrap(), expected, "{text}");
        }
        assert_eq!(read(json!(null)).unwrap(), None);
        for bad in
            [json!("2026-01-02T03:04:05"), json!("2026-01-02 03:04:05"), json!("soon"), json!(""), json!(7)]
        {
            assert_eq!(read(bad.clone()).unwrap_err().status(), 400, "{bad}");
        }
    }
}
