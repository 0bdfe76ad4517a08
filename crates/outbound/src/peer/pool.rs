//! The client of peers whose addresses come with each request.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use url::Url;

use super::{OwnClient, PeerClient, PeerRequest, UNBOUNDED};
use crate::address::{AddressError, check, host_of};
use crate::client::{ClientOptions, Outbound, OutboundClient, OutboundResponse};
use crate::error::{FetchError, SetupError};

/// The URLs that a request to an address of others may have: https, on these ports, without credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpsUrls {
    ports: Arc<[u16]>,
}

impl HttpsUrls {
    /// Allows these ports.
    pub fn new(ports: impl IntoIterator<Item = u16>) -> Self {
        Self { ports: ports.into_iter().collect() }
    }

    /// Parses a URL and checks everything that needs no lookup, as [`check_url`](crate::check_url) does; the fragment is
    /// removed.
    ///
    /// # Errors
    /// [`AddressError`] for a URL that may not be requested.
    pub fn parse(&self, url: &str, allow_private: bool) -> Result<Url, AddressError> {
        let mut url = Url::parse(url).map_err(|error| AddressError::Malformed(error.to_string()))?;
        url.set_fragment(None);
        check(&url, allow_private)?;
        self.check(&url)?;
        Ok(url)
    }

    /// Refuses another scheme than https, and a port that is not allowed.
    pub(super) fn check(&self, url: &Url) -> Result<(), AddressError> {
        let port = url.port_or_known_default();
        let is_listed = url.scheme() == "https" && port.is_some_and(|port| self.ports.contains(&port));
        if is_listed { Ok(()) } else { Err(AddressError::Unlisted { host: host_of(url) }) }
    }
}

/// The client of many peers over one pool of connections: the origin of each request is its home. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PeerPool {
    urls: HttpsUrls,
    outbound: Outbound,
    /// The client for the peers themselves.
    own: OutboundClient,
    /// The client for the targets of redirects.
    other: OutboundClient,
}

impl Outbound {
    /// Creates a client of all peers at these URLs. With `allow_private` the address of a request, but none that a
    /// redirect leads to, may be private.
    ///
    /// # Errors
    /// [`SetupError`] when the client cannot be set up.
    pub fn peer_pool(&self, urls: HttpsUrls, allow_private: bool) -> Result<PeerPool, SetupError> {
        let client = |allow_private| self.client(ClientOptions { allow_private, timeout: UNBOUNDED });
        let other = client(false)?;
        let own = if allow_private { client(true)? } else { other.clone() };
        Ok(PeerPool { urls, outbound: self.clone(), own, other })
    }
}

impl PeerPool {
    /// Sends a request as [`PeerClient::send`] does; the URL, and each that a redirect leads to, must be allowed.
    ///
    /// With a `patience` the status of the response counts alone: so much time after its head, or at the cap, the body
    /// ends, whatever is missing.
    ///
    /// # Errors
    /// [`FetchError`] when there is no complete response.
    pub async fn send(
        &self,
        request: PeerRequest,
        patience: Option<Duration>,
    ) -> Result<OutboundResponse, FetchError> {
        self.urls.check(&request.url)?;
        let peer = PeerClient {
            home: request.url.origin(),
            // Of this request alone: a peer that disowns a connection costs the others nothing.
            own: Arc::new(ArcSwap::new(OwnClient::new(self.own.clone()))),
            outbound: self.outbound.clone(),
            other: self.other.clone(),
            urls: Some(self.urls.clone()),
            patience,
        };
        peer.send(request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_https_ports_are_allowed() {
        let refused =
            |ports: &[u16], url: &str| HttpsUrls::new(ports.iter().copied()).parse(url, false).err();
        let unlisted = |host: &str| Some(AddressError::Unlisted { host: host.to_owned() });
        assert_eq!(refused(&[443], "https://a.example/x?y=1"), None);
        assert_eq!(refused(&[443], "https://a.example:443/"), None);
        assert_eq!(refused(&[443, 8443], "HTTPS://A.example:8443"), None);
        assert_eq!(refused(&[443], "https://a.example:8443/"), unlisted("a.example"));
        assert_eq!(refused(&[8443], "https://a.example/"), unlisted("a.example"));
        assert_eq!(refused(&[443, 80], "http://a.example/"), unlisted("a.example"));
        assert_eq!(refused(&[443, 80], "http://a.example:443/"), unlisted("a.example"));
        assert_eq!(refused(&[443], "https://user@a.example/"), Some(AddressError::Credentials));
        assert_eq!(refused(&[443], "ftp://a.example/"), Some(AddressError::Scheme("ftp".to_owned())));
        assert!(matches!(refused(&[443], "https://127.1/"), Some(AddressError::Forbidden { .. })));
        assert!(matches!(refused(&[443], "a.example"), Some(AddressError::Malformed(_))));
        let url = HttpsUrls::new([443]).parse("https://a.example/x#secret", false).unwrap();
        assert_eq!(url.as_str(), "https://a.example/x");
    }
}
