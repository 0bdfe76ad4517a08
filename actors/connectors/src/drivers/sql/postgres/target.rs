//! The parsed connection string of a PostgreSQL.

use std::net::IpAddr;

use svc_pooler::{TlsNegotiation, TlsRequest};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslNegotiation};

use crate::drivers::sql::encryption::Encryption;
use crate::drivers::sql::parameters::{split_parameters, unknown};

const PORT: u16 = 5432;

/// Parameters the driver reads by itself. Not among them: `host` and `hostaddr`, which would lead past the
/// host before the path.
const KNOWN: [&str; 16] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "sslnegotiation",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// A connection string, read.
#[derive(Clone)]
pub(crate) struct PostgresTarget {
    base: Config,
    /// Tried in this order.
    pub(super) hosts: Vec<(String, u16)>,
    pub(super) encryption: Encryption,
}

impl PostgresTarget {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let malformed = || {
            "connection_string: not a PostgreSQL URL, use postgres://user:password@host:port/database"
                .to_owned()
        };
        let (base, parameters) = split_parameters(text);
        let mut encryption = Encryption::Preferred;
        let mut passed_parameters = Vec::new();
        for parameter in &parameters {
            match parameter.name {
                "sslmode" | "ssl-mode" => {
                    encryption = Encryption::parse(&parameter.value)
                        .map_err(|why| format!("connection_string: {}: {why}", parameter.name))?;
                }
                "sslrootcert" => {
                    return Err("connection_string: sslrootcert: trust anchors are those of the system, or of SSL_CERT_FILE"
                        .to_owned());
                }
                name if KNOWN.contains(&name) => passed_parameters.push(parameter.raw),
                name => return Err(unknown(name)),
            }
        }
        let (_, rest) = base.split_once("://").ok_or_else(malformed)?;
        // The driver knows the scheme in lower case alone. Its own texts may repeat what they refuse.
        let url = format!("postgres://{rest}?{}", passed_parameters.join("&"));
        let parsed: Config = url.parse().map_err(|_| malformed())?;
        let ports = parsed.get_ports();
        let mut hosts = Vec::new();
        for (index, host) in parsed.get_hosts().iter().enumerate() {
            let Host::Tcp(host) = host else {
                return Err("connection_string: only hosts reached over TCP are supported".to_owned());
            };
            hosts.push((host.clone(), ports.get(index).or(ports.first()).copied().unwrap_or(PORT)));
        }
        if hosts.is_empty() {
            return Err(malformed());
        }
        if is_direct(&parsed) && encryption == Encryption::Preferred {
            return Err("connection_string: sslnegotiation=direct needs sslmode=require".to_owned());
        }
        Ok(Self { base: without_hosts(&parsed), hosts, encryption })
    }

    /// Returns the request for TLS; `None` for connections that stay plain.
    pub(super) fn tls_request(&self) -> Option<TlsRequest> {
        match self.encryption {
            Encryption::Never => None,
            Encryption::Preferred => Some(TlsRequest::Preferred),
            Encryption::Required if is_direct(&self.base) => Some(TlsRequest::Direct),
            Encryption::Required => Some(TlsRequest::Required),
        }
    }

    /// The settings of one connection to one address. `host` is whom a certificate must name.
    pub(super) fn config(&self, host: &str, address: IpAddr, port: u16) -> Config {
        let mut config = self.base.clone();
        config.host(host).hostaddr(address).port(port);
        TlsNegotiation::configure(&mut config);
        config
    }
}

/// Returns whether TLS begins without a request for it.
fn is_direct(config: &Config) -> bool {
    config.get_ssl_negotiation() == SslNegotiation::Direct
}

