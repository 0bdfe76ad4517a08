//! The configuration of the store, and the parsing of database URLs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use svc_secrets::EnvelopeKeys;
use tokio_postgres::config::Host;

use crate::error::{OpenError, with_causes};
use crate::postgres::TlsMode;

/// The address of the database and the time limits for it.
#[derive(Clone)]
pub struct StoreConfig {
    /// `sqlite:PATH`, `postgres://…` or `postgresql://…`. May contain a password: never log it.
    pub url: String,
    /// Maximum number of connections for reads. The writer has one of its own.
    pub max_connections: u32,
    /// Connections for reads that stay open when idle.
    pub min_connections: u32,
    /// Time in milliseconds that a statement waits for the lock of another process on a SQLite file.
    pub busy_timeout_ms: u64,
    /// Time that a caller waits for a connection before the database counts as unavailable.
    pub acquire_timeout: Duration,
    /// Time limit of a health check. A database that completes neither the check nor a write within it counts as away.
    pub health_check_timeout: Duration,
    /// Time after which an idle connection is closed; `None` for never.
    pub idle_timeout: Option<Duration>,
    /// Runs pending migrations at start. If off, a pending migration is an error.
    pub auto_migrate: bool,
    /// Time for which the first connection to a server is retried; zero for a single attempt. A file is tried
    /// once.
    pub connect_retry: Duration,
    /// Keys that encrypt the settings of connectors.
    pub connector_keys: EnvelopeKeys,
    /// The directory of backups of a SQLite file, if there is one.
    pub backup_dir: Option<PathBuf>,
}

impl StoreConfig {
    /// Returns `true` if the URL leads to a server, which may be away, and not to a file.
    pub fn is_server(&self) -> bool {
        matches!(DatabaseTarget::parse(&self.url), Ok(DatabaseTarget::Postgres(_)))
    }

    /// Returns the path of a SQLite file; `None` for a server.
    pub fn file(&self) -> Option<PathBuf> {
        DatabaseTarget::parse(&self.url).ok()?.file().map(Path::to_owned)
    }

    /// Returns the hosts of a server whose addresses are looked up; none for a file, a socket, or addresses in the URL.
    pub fn hosts(&self) -> Vec<String> {
        let Ok(DatabaseTarget::Postgres(server)) = DatabaseTarget::parse(&self.url) else {
            return Vec::new();
        };
        if !server.settings.get_hostaddrs().is_empty() {
            return Vec::new();
        }
        let name = |host: &Host| match host {
            Host::Tcp(name) => Some(name.clone()),
            #[cfg(unix)]
            Host::Unix(_) => None,
        };
        server.settings.get_hosts().iter().filter_map(name).collect()
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: "sqlite:svc.db".into(),
            max_connections: 50,
            min_connections: 5,
            busy_timeout_ms: 5000,
            acquire_timeout: Duration::from_secs(3),
            health_check_timeout: Duration::from_secs(2),
            idle_timeout: Some(Duration::from_secs(300)),
            auto_migrate: true,
            connect_retry: Duration::from_secs(60),
            connector_keys: EnvelopeKeys::default(),
            backup_dir: None,
        }
    }
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreConfig")
            .field("max_connections", &self.max_connections)
            .field("min_connections", &self.min_connections)
            .field("auto_migrate", &self.auto_migrate)
            .finish_non_exhaustive()
    }
}

/// The kinds of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A SQLite file.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
}

impl Backend {
    /// Returns the name in logs and health responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A parsed database URL.
#[derive(Clone)]
pub(crate) enum DatabaseTarget {
    /// Path of the file.
    Sqlite(String),
    /// The server.
    Postgres(Box<PostgresUrl>),
}

/// A parsed URL of a server.
#[derive(Clone)]
pub(crate) struct PostgresUrl {
    pub(crate) settings: tokio_postgres::Config,
    pub(crate) tls: TlsMode,
}

impl DatabaseTarget {
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        match url.split_once(':') {
            Some(("sqlite", rest)) => Self::parse_sqlite(rest),
            Some(("postgres" | "postgresql", _)) => Self::parse_postgres(url),
            Some(("mysql", _)) => Err(OpenError::Url("mysql is not supported by this version".into())),
            _ => Err(OpenError::Url("the scheme must be sqlite: or postgres://".into())),
        }
    }

