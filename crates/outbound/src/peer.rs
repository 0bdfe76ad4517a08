//! A client of one peer: any method, redirects followed by hand.
//!
//! Every hop is checked like a first request. A private address is allowed for one origin, and credentials
//! are meant for one origin: a redirect to another one goes on without them, and credentials stay off even if
//! a later redirect leads back. The body is for that origin alone too: a redirect to another one that would
//! repeat it (RFC 9110, 15.4) is refused, because the same method without its body
//! would be another request.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Method, StatusCode};
use tokio::time::Instant;
use url::{Origin, Url};

use crate::address::place_of;
use crate::client::{BodyDemand, ClientOptions, Outbound, OutboundClient, OutboundResponse};
use crate::error::{FetchError, SetupError};

mod pool;

pub use pool::{HttpsUrls, PeerPool};

/// Maximum number of redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// Statuses of a server that is not the one to ask, and has done nothing (RFC 9110, 15.5.20): its connections are given
/// up, and the request is sent over another.
const WRONG_SERVER: [StatusCode; 1] = [StatusCode::MISDIRECTED_REQUEST];
/// Age below which connections are kept all the same: while the address leads to the wrong server, requests open few.
const SETTLED: Duration = Duration::from_millis(250);

/// A request to a peer.
#[derive(Clone)]
pub struct PeerRequest {
    pub method: Method,
    /// The URL. Only its origin receives the private parts of the request.
    pub url: Url,
    /// Headers, sent to that origin alone.
    pub headers: HeaderMap,
    /// Query parameters that belong to every URL of that origin, and to no other.
    pub params: Vec<(String, String)>,
    /// Content type and bytes of the body, sent to that origin alone.
    pub body: Option<RequestBody>,
    /// Time limit of the whole exchange, redirects included.
    pub timeout: Duration,
    /// Maximum length of the body of the response, in bytes.
    pub cap: usize,
    /// Follows redirects; otherwise a redirect is returned as the response.
    pub follow: bool,
}

/// The body of a request.
#[derive(Clone)]
pub struct RequestBody {
    /// The content type, unless the headers name one.
    pub content_type: &'static str,
    pub bytes: Bytes,
}

/// Prints method and origin: everything else may be secret.
impl fmt::Debug for PeerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerRequest")
            .field("method", &self.method)
            .field("origin", &self.url.origin().ascii_serialization())
            .finish_non_exhaustive()
    }
}

/// A complete response: of the peer, or of the server that a redirect led to.
#[derive(Clone, Debug)]
pub struct PeerResponse {
    pub response: OutboundResponse,
    /// Set if the responding server received the headers of the request.
    pub is_home_origin: bool,
}

/// The client of one peer. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct PeerClient {
    /// The origin that may have a private address.
    home: Origin,
    /// The client for the peer itself.
    own: Arc<ArcSwap<OwnClient>>,
    /// The creator of the next client for the peer.
    outbound: Outbound,
    /// The client for the targets of redirects.
    other: OutboundClient,
    /// The URLs that redirects may lead to; `None` for any whose address is checked.
    urls: Option<HttpsUrls>,
    /// Time for the body of a response, if its status alone counts.
    patience: Option<Duration>,
}

/// A client with the connections to a peer.
#[derive(Debug)]
struct OwnClient {
    client: OutboundClient,
    opened: Instant,
}

impl OwnClient {
    fn new(client: OutboundClient) -> Arc<Self> {
        Arc::new(Self { client, opened: Instant::now() })
    }
}

impl Outbound {
    /// Creates a client of the peer at `home`. With `allow_private` the peer, and nothing else, may have a
    /// private address.
    ///
    /// # Errors
    /// [`SetupError`] when the client cannot be set up.
    pub fn peer(&self, home: &Url, allow_private: bool) -> Result<PeerClient, SetupError> {
        let client = |allow_private| self.client(ClientOptions { allow_private, timeout: UNBOUNDED });
        let other = client(false)?;
        let own = if allow_private { client(true)? } else { other.clone() };
        let own = Arc::new(ArcSwap::new(OwnClient::new(own)));
        Ok(PeerClient { home: home.origin(), own, outbound: self.clone(), other, urls: None, patience: None })
    }
}

/// Time limit of the client; each exchange has a shorter one of its own.
const UNBOUNDED: Duration = Duration::from_secs(24 * 60 * 60);

impl PeerClient {
    /// Sends a request and follows at most five redirects. A response that is no redirect, or names no
    /// target, is returned.
    ///
    /// # Errors
    /// [`FetchError`] when there is no complete response.
    pub async fn send(&self, request: PeerRequest) -> Result<OutboundResponse, FetchError> {
        self.send_with_origin(request).await.map(|arrived| arrived.response)
    }

