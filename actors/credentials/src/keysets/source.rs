//! The source of key sets.

use std::time::Duration;

use futures_util::future::{BoxFuture, ready};
use svc_auth::{DiscoveryError, IssuerDocument, Jwks, JwksError, MAX_ISSUER_DOCUMENT};
use svc_outbound::header::{CACHE_CONTROL, HeaderMap};
use svc_outbound::{FetchError, OutboundClient, OutboundResponse, StatusCode, Url};

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
    /// A document of the issuer that names no key set.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
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

    /// Fetches the key set that the document of an issuer names. A source without documents has none.
    fn fetch_discovered(
        &self,
        _document: &Url,
        _issuer: &str,
    ) -> BoxFuture<'static, Result<FetchedKeySet, KeySetFetchError>> {
        Box::pin(ready(Err(DiscoveryError::NoAddress("jwks_uri").into())))
    }
}

/// Fetching over HTTP.
pub(crate) struct HttpKeySetSource(pub(crate) OutboundClient);

impl KeySetSource for HttpKeySetSource {
    fn fetch(&self, url: &Url) -> BoxFuture<'static, Result<FetchedKeySet, KeySetFetchError>> {
        let (client, url) = (self.0.clone(), url.clone());
        Box::pin(async move { fetch_keys(&client, &url).await })
    }

    fn fetch_discovered(
        &self,
        document: &Url,
        issuer: &str,
    ) -> BoxFuture<'static, Result<FetchedKeySet, KeySetFetchError>> {
        let (client, document, issuer) = (self.0.clone(), document.clone(), issuer.to_owned());
        Box::pin(async move {
            let answer = get(&client, &document, MAX_ISSUER_DOCUMENT).await?;
            let document = IssuerDocument::parse(&answer.body, &issuer)?;
            let address = Url::parse(document.key_set_address()?);
            let address = address.map_err(|_| DiscoveryError::NoAddress("jwks_uri"))?;
            fetch_keys(&client, &address).await
        })
    }
}

async fn fetch_keys(client: &OutboundClient, url: &Url) -> Result<FetchedKeySet, KeySetFetchError> {
    let answer = get(client, url, CAP).await?;
    Ok(FetchedKeySet { keys: Jwks::parse(&answer.body)?, max_age: max_age(&answer.headers) })
}

/// Sends a request, whose answer must be a success.
async fn get(client: &OutboundClient, url: &Url, cap: usize) -> Result<OutboundResponse, KeySetFetchError> {
    let answer = client.get(url, cap).await?;
    if !answer.status.is_success() {
        return Err(KeySetFetchError::Status(answer.status));
    }
    Ok(answer)
}

/// Returns the `max-age` directive of `Cache-Control` (RFC 9111); a number too large to be one is a very long
/// time.
pub(crate) fn max_age(headers: &HeaderMap) -> Option<Duration> {
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
