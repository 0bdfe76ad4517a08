//! The names of hosts in the settings and in connectors: each is looked up as the service looks it up.

use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::join_all;
use svc_outbound::Outbound;
use svc_store::StoreConfig;
use tokio::time::timeout;

use super::report::DoctorReport;
use crate::config::Config;

/// Time for which the resolver is waited for.
const LIMIT: Duration = Duration::from_secs(5);

/// A host that something names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedHost {
    /// The setting, or the connector.
    pub(super) setting: String,
    pub(super) host: String,
    /// True if its address may be private.
    pub(super) allow_private: bool,
}

/// Returns the hosts of the settings that are in use.
pub(super) fn settings_hosts(
    config: &Config,
    store: &StoreConfig,
    environment: &[(String, String)],
) -> Vec<NamedHost> {
    let mut hosts = Vec::new();
    let mut add = |setting: &str, host: &str| {
        let (setting, host) = (setting.to_owned(), host.to_owned());
        hosts.push(NamedHost { setting, host, allow_private: true });
    };
    store.hosts().iter().for_each(|host| add("storage.url", host));
    if config.server.host.is_some() {
        add("server.host", config.listen_host());
    }
    if config.cluster.enabled {
        hosts_of_url(&config.cluster.redis_url).iter().for_each(|host| add("cluster.redis_url", host));
    }
    if config.kafka.enabled {
        config.kafka.brokers.iter().for_each(|broker| add("kafka.brokers", host_of_place(broker)));
    }
    if config.tracing.enabled {
        let endpoint = &config.tracing.otlp_endpoint;
        hosts_of_url(endpoint).iter().for_each(|host| add("tracing.otlp_endpoint", host));
    }
    if let Some((_, address)) = environment.iter().find(|(name, _)| name == "VAULT_ADDR") {
        hosts_of_url(address).iter().for_each(|host| add("VAULT_ADDR", host));
    }
    hosts
}

/// Looks every name up, all at the same time, and reports those that have no address.
pub(super) async fn check_hosts(mut hosts: Vec<NamedHost>, outbound: &Outbound, report: &mut DoctorReport) {
    const CHECK: &str = "dns";
    hosts.retain(|named| named.host.parse::<IpAddr>().is_err());
    hosts.dedup();
    let lookups = hosts.iter().map(|named| async move {
        timeout(LIMIT, outbound.addresses(&named.host, 0, named.allow_private)).await
    });
    let answers = join_all(lookups).await;
    let remedy = "correct the name, or make it known to the resolver of this machine";
    for (NamedHost { setting, host, .. }, answer) in hosts.iter().zip(answers) {
        match answer {
            Ok(Ok(addresses)) => {
                let count = addresses.len();
                report.add_note(CHECK, setting, format!("'{host}' has {count} address(es)"));
            }
            Ok(Err(error)) => report.add_error(CHECK, setting, error.to_string(), remedy),
            Err(_) => {
                let message = format!("'{host}': the resolver did not answer within {} s", LIMIT.as_secs());
                report.add_error(CHECK, setting, message, "check the resolver of this machine");
            }
        }
    }
}

/// Returns the hosts of a URL, of which the clients of some databases take several; none of a URL whose host is no name
/// with an address.
pub(super) fn hosts_of_url(url: &str) -> Vec<&str> {
    let Some((scheme, rest)) = url.split_once("://") else { return Vec::new() };
    if scheme.ends_with("+srv") || matches!(scheme, "sqlite" | "file") {
        return Vec::new();
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let places = authority.rsplit('@').next().unwrap_or_default();
    places.split(',').map(host_of_place).filter(|host| !host.is_empty()).collect()
}

/// Returns the host of `host:port`, an IPv6 address without its brackets.
pub(super) fn host_of_place(place: &str) -> &str {
    match place.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => place.rsplit_once(':').map_or(place, |(host, _)| host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_of_a_url_is_found() {
        for (url, expected) in [
            ("https://api.example/v1?next=http://other", "api.example"),
            ("postgres://svc:p%40ss@db.example:5432/orders", "db.example"),
            ("mongodb://user:p@one:27017,two,[2001:db8::1]:27017/db", "one two 2001:db8::1"),
            ("redis://:secret@redis", "redis"),
            ("mongodb+srv://cluster.example/db", ""),
            ("sqlite://orders.db", ""),
            ("no url", ""),
        ] {
            assert_eq!(hosts_of_url(url).join(" "), expected, "{url}");
        }
    }

    #[test]
    fn only_settings_in_use_name_hosts() {
        let mut config = Config::default();
        let store = StoreConfig { url: "postgres://u@db.example/svc".into(), ..StoreConfig::default() };
        let names = |config: &Config| {
            let hosts = settings_hosts(config, &store, &[]);
            hosts.into_iter().map(|named| named.host).collect::<Vec<_>>()
        };
        assert_eq!(names(&config), ["db.example"]);
        config.kafka.enabled = true;
        config.tracing.enabled = true;
        config.tracing.otlp_endpoint = "http://collector.example:4317".into();
        assert_eq!(names(&config), ["db.example", "localhost", "collector.example"]);
    }
}
