//! The address of a server.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

use crate::error::ClientError;

/// The base URL of a server, such as `https://svc.example.com` or `http://localhost:8080/gateway`.
///
/// ```
/// use svc_client::ServerAddress;
///
/// let server: ServerAddress = "https://svc.example.com/gateway".parse()?;
/// assert!(!server.is_exposed());
/// # Ok::<(), svc_client::ClientError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress(Url);

impl ServerAddress {
    /// Returns the URL of an encoded path below the base.
    pub(crate) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let base = self.0.path().trim_end_matches('/');
        url.set_path(&format!("{base}{path}"));
        url
    }

    /// Returns `true` if requests travel in clear to another machine.
    pub fn is_exposed(&self) -> bool {
        self.0.scheme() == "http" && !self.is_loopback()
    }

    /// Returns `true` if the server is on this machine, by its address.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.0.host() {
            Some(Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                name == "localhost" || name.ends_with(".localhost")
            }
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::from(address).to_canonical().is_loopback(),
            None => false,
        }
    }

    /// Returns `true` if requests are sent over TLS.
    pub(crate) fn is_tls(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl FromStr for ServerAddress {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        let refused = |cause: &str| ClientError::Address { text: text.to_owned(), cause: cause.to_owned() };
        let url =
            Url::parse(text.trim()).map_err(|_| refused("a URL is wanted, such as http://localhost:8080"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("it must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // The text holds a password and is not repeated.
            let text = "the server address".to_owned();
            let cause = "credentials do not belong there; pass the key by itself".to_owned();
            return Err(ClientError::Address { text, cause });
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("it must end before '?' and '#'"));
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_joined_below_the_base() {
        for (base, expected) in [
            ("http://localhost:8080", "http://localhost:8080/health"),
            ("http://localhost:8080/", "http://localhost:8080/health"),
            ("https://host/gateway/", "https://host/gateway/health"),
        ] {
            assert_eq!(base.parse::<ServerAddress>().unwrap().join("/health").as_str(), expected);
        }
    }

    #[test]
    fn encoded_segment_stays_encoded() {
        let address: ServerAddress = "http://h".parse().unwrap();
        assert_eq!(address.join("/a%2Fb%20%3F").as_str(), "http://h/a%2Fb%20%3F");
    }

    #[test]
    fn text_that_is_no_server_address_is_refused() {
        for text in ["", "localhost:8080", "ftp://h", "http://h/?a=1", "http://h/#a", "http://"] {
            assert!(text.parse::<ServerAddress>().is_err(), "{text}");
        }
        let error = "http://me:hunter2@h".parse::<ServerAddress>().unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn clear_text_to_another_machine_is_exposed() {
        for (text, expected) in [
            ("http://example.com", true),
            ("http://10.0.0.1:8080", true),
            ("https://example.com", false),
            ("http://localhost:1", false),
            ("http://127.0.0.1:1", false),
            ("http://[::1]:1", false),
            ("http://[::ffff:127.0.0.1]:1", false),
            ("http://app.localhost.:1", false),
            ("http://localhost.example.com", true),
        ] {
            assert_eq!(text.parse::<ServerAddress>().unwrap().is_exposed(), expected, "{text}");
        }
    }
}
