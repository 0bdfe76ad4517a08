//! The pure state of one connector's tokens. No clock, no I/O.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::tokens::error::TokenError;

/// The time for which a refusal lasts before a new request is made.
const REFUSAL: Duration = Duration::from_secs(30);

/// A token as calls show it. Not printable.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the token itself. Not for logs, messages or answers.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken")
    }
}

/// The token of a connector, for operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenStatus {
    /// The rest of the life of the token that calls are made with; `None` while there is none.
    pub expires_in: Option<Duration>,
    /// The reason for which the last request got no token.
    pub error: Option<String>,
}

/// The result of obtaining a token.
pub(crate) type TokenResult = Result<Arc<AccessToken>, TokenError>;

/// A token, and when its life is over.
#[derive(Clone, Debug)]
pub(crate) struct ExpiringToken {
    pub(crate) token: Arc<AccessToken>,
    pub(crate) ends: Instant,
}

/// The state of one connector's tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    held: Option<ExpiringToken>,
    /// The last token that the API refused.
    dropped: Option<Arc<AccessToken>>,
    /// A refusal or the answer of a busy endpoint, and the instant until which it counts.
    refused: Option<(TokenError, Instant)>,
    /// Fetches that have ended.
    landings: u64,
    /// The result of the last fetch.
    last: Option<TokenResult>,
}

impl State {
    /// Returns the number of fetches that have ended.
    pub(crate) fn landings(&self) -> u64 {
        self.landings
    }

    /// Returns a result that needs no fetch: a token with more than `margin` of its life left, or a refusal
    /// that still lasts.
    pub(crate) fn valid_result(&self, now: Instant, margin: Duration) -> Option<TokenResult> {
        let fresh = self.held.as_ref().filter(|held| now + margin < held.ends);
        let refused = self.refused.as_ref().filter(|(_, until)| now < *until);
        fresh.map(|held| Ok(Arc::clone(&held.token))).or_else(|| refused.map(|(error, _)| Err(error.clone())))
    }

    /// Returns the state for operators.
    pub(crate) fn status(&self, now: Instant) -> TokenStatus {
        let refused = self.refused.as_ref().filter(|(_, until)| now < *until);
        let failed = self.last.as_ref().and_then(|last| last.as_ref().err());
        TokenStatus {
            expires_in: self.held.as_ref().map(|held| held.ends.saturating_duration_since(now)),
            error: refused.map(|(error, _)| error).or(failed).map(ToString::to_string),
        }
    }

    /// Returns the result for a caller that has waited since `seen` fetches had ended: in addition to
    /// [`valid_result`](Self::valid_result), the result of the last fetch, however long its token lasts, unless the
    /// API has refused that token since.
    pub(crate) fn result_since(&self, now: Instant, margin: Duration, seen: u64) -> Option<TokenResult> {
        self.valid_result(now, margin).or_else(|| {
            let last = self.last.clone().filter(|_| self.landings > seen)?;
            let dropped = last.as_ref().is_ok_and(|token| self.dropped.as_ref() == Some(token));
            (!dropped).then_some(last)
        })
    }

    /// Records the outcome of a fetch.
    pub(crate) fn record_outcome(&self, now: Instant, outcome: Result<ExpiringToken, TokenError>) -> Self {
        let last = outcome.as_ref().map(|held| Arc::clone(&held.token)).map_err(Clone::clone);
        let refused = match &outcome {
            Err(error) if error.is_final() => Some((error.clone(), now + REFUSAL)),
            // A busy endpoint is left alone for as long as it asked, by all callers.
            Err(error) => error.retry_after().map(|wait| (error.clone(), now + wait.min(REFUSAL))),
            Ok(_) => None,
        };
        Self {
            held: outcome.ok().or_else(|| self.held.clone()),
            dropped: self.dropped.clone(),
            refused,
            landings: self.landings + 1,
            last: Some(last),
        }
    }

    /// The API has refused a token. Another one stays.
    pub(crate) fn without(&self, sent: &Arc<AccessToken>) -> Self {
        let token = self.held.clone().filter(|held| held.token != *sent);
        Self { held: token, dropped: Some(Arc::clone(sent)), ..self.clone() }
    }

