//! The admin API while it asks for no key: it serves programs, and the pages that it serves itself.
//!
//! A browser carries requests of every page it shows to a service on its own machine: by a cross-site request, or by a
//! name of the page's server that suddenly leads to 127.0.0.1 (DNS rebinding). Browsers say so in `Host`, `Origin` and
//! `Sec-Fetch-Site`, which no page can forge; programs send the address or name that was configured, and neither of
//! the other two.

use std::net::IpAddr;

use actix_web::http::Uri;
use actix_web::http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use svc_model::ServiceError;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The refusal of a request that a browser made for a foreign page.
const FOREIGN_PAGE: &str =
    "The admin API asks for no key, and takes no requests of pages of other origins; set admin_auth.enabled";
/// The refusal of a host name that the service is not known by.
const FOREIGN_HOST: &str = "The admin API asks for no key, and is not known by this host name; set admin_auth.enabled or add the name to admin_auth.allowed_hosts";

/// The names by which an admin API without keys may be called, in lower case, in addition to addresses and `localhost`.
#[derive(Debug)]
pub(crate) struct OpenAdminHosts(Vec<String>);

impl OpenAdminHosts {
    /// Takes the name that the service listens on and further names.
    pub(crate) fn new(listen_host: Option<&str>, allowed: &[String]) -> Self {
        let names = listen_host.into_iter().chain(allowed.iter().map(String::as_str));
        Self(names.map(str::to_ascii_lowercase).collect())
    }

    /// Checks a request. `is_listed_origin` is true for an origin that `cors.allowed_origins` names.
    ///
    /// # Errors
    /// 403 for a foreign host name, and for a request of a page of another origin.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        is_listed_origin: bool,
    ) -> Result<(), ServiceError> {
        let target = uri.authority().map(|authority| authority.as_str().as_bytes());
        let hosts = || target.into_iter().chain(headers.get_all(HOST).map(HeaderValue::as_bytes));
        if !hosts().all(|host| self.knows(host)) {
            return Err(ServiceError::forbidden(FOREIGN_HOST));
        }
        if is_listed_origin {
            return Ok(());
        }
        let is_own = |origin: &HeaderValue| hosts().any(|host| is_same_origin(origin.as_bytes(), host));
        let is_own_page = |site: &HeaderValue| matches!(site.as_bytes(), b"same-origin" | b"none");
        if headers.get_all(ORIGIN).all(is_own) && headers.get_all(SEC_FETCH_SITE).all(is_own_page) {
            return Ok(());
        }
        Err(ServiceError::forbidden(FOREIGN_PAGE))
    }

    fn knows(&self, host: &[u8]) -> bool {
        let Some(name) = std::str::from_utf8(host).ok().and_then(host_name) else { return false };
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.0.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// Returns the name or address of a `Host`, without port, brackets and the dot of a full name.
fn host_name(host: &str) -> Option<&str> {
    if let Some(rest) = host.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        return (port.is_empty() || port.starts_with(':')).then_some(address);
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    Some(name.strip_suffix('.').unwrap_or(name))
}

/// Returns true if an `Origin` has this host and port.
fn is_same_origin(origin: &[u8], host: &[u8]) -> bool {
    let compare = |scheme: &[u8], default_port: &[u8]| {
        let own = origin.strip_prefix(scheme)?;
        let without_port = |text: &[u8]| text.strip_suffix(default_port).unwrap_or(text).to_ascii_lowercase();
        Some(without_port(own) == without_port(host))
    };
    compare(b"http://", b":80").or_else(|| compare(b"https://", b":443")).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn is_served(hosts: &OpenAdminHosts, headers: &[(&str, &str)]) -> bool {
        let request =
            headers.iter().fold(TestRequest::default(), |request, header| request.append_header(*header));
        hosts.check(&Uri::from_static("/x"), request.to_http_request().headers(), false).is_ok()
    }

    #[test]
    fn known_hosts_are_addresses_localhost_and_named_ones() {
        let hosts = OpenAdminHosts::new(Some("Svc.internal"), &["svc".to_owned()]);
        for host in [
            "127.0.0.1:8080",
            "127.0.0.1",
            "[::1]:8080",
            "[2001:db8::1]",
            "LOCALHOST:8080",
            "localhost.",
            "svc.internal:8080",
            "svc",
        ] {
            assert!(is_served(&hosts, &[("host", host)]), "{host}");
        }
        for host in [
            "evil.example:8080",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
            "[::1]x",
            "svc2",
        ] {
            assert!(!is_served(&hosts, &[("host", host)]), "{host}");
        }
        assert!(is_served(&hosts, &[]), "HTTP/1.0 has no host, and no browser speaks it");
        assert!(!is_served(&hosts, &[("host", "localhost"), ("host", "evil.example")]));
    }

    #[test]
    fn target_of_a_request_is_a_host_too() {
        let hosts = OpenAdminHosts::new(None, &[]);
        let headers = HeaderMap::new();
        assert!(hosts.check(&Uri::from_static("http://localhost:8080/x"), &headers, false).is_ok());
        assert!(hosts.check(&Uri::from_static("http://evil.example/x"), &headers, false).is_err());
    }

    #[test]
    fn only_pages_of_the_service_itself_are_served() {
        let hosts = OpenAdminHosts::new(None, &[]);
        for (origin, host, expected) in [
            ("http://localhost:8080", "localhost:8080", true),
            ("http://LocalHost:8080", "localhost:8080", true),
            ("https://127.0.0.1", "127.0.0.1:443", true),
            ("http://127.0.0.1:80", "127.0.0.1", true),
            ("http://localhost:3000", "localhost:8080", false),
            ("http://localhost", "localhost:8080", false),
            ("http://127.0.0.1:8080", "localhost:8080", false),
            ("https://evil.example", "localhost:8080", false),
            ("null", "localhost:8080", false),
            ("", "localhost:8080", false),
        ] {
            assert_eq!(is_served(&hosts, &[("host", host), ("origin", origin)]), expected, "{origin} {host}");
        }
        for (site, expected) in
            [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false), ("", false)]
        {
            let headers = [("host", "localhost"), ("sec-fetch-site", site)];
            assert_eq!(is_served(&hosts, &headers), expected, "{site}");
        }
    }

    #[test]
    fn listed_origin_is_served_under_a_known_host() {
        let hosts = OpenAdminHosts::new(None, &[]);
        let request = |host: &'static str| {
            let request = TestRequest::default().append_header(("host", host));
            request.append_header(("origin", "https://console.example")).to_http_request()
        };
        let uri = Uri::from_static("/x");
        assert!(hosts.check(&uri, request("localhost").headers(), true).is_ok());
        assert!(hosts.check(&uri, request("evil.example").headers(), true).is_err());
    }
}
