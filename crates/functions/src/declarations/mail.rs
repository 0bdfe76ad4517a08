//! `send_email`, and the parts of a mail as its function takes them.

use lettre::message::Mailbox;
use lettre::message::header::HeaderName;
use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, InputShape};
use svc_model::{ConnectorType, FieldError};

use super::FunctionDeclaration;
use super::input::literal_value;

/// The declaration of `send_email`.
pub static SEND_EMAIL: FunctionDeclaration = FunctionDeclaration {
    entry: FunctionEntry {
        retry_safety: "unsafe_write",
        strict: true,
        fields: &[
            InputField::connector("SMTP connector"),
            InputField::any("to", "Recipient or recipients").required().resolvable().shape(InputShape::Texts),
            InputField::any("cc", "Recipients in copy").resolvable().shape(InputShape::Texts),
            InputField::any("bcc", "Recipients in blind copy").resolvable().shape(InputShape::Texts),
            InputField::string("subject", "Subject, one line").required().computed(),
            InputField::string("text", "Plain-text body").computed(),
            InputField::string("html", "HTML body").computed(),
            InputField::string("from", "Sender, where the connector allows it").computed(),
            InputField::string("reply_to", "Address for replies").computed(),
            InputField::object("headers", "Further headers"),
            InputField::output(),
        ],
        ..FunctionEntry::connector(
            "send_email",
            "Sends one mail; it is never sent again",
            ConnectorRequirement::new(&[ConnectorType::Smtp]),
        )
    },
    check,
};

/// The fields that hold recipients.
pub const RECIPIENTS: [&str; 3] = ["to", "cc", "bcc"];
/// The fields that hold a body.
pub const BODIES: [&str; 2] = ["text", "html"];
/// The problem of a mail without a body.
pub const NO_BODY: &str = "give text, html, or both";

/// Headers that a mail gets from elsewhere.
const OWN: [&str; 10] = [
    "from",
    "to",
    "cc",
    "bcc",
    "subject",
    "date",
    "message-id",
    "content-type",
    "content-transfer-encoding",
    "mime-version",
];
const REPLY_TO: &str = "reply-to";
/// Maximum length of the name of a header, so that a value has room in the same line.
const LONGEST_NAME: usize = 76;

fn check(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    let fixed = |field: &str| literal_value(input, field);
    for field in RECIPIENTS {
        match fixed(field).map(|value| mailboxes(&format!("{at}.{field}"), &value)) {
            Some(Ok(none)) if none.is_empty() && field == "to" => {
                errors.push(FieldError::invalid(format!("{at}.to"), "at least one mailbox"));
            }
            Some(Err(error)) => errors.push(error),
            _ => {}
        }
    }
    let mut text = |field: &str, wrong: &dyn Fn(&str) -> Option<&'static str>| {
        let why = fixed(field).and_then(|value| wrong(value.as_str()?));
        errors.extend(why.map(|why| FieldError::invalid(format!("{at}.{field}"), why)));
    };
    for field in ["from", "reply_to"] {
        text(field, &|text| mailbox(text).err());
    }
    text("subject", &|text| line(text).err());
    for field in BODIES {
        text(field, &|text| lines(text).err());
    }
    if !input.contains_key("text") && !input.contains_key("html") {
        errors.push(FieldError::invalid(format!("{at}.text"), NO_BODY));
    }
    for (name, value) in input.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{at}.headers.{name}");
        match value {
            Value::String(text) => {
                errors.extend(header(name, text).err().map(|why| FieldError::invalid(path, why)));
            }
            other => errors.push(FieldError::type_mismatch(path, "string", other)),
        }
    }
}

/// Reads one mailbox, `user@host` or `Name <user@host>`. What could end a line, and so begin another header,
/// is refused.
///
/// # Errors
/// The problem, without the text.
pub fn mailbox(text: &str) -> Result<Mailbox, &'static str> {
    if text.contains(char::is_control) {
        return Err("a mailbox holds no line breaks and no control characters");
    }
    text.parse().map_err(|_| "use one mailbox, like user@example.com or Name <user@example.com>")
}

