//! A Redis server, and who calls it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use redis::{ConnectionAddr, ErrorKind, IntoConnectionInfo, RedisConnectionInfo, RedisError};
use svc_outbound::describe_cause;

use crate::failure::{RedisFailure, is_unavailable};

/// The refusal of a URL, without the URL: it may hold a password.
const UNUSABLE: &str = "use redis:// or rediss:// with [user[:password]@]host[:port][/database]";
/// Bytes of a refusal that an error shows.
const SHOWN: usize = 200;

/// A Redis server, with user, password and database.
#[derive(Clone)]
pub struct RedisTarget {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: bool,
    pub(crate) login: RedisConnectionInfo,
    pub(crate) allow_private: bool,
}

/// The host and port of a server of a Redis Cluster, as its servers name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ServerPlace {
    /// Empty for the host of the server that was asked.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl ServerPlace {
    /// Reads `host:port`, as redirections have it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Self { host: host.to_owned(), port: port.parse().ok()? })
    }
}

impl RedisTarget {
    /// Returns another server of the same Redis Cluster, with the same user and password.
    pub(crate) fn with_place(&self, place: &ServerPlace) -> Self {
        let host = if place.host.is_empty() { &self.host } else { &place.host };
        Self { host: host.clone(), port: place.port, ..self.clone() }
    }

    /// Reads a URL. `allow_private` permits addresses that are not public.
    ///
    /// # Errors
    /// A text that says what a URL looks like, without the text of this one.
    pub fn new(url: &str, allow_private: bool) -> Result<Self, String> {
        let info = url.into_connection_info().map_err(|_| UNUSABLE.to_owned())?;
        let (host, port, tls) = match info.addr() {
            ConnectionAddr::Tcp(host, port) => (host.clone(), *port, false),
            ConnectionAddr::TcpTls { insecure: true, .. } => {
                return Err("#insecure is not served; certificates are always verified".to_owned());
            }
            ConnectionAddr::TcpTls { host, port, .. } => (host.clone(), *port, true),
            _ => return Err(UNUSABLE.to_owned()),
        };
        // Who asks is nobody's business, and old servers do not know the command.
        let login = info.redis_settings().clone().set_skip_set_lib_name();
        Ok(Self { host, port, tls, login, allow_private })
    }

    /// Returns host and port as errors show them.
    pub fn place(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    pub(crate) fn unreachable(&self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> RedisFailure {
        let cause: Box<dyn Error + Send + Sync> = cause.into();
        let cause = describe_cause(&*cause);
        RedisFailure::Unreachable(format!("no connection to '{}' ({cause})", self.place()))
    }

    pub(crate) fn late(&self, limit: Duration) -> RedisFailure {
        RedisFailure::Timeout(format!("no answer from '{}' within {} ms", self.place(), limit.as_millis()))
    }

    pub(crate) fn failure(&self, error: &RedisError, limit: Duration) -> RedisFailure {
        let place = self.place();
        match error.kind() {
            _ if error.is_timeout() => self.late(limit),
            ErrorKind::Io => {
                let cause = describe_cause(error);
                RedisFailure::Broken(format!("the connection to '{place}' broke ({cause})"))
            }
            _ if is_unavailable(error) => {
                RedisFailure::Unreachable(format!("'{place}' cannot serve now ({})", server_message(error)))
            }
            ErrorKind::AuthenticationFailed => {
                RedisFailure::Refused(format!("'{place}' refuses the user or the password of the url"))
            }
            _ => RedisFailure::Refused(format!("'{place}' refused ({})", server_message(error))),
        }
    }
}

/// Shows the place alone: the login has the password.
impl fmt::Debug for RedisTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTarget").field("place", &self.place()).finish_non_exhaustive()
    }
}

/// Returns the server's text up to the first quote, if it may repeat the command.
fn server_message(error: &RedisError) -> String {
    let code = error.code().unwrap_or_else(|| error.category());
    let detail = error.detail().unwrap_or_default().split(['\'', '"', '`']).next().unwrap_or_default();
    let message: String = format!("{code} {detail}").chars().take(SHOWN).collect();
    message.trim_end_matches([' ', ',', ':']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_names_host_port_user_password_and_database() {
        let target = RedisTarget::new("rediss://bob:p%40ss@cache.example:6380/3", false).unwrap();
        assert_eq!((target.host.as_str(), target.port, target.tls), ("cache.example", 6380, true));
        assert_eq!(target.login.username(), Some("bob"));
        assert_eq!((target.login.password(), target.login.db()), (Some("p@ss"), 3));
        assert!(!format!("{target:?}").contains("p@ss"));
        let target = RedisTarget::new("redis://[::1]", true).unwrap();
        assert_eq!((target.place().as_str(), target.tls), ("[::1]:6379", false));
    }

    #[test]
    fn redirection_names_the_cluster_server() {
        let seed = RedisTarget::new("rediss://:p@cache.example:6380", true).unwrap();
        for (text, expected) in [
            ("10.0.0.2:6381", "10.0.0.2:6381"),
            (":6381", "cache.example:6381"),
            ("fd00::2:6381", "[fd00::2]:6381"),
        ] {
            let server = seed.with_place(&ServerPlace::parse(text).unwrap());
            assert_eq!((server.place().as_str(), server.tls), (expected, true));
        }
        assert_eq!(ServerPlace::parse("cache.example"), None);
    }

    #[test]
    fn url_that_cannot_be_used_is_not_repeated() {
        for url in ["redis://:swordfish@h/first", "redis://:swordfish@", "rediss://:swordfish@h#insecure"] {
            let refused = RedisTarget::new(url, true).err().unwrap();
            assert!(!refused.contains("swordfish"), "{refused}");
        }
    }
}
