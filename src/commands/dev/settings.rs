//! The settings of a server for one author: those that are configured, on a loopback address and with a database of the
//! project.

use std::path::Path;

use crate::config::{
    Config, ConfigError, ConfigProblem, LoadedConfig, LogLevel, PackagesSection, SettingOrigin,
    SettingOrigins,
};

/// The address of the listener. No other is allowed: the admin API asks for no key.
const HOST: &str = "127.0.0.1";
/// The name of the database in the directory of the state.
const DATABASE: &str = "dev.db";
/// The name of the directory of backups in the directory of the state.
const BACKUPS: &str = "backups";

/// Returns the settings of a server for the author of a project. `state` is the directory of its files.
///
/// # Errors
/// The configured environment is production.
pub(super) fn development_config(
    config: &Config,
    state: &Path,
    port: Option<u16>,
) -> Result<Config, ConfigError> {
    if config.is_production() {
        let text = format!(
            "'{}' is production; `dev` serves what was saved last, to callers without a key, so it runs elsewhere: set \
             environment (SVC_ENVIRONMENT) to \"development\"",
            config.environment
        );
        return Err(ConfigError {
            problems: vec![ConfigProblem { subject: "environment".to_owned(), text }],
        });
    }
    let mut config = config.clone();
    config.server.host = Some(HOST.to_owned());
    config.server.port = port.unwrap_or(config.server.port);
    config.server.tls.enabled = false;
    config.server.shutdown_drain_secs = 0;
    config.metrics.bind_addr = None;
    config.admin_auth.enabled = false;
    config.cluster.enabled = false;
    config.storage.url = format!("sqlite:{}", state.join(DATABASE).display());
    config.storage.backup_dir = state.join(BACKUPS).display().to_string();
    config.storage.auto_migrate = true;
    config.packages = PackagesSection::default();
    // The start and the end of the service are no news to its author.
    if config.logging.level == LogLevel::Info {
        config.logging.level = LogLevel::Warn;
    }
    Ok(config)
}

/// Returns the places that gave the settings of such a server; `port` is that of the command line.
pub(super) fn find_origins(loaded: &LoadedConfig, used: &Config, port: Option<u16>) -> SettingOrigins {
    let mut origins = loaded.origins.clone();
    origins.forget_replaced(&loaded.config, used);
    if port.is_some() {
        origins.set("server.port", Some(SettingOrigin::Flag));
    }
    origins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn server_is_open_on_loopback_alone() {
        let mut configured = Config::default();
        configured.server.host = Some("0.0.0.0".to_owned());
        configured.admin_auth.enabled = true;
        configured.storage.url = "postgres://db.example/svc".to_owned();
        let config = development_config(&configured, Path::new("shop/.svc"), None).unwrap();
        assert_eq!((config.listen_host(), config.server.port), ("127.0.0.1", 8080));
        assert!(!config.admin_auth.enabled);
        assert_eq!(config.storage.url, "sqlite:shop/.svc/dev.db");
        assert_eq!(development_config(&configured, Path::new("."), Some(9)).unwrap().server.port, 9);
    }

    #[test]
    fn production_is_refused_by_name() {
        let config = Config { environment: "Production-eu".to_owned(), ..Config::default() };
        let refused = development_config(&config, Path::new("."), None).unwrap_err().to_string();
        assert!(refused.starts_with("environment: 'Production-eu' is production"), "{refused}");
    }

    #[test]
    fn replaced_setting_has_no_place_in_the_file() {
        let text =
            "[server]\nhost = \"0.0.0.0\"\nport = 9000\nbacklog = 7\n[storage]\nurl = \"sqlite:own.db\"";
        let loaded = parse("svc.toml", text, &[]).unwrap();
        for (port, expected) in [(Some(9), SettingOrigin::Flag), (None, SettingOrigin::File)] {
            let config = development_config(&loaded.config, Path::new("."), port).unwrap();
            let origins = find_origins(&loaded, &config, port);
            assert_eq!(origins.get("server.port"), Some(expected));
            assert_eq!(origins.get("server.backlog"), Some(SettingOrigin::File));
            assert_eq!((origins.get("server.host"), origins.get("storage.url")), (None, None));
        }
    }
}
