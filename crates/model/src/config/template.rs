//! The template of the message that an HMAC signs.

use crate::http::token::is_token;

/// A header, or one key of a header with packed `k=v` pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderField {
    /// Name of the header.
    pub name: String,
    /// Key of the packed pair; `None` for the whole value.
    pub key: Option<String>,
}

impl HeaderField {
    /// Parses `<header>` or `<header>:<key>`. Refuses a name or key that no request can have, because it
    /// would reject every request.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, key) = match text.split_once(':') {
            Some((name, key)) => (name, Some(key)),
            None => (text, None),
        };
        let is_usable = is_token(name) && key.is_none_or(is_packed_key);
        is_usable.then(|| Self { name: name.to_owned(), key: key.map(str::to_owned) })
    }
}

/// Returns true if a header of comma-separated `k=v` pairs can contain this key.
pub(super) fn is_packed_key(key: &str) -> bool {
    !key.is_empty() && key.trim() == key && !key.contains([',', '='])
}

/// A part of a signing template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// Literal text.
    Text(String),
    /// The bytes of the body.
    Body,
    /// A header of the request.
    Header(HeaderField),
}

/// The message that an HMAC signs: text, headers and, at least once, the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningTemplate {
    parts: Vec<TemplatePart>,
}

impl SigningTemplate {
    /// Parses a template of text, `{body}`, `{header:<name>}` and `{header:<name>:<key>}`.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            if at > 0 {
                parts.push(TemplatePart::Text(rest[..at].to_owned()));
            }
            let Some(opened) = rest[at..].strip_prefix('{') else { return Err("stray '}'".into()) };
            let Some((placeholder, after)) = opened.split_once('}') else {
                return Err("unclosed '{'".into());
            };
            parts.push(part(placeholder)?);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        if parts.contains(&TemplatePart::Body) { Ok(Self { parts }) } else { Err("needs {body}".into()) }
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> &[TemplatePart] {
        &self.parts
    }
}

impl Default for SigningTemplate {
    /// The body alone.
    fn default() -> Self {
        Self { parts: vec![TemplatePart::Body] }
    }
}

fn part(placeholder: &str) -> Result<TemplatePart, String> {
    match placeholder.split_once(':') {
        None if placeholder == "body" => Ok(TemplatePart::Body),
        Some(("header", field)) => HeaderField::parse(field)
            .map(TemplatePart::Header)
            .ok_or_else(|| "malformed header placeholder".into()),
        None if placeholder == "header" => Err("malformed header placeholder".into()),
        _ => Err(format!("unknown placeholder '{{{placeholder}}}'")),
    }
}
