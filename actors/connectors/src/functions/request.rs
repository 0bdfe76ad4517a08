//! The request of an `http_call`.

use serde_json::Value;
use svc_engine::TaskError;
use svc_functions::declarations::http_call::check_path;
use svc_model::config::connector::check_header;
use svc_outbound::header::{HeaderMap, HeaderName, HeaderValue};
use svc_outbound::{RequestBody, Url};
use url::form_urlencoded::Serializer;

/// The format in which a request body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFormat {
    Json,
    Form,
    Text,
}

impl BodyFormat {
    pub(crate) fn from_name(name: Option<&str>) -> Self {
        match name {
            Some("form") => Self::Form,
            Some("text") => Self::Text,
            _ => Self::Json,
        }
    }

    /// The bytes of a value.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a value that the format cannot hold.
    pub(crate) fn body(self, value: &Value) -> Result<RequestBody, TaskError> {
        let (content_type, bytes) = match self {
            Self::Json => ("application/json", value.to_string()),
            Self::Form => ("application/x-www-form-urlencoded", form(value)?),
            Self::Text => match value {
                Value::String(text) => ("text/plain; charset=utf-8", text.clone()),
                _ => return Err(TaskError::validation("body: the format text takes a string")),
            },
        };
        Ok(RequestBody { content_type, bytes: bytes.into() })
    }
}

fn form(value: &Value) -> Result<String, TaskError> {
    let Value::Object(members) = value else {
        return Err(TaskError::validation("body: the format form takes an object"));
    };
    let mut form = Serializer::new(String::new());
    for (name, value) in members {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            scalar => std::slice::from_ref(scalar),
        };
        for item in items {
            match item {
                Value::Null => {}
                Value::String(text) => drop(form.append_pair(name, text)),
                Value::Number(_) | Value::Bool(_) => drop(form.append_pair(name, &item.to_string())),
                Value::Array(_) | Value::Object(_) => {
                    let why = format!("body.{name}: the format form takes scalars and arrays of them");
                    return Err(TaskError::validation(why));
                }
            }
        }
    }
    Ok(form.finish())
}

/// A path below a connector's URL; both queries are kept, the URL's first.
///
/// # Errors
/// `VALIDATION_ERROR` for a path that leads out of the URL's own.
pub(crate) fn url(base: &Url, path: &str) -> Result<Url, TaskError> {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let mut url = base.clone();
    if !path.is_empty() {
        let own = base.path().trim_end_matches('/');
        url.set_path(&format!("{own}/{}", path.trim_start_matches('/')));
        if !url.path().strip_prefix(own).is_some_and(|rest| rest.starts_with('/')) {
            return Err(TaskError::validation("path: it leads out of the connector's URL"));
        }
    }
    match (base.query(), query) {
        (Some(first), Some(second)) if !second.is_empty() => {
            url.set_query(Some(&format!("{first}&{second}")));
        }
        (None, Some(query)) if !query.is_empty() => url.set_query(Some(query)),
        _ => {}
    }
    Ok(url)
}

/// Adds the headers that `headers_logic` came to. Null leaves a header out, numbers and booleans are written
/// as text.
///
/// # Errors
/// `VALIDATION_ERROR` naming the header that cannot be sent, never its value.
pub(crate) fn add_headers(headers: &mut HeaderMap, value: &Value) -> Result<(), TaskError> {
    let members = match value {
        Value::Null => return Ok(()),
        Value::Object(members) => members,
        _ => return Err(TaskError::validation("headers_logic: expected an object of headers")),
    };
    for (name, value) in members {
        let refused = |why: &str| TaskError::validation(format!("headers_logic.{name}: {why}"));
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => {
                return Err(refused("expected text, a number or a boolean"));
            }
        };
        check_header(name, &text).map_err(refused)?;
        if name.eq_ignore_ascii_case("host") {
            return Err(refused("the host is the connector's"));
        }
        let header =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused("this is no header name"))?;
        let text =
            HeaderValue::from_bytes(text.as_bytes()).map_err(|_| refused("this is no header value"))?;
        headers.insert(header, text);
    }
    Ok(())
}

/// Adds the header `Idempotency-Key` that `idempotency_key` came to: for true the `default`, for null and false none.
/// It wins over a header of that name.
///
/// # Errors
/// `VALIDATION_ERROR` for a value that is no key.
pub(crate) fn add_idempotency_key(
    headers: &mut HeaderMap,
    value: Value,
    default: impl FnOnce() -> String,
) -> Result<(), TaskError> {
    let key = match value {
        Value::Null | Value::Bool(false) => return Ok(()),
        Value::Bool(true) => default(),
        Value::String(text) if !text.trim().is_empty() => text,
        Value::Number(number) => number.to_string(),
        _ => return Err(TaskError::validation("idempotency_key: expected true, false, text or a number")),
    };
    let key = HeaderValue::from_str(&sendable(&key))
        .map_err(|_| TaskError::validation("idempotency_key: this is no header value"))?;
    headers.insert(HeaderName::from_static("idempotency-key"), key);
    Ok(())
}

/// Percent-encodes what a header cannot hold: ids of tasks may be in any language.
fn sendable(key: &str) -> String {
    let mut sendable = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b' '..=b'~' => sendable.push(char::from(byte)),
            _ => sendable.push_str(&format!("%{byte:02X}")),
        }
    }
    sendable
}

