//! The id that follows one request through answers, logs, audit rows and traces.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// The header that carries the id in both directions.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id that is taken from a caller, in bytes.
const TAKEN: usize = 1024;
/// Longest id that is stored or logged, in characters; the echo is never cut.
const STORED: usize = 200;

/// The caller's `x-request-id`, or a new UUID v4 if that is empty or longer than 1024 bytes.
///
/// Any other header value is taken: HTTP lets no control character but the tab into one.
#[derive(Clone, Debug)]
pub struct RequestId {
    header: HeaderValue,
    /// The text that is stored, if that is not the header's.
    cut: Option<Box<str>>,
}

impl RequestId {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        match headers.get(&X_REQUEST_ID) {
            Some(given) if (1..=TAKEN).contains(&given.len()) => Self::new(given.clone()),
            _ => Self::generate(),
        }
    }

    /// An id for a request that brought none.
    pub(crate) fn generate() -> Self {
        let mut buffer = Uuid::encode_buffer();
        let text: &str = Uuid::new_v4().hyphenated().encode_lower(&mut buffer);
        Self::new(HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("-")))
    }

    fn new(header: HeaderValue) -> Self {
        let cut = match std::str::from_utf8(header.as_bytes()) {
            Ok(text) if text.len() <= STORED => None,
            _ => Some(String::from_utf8_lossy(header.as_bytes()).chars().take(STORED).collect()),
        };
        Self { header, cut }
    }

    /// The id as it is stored and logged: at most 200 characters, what is not UTF-8 replaced.
    pub fn as_str(&self) -> &str {
        match &self.cut {
            Some(cut) => cut,
            None => std::str::from_utf8(self.header.as_bytes()).unwrap_or_default(),
        }
    }

    /// The id as it is echoed: unchanged.
    pub(crate) fn header(&self) -> HeaderValue {
        self.header.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(value: &[u8]) -> RequestId {
        let mut headers = HeaderMap::new();
        headers.insert(X_REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
        RequestId::from_headers(&headers)
    }

    #[test]
    fn callers_id_is_echoed_unchanged_and_stored_cut() {
        let long = "x".repeat(TAKEN);
        assert_eq!(id(long.as_bytes()).header(), long.as_str());
        assert_eq!(id(long.as_bytes()).as_str().len(), STORED);
        assert_eq!(id("é".repeat(300).as_bytes()).as_str(), "é".repeat(STORED));
        for (value, stored) in
            [(b"order 42".as_slice(), "order 42"), (b"a\tb", "a\tb"), (b"caf\xe9", "caf\u{fffd}")]
        {
            assert_eq!(id(value).header().as_bytes(), value);
            assert_eq!(id(value).as_str(), stored);
        }
    }

    #[test]
    fn missing_or_overlong_id_becomes_a_uuid() {
        for refused in [Vec::new(), vec![b'x'; TAKEN + 1]] {
            assert!(Uuid::parse_str(id(&refused).as_str()).is_ok());
        }
        assert_ne!(
            RequestId::from_headers(&HeaderMap::new()).as_str(),
            RequestId::from_headers(&HeaderMap::new()).as_str()
        );
    }
}
