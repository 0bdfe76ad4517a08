//! The address of a client behind proxies.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue, X_FORWARDED_FOR};
use arc_swap::ArcSwap;

use crate::config::Network;

const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The networks whose forwarded headers are trusted. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    networks: Arc<ArcSwap<Vec<Network>>>,
    /// `true` once forwarded headers arrived although no proxy is trusted.
    ignored: Arc<AtomicBool>,
}

impl TrustedProxies {
    /// Trusts these networks only.
    pub fn new(networks: &[Network]) -> Self {
        Self { networks: Arc::new(ArcSwap::from_pointee(networks.to_vec())), ignored: Arc::default() }
    }

    /// Trusts these networks only, from now on.
    pub(crate) fn replace(&self, networks: &[Network]) {
        self.networks.store(Arc::new(networks.to_vec()));
        self.ignored.store(false, Ordering::Relaxed);
    }

    /// Returns the client's address, and `true` if its forwarded headers are the first that are ignored.
    pub(crate) fn resolve_client(&self, peer: IpAddr, headers: &HeaderMap) -> (IpAddr, bool) {
        match headers.contains_key(X_FORWARDED_FOR) || headers.contains_key(X_REAL_IP) {
            true => (self.client_address(peer, headers), self.notice_ignored()),
            false => (peer.to_canonical(), false),
        }
    }

    /// Returns `true` once: for the first request with forwarded headers if no proxy is trusted. Every
    /// client behind a proxy then has the address of the proxy, to rate limits, lock-outs and logs.
    fn notice_ignored(&self) -> bool {
        !self.has_ignored() && self.networks.load().is_empty() && !self.ignored.swap(true, Ordering::Relaxed)
    }

    /// Returns `true` when forwarded headers came and no proxy is trusted.
    pub(crate) fn has_ignored(&self) -> bool {
        self.ignored.load(Ordering::Relaxed)
    }

    /// Returns the client's address. If the peer is not trusted, that is the peer. Otherwise it is the
    /// rightmost hop of `X-Forwarded-For` that is not trusted (the leftmost one if all are), without that
    /// header `X-Real-IP`, and without either the peer. Hops to the left of one that is no address do not
    /// count, because no trusted proxy has vouched for them.
    fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.is_trusted(peer) {
            return peer;
        }
        if headers.contains_key(X_FORWARDED_FOR) {
            self.rightmost_untrusted_hop(peer, headers)
        } else {
            real_ip(headers).unwrap_or(peer)
        }
    }

    fn rightmost_untrusted_hop(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let values: Vec<&[u8]> = headers.get_all(X_FORWARDED_FOR).map(HeaderValue::as_bytes).collect();
        let hops = values.iter().rev().flat_map(|value| value.rsplit(|byte| *byte == b','));
        let mut nearest = peer;
        for hop in hops.map(<[u8]>::trim_ascii).filter(|hop| !hop.is_empty()) {
            let Some(hop) = std::str::from_utf8(hop).ok().and_then(parse_address) else { break };
            nearest = hop;
            if !self.is_trusted(hop) {
                break;
            }
        }
        nearest
    }

    /// Returns whether an address lies in one of the networks.
    pub(crate) fn is_trusted(&self, address: IpAddr) -> bool {
        self.networks.load().iter().any(|network| network.contains(address))
    }
}

fn real_ip(headers: &HeaderMap) -> Option<IpAddr> {
    parse_address(headers.get(X_REAL_IP)?.to_str().ok()?.trim())
}

/// Parses an address, with or without a port; version 6 may have brackets.
fn parse_address(text: &str) -> Option<IpAddr> {
    let unbracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let bare = || match unbracketed {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    };
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip());
    bare().or_else(with_port).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &[&str], peer: &str, forwarded: &[&str], real: Option<&str>) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_str(value).unwrap());
        }
        if let Some(real) = real {
            headers.insert(X_REAL_IP, HeaderValue::from_str(real).unwrap());
        }
        let networks: Vec<Network> = trusted.iter().map(|entry| entry.parse().unwrap()).collect();
        let (client, _) = TrustedProxies::new(&networks).resolve_client(peer.parse().unwrap(), &headers);
        client.to_string()
    }

    #[test]
    fn untrusted_peer_is_the_client_whatever_it_claims() {
        assert_eq!(client(&[], "9.9.9.9", &["1.1.1.1"], Some("2.2.2.2")), "9.9.9.9");
        assert_eq!(client(&["10.0.0.0/8"], "::ffff:9.9.9.9", &["1.1.1.1"], None), "9.9.9.9");
    }

    #[test]
    fn rightmost_untrusted_hop_is_the_client() {
        let trusted = ["10.0.0.0/8", "fd00::/8"];
        assert_eq!(client(&trusted, "10.0.0.1", &["6.6.6.6, 1.1.1.1, 10.0.0.2"], None), "1.1.1.1");
        assert_eq!(client(&trusted, "10.0.0.1", &["6.6.6.6", "1.1.1.1:443"], None), "1.1.1.1");
        assert_eq!(client(&trusted, "10.0.0.1", &["10.0.0.3, 10.0.0.2"], None), "10.0.0.3");
        assert_eq!(client(&trusted, "fd00::1", &[], Some("2001:db8::7")), "2001:db8::7");
        assert_eq!(client(&trusted, "10.0.0.1", &[], None), "10.0.0.1");
    }

    #[test]
    fn nothing_to_the_left_of_an_unreadable_hop_counts() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(client(&trusted, "10.0.0.1", &["6.6.6.6, unknown"], Some("7.7.7.7")), "10.0.0.1");
        assert_eq!(client(&trusted, "10.0.0.1", &["6.6.6.6, caf\u{e9}, 10.0.0.2"], None), "10.0.0.2");
        assert_eq!(client(&trusted, "10.0.0.1", &["6.6.6.6", "_hidden", "10.0.0.2"], None), "10.0.0.2");
        assert_eq!(client(&trusted, "10.0.0.1", &["1.1.1.1, , 10.0.0.2"], None), "1.1.1.1");
    }

    #[test]
    fn forwarded_headers_without_trusted_proxies_are_noticed_once() {
        let (mut headers, plain) = (HeaderMap::new(), HeaderMap::new());
        headers.insert(X_FORWARDED_FOR, HeaderValue::from_static("1.1.1.1"));
        let trusting = TrustedProxies::new(&["10.0.0.0/8".parse().unwrap()]);
        let notices = |proxies: &TrustedProxies, headers: &HeaderMap| {
            let (_, is_first_ignored) = proxies.resolve_client("9.9.9.9".parse().unwrap(), headers);
            is_first_ignored
        };
        assert!(!notices(&trusting, &headers) && !trusting.has_ignored());
        let trusting_none = TrustedProxies::new(&[]);
        assert!(!notices(&trusting_none, &plain) && !trusting_none.has_ignored());
        assert!(notices(&trusting_none, &headers));
        assert!(!notices(&trusting_none, &headers) && trusting_none.has_ignored());
    }

    #[test]
    fn bracketed_ipv6_hop_may_have_a_port() {
        for hop in ["2001:db8::7", "[2001:db8::7]", "[2001:db8::7]:443"] {
            assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &[hop], None), "2001:db8::7", "{hop}");
        }
    }
}