    /// As [`send`](Self::send), and reports whether the origin of the request responded.
    ///
    /// # Errors
    /// [`FetchError`] when there is no complete response.
    pub async fn send_with_origin(&self, request: PeerRequest) -> Result<PeerResponse, FetchError> {
        let (host, limit) = (place_of(&request.url), request.timeout);
        let late = |_| FetchError::Timeout { host, limit };
        tokio::time::timeout(limit, self.follow(request)).await.map_err(late)?
    }

    /// Sends a request and follows its redirects, without a time limit.
    async fn follow(&self, request: PeerRequest) -> Result<PeerResponse, FetchError> {
        let PeerRequest { mut method, mut url, mut headers, params, mut body, cap, follow, .. } = request;
        let trusted = url.origin();
        let mut at_home = true;
        let (mut redirects, mut is_repeated) = (0, false);
        loop {
            at_home &= url.origin() == trusted;
            if at_home {
                add_params(&mut url, &params, redirects > 0 || is_repeated);
            }
            let sent = self.headers_for_hop(at_home, &headers, body.as_ref());
            let bytes = body.as_ref().map(|body| body.bytes.clone());
            let own = (url.origin() == self.home).then(|| self.own.load_full());
            let client = own.as_ref().map_or(&self.other, |own| &own.client);
            let demand = BodyDemand { cap, patience: self.patience };
            let answer = client.exchange_for(method.clone(), &url, sent, bytes, demand).await?;
            if let Some(own) = own
                && !is_repeated
                && WRONG_SERVER.contains(&answer.status)
                && self.give_up(&own)
            {
                is_repeated = true;
                continue;
            }
            let next = if follow { target(&answer, &url)? } else { None };
            let Some(next) = next else {
                return Ok(PeerResponse { response: answer, is_home_origin: at_home });
            };
            if redirects == MAX_REDIRECTS {
                return Err(redirect(&url, &format!("{MAX_REDIRECTS} came before")));
            }
            redirects += 1;
            self.urls.as_ref().map_or(Ok(()), |urls| urls.check(&next))?;
            if becomes_get(answer.status, &method) {
                method = Method::GET;
                body = None;
                headers.remove(CONTENT_TYPE);
            }
            if body.is_some() && next.origin() != trusted {
                return Err(redirect(&url, "it would carry the body of the request to another origin"));
            }
            url = next;
        }
    }

    /// Replaces the connections to the peer; returns `false` if those in use are kept.
    fn give_up(&self, used: &Arc<OwnClient>) -> bool {
        if !Arc::ptr_eq(&self.own.load(), used) {
            return true;
        }
        if used.opened.elapsed() < SETTLED {
            return false;
        }
        let Ok(client) = self.outbound.client(used.client.options()) else { return false };
        self.own.store(OwnClient::new(client));
        true
    }

    /// Returns the headers to send: all of `own` to the origin of the request, elsewhere none but a content
    /// type. A body always has a content type, by default the one of `body`; the one in `own` wins.
    fn headers_for_hop(&self, at_home: bool, own: &HeaderMap, body: Option<&RequestBody>) -> HeaderMap {
        let mut headers = if at_home { own.clone() } else { HeaderMap::new() };
        match body {
            None => {}
            Some(body) if !own.contains_key(CONTENT_TYPE) => {
                headers.insert(CONTENT_TYPE, reqwest::header::HeaderValue::from_static(body.content_type));
            }
            Some(_) => {
                if let Some(content_type) = own.get(CONTENT_TYPE) {
                    headers.insert(CONTENT_TYPE, content_type.clone());
                }
            }
        }
        headers
    }
}

/// Returns true if a redirect turns the method into GET without a body (RFC 9110, 15.4; as browsers do): 303
/// any but GET and HEAD, 301 and 302 POST alone.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status {
        StatusCode::SEE_OTHER => *method != Method::GET && *method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
        _ => false,
    }
}

/// Returns the target of a redirect; `None` if the response is no redirect or names no target.
///
/// # Errors
/// [`FetchError::Redirect`] if the target is no URL.
fn target(answer: &OutboundResponse, from: &Url) -> Result<Option<Url>, FetchError> {
    let follows = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = answer.headers.get(LOCATION).filter(|_| follows) else { return Ok(None) };
    let broken = || redirect(from, "it leads to what is no URL");
    let location = std::str::from_utf8(location.as_bytes()).map_err(|_| broken())?;
    let mut next = from.join(location).map_err(|_| broken())?;
    next.set_fragment(None);
    Ok(Some(next))
}

/// Builds the error of a redirect from `from` that is not followed.
fn redirect(from: &Url, cause: &str) -> FetchError {
    FetchError::Redirect { host: place_of(from), cause: cause.to_owned() }
}

/// Adds the parameters to the URL. After a redirect, or if the request is repeated (`back` is true), it leaves out
/// those that the target has already with the same value.
fn add_params(url: &mut Url, params: &[(String, String)], back: bool) {
    for (name, value) in params {
        let is_same = |(known, given): (Cow<'_, str>, Cow<'_, str>)| known == *name && given == *value;
        if !(back && url.query_pairs().any(is_same)) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
}

#[cfg(test)]
mod tests;
