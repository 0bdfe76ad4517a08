//! The client: one request, its attempts, its response.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Method, StatusCode, redirect, retry};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use svc_outbound::{SetupError, Trust};
use url::Url;

use crate::address::ServerAddress;
use crate::api_error::ApiError;
use crate::credential::ApiKey;
use crate::error::ClientError;
use crate::events::EventStream;
use crate::local::{LocalLink, LocalServer};
use crate::request::ApiRequest;
use crate::response::ApiResponse;
use crate::retry::RetryPolicy;
use crate::tls::{self, ClientIdentity};

/// The header that labels the audit rows of a change.
const CHANGE_CONTEXT: HeaderName = HeaderName::from_static("x-svc-change-context");

/// The settings of a client.
///
/// ```
/// use std::time::Duration;
///
/// use svc_client::{ClientSettings, RetryPolicy};
///
/// let mut settings = ClientSettings::new("https://svc.example.com".parse()?);
/// settings.timeout = Duration::from_secs(5);
/// settings.retry = RetryPolicy { max_attempts: 5, ..RetryPolicy::default() };
/// # Ok::<(), svc_client::ClientError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// The server.
    pub server: ServerAddress,
    /// The admin key.
    pub key: Option<ApiKey>,
    /// The label of the changes in the audit log.
    pub change_context: Option<String>,
    /// Time limit of one attempt, from the connection to the last byte.
    pub timeout: Duration,
    /// Time limit of a connection.
    pub connect_timeout: Duration,
    /// Limits of repeating requests.
    pub retry: RetryPolicy,
    /// The trust anchors of TLS.
    pub trust: Trust,
    /// The certificate of the client, for a server that asks for one.
    pub identity: Option<ClientIdentity>,
    /// Name and version of the program.
    pub user_agent: String,
    /// A server in the same process, which answers in place of the one at the address; nothing is dialled then.
    pub local: Option<Arc<dyn LocalServer>>,
}

impl ClientSettings {
    /// Returns settings for a server, without a key.
    #[must_use]
    pub fn new(server: ServerAddress) -> Self {
        Self {
            server,
            key: None,
            change_context: None,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            retry: RetryPolicy::default(),
            trust: Trust::System,
            identity: None,
            user_agent: concat!("svc-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            local: None,
        }
    }
}

/// A client of one server. Cheap to clone; clones share their connections.
///
/// ```no_run
/// use serde_json::Value;
/// use svc_client::{ApiKey, Client, ClientSettings, admin_path};
///
/// # async fn show() -> Result<(), svc_client::ClientError> {
/// let mut settings = ClientSettings::new("http://localhost:8080".parse()?);
/// settings.key = Some(ApiKey::new("an admin key", None)?);
/// let client = Client::new(settings)?;
///
/// let channel: Value = client.get(&admin_path(&["channels", "orders"])).await?;
/// println!("{}", channel["status"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    inner: reqwest::Client,
    server: ServerAddress,
    retry: RetryPolicy,
    timeout: Duration,
    /// The server in the same process; `None` for one that is dialled.
    local: Option<LocalLink>,
}

