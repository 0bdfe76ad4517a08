//! The check of URLs and hosts before a request.

use std::fmt;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::ranges::is_public;

/// The reason why an address is not dialled. The texts name the host at most, never a credential or a query;
/// those of a refusal begin with `SSRF protection:`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text is no absolute URL with a host.
    #[error("not a URL with a host ({0})")]
    Malformed(String),
    /// The scheme is neither http nor https.
    #[error("SSRF protection: the scheme '{0}' is not allowed, use http or https")]
    Scheme(String),
    /// `user:password@` before the host: it hides the host from readers and puts a secret into an address.
    #[error("SSRF protection: a URL with credentials before its host is not allowed")]
    Credentials,
    /// An address of others that is not https, or on a port that is not allowed.
    #[error(
        "SSRF protection: '{host}' may be called over https on the listed ports alone; allow_urls of the connector lists them"
    )]
    Unlisted {
        /// The host as the URL names it.
        host: String,
    },
    /// The host is, or resolves to, an address that is not public.
    #[error(
        "SSRF protection: '{host}' leads to {address}, which is not a public address; \
         allow_private_urls of the connector permits it, jwt.allow_private_jwks_urls for key sets, \
         oauth2_login.allow_private_token_urls for sign-in"
    )]
    Forbidden {
        /// The host as the URL names it.
        host: String,
        /// The address refused.
        address: IpAddr,
    },
    /// The name has no address.
    #[error("'{host}' cannot be resolved ({cause})")]
    Unresolved {
        /// The host as the URL names it.
        host: String,
        /// The error of the resolver.
        cause: String,
    },
}

/// Parses a URL and checks everything that needs no lookup: scheme, credentials, and a literal address in any
/// spelling (`127.1`, `0x7f000001`, `[::ffff:7f00:1]` are all 127.0.0.1). Names are checked when they are
/// dialled.
///
/// # Errors
/// [`AddressError`] for a URL that may not be requested. `allow_private` admits every address.
pub fn check_url(url: &str, allow_private: bool) -> Result<Url, AddressError> {
    let url = Url::parse(url).map_err(|error| AddressError::Malformed(error.to_string()))?;
    check(&url, allow_private)?;
    Ok(url)
}

/// Returns the URL of a key set that may be fetched.
///
/// # Errors
/// The reason why the URL can never be used.
pub fn key_set_url(url: &str, allow_private: bool) -> Result<Url, String> {
    let url = check_url(url, allow_private).map_err(|error| error.to_string())?;
    if url.scheme() != "https" {
        return Err("key sets are fetched over https only".to_owned());
    }
    Ok(url)
}

/// As [`check_url`], for the URL of a peer whose credentials may precede the host: they are removed from
/// the URL.
///
/// # Errors
/// [`AddressError`] for a URL that may not be requested.
pub fn check_peer_url(url: &str, allow_private: bool) -> Result<PeerUrl, AddressError> {
    let mut url = Url::parse(url).map_err(|error| AddressError::Malformed(error.to_string()))?;
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let credentials = (!url.username().is_empty() || url.password().is_some())
        .then(|| (decode(url.username()), decode(url.password().unwrap_or_default())));
    if credentials.is_some() {
        // A URL that has credentials has a host, and one that has a host may lose them.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
    }
    url.set_fragment(None);
    check(&url, allow_private)?;
    Ok(PeerUrl { url, credentials })
}

/// As [`check_url`], for a host that is reached by other means than HTTP: a name, or an address in any
/// spelling.
///
/// # Errors
/// [`AddressError`] for a host that may not be dialled.
pub fn check_host(host: &str, allow_private: bool) -> Result<(), AddressError> {
    match literal(host)? {
        Some(address) if !allow_private && !is_public(address) => {
            Err(AddressError::Forbidden { host: host.to_owned(), address })
        }
        _ => Ok(()),
    }
}

