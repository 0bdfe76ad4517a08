//! The settings of a cache, ready for use.

use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use svc_model::config::connector::{CacheBackend, CacheConfig, OperationSwitches};

/// The refusal of a URL, without the URL: it may hold a password.
const UNUSABLE: &str = "url: use redis:// or rediss:// with [user[:password]@]host[:port][/database]";

/// The settings of a cache.
pub(crate) struct CacheSettings {
    pub(super) backend: CacheStorage,
    /// Operations that tasks may use.
    pub(crate) operations: OperationSwitches,
}

/// The place where entries are kept.
#[derive(Clone)]
pub(super) enum CacheStorage {
    /// The memory of this process.
    Memory,
    /// A Redis server.
    Redis(RedisTarget),
}

/// A Redis server, and who calls.
#[derive(Clone)]
pub(super) struct RedisTarget {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: bool,
    pub(super) login: RedisConnectionInfo,
    pub(super) allow_private: bool,
}

impl CacheSettings {
    /// # Errors
    /// A URL that cannot be used, without its text.
    pub(crate) fn new(config: &CacheConfig) -> Result<Self, String> {
        let backend = match &config.backend {
            CacheBackend::Memory => CacheStorage::Memory,
            CacheBackend::Redis { url } => {
                CacheStorage::Redis(RedisTarget::new(url.expose(), config.allow_private_urls)?)
            }
        };
        Ok(Self { backend, operations: config.operations.clone() })
    }

    /// Tells whether other processes reach the same entries.
    pub(crate) const fn is_shared(&self) -> bool {
        matches!(self.backend, CacheStorage::Redis(_))
    }
}

impl RedisTarget {
    pub(super) fn new(url: &str, allow_private: bool) -> Result<Self, String> {
        let info = url.into_connection_info().map_err(|_| UNUSABLE.to_owned())?;
        let (host, port, tls) = match info.addr() {
            ConnectionAddr::Tcp(host, port) => (host.clone(), *port, false),
            ConnectionAddr::TcpTls { insecure: true, .. } => {
                return Err("url: #insecure is not served; certificates are always verified".to_owned());
            }
            ConnectionAddr::TcpTls { host, port, .. } => (host.clone(), *port, true),
            _ => return Err(UNUSABLE.to_owned()),
        };
        // Who asks is nobody's business, and old servers do not know the command.
        let login = info.redis_settings().clone().set_skip_set_lib_name();
        Ok(Self { host, port, tls, login, allow_private })
    }

    /// Returns host and port as errors show them.
    pub(super) fn place(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_host_port_user_password_and_database() {
        let target = RedisTarget::new("rediss://bob:p%40ss@cache.example:6380/3", false).unwrap();
        assert_eq!((target.host.as_str(), target.port, target.tls), ("cache.example", 6380, true));
        assert_eq!(target.login.username(), Some("bob"));
        assert_eq!((target.login.password(), target.login.db()), (Some("p@ss"), 3));
        let target = RedisTarget::new("redis://[::1]", true).unwrap();
        assert_eq!((target.place().as_str(), target.tls), ("[::1]:6379", false));
    }

    #[test]
    fn a_url_that_cannot_be_used_is_not_repeated() {
        for url in ["redis://:swordfish@h/first", "redis://:swordfish@", "rediss://:swordfish@h#insecure"] {
            let refused = RedisTarget::new(url, true).err().unwrap();
            assert!(refused.starts_with("url: ") && !refused.contains("swordfish"), "{refused}");
        }
    }
}
