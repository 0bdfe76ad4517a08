//! A request: method, path, parameters, body, and the permission to repeat it.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;

use crate::error::ClientError;

/// The base of the admin API.
pub const ADMIN_BASE: &str = "/api/v1/admin";

/// The characters of a path segment that are encoded: all but the unreserved ones of RFC 3986.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns a path of these segments, each encoded.
#[must_use]
pub fn path(segments: &[&str]) -> String {
    segments.iter().map(|segment| format!("/{}", utf8_percent_encode(segment, SEGMENT))).collect()
}

/// Returns a path below the admin base.
#[must_use]
pub fn admin_path(segments: &[&str]) -> String {
    format!("{ADMIN_BASE}{}", path(segments))
}

/// A request to the server.
///
/// ```
/// use svc_client::{ApiRequest, admin_path};
///
/// let request = ApiRequest::get(admin_path(&["traces"])).query("limit", 10).optional("q", Some("late"));
/// assert_eq!(request.to_string(), "GET /api/v1/admin/traces");
/// ```
#[derive(Clone)]
pub struct ApiRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    pub(crate) is_repeatable: bool,
    pub(crate) timeout: Option<Duration>,
}

impl ApiRequest {
    /// Makes a request of a method and an encoded path. GET, HEAD, PUT and DELETE may be repeated (RFC 9110, 9.2.2).
    #[must_use]
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        let is_repeatable = method.is_idempotent();
        let (query, headers) = (Vec::new(), HeaderMap::new());
        Self { method, path: path.into(), query, headers, body: None, is_repeatable, timeout: None }
    }

    /// Makes a GET.
    #[must_use]
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Makes a POST.
    #[must_use]
    pub fn post(path: impl Into<String>) -> Self {
        Self::new(Method::POST, path)
    }

    /// Makes a PUT.
    #[must_use]
    pub fn put(path: impl Into<String>) -> Self {
        Self::new(Method::PUT, path)
    }

    /// Makes a PATCH.
    #[must_use]
    pub fn patch(path: impl Into<String>) -> Self {
        Self::new(Method::PATCH, path)
    }

    /// Makes a DELETE.
    #[must_use]
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a query parameter, if there is a value.
    #[must_use]
    pub fn optional(self, name: &str, value: Option<impl fmt::Display>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Adds a header.
    ///
    /// # Errors
    /// [`ClientError::HeaderName`] when the name is none; [`ClientError::HeaderText`] when the value cannot be sent so.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, ClientError> {
        let nameless = |_| ClientError::HeaderName { item: "the name of the header" };
        let name = HeaderName::try_from(name).map_err(nameless)?;
        let refused = |_| ClientError::HeaderText { item: "value of the header" };
        let mut value = HeaderValue::try_from(value).map_err(refused)?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Sets a JSON body from bytes that are JSON already.
    #[must_use]
    pub fn json_bytes(mut self, body: impl Into<Bytes>) -> Self {
        let json = HeaderValue::from_static("application/json");
        self.headers.insert(reqwest::header::CONTENT_TYPE, json);
        self.body = Some(body.into());
        self
    }

    /// Sets a JSON body.
    ///
    /// # Errors
    /// [`ClientError::Shape`] when the value has no JSON form.
    pub fn json(self, body: &impl Serialize) -> Result<Self, ClientError> {
        let bytes = serde_json::to_vec(body).map_err(|error| self.shape_error(&error))?;
        Ok(self.json_bytes(bytes))
    }

    /// Permits repeating a request whose repetition does no harm, such as an import that skips what is there.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Forbids repeating, whatever the method.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.is_repeatable = false;
        self
    }

    /// Sets the time limit of an attempt, instead of the client's.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    pub(crate) fn shape_error(&self, error: &serde_json::Error) -> ClientError {
        ClientError::Shape { request: self.to_string(), cause: error.to_string() }
    }
}

/// Writes method and path: parameters, headers and body may be secret.
impl fmt::Display for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl fmt::Debug for ApiRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiRequest")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_encoded_each_for_itself() {
        assert_eq!(
            admin_path(&["workflows", "a/b ?#%", "status"]),
            "/api/v1/admin/workflows/a%2Fb%20%3F%23%25/status"
        );
        assert_eq!(path(&["ä"]), "/%C3%A4");
    }

    #[test]
    fn only_idempotent_methods_may_be_repeated_by_default() {
        assert!(ApiRequest::get("/a").is_repeatable && ApiRequest::put("/a").is_repeatable);
        assert!(!ApiRequest::post("/a").is_repeatable && !ApiRequest::patch("/a").is_repeatable);
        assert!(
            ApiRequest::post("/a").repeatable().is_repeatable && !ApiRequest::get("/a").once().is_repeatable
        );
    }
}