/// Parses the literal address of a host, in any spelling; `None` for a name.
pub(crate) fn literal(host: &str) -> Result<Option<IpAddr>, AddressError> {
    if let Ok(address) = host.parse() {
        return Ok(Some(address));
    }
    match Host::parse(host).map_err(|error| AddressError::Malformed(error.to_string()))? {
        Host::Domain(_) => Ok(None),
        Host::Ipv4(address) => Ok(Some(IpAddr::V4(address))),
        Host::Ipv6(address) => Ok(Some(IpAddr::V6(address))),
    }
}

/// The URL of a peer.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerUrl {
    /// The URL, without credentials and fragment.
    pub url: Url,
    /// User and password before the host.
    pub credentials: Option<(String, String)>,
}

/// Prints the origin only: a query may hold a secret.
impl fmt::Debug for PeerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PeerUrl").field(&self.url.origin().ascii_serialization()).finish()
    }
}

/// As [`check_url`], for a URL already parsed.
pub(crate) fn check(url: &Url, allow_private: bool) -> Result<(), AddressError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::Credentials);
    }
    let literal = match url.host() {
        None => return Err(AddressError::Malformed("no host".to_owned())),
        Some(Host::Domain(_)) => None,
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
    };
    match literal {
        Some(address) if !allow_private && !is_public(address) => {
            Err(AddressError::Forbidden { host: host_of(url), address })
        }
        _ => Ok(()),
    }
}

/// Returns the host, and the port if the URL names one, as errors of requests name them.
pub(crate) fn place_of(url: &Url) -> String {
    match url.port() {
        Some(port) => format!("{}:{port}", host_of(url)),
        None => host_of(url),
    }
}

/// Returns the host as errors name it.
pub(crate) fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_and_https_are_spoken() {
        for url in
            ["ftp://example.com/", "file:///etc/passwd", "gopher://example.com:70/", "ws://example.com/"]
        {
            assert!(matches!(check_url(url, true), Err(AddressError::Scheme(_))), "{url}");
        }
        assert!(check_url("https://example.com/keys", false).is_ok());
        assert!(check_url("HTTP://Example.com", false).is_ok());
    }

    #[test]
    fn url_without_host_is_malformed() {
        for url in ["", "example.com", "/keys", "https://", "https://:443/", "http://[::1", "http://a b/"] {
            assert!(matches!(check_url(url, true), Err(AddressError::Malformed(_))), "{url}");
        }
    }

    #[test]
    fn credentials_in_a_url_are_refused_and_not_repeated() {
        for url in
            ["https://user@example.com/", "https://user:s3cret@example.com/", "https://:s3cret@example.com/"]
        {
            let error = check_url(url, true).unwrap_err();
            assert_eq!(error, AddressError::Credentials);
            assert!(!error.to_string().contains("s3cret"));
        }
    }

    #[test]
    fn a_private_address_passes_where_it_is_allowed() {
        assert!(check_url("http://127.0.0.1:8080/", true).is_ok());
        let refused = check_url("http://127.0.0.1:8080/?token=s3cret", false).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "SSRF protection: '127.0.0.1' leads to 127.0.0.1, which is not a public address; \
             allow_private_urls of the connector permits it, jwt.allow_private_jwks_urls for key sets, \
             oauth2_login.allow_private_token_urls for sign-in"
        );
    }

    #[test]
    fn private_host_is_refused_in_every_spelling() {
        for host in
            ["127.0.0.1", "127.1", "0x7f000001", "::1", "[::1]", "[::ffff:10.0.0.1]", "169.254.169.254"]
        {
            let refused = check_host(host, false).unwrap_err();
            assert!(matches!(refused, AddressError::Forbidden { .. }), "{host}: {refused}");
            assert!(check_host(host, true).is_ok(), "{host}");
        }
        for host in ["db.internal", "localhost", "8.8.8.8", "[2606:4700::1]"] {
            assert!(check_host(host, false).is_ok(), "{host}");
        }
        assert!(matches!(check_host("a b", false), Err(AddressError::Malformed(_))));
    }

    #[test]
    fn a_refusal_says_what_it_protects_from() {
        for url in ["ftp://example.com/", "https://user@example.com/", "http://10.0.0.1/"] {
            let refused = check_url(url, false).unwrap_err().to_string();
            assert!(refused.starts_with("SSRF protection: "), "{refused}");
        }
    }
}
