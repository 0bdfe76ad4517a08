//! The constructor of every outbound client, and the client.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode, redirect, retry};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::address::{AddressError, check, check_host, literal, place_of};
use crate::anchored_certificate::{AnchoredCertificate, CertificateChecks};
use crate::content_encoding::{DecodeError, accept_encodings, decode_body};
use crate::error::{FetchError, SetupError};
use crate::resolver::{AddressLookup, CheckedResolver, SystemLookup, admit};
use crate::retry_after::retry_after;
use crate::trust::{TlsSetup, Trust};

/// The user agent of the service.
const USER_AGENT: &str = concat!("svc/", env!("CARGO_PKG_VERSION"));

/// Creates clients. One per process: the trust anchors are read when it is created. Cheap to clone.
#[derive(Clone)]
pub struct Outbound {
    shared: Arc<OutboundInner>,
}

struct OutboundInner {
    tls: ClientConfig,
    anchors: Arc<[CertificateDer<'static>]>,
    /// `None` without anchors: no certificate is trusted.
    verifier: Option<AnchoredCertificate>,
    warnings: Vec<String>,
    lookup: Arc<dyn AddressLookup>,
}

/// The options of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Dials private addresses too, without a check.
    pub allow_private: bool,
    /// Time limit of a whole exchange, from the resolution of the name to the last byte of the response.
    pub timeout: Duration,
}

impl Outbound {
    /// Reads the trust anchors.
    ///
    /// # Errors
    /// [`SetupError`] when a given anchor is invalid or TLS cannot be set up. A system without anchors is a
    /// [warning](Self::warnings).
    pub fn new(trust: &Trust) -> Result<Self, SetupError> {
        Self::with_lookup(trust, Arc::new(SystemLookup))
    }

    pub(crate) fn with_lookup(trust: &Trust, lookup: Arc<dyn AddressLookup>) -> Result<Self, SetupError> {
        let TlsSetup { config: tls, anchors, verifier, warnings } = trust.load()?;
        Ok(Self { shared: Arc::new(OutboundInner { tls, anchors, verifier, warnings, lookup }) })
    }

    /// Returns the number of trust anchors. Without any, no HTTPS peer is trusted.
    pub fn anchors(&self) -> usize {
        self.shared.anchors.len()
    }

    /// Returns the trust anchors, for a driver that sets up TLS by itself.
    pub fn anchor_certificates(&self) -> &[CertificateDer<'static>] {
        &self.shared.anchors
    }

    /// Returns the errors of reading the trust anchors.
    pub fn warnings(&self) -> &[String] {
        &self.shared.warnings
    }

    /// Creates a client with connections of its own. Create one for each purpose and keep it.
    ///
    /// # Errors
    /// [`SetupError`] when the client cannot be set up.
    #[expect(clippy::disallowed_methods, reason = "this is the one place where clients come from")]
    pub fn client(&self, options: ClientOptions) -> Result<OutboundClient, SetupError> {
        let ClientOptions { allow_private, timeout } = options;
        let resolver = CheckedResolver { lookup: Arc::clone(&self.shared.lookup), allow_private };
        let inner = reqwest::ClientBuilder::new()
            .tls_backend_preconfigured(self.shared.tls.clone())
            .dns_resolver(resolver)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .no_proxy()
            .referer(false)
            .user_agent(USER_AGENT)
            .timeout(timeout)
            .build()
            .map_err(|error| SetupError::Client(error.to_string()))?;
        Ok(OutboundClient { inner, options })
    }
}

impl Outbound {
    /// Resolves the addresses of a host that does not speak HTTP and checks each. A driver dials these and no
    /// others.
    ///
    /// # Errors
    /// [`AddressError`] when the host has no address now, or one that may not be dialled.
    pub async fn addresses(
        &self,
        host: &str,
        port: u16,
        allow_private: bool,
    ) -> Result<Vec<SocketAddr>, AddressError> {
        check_host(host, allow_private)?;
        let addresses = match literal(host)? {
            Some(address) => vec![address],
            None => admit(host.to_owned(), self.shared.lookup.lookup(host).await, allow_private)?,
        };
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    /// Returns the TLS settings of every outbound connection.
    pub fn tls(&self) -> ClientConfig {
        self.shared.tls.clone()
    }

    /// Returns the TLS settings of a driver whose users may leave out checks of certificates.
    pub fn tls_with_checks(&self, checks: CertificateChecks) -> ClientConfig {
        let mut settings = self.tls();
        if let Some(verifier) = &self.shared.verifier {
            settings.dangerous().set_certificate_verifier(Arc::new(verifier.with_checks(checks)));
        }
        settings
    }
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("anchors", &self.anchors()).finish_non_exhaustive()
    }
}

/// A client that dials only checked addresses. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct OutboundClient {
    inner: reqwest::Client,
    options: ClientOptions,
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct OutboundResponse {
    /// The status. A redirect is a response like any other and is not followed.
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body, decoded if it was compressed.
    pub body: Bytes,
}

