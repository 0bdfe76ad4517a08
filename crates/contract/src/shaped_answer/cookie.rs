//! Cookies that a workflow sets (RFC 6265).

use std::fmt::Write as _;

use serde_json::{Map, Value};
use svc_model::{Timestamp, is_token_byte};

/// The form of dates in headers (RFC 9110, 5.6.7).
const HTTP_DATE: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// The members of a cookie.
const MEMBERS: [&str; 9] =
    ["name", "value", "path", "domain", "max_age", "expires", "same_site", "http_only", "secure"];

/// Renders the value of `Set-Cookie`.
///
/// # Errors
/// The reason why it is no cookie, without any of its values: they may be secrets.
pub(super) fn render(cookie: &Value) -> Result<String, &'static str> {
    let Value::Object(members) = cookie else { return Err("it is no object") };
    if members.keys().any(|key| !MEMBERS.contains(&key.as_str())) {
        return Err("it has an unknown member");
    }
    let name = text(members, "name", is_token_byte)?.filter(|name| !name.is_empty());
    let name = name.ok_or("its name is no token")?;
    let value = text(members, "value", is_value)?.ok_or("it has no value")?;
    let mut line = format!("{name}={value}");
    for (key, attribute) in [("path", "Path"), ("domain", "Domain")] {
        if let Some(text) = text(members, key, is_attribute)? {
            let _ = write!(line, "; {attribute}={text}");
        }
    }
    if let Some(date) = text(members, "expires", is_attribute)? {
        // Browsers ignore a date of another form, and the cookie would end with their session.
        let _ = match Timestamp::parse_rfc3339(date) {
            Some(instant) => write!(line, "; Expires={}", instant.naive().format(HTTP_DATE)),
            None => write!(line, "; Expires={date}"),
        };
    }
    if let Some(age) = member(members, "max_age") {
        let seconds = age.as_i64().ok_or("max_age is no whole number")?;
        let _ = write!(line, "; Max-Age={seconds}");
    }
    if let Some(policy) = member(members, "same_site") {
        let policy = policy.as_str().unwrap_or_default();
        let known = ["Strict", "Lax", "None"].into_iter().find(|known| known.eq_ignore_ascii_case(policy));
        let _ = write!(line, "; SameSite={}", known.ok_or("same_site is none of strict, lax, none")?);
    }
    for (key, attribute) in [("http_only", "HttpOnly"), ("secure", "Secure")] {
        match member(members, key) {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => {
                let _ = write!(line, "; {attribute}");
            }
            Some(_) => return Err("http_only and secure are true or false"),
        }
    }
    Ok(line)
}

/// Returns a member; `null` counts as absent.
fn member<'m>(members: &'m Map<String, Value>, key: &str) -> Option<&'m Value> {
    members.get(key).filter(|value| !value.is_null())
}

/// Reads a text of allowed bytes.
fn text<'m>(
    members: &'m Map<String, Value>,
    key: &str,
    is_allowed: impl Fn(u8) -> bool,
) -> Result<Option<&'m str>, &'static str> {
    match member(members, key) {
        None => Ok(None),
        Some(Value::String(text)) if text.bytes().all(&is_allowed) => Ok(Some(text)),
        Some(Value::String(_)) => Err("a text has a character that a cookie cannot carry"),
        Some(_) => Err("a member is no text"),
    }
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b",;\\".contains(&byte)
}

fn is_attribute(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) && byte != b';'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cookie_is_rendered_with_its_attributes() {
        for (cookie, line) in [
            (json!({"name": "session", "value": "a=b"}), "session=a=b"),
            (json!({"name": "s", "value": "", "max_age": 0, "path": null}), "s=; Max-Age=0"),
            (
                json!({"name": "s", "value": "1", "path": "/a", "domain": "a.example", "max_age": 60,
                    "expires": "Wed, 21 Oct 2026 07:28:00 GMT", "same_site": "lax", "http_only": true,
                    "secure": true}),
                "s=1; Path=/a; Domain=a.example; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=60; \
                 SameSite=Lax; HttpOnly; Secure",
            ),
            (json!({"name": "s", "value": "1", "same_site": "NONE", "secure": false}), "s=1; SameSite=None"),
            (
                json!({"name": "s", "value": "1", "expires": "2026-10-21T09:28:00.5+02:00"}),
                "s=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
            ),
        ] {
            assert_eq!(render(&cookie), Ok(line.to_owned()), "{cookie}");
        }
    }

    #[test]
    fn cookie_that_could_break_its_header_is_refused() {
        for cookie in [
            json!("a=b"),
            json!({"value": "1"}),
            json!({"name": "", "value": "1"}),
            json!({"name": "a b", "value": "1"}),
            json!({"name": "a"}),
            json!({"name": "a", "value": 1}),
            json!({"name": "a", "value": "1; Path=/"}),
            json!({"name": "a", "value": "a b"}),
            json!({"name": "a", "value": "caf\u{e9}"}),
            json!({"name": "a", "value": "1\r\nx: 1"}),
            json!({"name": "a", "value": "1", "path": "/; Secure"}),
            json!({"name": "a", "value": "1", "domain": "a\n"}),
            json!({"name": "a", "value": "1", "max_age": "60"}),
            json!({"name": "a", "value": "1", "max_age": 1.5}),
            json!({"name": "a", "value": "1", "same_site": "some"}),
            json!({"name": "a", "value": "1", "secure": "true"}),
            json!({"name": "a", "value": "1", "httponly": true}),
        ] {
            assert!(render(&cookie).is_err(), "{cookie}");
        }
    }
}
