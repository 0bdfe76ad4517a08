//! Reading the settings again while the service runs.

use slog::{error, info, warn};

use crate::config::{Config, ConfigError, SettingsChange};
use crate::state::AppState;

impl AppState {
    /// Reads the configuration again and takes what may change while the service runs. The log names the settings that
    /// were taken and those that need a restart.
    ///
    /// # Errors
    /// All problems of the configuration; nothing was taken then.
    pub(crate) async fn reload_settings(&self) -> Result<SettingsChange, ConfigError> {
        let change = match self.process.settings.read().await {
            Ok(None) => return Ok(SettingsChange::default()),
            Ok(Some(read)) => {
                self.process.settings.take(&read, |config, change| self.apply_settings(config, change))
            }
            Err(error) => Err(error),
        };
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

    /// Hands the settings that have changed to the parts that use them.
    fn apply_settings(&self, config: &Config, change: &SettingsChange) {
        let changes = |section: &str| change.taken.iter().any(|path| path.starts_with(section));
        if changes("admin_auth.") {
            self.edge.auth.replace_keys(&config.admin_auth);
        }
        if changes("cors.") {
            self.edge.cors.replace(&config.cors);
        }
        let proxies = "rate_limit.trusted_proxies";
        if changes(proxies) {
            self.edge.proxies.replace(&config.rate_limit.trusted_proxies);
        }
        // New limits begin with full buckets: only where a limit has changed.
        let is_limit = |path: &String| path.starts_with("rate_limit.") && path != proxies;
        if change.taken.iter().any(is_limit) {
            self.edge.rate_limits.replace(&config.rate_limit);
        }
        self.edge.access_sample.set_share(config.logging.access_sample);
        self.edge.in_flight.set_limit(config.server.max_in_flight_bytes);
    }
}