impl OutboundResponse {
    /// Returns the wait that a response with the status 429 or 503 asks for by `Retry-After`, at most an hour.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self.status, &self.headers)
    }
}

/// The part of a body that the sender of a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyDemand {
    /// Maximum length, in bytes.
    pub(crate) cap: usize,
    /// Time after the head of the response in which the body is read. What comes later or is longer is left out, and a
    /// body that breaks off counts as it is. `None`: the body of a success must be whole.
    pub(crate) patience: Option<Duration>,
}

impl OutboundClient {
    /// Returns the options it was created with.
    pub(crate) fn options(&self) -> ClientOptions {
        self.options
    }

    /// Sends a `GET` and reads a body of at most `cap` bytes, as sent and decoded. A longer body fails when it
    /// passes the cap, whatever length it announced. Of a response that is no success only the status counts: its body is
    /// kept as far as it arrived.
    ///
    /// # Errors
    /// [`FetchError`] when there is no complete response.
    pub async fn get(&self, url: &Url, cap: usize) -> Result<OutboundResponse, FetchError> {
        self.get_with(url, HeaderMap::new(), cap).await
    }

    /// As [`get`](Self::get), with headers.
    ///
    /// # Errors
    /// [`FetchError`] when there is no complete response. No text holds a header.
    pub async fn get_with(
        &self,
        url: &Url,
        headers: HeaderMap,
        cap: usize,
    ) -> Result<OutboundResponse, FetchError> {
        self.exchange(Method::GET, url, headers, None, cap).await
    }

    /// Sends a form by `POST`; the response is read as by [`get`](Self::get). Uses a connection of its own:
    /// if the peer were about to close a shared one, it would be unknown whether the form was read.
    ///
    /// # Errors
    /// [`FetchError`] when there is no complete response. No text holds a header or the form.
    pub async fn post_form(
        &self,
        url: &Url,
        mut headers: HeaderMap,
        form: String,
        cap: usize,
    ) -> Result<OutboundResponse, FetchError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        self.exchange(Method::POST, url, headers, Some(form.into()), cap).await
    }

    /// Sends one request and reads its response.
    pub(crate) async fn exchange(
        &self,
        method: Method,
        url: &Url,
        headers: HeaderMap,
        body: Option<Bytes>,
        cap: usize,
    ) -> Result<OutboundResponse, FetchError> {
        self.exchange_for(method, url, headers, body, BodyDemand { cap, patience: None }).await
    }

    /// Sends one request and reads of its response what is demanded.
    pub(crate) async fn exchange_for(
        &self,
        method: Method,
        url: &Url,
        mut headers: HeaderMap,
        body: Option<Bytes>,
        demand: BodyDemand,
    ) -> Result<OutboundResponse, FetchError> {
        let BodyDemand { cap, patience } = demand;
        // A literal address never comes to the resolver.
        check(url, self.options.allow_private)?;
        let failed =
            |error: &reqwest::Error| FetchError::from_reqwest(error, place_of(url), self.options.timeout);
        let too_large = || FetchError::TooLarge { host: place_of(url), cap };
        let body = body.filter(|body| !body.is_empty());
        let due = body.is_none() && [Method::POST, Method::PUT, Method::PATCH].contains(&method);
        accept_encodings(&method, &mut headers);
        let mut request = reqwest::Request::new(method, url.clone());
        *request.headers_mut() = headers;
        if due {
            // Required where a method implies a body (RFC 9110, 8.6): some servers wait for it, or refuse a
            // request without it.
            request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        *request.body_mut() = body.map(Into::into);
        let mut response = self.inner.execute(request).await.map_err(|error| failed(&error))?;
        let status = response.status();
        let must_be_whole = status.is_success() && patience.is_none();
        let deadline = patience.map(|patience| Instant::now() + patience);
        if must_be_whole && response.content_length().is_some_and(|announced| announced > cap as u64) {
            return Err(too_large());
        }
        let mut body = BytesMut::new();
        loop {
            let chunk = response.chunk();
            let chunk = match deadline {
                None => chunk.await,
                Some(deadline) => match timeout_at(deadline, chunk).await {
                    Ok(chunk) => chunk,
                    Err(_) => break,
                },
            };
            let chunk = match chunk {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) if must_be_whole => return Err(failed(&error)),
                Err(_) => break,
            };
            let room = cap - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                if must_be_whole {
                    return Err(too_large());
                }
                break;
            }
        }
        let mut headers = std::mem::take(response.headers_mut());
        let body = body.freeze();
        let body = match decode_body(status, &mut headers, body.clone(), cap).await {
            Ok(decoded) => decoded,
            Err(_) if !must_be_whole => body,
            Err(DecodeError::TooLarge) => return Err(too_large()),
            Err(error) => {
                return Err(FetchError::Broken { host: place_of(url), cause: error.to_string() });
            }
        };
        Ok(OutboundResponse { status, headers, body })
    }
}
