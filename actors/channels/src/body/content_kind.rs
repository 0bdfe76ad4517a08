//! The formats that content types name.

/// A format by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// There is no content type.
    Absent,
    /// `application/json…`, `…+json`.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data`.
    Multipart,
    /// `text/csv`.
    Csv,
    /// `application/xml`, `text/xml`, `…+xml`.
    Xml,
    /// `text/plain`.
    PlainText,
    /// Another type of text.
    OtherText,
    /// A type of another format.
    Other,
}

impl ContentKind {
    /// Reads a content type, which may be empty.
    pub fn parse(content_type: &[u8]) -> Self {
        // Most requests have it to the letter.
        if content_type == b"application/json" {
            return Self::Json;
        }
        let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let is = |name: &str| essence.eq_ignore_ascii_case(name.as_bytes());
        let suffix = essence.len().checked_sub(4).and_then(|at| essence.get(at..));
        match essence {
            b"" => Self::Absent,
            _ if is_json(essence) => Self::Json,
            _ if is("application/x-www-form-urlencoded") => Self::Form,
            _ if is("multipart/form-data") => Self::Multipart,
            _ if is("text/csv") => Self::Csv,
            _ if is("application/xml") || is("text/xml") => Self::Xml,
            _ if suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+xml")) => Self::Xml,
            _ if is("text/plain") => Self::PlainText,
            _ if starts_with_ignoring_case(essence, b"text/") => Self::OtherText,
            _ => Self::Other,
        }
    }

    /// Returns `true` for every type of text, of which some have a format of their own.
    pub fn is_text(self, content_type: &[u8]) -> bool {
        matches!(self, Self::PlainText | Self::OtherText | Self::Csv)
            || (self == Self::Xml && starts_with_ignoring_case(content_type.trim_ascii_start(), b"text/"))
    }
}

/// Returns true for the content types of JSON: `application/json…` and `…+json`.
fn is_json(essence: &[u8]) -> bool {
    starts_with_ignoring_case(essence, b"application/json")
        || essence.windows(5).any(|part| part.eq_ignore_ascii_case(b"+json"))
}

fn starts_with_ignoring_case(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_type_names_one_format() {
        for (content_type, kind) in [
            ("", ContentKind::Absent),
            ("application/json; charset=utf-8", ContentKind::Json),
            ("Application/CloudEvents+JSON", ContentKind::Json),
            ("application/x-www-form-urlencoded ; charset=UTF-8", ContentKind::Form),
            ("multipart/form-data; boundary=x+json", ContentKind::Multipart),
            ("text/csv; header=present", ContentKind::Csv),
            ("text/xml", ContentKind::Xml),
            ("application/soap+xml; charset=utf-8", ContentKind::Xml),
            ("TEXT/plain", ContentKind::PlainText),
            ("text/html", ContentKind::OtherText),
            ("image/png", ContentKind::Other),
            ("text", ContentKind::Other),
        ] {
            assert_eq!(ContentKind::parse(content_type.as_bytes()), kind, "{content_type}");
        }
    }

    #[test]
    fn types_of_text_include_those_with_a_format() {
        for (content_type, is_text) in
            [("text/xml", true), ("application/xml", false), ("text/csv", true), ("application/json", false)]
        {
            let kind = ContentKind::parse(content_type.as_bytes());
            assert_eq!(kind.is_text(content_type.as_bytes()), is_text, "{content_type}");
        }
    }
}