/// Reads mailboxes from one text, or from an array of texts, each of which is one; null is none.
///
/// # Errors
/// The problem, at its place in the field `at`.
pub fn mailboxes(at: &str, value: &Value) -> Result<Vec<Mailbox>, FieldError> {
    let one = |at: String, text: &str| mailbox(text).map_err(|why| FieldError::invalid(at, why));
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => one(at.to_owned(), text).map(|mailbox| vec![mailbox]),
        Value::Array(items) => {
            let item = |(index, item): (usize, &Value)| match item {
                Value::String(text) => one(format!("{at}[{index}]"), text),
                other => Err(FieldError::type_mismatch(format!("{at}[{index}]"), "string", other)),
            };
            items.iter().enumerate().map(item).collect()
        }
        other => Err(FieldError::type_mismatch(at, "string or an array of strings", other)),
    }
}

/// Returns a part of a body, each line ended by CRLF alone: to some servers a CR or an LF by itself ends a line as
/// well, and with it the mail.
///
/// # Errors
/// The problem.
pub fn lines(text: &str) -> Result<String, &'static str> {
    if text.contains('\0') {
        return Err("no NUL characters");
    }
    Ok(text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n"))
}

/// Reads a header of the author's own.
///
/// # Errors
/// The problem.
pub fn header(name: &str, value: &str) -> Result<(HeaderName, String), &'static str> {
    if OWN.iter().chain([&REPLY_TO]).any(|own| own.eq_ignore_ascii_case(name)) {
        return Err("this header has a field of its own, or is not the author's to write");
    }
    let printable = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    let parsed =
        HeaderName::new_from_ascii(name.to_owned()).ok().filter(|_| printable && name.len() <= LONGEST_NAME);
    line(value)?;
    parsed.map(|name| (name, value.to_owned())).ok_or("this is no header name")
}

/// Refuses what could begin another line.
///
/// # Errors
/// The problem.
pub fn line(text: &str) -> Result<(), &'static str> {
    if text.contains(|c: char| c.is_control() && c != '\t') {
        return Err("no line breaks and no control characters");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mailbox_is_one_address_on_one_line() {
        for fine in [
            "a@example.com",
            "Ann Bee <a@example.com>",
            "\"Bee, Ann\" <a@example.com>",
            "Zoë <z@example.com>",
        ] {
            assert!(mailbox(fine).is_ok(), "{fine}");
        }
        for wrong in [
            "",
            "ann",
            "a@",
            "@example.com",
            "a@example.com, b@example.com",
            "a@example.com\r\nBcc: b@example.com",
            "Ann\r\nBcc: b@example.com <a@example.com>",
            "a@example.com> RCPT TO:<b@example.com",
            "a b@example.com",
            "a@exam ple.com",
            "a\u{0}@example.com",
        ] {
            assert!(mailbox(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn author_headers_cannot_replace_headers_of_the_mail() {
        for name in OWN.iter().chain([&REPLY_TO]) {
            assert!(header(name, "x").is_err() && header(&name.to_uppercase(), "x").is_err(), "{name}");
        }
        for name in ["", "a b", "a:b", "X\r\nBcc", "X\n", "ä", "X\t", &"x".repeat(77)] {
            assert!(header(name, "x").is_err(), "{name:?}");
        }
        for value in ["a\r\nBcc: b@example.com", "a\nb", "a\rb", "a\u{0}", "a\u{85}b"] {
            assert!(header("X-A", value).is_err(), "{value:?}");
        }
        assert!(
            header("X-A", "a\tb").is_ok() && header("List-Unsubscribe", "<mailto:u@example.com>").is_ok()
        );
    }

    #[test]
    fn problems_say_where_below_the_field_they_are() {
        for (value, path, code) in [
            (json!(["a@example.com", "b"]), "to[1]", "INVALID"),
            (json!(["a@example.com", 7]), "to[1]", "TYPE_MISMATCH"),
            (json!("b"), "to", "INVALID"),
            (json!({}), "to", "TYPE_MISMATCH"),
            (json!(1), "to", "TYPE_MISMATCH"),
        ] {
            let error = mailboxes("to", &value).unwrap_err();
            assert_eq!((error.path.as_str(), error.code.name()), (path, code), "{value}");
        }
        for none in [json!(null), json!([])] {
            assert!(mailboxes("to", &none).unwrap().is_empty(), "{none}");
        }
    }

    #[test]
    fn body_lines_end_in_crlf_alone() {
        for (text, expected) in [
            ("", ""),
            ("a\r\nb", "a\r\nb"),
            ("a\nb\n", "a\r\nb\r\n"),
            ("a\r.\r", "a\r\n.\r\n"),
            ("\r\r\n\n", "\r\n\r\n\r\n"),
        ] {
            assert_eq!(lines(text).unwrap(), expected, "{text:?}");
        }
        assert!(lines("a\0b").is_err());
    }
}
