//! The header `Content-Disposition` of a part: the names of its field and its file, as different clients write them; and
//! the parameters of headers.

use std::iter;

use percent_encoding::percent_decode;

/// The names that the header of a part states.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PartNames {
    pub(super) field: Option<String>,
    /// That of a file; `None` for a field.
    pub(super) file: Option<String>,
}

impl PartNames {
    /// Reads `form-data; name="…"; filename="…"`. Names are UTF-8, else Latin-1. One with an asterisk (`filename*`, RFC
    /// 5987), which some clients send alone or next to an approximation, takes precedence.
    pub(super) fn parse(header: &[u8]) -> Self {
        let mut plain = Self::default();
        let mut extended = Self::default();
        for parameter in parameters(header) {
            let value = &parameter.value;
            match parameter.name.to_ascii_lowercase().as_slice() {
                b"name" => plain.field = plain.field.or_else(|| Some(decode_text(value))),
                b"filename" => plain.file = plain.file.or_else(|| Some(decode_text(value))),
                b"name*" => extended.field = extended.field.or_else(|| decode_extended(value)),
                b"filename*" => extended.file = extended.file.or_else(|| decode_extended(value)),
                _ => {}
            }
        }
        Self { field: extended.field.or(plain.field), file: extended.file.or(plain.file) }
    }
}

/// Returns the value of the first parameter of a header that has this name.
pub(super) fn find_parameter(header: &[u8], name: &str) -> Option<Vec<u8>> {
    let found = parameters(header).find(|parameter| parameter.name.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|parameter| parameter.value)
}

/// Reads the parameters of a header, one after the other.
fn parameters(header: &[u8]) -> impl Iterator<Item = HeaderParameter<'_>> {
    let mut rest = skip_semicolon(header);
    iter::from_fn(move || {
        let parameter = HeaderParameter::read(rest?);
        rest = parameter.rest;
        Some(parameter)
    })
}

/// Returns what follows the next semicolon.
fn skip_semicolon(text: &[u8]) -> Option<&[u8]> {
    let at = text.iter().position(|byte| *byte == b';')?;
    text.get(at + 1..)
}

/// A parameter of a header, and what follows it.
struct HeaderParameter<'a> {
    name: &'a [u8],
    /// The value without its quotes.
    value: Vec<u8>,
    rest: Option<&'a [u8]>,
}

impl<'a> HeaderParameter<'a> {
    /// Reads the parameter at the start of a text.
    fn read(text: &'a [u8]) -> Self {
        let end = text.iter().position(|byte| matches!(byte, b'=' | b';')).unwrap_or(text.len());
        let (name, after) = text.split_at(end);
        let name = name.trim_ascii();
        let Some((b'=', value)) = after.split_first() else {
            return Self { name, value: Vec::new(), rest: after.get(1..) };
        };
        let value = value.trim_ascii_start();
        let (value, after) = match value.split_first() {
            Some((b'"', quoted)) => read_quoted(quoted),
            _ => {
                let end = value.iter().position(|byte| *byte == b';').unwrap_or(value.len());
                let (token, after) = value.split_at(end);
                (token.trim_ascii_end().to_vec(), after)
            }
        };
        Self { name, value, rest: skip_semicolon(after) }
    }
}

/// Reads a text up to the quote that ends it. A backslash counts before a quote and another one alone: paths of Windows
/// have others.
fn read_quoted(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut value = Vec::new();
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let escaped = after.split_first().filter(|(next, _)| matches!(**next, b'"' | b'\\'));
        match (*byte, escaped) {
            (b'"', _) => break,
            (b'\\', Some((next, after))) => {
                value.push(*next);
                rest = after;
            }
            (plain, _) => value.push(plain),
        }
    }
    (value, rest)
}

fn decode_text(bytes: &[u8]) -> String {
    let utf8 = std::str::from_utf8(bytes).map(str::to_owned);
    utf8.unwrap_or_else(|_| bytes.iter().copied().map(char::from).collect())
}

/// Decodes `charset'language'text` with percent escapes; `None` for another charset or form.
fn decode_extended(value: &[u8]) -> Option<String> {
    let mut parts = value.splitn(3, |byte| *byte == b'\'');
    let (charset, _language, text) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes: Vec<u8> = percent_decode(text).collect();
    match charset {
        _ if charset.eq_ignore_ascii_case(b"utf-8") => String::from_utf8(bytes).ok(),
        _ if charset.eq_ignore_ascii_case(b"iso-8859-1") => Some(bytes.into_iter().map(char::from).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_are_read_in_every_form() {
        for (header, field, file) in [
            ("form-data; name=\"a\"", Some("a"), None),
            ("form-data;name=a;filename=b.txt", Some("a"), Some("b.txt")),
            ("form-data; NAME = \"a\" ; FileName = \"b;c=d.txt\"", Some("a"), Some("b;c=d.txt")),
            (
                "form-data; name=\"a\"; filename=\"C:\\tmp\\\\\\\"x\\\".txt\"",
                Some("a"),
                Some("C:\\tmp\\\"x\".txt"),
            ),
            ("form-data; name=\"a\"; filename=\"\"", Some("a"), Some("")),
            ("form-data; filename=\"name=x\"; name=\"ä\"", Some("ä"), Some("name=x")),
            // Spring and requests, .NET, aiohttp.
            ("form-data; name=\"a\"; filename*=UTF-8''%E2%82%AC%20b.txt", Some("a"), Some("€ b.txt")),
            (
                "form-data; name=a; filename=\"=?utf-8?B?w6QudHh0?=\"; filename*=utf-8''%C3%A4.txt",
                Some("a"),
                Some("ä.txt"),
            ),
            ("form-data; name*=utf-8''%C3%A4", Some("ä"), None),
            ("form-data; name=a; filename*=iso-8859-1'en'%E4", Some("a"), Some("ä")),
            ("form-data; name=a; filename=b; filename*=utf-16''%E4", Some("a"), Some("b")),
            ("form-data; name=a; filename*=\"utf-8''b\"", Some("a"), Some("b")),
            ("form-data; name=a; filename*=b; x", Some("a"), None),
            ("form-data; name=\"a", Some("a"), None),
            ("form-data", None, None),
            ("", None, None),
        ] {
            let names = PartNames { field: field.map(str::to_owned), file: file.map(str::to_owned) };
            assert_eq!(PartNames::parse(header.as_bytes()), names, "{header}");
        }
        let latin = PartNames::parse(b"form-data; name=\"f\"; filename=\"\xe4.txt\"");
        assert_eq!(latin.file.as_deref(), Some("ä.txt"));
    }
}
