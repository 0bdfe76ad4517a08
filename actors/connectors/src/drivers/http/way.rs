//! One request to an HTTP API, with a token where the API wants one.

use std::sync::Arc;

use svc_outbound::header::{AUTHORIZATION, HeaderValue};
use svc_outbound::{Answer, FetchError, Outbound, Peer, Request, SetupError, StatusCode, Url};
use svc_tokens::{AccessToken, TokenError, TokenSource};
use tokio::time::{Instant, timeout};

/// The way to an API.
#[derive(Clone)]
pub(crate) struct Way {
    peer: Peer,
    tokens: Option<TokenSource>,
}

/// An answer, and the token that was shown for it.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) answer: Answer,
    pub(crate) token: Option<Arc<AccessToken>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    /// The API did not give one.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// There was no token to show; the API was not asked.
    #[error(transparent)]
    Token(#[from] TokenError),
}

impl Way {
    pub(crate) fn new(
        outbound: &Outbound,
        home: &Url,
        allow_private: bool,
        tokens: Option<TokenSource>,
    ) -> Result<Self, SetupError> {
        Ok(Self { peer: outbound.peer(home, allow_private)?, tokens })
    }

    /// Asks once. The time of a request is for its token too. A request that has credentials of its own needs none.
    pub(crate) async fn send(&self, mut request: Request) -> Result<Answered, Unanswered> {
        let source = self.tokens.as_ref().filter(|_| !request.headers.contains_key(AUTHORIZATION));
        let token = match source {
            None => None,
            Some(source) => {
                let (begun, limit) = (Instant::now(), request.timeout);
                let late = |_| FetchError::Timeout { host: source.host().to_owned(), limit };
                let token = timeout(limit, source.token()).await.map_err(late)??;
                request.timeout = limit.saturating_sub(begun.elapsed());
                Some(token)
            }
        };
        if let Some(mut value) = token.as_ref().and_then(|token| bearer(token)) {
            value.set_sensitive(true);
            request.headers.insert(AUTHORIZATION, value);
        }
        let answer = self.peer.send(request).await?;
        if let (StatusCode::UNAUTHORIZED, Some(source), Some(token)) = (answer.status, source, &token) {
            source.reject(token);
        }
        Ok(Answered { answer, token })
    }
}

/// Tokens that no header can hold are none.
fn bearer(token: &AccessToken) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("Bearer {}", token.expose())).ok()
}