impl Client {
    /// Creates a client. The trust anchors are read only for a server with TLS.
    ///
    /// # Errors
    /// [`ClientError::HeaderText`] for a change context with control characters; [`ClientError::Setup`] for trust anchors
    /// or a certificate that cannot be used.
    #[expect(
        clippy::disallowed_methods,
        reason = "the operator names the server, so its address needs no check; no definition can"
    )]
    pub fn new(settings: ClientSettings) -> Result<Self, ClientError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.key {
            key.add_to(&mut headers);
        }
        if let Some(context) = &settings.change_context {
            let value = HeaderValue::try_from(context.as_str());
            headers.insert(
                CHANGE_CONTEXT,
                value.map_err(|_| ClientError::HeaderText { item: "change context" })?,
            );
        }
        let local = settings.local.map(|server| LocalLink::new(server, &headers, &settings.user_agent));
        let local = local.transpose()?;
        let mut builder = reqwest::ClientBuilder::new()
            .default_headers(headers)
            .user_agent(settings.user_agent)
            .connect_timeout(settings.connect_timeout)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false);
        // A server without TLS needs no anchors; an empty set of them is read at once.
        let trust = if settings.server.is_tls() { settings.trust } else { Trust::Only(String::new()) };
        builder = builder.tls_backend_preconfigured(tls::settings(&trust, settings.identity.as_ref())?);
        if settings.server.is_loopback() {
            // A proxy of the environment would receive the key, in clear, and look for the server on its own machine.
            builder = builder.no_proxy();
        }
        let inner = builder.build().map_err(|error| SetupError::Client(error.to_string()))?;
        Ok(Self { inner, server: settings.server, retry: settings.retry, timeout: settings.timeout, local })
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn server(&self) -> &ServerAddress {
        &self.server
    }

    /// Sends a request, repeats it as its retry policy permits, and returns a response of success.
    ///
    /// # Errors
    /// [`ClientError`] of the last attempt.
    pub async fn send(&self, request: &ApiRequest) -> Result<ApiResponse, ClientError> {
        let mut is_outcome_unknown = false;
        let mut attempt = 1;
        loop {
            let error = match self.send_once(request).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            // An earlier attempt has deleted it; its response was lost.
            if is_outcome_unknown && request.method == Method::DELETE && error.status() == Some(404) {
                return Ok(deleted_response(request));
            }
            let Some(delay) = self.retry.delay(attempt, request.is_repeatable, &error) else {
                return Err(error);
            };
            is_outcome_unknown |= error.is_outcome_unknown();
            tokio::time::sleep(delay).await;
            attempt += 1;
        }
    }

    /// Sends a request once and returns the server-sent events of its response. The time limit of the client is that of
    /// the head, and of each silence.
    ///
    /// # Errors
    /// [`ClientError`] when there is no response, or one that is no success.
    pub async fn events(&self, request: &ApiRequest) -> Result<EventStream, ClientError> {
        if self.local.is_some() {
            let cause = "a server in the same process sends no events".to_owned();
            return Err(ClientError::Unreachable { server: self.server.to_string(), cause });
        }
        let limit = request.timeout.unwrap_or(self.timeout);
        let failed = |error| ClientError::from_reqwest(&error, self.server.to_string(), limit);
        let sent = tokio::time::timeout(limit, self.make_request(request).send()).await;
        let timed_out = |_| ClientError::Timeout { server: self.server.to_string(), limit };
        let response = sent.map_err(timed_out)?.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_success() {
            return Ok(EventStream::new(response, self.server.to_string(), limit));
        }
        let body = response.bytes().await.map_err(failed)?;
        Err(self.refusal(&ApiResponse { request: request.to_string(), status, headers, body }))
    }

    /// Returns the URL of a request, with its parameters.
    fn url(&self, request: &ApiRequest) -> Url {
        let mut url = self.server.join(&request.path);
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        url
    }

    /// Makes a request of the library, without a time limit.
    fn make_request(&self, request: &ApiRequest) -> reqwest::RequestBuilder {
        let url = self.url(request);
        let builder = self.inner.request(request.method.clone(), url).headers(request.headers.clone());
        match &request.body {
            Some(body) => builder.body(body.clone()),
            None => builder,
        }
    }

    /// Sends a request once and returns its response, whatever its status.
    ///
    /// # Errors
    /// [`ClientError`] when there is no complete response.
    pub async fn exchange(&self, request: &ApiRequest) -> Result<ApiResponse, ClientError> {
        let limit = request.timeout.unwrap_or(self.timeout);
        if let Some(local) = &self.local {
            return local.exchange(&self.url(request), request, limit).await;
        }
        let builder = self.make_request(request).timeout(limit);
        let failed = |error| ClientError::from_reqwest(&error, self.server.to_string(), limit);
        let response = builder.send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(failed)?;
        Ok(ApiResponse { request: request.to_string(), status, headers, body })
    }

    async fn send_once(&self, request: &ApiRequest) -> Result<ApiResponse, ClientError> {
        let response = self.exchange(request).await?;
        if response.status.is_success() { Ok(response) } else { Err(self.refusal(&response)) }
    }

    /// Returns the error of a response whose status is no success.
    fn refusal(&self, response: &ApiResponse) -> ClientError {
        let server = self.server.to_string();
        if response.status.is_redirection() {
            let target = response.header(LOCATION.as_str()).unwrap_or("nowhere").to_owned();
            return ClientError::Redirect { server, target };
        }
        let status = response.status.as_u16();
        let retry_after = response.header(RETRY_AFTER.as_str()).and_then(|value| value.trim().parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        if let Some(error) = ApiError::read(status, &response.body, retry_after) {
            return error.into();
        }
        let content = response.header(CONTENT_TYPE.as_str()).unwrap_or("no content type").to_owned();
        ClientError::Foreign { server, status, content }
    }

    /// Sends a GET and parses the member `data` of the response.
    ///
    /// # Errors
    /// [`ClientError`] when there is no such response.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.send(&ApiRequest::get(path)).await?.data()
    }

    /// Sends a POST with a JSON body and parses the member `data` of the response.
    ///
    /// # Errors
    /// [`ClientError`] when there is no such response.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.send(&ApiRequest::post(path).json(body)?).await?.data()
    }

    /// Sends a PUT with a JSON body and parses the member `data` of the response.
    ///
    /// # Errors
    /// [`ClientError`] when there is no such response.
    pub async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.send(&ApiRequest::put(path).json(body)?).await?.data()
    }

    /// Sends a PATCH with a JSON body and parses the member `data` of the response.
    ///
    /// # Errors
    /// [`ClientError`] when there is no such response.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.send(&ApiRequest::patch(path).json(body)?).await?.data()
    }

    /// Sends a DELETE.
    ///
    /// # Errors
    /// [`ClientError`] when the server refuses or does not respond.
    pub async fn delete(&self, path: &str) -> Result<(), ClientError> {
        self.send(&ApiRequest::delete(path)).await.map(|_| ())
    }

    /// Returns the version of the server, if it sends one.
    pub async fn server_version(&self) -> Option<String> {
        // Answers 503 when the database is away; the version is there all the same.
        let response = self.exchange(&ApiRequest::get("/health")).await.ok()?;
        let body: Value = response.json().ok()?;
        body["version"].as_str().map(str::to_owned)
    }
}

/// Returns the response of a deletion that an earlier attempt carried out.
fn deleted_response(request: &ApiRequest) -> ApiResponse {
    ApiResponse {
        request: request.to_string(),
        status: StatusCode::NO_CONTENT,
        headers: HeaderMap::new(),
        body: bytes::Bytes::new(),
    }
}