    fn parse_sqlite(rest: &str) -> Result<Self, OpenError> {
        let path = rest.strip_prefix("//").unwrap_or(rest);
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if !matches!(query, "" | "mode=rwc") {
            return Err(OpenError::Url(format!("sqlite: takes no parameters, found '?{query}'")));
        }
        if path.is_empty() || path == ":memory:" {
            return Err(OpenError::Url("sqlite: needs the path of a file".into()));
        }
        Ok(Self::Sqlite(path.into()))
    }

    fn parse_postgres(url: &str) -> Result<Self, OpenError> {
        let (url, tls) = TlsMode::take_from(url).map_err(OpenError::Url)?;
        // The error of the parser names the wrong option and never repeats the URL.
        let mut settings: tokio_postgres::Config =
            url.parse().map_err(|error: tokio_postgres::Error| OpenError::Url(with_causes(&error)))?;
        if settings.get_application_name().is_none() {
            settings.application_name("svc-server");
        }
        if settings.get_hosts().is_empty() {
            // A certificate then names the address.
            for address in settings.get_hostaddrs().to_vec() {
                settings.host(address.to_string());
            }
        }
        Ok(Self::Postgres(Box::new(PostgresUrl { settings, tls })))
    }

    /// Returns the path of a SQLite file; `None` for a server.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(Path::new(path)),
            Self::Postgres(_) => None,
        }
    }

    /// Refuses a file whose directory is missing: the database would say no more than that it cannot be opened.
    ///
    /// # Errors
    /// [`OpenError::Unreachable`], which names the directory.
    pub(crate) fn check_directory(&self) -> Result<(), OpenError> {
        let directory = self.file().and_then(Path::parent);
        match directory.filter(|directory| !directory.as_os_str().is_empty() && !directory.exists()) {
            None => Ok(()),
            Some(missing) => Err(OpenError::Unreachable {
                target: self.to_string(),
                detail: format!("the directory '{}' does not exist", missing.display()),
            }),
        }
    }

    pub(crate) const fn backend(&self) -> Backend {
        match self {
            Self::Sqlite(_) => Backend::Sqlite,
            Self::Postgres(_) => Backend::Postgres,
        }
    }
}

/// Shows the location of the database without the password.
impl fmt::Display for DatabaseTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite file '{path}'"),
            Self::Postgres(server) => {
                let config = &server.settings;
                let host = match config.get_hosts().first() {
                    Some(Host::Tcp(name)) => name.clone(),
                    #[cfg(unix)]
                    Some(Host::Unix(path)) => path.display().to_string(),
                    _ => "localhost".into(),
                };
                let port = config.get_ports().first().copied().unwrap_or(5432);
                write!(f, "postgres database '{}' at {host}:{port}", config.get_dbname().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_selects_the_backend() {
        for (url, backend) in [
            ("sqlite:svc.db", Backend::Sqlite),
            ("sqlite:///var/lib/svc.db", Backend::Sqlite),
            ("sqlite:svc.db?mode=rwc", Backend::Sqlite),
            ("postgres://svc@localhost/svc", Backend::Postgres),
            ("postgresql://svc@localhost/svc", Backend::Postgres),
        ] {
            assert_eq!(DatabaseTarget::parse(url).map(|t| t.backend()).ok(), Some(backend), "{url}");
        }
    }

    #[test]
    fn unusable_url_is_refused_without_its_password() {
        for (url, word) in [
            ("mysql://svc@localhost/svc", "mysql"),
            ("svc.db", "scheme"),
            ("sqlite:", "path"),
            ("sqlite::memory:", "path"),
            ("sqlite:svc.db?mode=ro", "parameters"),
            ("postgres://svc:hunter2@localhost/svc?sslmode=requier", "sslmode"),
            ("postgres://svc:hunter2@localhost/svc?nonsense=1", "nonsense"),
        ] {
            let text = DatabaseTarget::parse(url).err().expect(url).to_string();
            assert!(text.contains(word), "{url}: {text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_target_is_described_without_its_password() {
        let target = DatabaseTarget::parse("postgres://svc:hunter2@db.internal:6432/orders").unwrap();
        assert_eq!(target.to_string(), "postgres database 'orders' at db.internal:6432");
        let config = StoreConfig { url: "postgres://svc:hunter2@db/orders".into(), ..StoreConfig::default() };
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
