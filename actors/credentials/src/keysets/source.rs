//! The source of key sets.

use std::time::Duration;

use futures_util::future::BoxFuture;
use svc_auth::{Jwks, JwksError};
use svc_outbound::header::{CACHE_CONTROL, HeaderMap};
use svc_outbound::{FetchError, OutboundClient, StatusCode, Url};

/// Maximum length of a key set, in bytes.
const CAP: usize = 262_144;

/// A key set and for how long it may be kept, if it says.
#[derive(Debug)]
pub(crate) struct FetchedKeySet {
    pub(crate) keys: Jwks,
    pub(crate) max_age: Option<Duration>,
}

/// A failed fetch of a key set.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeySetFetchError {
    /// No complete response.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A status other than success. Redirects are not followed and end here too.
    #[error("the answer is {0}")]
    Status(StatusCode),
    /// A document that is no usable key set.
    #[error(transparent)]
    Jwks(#[from] JwksError),
    /// Nothing within the limit.
    #[error("no answer in time")]
    Late,
    /// A panic in this crate while it fetched or parsed the set.
    #[error("the fetch ended unexpectedly")]
    Panicked,
}

/// A source of key sets.
pub(crate) trait KeySetSource: Send + Sync {
    fn fetch(&self, url: &Url) -> BoxFuture<'static, Result<FetchedKeySet, KeySetFetchError>>;
}

/// Fetching over HTTP.
pub(crate) struct HttpKeySetSource(pub(crate) OutboundClient);

impl KeySetSource for HttpKeySetSource {
    fn fetch(&self, url: &Url) -> BoxFuture<'static, Result<FetchedKeySet, KeySetFetchError>> {
        let (client, url) = (self.0.clone(), url.clone());
        Box::pin(async move {
            let answer = client.get(&url, CAP).await?;
            if !answer.status.is_success() {
                return Err(KeySetFetchError::Status(answer.status));
            }
            Ok(FetchedKeySet { keys: Jwks::parse(&answer.body)?, max_age: max_age(&answer.headers) })
        })
    }
}

/// Returns the `max-age` directive of `Cache-Control` (RFC 9111); a number too large to be one is a very long
/// time.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all(CACHE_CONTROL).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).find_map(|directive| {
        let (name, value) = directive.split_once('=')?;
        let seconds = value.trim().trim_matches('"');
        let is_number = !seconds.is_empty() && seconds.bytes().all(|byte| byte.is_ascii_digit());
        let matches = name.trim().eq_ignore_ascii_case("max-age") && is_number;
        matches.then(|| Duration::from_secs(seconds.parse().unwrap_or(u64::from(u32::MAX))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(lines: &[&'static str]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(CACHE_CONTROL, line.parse().unwrap());
        }
        max_age(&headers).map(|age| age.as_secs())
    }

    #[test]
    fn the_age_is_read_in_any_company_and_spelling() {
        assert_eq!(seconds(&["public, max-age=600, must-revalidate"]), Some(600));
        assert_eq!(seconds(&["no-transform", "Max-Age = \"60\""]), Some(60));
        assert_eq!(seconds(&["max-age=99999999999999999999999"]), Some(u64::from(u32::MAX)));
    }

    #[test]
    fn invalid_max_age_is_none() {
        for line in
            ["", "public", "max-age", "max-age=", "max-age=-1", "max-age=1.5", "s-maxage=60", "x-max-age=60"]
        {
            assert_eq!(seconds(&[line]), None, "{line}");
        }
        assert_eq!(seconds(&[]), None);
    }
}
