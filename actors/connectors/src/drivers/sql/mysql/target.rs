//! The parsed connection string of a MySQL.

use std::net::SocketAddr;
use std::time::Duration;

use mysql_async::{Opts, OptsBuilder, SslOpts};
use url::Url;

use crate::drivers::sql::encryption::Encryption;
use crate::drivers::sql::parameters::{decode_percent, split_parameters, unknown};

const PORT: u16 = 3306;
/// Statements kept prepared for each connection.
const PREPARED: usize = 200;
/// Period of TCP keep-alives on a silent connection.
const KEEPALIVE: Duration = Duration::from_secs(60);
/// Sets the session's time zone to UTC, so that results do not depend on the server's zone.
const SETUP: &str = "SET time_zone = '+00:00'";

/// A connection string, read.
#[derive(Clone)]
pub(crate) struct MySqlTarget {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) encryption: Encryption,
    user: Option<String>,
    password: Option<String>,
    database: Option<String>,
}

impl MySqlTarget {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let malformed =
            || "connection_string: not a MySQL URL, use mysql://user:password@host:port/database".to_owned();
        let (base, parameters) = split_parameters(text);
        let mut encryption = Encryption::Preferred;
        for parameter in &parameters {
            let named = |name: &str| {
                Encryption::parse(name).map_err(|why| format!("connection_string: {}: {why}", parameter.name))
            };
            match (parameter.name, parameter.value.as_str()) {
                ("ssl-mode" | "sslmode" | "ssl_mode", mode) => encryption = named(mode)?,
                ("require_ssl", "true") => encryption = Encryption::Required,
                ("require_ssl", "false") => {}
                // What is spoken anyway.
                ("charset", charset) if charset.to_ascii_lowercase().starts_with("utf8") => {}
                (name @ ("require_ssl" | "charset"), _) => {
                    return Err(format!("connection_string: the value of '{name}' is not supported"));
                }
                (name, _) => return Err(unknown(name)),
            }
        }
        let (_, rest) = base.split_once("://").ok_or_else(malformed)?;
        let url = Url::parse(&format!("mysql://{rest}")).map_err(|_| malformed())?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(malformed)?;
        let some = |text: &str| (!text.is_empty()).then(|| decode_percent(text));
        Ok(Self {
            host: decode_percent(host.trim_start_matches('[').trim_end_matches(']')),
            port: url.port().unwrap_or(PORT),
            encryption,
            user: some(url.username()),
            password: url.password().map(decode_percent),
            database: some(url.path().trim_start_matches('/')),
        })
    }

    /// The settings of one connection to one address. With `trust`, it is encrypted.
    pub(super) fn options(&self, address: SocketAddr, trust: Option<SslOpts>) -> Opts {
        OptsBuilder::default()
            .ip_or_hostname(self.host.clone())
            .tcp_port(address.port())
            .resolved_ips(Some(vec![address.ip()]))
            // A socket would lead past the address.
            .prefer_socket(false)
            .user(self.user.clone())
            .pass(self.password.clone())
            .db_name(self.database.clone())
            // An update counts the rows it met, as with the other databases.
            .client_found_rows(true)
            .stmt_cache_size(PREPARED)
            .tcp_keepalive(Some(KEEPALIVE))
            .init(vec![SETUP])
            .ssl_opts(trust)
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_is_read_and_decoded() {
        let target =
            MySqlTarget::parse("mariadb://us%40er:p%2Fa%20ss@db:3307/app?ssl-mode=REQUIRED").unwrap();
        assert_eq!(
            (target.host.as_str(), target.port, target.encryption),
            ("db", 3307, Encryption::Required)
        );
        let options = target.options(SocketAddr::from(([203, 0, 113, 7], 3307)), None);
        assert_eq!((options.user(), options.pass()), (Some("us@er"), Some("p/a ss")));
        assert_eq!((options.db_name(), options.tcp_port()), (Some("app"), 3307));
        assert_eq!(options.resolved_ips(), &Some(vec![[203, 0, 113, 7].into()]));
        assert!(!options.prefer_socket() && options.socket().is_none());
        let least = MySqlTarget::parse("MySQL://[::1]").unwrap();
        assert_eq!((least.host.as_str(), least.port, least.user), ("::1", 3306, None));
    }

    #[test]
    fn unusable_part_is_named_without_its_value() {
        for wrong in [
            "mysql:swordfish",
            "mysql://u:swordfish@db:port/app",
            "mysql://u:swordfish@/app",
            "mysql://u:swordfish@db/app?socket=/run/swordfish",
            "mysql://u:swordfish@db/app?ssl-mode=maybe",
            "mysql://u:swordfish@db/app?require_ssl=swordfish",
            "mysql://u:swordfish@db/app?charset=latin1",
        ] {
            let Err(why) = MySqlTarget::parse(wrong) else { panic!("{wrong}") };
            assert!(why.starts_with("connection_string: ") && !why.contains("swordfish"), "{why}");
        }
    }
}
