//! The settings in effect, and the ones that a running service takes from a file that is read again.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use slog::{error, info, warn};
use tokio::task::spawn_blocking;

use crate::config::{Config, ConfigError, ConfigProblem, ConfigSource, SettingsChange};
use crate::logging::LogLevelHandle;
use crate::state::AppState;

/// The settings in effect.
#[derive(Debug)]
pub(crate) struct LiveSettings {
    source: Option<ConfigSource>,
    log_level: Option<LogLevelHandle>,
    in_effect: Mutex<Config>,
    payload_bytes: AtomicUsize,
    admin_body_bytes: AtomicUsize,
}

impl LiveSettings {
    /// Starts with the settings of the start.
    pub(crate) fn new(
        config: &Config,
        source: Option<ConfigSource>,
        log_level: Option<LogLevelHandle>,
    ) -> Self {
        Self {
            source,
            log_level,
            in_effect: Mutex::new(config.clone()),
            payload_bytes: AtomicUsize::new(config.ingest.max_payload_size),
            admin_body_bytes: AtomicUsize::new(config.server.max_admin_body_size),
        }
    }

    /// Returns `ingest.max_payload_size`.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.payload_bytes.load(Ordering::Relaxed)
    }

    /// Returns `server.max_admin_body_size`.
    pub(crate) fn admin_body_bytes(&self) -> usize {
        self.admin_body_bytes.load(Ordering::Relaxed)
    }
}

impl AppState {
    /// Reads the configuration again and takes what may change while the service runs. The log tells what was taken
    /// and what needs a restart.
    ///
    /// # Errors
    /// All problems of the configuration; nothing was taken then.
    pub(crate) async fn reload_settings(&self) -> Result<SettingsChange, ConfigError> {
        let Some(source) = self.settings.source.clone() else { return Ok(SettingsChange::default()) };
        let subject = source.path.display().to_string();
        let read = spawn_blocking(move || source.read()).await.unwrap_or_else(|_| {
            let problem = ConfigProblem { subject, text: "reading it failed unexpectedly".to_owned() };
            Err(ConfigError { problems: vec![problem] })
        });
        let change = read.and_then(|read| self.take_settings(&read));
        match &change {
            Ok(change) => {
                info!(self.log, "settings read again"; "taken" => change.taken.join(", "));
                if !change.needs_restart.is_empty() {
                    let names = change.needs_restart.join(", ");
                    warn!(self.log, "changed settings need a restart"; "settings" => names);
                }
            }
            Err(error) => error!(self.log, "the settings stay as they are"; "error" => %error),
        }
        change
    }

    fn take_settings(&self, read: &Config) -> Result<SettingsChange, ConfigError> {
        let mut in_effect = self.settings.in_effect.lock();
        let (config, change) = in_effect.reloaded(read)?;
        let changes = |section: &str| change.taken.iter().any(|path| path.starts_with(section));
        if changes("admin_auth.") {
            self.auth.replace_keys(&config.admin_auth);
        }
        if changes("cors.") {
            self.cors.replace(&config.cors);
        }
        if changes("rate_limit.trusted_proxies") {
            self.proxies.replace(&config.rate_limit.trusted_proxies);
        }
        // New limits begin with full buckets: only where a limit has changed.
        if change
            .taken
            .iter()
            .any(|path| path.starts_with("rate_limit.") && !path.ends_with(".trusted_proxies"))
        {
            self.rate_limits.replace(&config.rate_limit);
        }
        if let Some(level) = &self.settings.log_level {
            level.set(config.logging.level);
        }
        self.in_flight.set_limit(config.server.max_in_flight_bytes);
        self.settings.payload_bytes.store(config.ingest.max_payload_size, Ordering::Relaxed);
        self.settings.admin_body_bytes.store(config.server.max_admin_body_size, Ordering::Relaxed);
        *in_effect = config;
        Ok(change)
    }
}