/// The text that a field for a path came to.
///
/// # Errors
/// `VALIDATION_ERROR` naming the field when it cannot be asked for.
pub(crate) fn path(field: &str, value: Value) -> Result<String, TaskError> {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    };
    check_path(&text).map_err(|why| TaskError::validation(format!("{field}: {why}")))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn idempotency_key_defaults_and_null_sends_none() {
        for (given, sent) in [
            (json!(true), Some("run:zahlung%C3%A9")),
            (json!("order 7"), Some("order 7")),
            (json!(7), Some("7")),
            (json!(false), None),
            (json!(null), None),
        ] {
            let mut headers = HeaderMap::new();
            add_idempotency_key(&mut headers, given.clone(), || "run:zahlungé".to_owned()).unwrap();
            assert_eq!(headers.get("Idempotency-Key").map(|key| key.to_str().unwrap()), sent, "{given}");
        }
        for wrong in [json!(" "), json!([]), json!({"a": 1})] {
            let refused = add_idempotency_key(&mut HeaderMap::new(), wrong, String::new).unwrap_err();
            assert!(refused.message.starts_with("idempotency_key: "), "{}", refused.message);
        }
    }

    fn join_url(base: &str, path: &str) -> String {
        url(&base.parse().unwrap(), path).unwrap().to_string()
    }

    #[test]
    fn paths_join_with_one_slash_keeping_both_queries() {
        for (base, path, whole) in [
            ("http://h", "", "http://h/"),
            ("http://h/api", "", "http://h/api"),
            ("http://h/api/", "x", "http://h/api/x"),
            ("http://h/api", "/x/", "http://h/api/x/"),
            ("http://h/api", "//evil.example/x", "http://h/api/evil.example/x"),
            ("http://h/api?a=1", "x?b=2", "http://h/api/x?a=1&b=2"),
            ("http://h/api?a=1", "x", "http://h/api/x?a=1"),
            ("http://h", "?b=2", "http://h/?b=2"),
            ("http://h", "a b/ü#x", "http://h/a%20b/%C3%BC%23x"),
            ("http://h", "@evil.example/", "http://h/@evil.example/"),
            ("http://h:8080", ":80/x", "http://h:8080/:80/x"),
            ("http://h", "http://evil.example/", "http://h/http://evil.example/"),
        ] {
            assert_eq!(join_url(base, path), whole, "{base} {path}");
        }
    }

    #[test]
    fn a_path_stays_below_the_url() {
        for path in ["../x", "/../x", "a/../../x", "%2e%2e/x", "..\\x", ".%2E/x", "a/..\\..\\x"] {
            assert!(url(&"http://h/api".parse().unwrap(), path).is_err(), "{path}");
        }
        assert_eq!(join_url("http://h/api", "a/../b"), "http://h/api/b");
        assert_eq!(join_url("http://h", "../x"), "http://h/x");
    }

    #[test]
    fn a_form_repeats_arrays_and_leaves_nulls_out() {
        let body =
            |value| BodyFormat::Form.body(&value).map(|body| String::from_utf8(body.bytes.to_vec()).unwrap());
        let form = body(json!({"a": "x y&", "b": [1, null, true], "c": null})).unwrap();
        assert_eq!(form, "a=x+y%26&b=1&b=true");
        assert!(body(json!({"a": {"b": 1}})).is_err() && body(json!({"a": [[1]]})).is_err());
        assert!(body(json!([1])).is_err());
    }

    #[test]
    fn computed_headers_win_and_null_leaves_one_out() {
        let mut headers = HeaderMap::new();
        headers.insert("x-a", HeaderValue::from_static("written"));
        add_headers(&mut headers, &json!({"X-A": "computed", "x-n": 7, "x-b": true, "x-none": null}))
            .unwrap();
        let sent: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(sent, [("x-a", &b"computed"[..]), ("x-n", b"7"), ("x-b", b"true")]);
        add_headers(&mut headers, &json!(null)).unwrap();
        assert_eq!(headers.len(), 3);
    }

    #[test]
    fn unsendable_computed_header_is_refused_by_name() {
        for (value, named) in [
            (json!({"Host": "evil.example"}), "headers_logic.Host: "),
            (json!({"content-length": 1}), "headers_logic.content-length: "),
            (json!({"x a": "1"}), "headers_logic.x a: "),
            (json!({"x-a": "hunter2\r\nx: 1"}), "headers_logic.x-a: "),
            (json!({"x-a": ["1"]}), "headers_logic.x-a: "),
            (json!(["x-a"]), "headers_logic: "),
        ] {
            let error = add_headers(&mut HeaderMap::new(), &value).unwrap_err();
            assert!(
                error.message.starts_with(named) && !error.message.contains("hunter2"),
                "{}",
                error.message
            );
        }
    }

    #[test]
    fn a_text_is_a_string_and_json_is_anything() {
        assert!(BodyFormat::Text.body(&json!(1)).is_err());
        assert_eq!(&BodyFormat::Text.body(&json!("é")).unwrap().bytes[..], "é".as_bytes());
        assert_eq!(
            &BodyFormat::Json.body(&json!({"b": 1, "a": null})).unwrap().bytes[..],
            br#"{"b":1,"a":null}"#
        );
    }
}