    /// Returns `true` unless the API has refused the token.
    pub(crate) fn admits(&self, token: &str) -> bool {
        self.dropped.as_ref().is_none_or(|dropped| dropped.expose() != token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: Duration = Duration::from_secs(60);

    fn expiring_token(text: &str, now: Instant, seconds: u64) -> ExpiringToken {
        ExpiringToken { token: Arc::new(AccessToken::new(text)), ends: now + Duration::from_secs(seconds) }
    }

    fn text(outcome: Option<TokenResult>) -> Option<String> {
        outcome.map(|outcome| outcome.unwrap().expose().to_owned())
    }

    fn error(is_final: bool) -> TokenError {
        let name = "c".into();
        if is_final { TokenError::rejected(&name, "no") } else { TokenError::unavailable(&name, "away") }
    }

    #[test]
    fn status_shows_rest_of_life_and_last_error() {
        let now = Instant::now();
        assert_eq!(State::default().status(now), TokenStatus::default());
        let state = State::default().record_outcome(now, Ok(expiring_token("a", now, 100)));
        let later = now + Duration::from_secs(30);
        let expires_in = Some(Duration::from_secs(70));
        assert_eq!(state.status(later), TokenStatus { expires_in, error: None });
        let failed = state.record_outcome(later, Err(error(true))).status(later);
        assert_eq!(failed.expires_in, expires_in);
        assert!(failed.error.is_some_and(|error| error.contains("no")));
    }

    #[test]
    fn a_token_serves_until_the_margin_of_its_end() {
        let now = Instant::now();
        let state = State::default().record_outcome(now, Ok(expiring_token("a", now, 100)));
        let after = |seconds| text(state.valid_result(now + Duration::from_secs(seconds), MARGIN));
        assert_eq!((after(0), after(39), after(40)), (Some("a".into()), Some("a".into()), None));
    }

    #[test]
    fn never_fresh_token_serves_its_waiters() {
        let now = Instant::now();
        let state = State::default().record_outcome(now, Ok(expiring_token("a", now, 30)));
        assert_eq!(state.valid_result(now, MARGIN), None);
        assert_eq!(text(state.result_since(now, MARGIN, 0)), Some("a".into()));
        assert_eq!(state.result_since(now, MARGIN, state.landings()), None);
    }

    #[test]
    fn refusal_lasts_thirty_seconds_failure_only_for_waiters() {
        let now = Instant::now();
        let refused = State::default().record_outcome(now, Err(error(true)));
        let after = |seconds| refused.valid_result(now + Duration::from_secs(seconds), MARGIN);
        assert_eq!((after(29), after(30)), (Some(Err(error(true))), None));
        let failed = refused.record_outcome(now, Err(error(false)));
        assert_eq!(failed.valid_result(now, MARGIN), None);
        assert_eq!(failed.result_since(now, MARGIN, 1), Some(Err(error(false))));
        let healed = refused.record_outcome(now, Ok(expiring_token("a", now, 100)));
        assert_eq!(text(healed.valid_result(now, MARGIN)), Some("a".into()));
    }

    #[test]
    fn busy_endpoint_is_left_alone_for_requested_time() {
        let now = Instant::now();
        for (asked, left_alone) in [(5, 5), (3600, 30)] {
            let retry_after = Some(Duration::from_secs(asked));
            let busy = TokenError::Unavailable { connector: "c".into(), reason: "busy".into(), retry_after };
            let state = State::default().record_outcome(now, Err(busy.clone()));
            let after = |seconds| state.valid_result(now + Duration::from_secs(seconds), MARGIN);
            assert_eq!((after(left_alone - 1), after(left_alone)), (Some(Err(busy)), None), "{asked}");
        }
    }

    #[test]
    fn only_the_token_that_was_refused_is_dropped() {
        let now = Instant::now();
        let (one, two) = (expiring_token("one", now, 100), expiring_token("two", now, 100));
        let state = State::default().record_outcome(now, Ok(one.clone()));
        let dropped = state.without(&one.token);
        assert_eq!(dropped.valid_result(now, MARGIN), None);
        assert_eq!(dropped.result_since(now, MARGIN, 0), None, "nobody is given it any more");
        assert!(!dropped.admits("one") && dropped.admits("two"));
        let next = dropped.record_outcome(now, Ok(two)).without(&one.token);
        assert_eq!(
            text(next.valid_result(now, MARGIN)),
            Some("two".into()),
            "refused late, after it was replaced"
        );
    }
}
