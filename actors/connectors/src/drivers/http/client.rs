//! One request to an HTTP API, with a token if the API wants one.

use std::sync::Arc;
use std::time::Duration;

use svc_credentials::tokens::{AccessToken, TokenError, TokenSource};
use svc_outbound::header::{AUTHORIZATION, HeaderValue};
use svc_outbound::{
    AddressError, FetchError, Outbound, OutboundResponse, PeerClient, PeerPool, PeerRequest, PeerResponse,
    SetupError, StatusCode, Url,
};
use tokio::time::{Instant, timeout};

const OWN_URL: &str = "url";
const REDIRECT: &str = "a redirect leads there";
/// The place of an address that no setting holds.
const COMPUTED: &str = "the computed address or a redirect of it";

/// The client to an API.
#[derive(Clone)]
pub(crate) struct AuthorizedClient {
    peer: PeerClient,
    /// The API's host, if it may not be private.
    public: Option<String>,
    tokens: Option<TokenSource>,
}

/// A response, and the token that was sent for it.
#[derive(Clone, Debug)]
pub(crate) struct AuthorizedResponse {
    pub(crate) answer: OutboundResponse,
    pub(crate) token: Option<Arc<AccessToken>>,
}

/// The failure of an exchange.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// The API did not respond.
    #[error(transparent)]
    Fetch(FetchError),
    /// The API, or the target of a redirect, must not be dialled.
    #[error("{refused} ({place})")]
    Forbidden {
        /// The refusal of the address.
        refused: AddressError,
        /// The field that holds the address, and the setting that allows it.
        place: &'static str,
    },
    /// There was no token; the API was not called.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The connector has no addresses but its own.
    #[error("the connector has no allow_urls: it calls no computed address")]
    NoComputedUrls,
}

impl AuthorizedClient {
    pub(crate) fn new(
        outbound: &Outbound,
        home: &Url,
        allow_private: bool,
        tokens: Option<TokenSource>,
    ) -> Result<Self, SetupError> {
        let public = if allow_private { None } else { home.host_str().map(str::to_owned) };
        Ok(Self { peer: outbound.peer(home, allow_private)?, public, tokens })
    }

    /// Sends a request once, with a token if the API wants one. The time limit of the request includes
    /// obtaining the token. A request with credentials of its own gets no token.
    pub(crate) async fn send(&self, mut request: PeerRequest) -> Result<AuthorizedResponse, ExchangeError> {
        let source = self.tokens.as_ref().filter(|_| !request.headers.contains_key(AUTHORIZATION));
        let token = match source {
            None => None,
            Some(source) => {
                let (begun, limit) = (Instant::now(), request.timeout);
                let late =
                    |_| ExchangeError::Fetch(FetchError::Timeout { host: source.host().to_owned(), limit });
                let token = timeout(limit, source.token()).await.map_err(late)??;
                request.timeout = limit.saturating_sub(begun.elapsed());
                Some(token)
            }
        };
        if let Some(mut value) = token.as_ref().and_then(|token| bearer(token)) {
            value.set_sensitive(true);
            request.headers.insert(AUTHORIZATION, value);
        }
        let PeerResponse { response: answer, is_home_origin: at_home } =
            self.peer.send_with_origin(request).await.map_err(|error| self.exchange_error(error))?;
        // Whoever a redirect led to has not seen the token, and can say nothing of it.
        let refused = at_home && answer.status == StatusCode::UNAUTHORIZED;
        if let (true, Some(source), Some(token)) = (refused, source, &token) {
            source.reject(token);
        }
        Ok(AuthorizedResponse { answer, token })
    }

    fn exchange_error(&self, error: FetchError) -> ExchangeError {
        match error {
            FetchError::Address(refused @ AddressError::Forbidden { .. }) => {
                let own = matches!(&refused, AddressError::Forbidden { host, .. } if self.public.as_ref() == Some(host));
                ExchangeError::Forbidden { refused, place: if own { OWN_URL } else { REDIRECT } }
            }
            FetchError::Address(refused @ (AddressError::Scheme(_) | AddressError::Credentials)) => {
                ExchangeError::Forbidden { refused, place: REDIRECT }
            }
            error => ExchangeError::Fetch(error),
        }
    }
}

/// Sends a request to a computed address once. With a `patience` the status of the answer counts alone.
pub(crate) async fn send_outside(
    outside: Option<PeerPool>,
    request: PeerRequest,
    patience: Option<Duration>,
) -> Result<AuthorizedResponse, ExchangeError> {
    let pool = outside.ok_or(ExchangeError::NoComputedUrls)?;
    match pool.send(request, patience).await {
        Ok(answer) => Ok(AuthorizedResponse { answer, token: None }),
        Err(FetchError::Address(error @ AddressError::Unresolved { .. })) => {
            Err(ExchangeError::Fetch(error.into()))
        }
        Err(FetchError::Address(refused)) => Err(ExchangeError::Forbidden { refused, place: COMPUTED }),
        Err(error) => Err(ExchangeError::Fetch(error)),
    }
}

/// Returns the header of a token; `None` for a token that no header can hold.
fn bearer(token: &AccessToken) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("Bearer {}", token.expose())).ok()
}