/// Copies the settings of a connection but for its hosts and ports.
fn without_hosts(parsed: &Config) -> Config {
    let mut config = Config::new();
    if let Some(user) = parsed.get_user() {
        config.user(user);
    }
    if let Some(password) = parsed.get_password() {
        config.password(password);
    }
    if let Some(database) = parsed.get_dbname() {
        config.dbname(database);
    }
    if let Some(options) = parsed.get_options() {
        config.options(options);
    }
    config.application_name(parsed.get_application_name().unwrap_or("svc"));
    config.target_session_attrs(parsed.get_target_session_attrs());
    config.channel_binding(parsed.get_channel_binding());
    config.ssl_negotiation(parsed.get_ssl_negotiation());
    config.keepalives(parsed.get_keepalives());
    config.keepalives_idle(parsed.get_keepalives_idle());
    if let Some(interval) = parsed.get_keepalives_interval() {
        config.keepalives_interval(interval);
    }
    if let Some(retries) = parsed.get_keepalives_retries() {
        config.keepalives_retries(retries);
    }
    if let Some(timeout) = parsed.get_tcp_user_timeout() {
        config.tcp_user_timeout(*timeout);
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<(String, u16)> {
        PostgresTarget::parse(text).unwrap_or_else(|why| panic!("{text}: {why}")).hosts
    }

    #[test]
    fn hosts_and_ports_are_read_in_their_order() {
        let pair = |host: &str, port| (host.to_owned(), port);
        assert_eq!(hosts("postgres://u:p@db/app"), [pair("db", 5432)]);
        assert_eq!(hosts("POSTGRESQL://u@db:6432/app"), [pair("db", 6432)]);
        assert_eq!(hosts("postgres://u@a:1,b:2/app"), [pair("a", 1), pair("b", 2)]);
        assert_eq!(hosts("postgres://u@[::1]:7/app"), [pair("::1", 7)]);
    }

    #[test]
    fn credentials_are_decoded_and_not_part_of_any_error() {
        let target =
            PostgresTarget::parse("postgres://us%40er:p%2Fa%20ss@db/app?sslmode=require&options=-c%20a%3Db")
                .unwrap();
        assert_eq!(target.base.get_user(), Some("us@er"));
        assert_eq!(target.base.get_password(), Some(b"p/a ss".as_slice()));
        assert_eq!(target.base.get_dbname(), Some("app"));
        assert_eq!(target.base.get_options(), Some("-c a=b"));
        assert_eq!(target.encryption, Encryption::Required);
        for wrong in [
            "postgres://u:swordfish@db:port/app",
            "postgres:swordfish",
            "postgres:///swordfish",
            "postgres://u:swordfish@db/app?sslmode=maybe",
            "postgres://u:swordfish@db/app?hostaddr=10.0.0.1",
            "postgres://u:swordfish@db/app?host=10.0.0.1",
            "postgres://u:swordfish@db/app?sslrootcert=/etc/x",
            "postgres://u:swordfish@%2Frun%2Fpostgresql/app",
            "postgres://u:swordfish@db/app?connect_timeout=swordfish",
        ] {
            let Err(why) = PostgresTarget::parse(wrong) else { panic!("{wrong}") };
            assert!(why.starts_with("connection_string: ") && !why.contains("swordfish"), "{why}");
        }
    }

    #[test]
    fn a_connection_goes_to_the_address_that_was_checked() {
        let target = PostgresTarget::parse("postgres://u@db/app").unwrap();
        let config = target.config("db", IpAddr::from([203, 0, 113, 7]), 6432);
        assert_eq!(config.get_hosts(), [Host::Tcp("db".to_owned())]);
        assert_eq!(config.get_hostaddrs(), [IpAddr::from([203, 0, 113, 7])]);
        assert_eq!(config.get_ports(), [6432]);
    }

    #[test]
    fn request_for_tls_follows_the_parameters() {
        for (parameters, expected) in [
            ("", Some(TlsRequest::Preferred)),
            ("sslmode=disable", None),
            ("sslmode=disable&sslnegotiation=direct", None),
            ("sslmode=verify-full", Some(TlsRequest::Required)),
            ("sslmode=require&sslnegotiation=direct", Some(TlsRequest::Direct)),
        ] {
            let target = PostgresTarget::parse(&format!("postgres://u@db/app?{parameters}")).unwrap();
            assert_eq!(target.tls_request(), expected, "{parameters}");
        }
        let refused = PostgresTarget::parse("postgres://u@db/app?sslnegotiation=direct");
        assert!(refused.err().is_some_and(|why| why.contains("needs sslmode=require")));
    }
}
