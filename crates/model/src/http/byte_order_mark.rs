//! The byte order mark of UTF-8 before a document.

/// Returns a document without the byte order mark of UTF-8. Editors and servers of some systems write it, it means
/// nothing, and no parser of JSON takes it.
///
/// ```
/// assert_eq!(svc_model::without_byte_order_mark(b"\xef\xbb\xbf{}"), b"{}");
/// ```
#[must_use]
pub fn without_byte_order_mark(document: &[u8]) -> &[u8] {
    document.strip_prefix("\u{feff}".as_bytes()).unwrap_or(document)
}
