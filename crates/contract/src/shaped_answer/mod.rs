//! Answers shaped by the workflow, from the control document at `data._svc.response`.

mod cookie;

use serde_json::{Map, Value};
use svc_engine::path;
use svc_model::config::ResponseConfig;

/// Headers a workflow may set when the channel does not list its own.
const ALLOWED: [&str; 8] = [
    "content-type",
    "location",
    "cache-control",
    "etag",
    "last-modified",
    "retry-after",
    "content-language",
    "link",
];

/// Headers that belong to the connection or to the platform, whatever a channel lists.
const NEVER: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "x-request-id",
];

/// Longest header name that is repeated in a log line, in characters.
const MAX_LOGGED: usize = 64;

/// Number of members up to which they are compared one by one.
const FEW_MEMBERS: usize = 16;

/// The control document, removed from the data.
#[derive(Debug, PartialEq)]
pub struct ResponseControl(Map<String, Value>);

impl ResponseControl {
    /// Removes the control document a workflow may have written, and with it an emptied `_svc`: it is never
    /// returned, in any mode. `None` when there is none, or something that is no document.
    pub fn take(data: &mut Value) -> Option<Self> {
        let root = data.as_object_mut()?;
        // To compare a few names costs less than to hash one, and most answers have no such member.
        if root.len() <= FEW_MEMBERS && !root.keys().any(|name| name == "_svc") {
            return None;
        }
        let platform = root.get_mut("_svc")?.as_object_mut()?;
        let control = platform.remove("response");
        if platform.is_empty() {
            root.remove("_svc");
        }
        match control? {
            Value::Object(control) => Some(Self(control)),
            _ => None,
        }
    }

    /// Returns the part of the data that is the body of the answer; null if the answer can have none.
    pub fn select_body(&self, data: Value) -> Value {
        if status(self.0.get("status")).is_some_and(is_bodiless) {
            return Value::Null;
        }
        match self.body_path() {
            Some(path) => select(&data, path).cloned().unwrap_or_default(),
            None => data,
        }
    }

    fn body_path(&self) -> Option<&str> {
        self.0.get("body_path").and_then(Value::as_str)
    }
}

/// Removes the control document from the `data` of a message, as it is removed from every answer.
pub fn remove_response_control(data: &mut Value) {
    ResponseControl::take(data);
}

/// A part of the control document that the response leaves out; for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DroppedPart {
    /// A status that cannot end a request; 200 is sent instead.
    Status,
    /// A header that is not allowed or not valid, by name. Its value is not logged.
    Header(String),
    /// A cookie that cannot be sent, by its place in the list, with the reason. Its value is not logged.
    Cookie(usize, &'static str),
}

/// An answer over HTTP that a workflow has shaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapedAnswer {
    /// HTTP status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// Shapes the responses of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseShaper {
    allowed: Vec<String>,
    /// The workflow may set cookies.
    cookies: bool,
}

impl ResponseShaper {
    /// Creates a shaper with the channel's own list of headers, or else the default one.
    pub fn new(config: &ResponseConfig) -> Self {
        let allowed = match &config.allowed_headers {
            Some(names) => names.iter().map(|name| name.to_ascii_lowercase()).collect(),
            None => ALLOWED.map(str::to_owned).to_vec(),
        };
        Self { allowed, cookies: config.cookies }
    }

