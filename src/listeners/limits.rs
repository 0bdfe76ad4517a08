//! The connection limits of the configuration.

use std::net::IpAddr;
use std::time::Duration;

use slog::{Logger, warn};
use svc_model::ClientNetworks;
use svc_transport::{ConnectionLimits, ConnectionTimeouts};

use crate::config::Config;
use crate::http::TrustedProxies;
use crate::process::descriptors;

/// Descriptors kept for everything that is no client: databases, outbound calls, files.
const KEPT: usize = 64;
/// Share of the descriptors kept beyond that: one in so many.
const KEPT_SHARE: usize = 8;
/// Connections served however few descriptors there are.
const FEWEST: usize = 16;
/// Connections of the listener for operators.
const OPERATORS: usize = 256;
/// Refused connections that are answered at once; others are closed without an answer.
const ANSWERED: usize = 64;

/// The time limits of connections.
pub(crate) fn timeouts(config: &Config) -> ConnectionTimeouts {
    let server = &config.server;
    ConnectionTimeouts {
        head: Duration::from_secs(server.head_timeout_secs),
        keep_alive: Duration::from_secs(server.keep_alive_secs),
        body: Duration::from_secs(server.body_timeout_secs),
        window: Duration::from_secs(server.transfer_window_secs),
        window_bytes: server.min_transfer_rate.saturating_mul(server.transfer_window_secs),
    }
}

/// Connections that the kernel keeps until they are accepted.
pub(crate) fn backlog(config: &Config) -> i32 {
    i32::try_from(config.server.backlog).unwrap_or(i32::MAX)
}

/// The bounds of the main listener under a limit of open files; logs when that limit decides.
pub(crate) fn main_listener_limits(
    config: &Config,
    proxies: &TrustedProxies,
    limit: usize,
    log: &Logger,
) -> ConnectionLimits {
    let server = &config.server;
    let affordable = affordable(limit, descriptors::count_open());
    let total = server.max_connections.min(affordable);
    if total < server.max_connections {
        warn!(log, "fewer connections are served than configured, as the limit of file descriptors is low";
            "server.max_connections" => server.max_connections, "served" => total, "limit" => limit,
            "remedy" => "raise the hard limit of open files (ulimit -Hn, LimitNOFILE)");
    }
    ConnectionLimits {
        total,
        per_address: server.max_connections_per_address.min((total / 2).max(1)),
        client_of: client_of(config.rate_limit.client_networks(), proxies.clone()),
    }
}

/// Finds the client of a peer. A network counts as one client; a proxy is none, as its connections carry those of others.
fn client_of(
    networks: ClientNetworks,
    proxies: TrustedProxies,
) -> Box<dyn Fn(IpAddr) -> Option<IpAddr> + Send + Sync> {
    Box::new(move |peer| (!proxies.is_trusted(peer)).then(|| networks.network_of(peer)))
}

/// The connections that a limit of open files leaves room for.
pub(crate) fn affordable(limit: usize, open: usize) -> usize {
    limit.saturating_sub(open).saturating_sub(KEPT).saturating_sub(limit / KEPT_SHARE).max(FEWEST)
}

/// The bounds of the listener for operators.
pub(crate) fn operations_listener_limits() -> ConnectionLimits {
    total_only(OPERATORS)
}

/// The bounds of refused connections that are still answered.
pub(crate) fn refusal_limits() -> ConnectionLimits {
    total_only(ANSWERED)
}

fn total_only(total: usize) -> ConnectionLimits {
    ConnectionLimits { total, per_address: total, client_of: Box::new(|_| None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_rest_of_the_service() {
        assert_eq!(affordable(1_024, 60), 1_024 - 60 - 64 - 128);
        assert_eq!(affordable(100, 60), FEWEST);
        assert!(affordable(1_048_576, 60) > 10_000);
    }

    #[test]
    fn one_address_gets_at_most_half_of_all_connections() {
        let mut config = Config::default();
        config.server.max_connections = 10;
        let log = Logger::root(slog::Discard, slog::o!());
        let limits = main_listener_limits(&config, &TrustedProxies::default(), usize::MAX, &log);
        assert_eq!((limits.total, limits.per_address), (10, 5));
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn proxies_are_no_clients() {
        let proxies = TrustedProxies::new(&["10.0.0.0/8".parse().unwrap()]);
        let client_of = client_of(ClientNetworks::default(), proxies);
        assert_eq!(client_of(address("10.1.1.1")), None);
        assert_eq!(client_of(address("192.0.2.1")), Some(address("192.0.2.1")));
    }

    #[test]
    fn ipv6_network_of_64_bits_is_one_client() {
        let client_of = client_of(ClientNetworks::default(), TrustedProxies::default());
        assert_eq!(client_of(address("2001:db8:1:2::1")), client_of(address("2001:db8:1:2:9::7")));
        assert_ne!(client_of(address("2001:db8:1:2::1")), client_of(address("2001:db8:1:3::1")));
    }
}
