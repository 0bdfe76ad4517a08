//! Requests to a server in the same process, without a connection.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use url::Url;

use crate::error::ClientError;
use crate::request::ApiRequest;
use crate::response::ApiResponse;

/// A request to a server in the same process.
#[derive(Clone)]
pub struct LocalRequest {
    /// The method, such as `GET`.
    pub method: String,
    /// The encoded path with its query.
    pub target: String,
    /// The names and the values of the headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body; empty if there is none.
    pub body: Bytes,
}

/// Shows the method alone: the rest may be secret.
impl fmt::Debug for LocalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The response of a server in the same process.
#[derive(Clone)]
pub struct LocalResponse {
    /// The HTTP status.
    pub status: u16,
    /// The names and the values of the headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Bytes,
}

/// Shows the status alone: the rest may be secret.
impl fmt::Debug for LocalResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

/// A response that is waited for; the error is the cause for which there is none.
pub type LocalAnswer = Pin<Box<dyn Future<Output = Result<LocalResponse, String>> + Send>>;

/// A server in the same process, which answers requests without a connection.
pub trait LocalServer: fmt::Debug + Send + Sync {
    /// Answers a request.
    fn answer(&self, request: LocalRequest) -> LocalAnswer;
}

/// The way to a server in the same process.
#[derive(Clone, Debug)]
pub(crate) struct LocalLink {
    server: Arc<dyn LocalServer>,
    /// The headers of every request.
    headers: HeaderMap,
}

impl LocalLink {
    /// Makes the way to a server. `headers` are those of every request.
    ///
    /// # Errors
    /// [`ClientError::HeaderText`] for a name of the program with control characters.
    pub(crate) fn new(
        server: Arc<dyn LocalServer>,
        headers: &HeaderMap,
        user_agent: &str,
    ) -> Result<Self, ClientError> {
        let agent = HeaderValue::try_from(user_agent);
        let agent = agent.map_err(|_| ClientError::HeaderText { item: "name of the program" })?;
        let mut headers = headers.clone();
        headers.insert(USER_AGENT, agent);
        Ok(Self { server, headers })
    }

    /// Sends a request to `url`, of which the server sees path and query. Returns its response, whatever its status.
    pub(crate) async fn exchange(
        &self,
        url: &Url,
        request: &ApiRequest,
        limit: Duration,
    ) -> Result<ApiResponse, ClientError> {
        let server = || url.origin().ascii_serialization();
        let broken = |cause: &str| ClientError::Broken { server: server(), cause: cause.to_owned() };
        let answer = self.server.answer(self.local_request(url, request));
        let answered = tokio::time::timeout(limit, answer).await;
        let answered = answered.map_err(|_| ClientError::Timeout { server: server(), limit })?;
        let response = answered.map_err(|cause| broken(&cause))?;
        let status =
            StatusCode::from_u16(response.status).map_err(|_| broken("its status is none of HTTP"))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &response.headers {
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value))
            {
                headers.append(name, value);
            }
        }
        Ok(ApiResponse { request: request.to_string(), status, headers, body: response.body })
    }

    fn local_request(&self, url: &Url, request: &ApiRequest) -> LocalRequest {
        let target = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let headers = self.headers.iter().chain(&request.headers);
        LocalRequest {
            method: request.method.as_str().to_owned(),
            target,
            headers: headers
                .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
                .collect(),
            body: request.body.clone().unwrap_or_default(),
        }
    }
}