    /// Builds the response that the control document asks for, and the parts that were left out. `data` is
    /// the result without the control document. Never fails: invalid parts are left out.
    ///
    /// A status from 200 to 999 is sent as it is, any other as 200: the informational ones below 200 cannot
    /// end a request. A response that can have no body (204, 205, 304) has none.
    pub fn shape(&self, control: &ResponseControl, data: &Value) -> (ShapedAnswer, Vec<DroppedPart>) {
        let mut dropped = Vec::new();
        let status = status(control.0.get("status")).unwrap_or_else(|| {
            dropped.push(DroppedPart::Status);
            200
        });
        let mut headers = Vec::new();
        if let Some(Value::Object(wanted)) = control.0.get("headers") {
            for (name, value) in wanted {
                if !self.set_header(name, value, &mut headers) {
                    dropped.push(DroppedPart::Header(name.chars().take(MAX_LOGGED).collect()));
                }
            }
        }
        self.add_cookies(control.0.get("cookies"), &mut headers, &mut dropped);
        if is_bodiless(status) {
            return (ShapedAnswer { status, headers, body: String::new() }, dropped);
        }
        if !headers.iter().any(|(name, _)| name == "content-type") {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let body = body(control, data);
        (ShapedAnswer { status, headers, body }, dropped)
    }

    /// Sets a header to its value, or to those of a list, each a line of its own. Returns `false` for one that is not
    /// allowed or not valid.
    fn set_header(&self, name: &str, value: &Value, headers: &mut Vec<(String, String)>) -> bool {
        let name = name.to_ascii_lowercase();
        let values = match value {
            Value::Array(values) => values.as_slice(),
            one => std::slice::from_ref(one),
        };
        // A body has one type.
        let fits = values.len() == 1 || (values.len() > 1 && name != "content-type");
        let settable = !NEVER.contains(&name.as_str()) && self.allowed.contains(&name);
        if !(fits && settable && values.iter().all(|value| header_value(value).is_some())) {
            return false;
        }
        headers.retain(|(present, _)| *present != name);
        let values = values.iter().filter_map(header_value);
        headers.extend(values.map(|value| (name.clone(), value.to_owned())));
        true
    }

    fn add_cookies(
        &self,
        wanted: Option<&Value>,
        headers: &mut Vec<(String, String)>,
        dropped: &mut Vec<DroppedPart>,
    ) {
        let cookies = match wanted {
            None | Some(Value::Null) => return,
            Some(Value::Array(cookies)) => cookies.as_slice(),
            Some(_) => return dropped.push(DroppedPart::Cookie(0, "cookies are a list")),
        };
        for (index, cookie) in cookies.iter().enumerate() {
            let rendered = if self.cookies { cookie::render(cookie) } else { Err("response.cookies is off") };
            match rendered {
                Ok(line) => headers.push(("set-cookie".to_owned(), line)),
                Err(reason) => dropped.push(DroppedPart::Cookie(index, reason)),
            }
        }
    }
}

/// Returns the text of a header value, if it is one.
fn header_value(value: &Value) -> Option<&str> {
    let value = value.as_str()?.trim_matches([' ', '\t']);
    let visible = value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    visible.then_some(value)
}

/// Returns the requested status, 200 without one, and `None` for a value that is no final status. A whole
/// number may be written with a fraction of zero, as the arithmetic of expressions does.
fn status(value: Option<&Value>) -> Option<u16> {
    let value = match value {
        None | Some(Value::Null) => return Some(200),
        Some(value) => value.as_f64()?,
    };
    let whole = value.fract() == 0.0 && (200.0..=999.0).contains(&value);
    whole.then_some(value as u16)
}

/// Returns `true` for the statuses of answers that can have no body.
const fn is_bodiless(status: u16) -> bool {
    matches!(status, 204 | 205 | 304)
}

/// Renders the selected part of the data: a string unquoted with `raw`, everything else as JSON.
fn body(control: &ResponseControl, data: &Value) -> String {
    let selected = match control.body_path() {
        Some(path) => select(data, path).unwrap_or(&Value::Null),
        None => data,
    };
    match selected {
        Value::String(text) if control.0.get("raw") == Some(&Value::Bool(true)) => text.clone(),
        value => value.to_string(),
    }
}

/// Follows a dotted path, with or without a leading `data`, which alone is the whole.
fn select<'v>(data: &'v Value, path: &str) -> Option<&'v Value> {
    let below = match path.strip_prefix("data") {
        Some("") => return Some(data),
        Some(rest) => rest.strip_prefix('.').unwrap_or(path),
        None => path,
    };
    path::read(data, &path::segments(below).ok()?)
}

#[cfg(test)]
mod tests;
