//! A response that is no error.

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ClientError;

/// A complete response with a status of success.
#[derive(Clone, Debug)]
pub struct ApiResponse {
    pub(crate) request: String,
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as sent.
    pub body: Bytes,
}

impl ApiResponse {
    /// Parses the whole body.
    ///
    /// # Errors
    /// [`ClientError::Shape`] when it is no such JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(|error| self.shape_error(&error.to_string()))
    }

    /// Parses the member `data` of the admin envelope.
    ///
    /// # Errors
    /// [`ClientError::Shape`] when there is none, or it does not have that shape.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        let mut envelope: Value = self.json()?;
        let data = envelope.get_mut("data").map(Value::take);
        let data = data.ok_or_else(|| self.shape_error("it has no member 'data'"))?;
        serde_json::from_value(data).map_err(|error| self.shape_error(&error.to_string()))
    }

    /// Returns a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn shape_error(&self, cause: &str) -> ClientError {
        ClientError::Shape { request: self.request.clone(), cause: cause.to_owned() }
    }
}
