//! Settings that a running service takes from a configuration that is read again.

use std::path::PathBuf;

use super::load::{LoadedConfig, load};
use super::problem::Diagnostics;
use super::setting::SettingNode;
use super::{Config, ConfigError};
use crate::settings::max_message_bytes;

/// Settings, and sections of settings, that a reload takes. Every other one takes a restart.
const RELOADABLE: [&str; 14] = [
    "admin_auth.api_keys",
    "admin_auth.header",
    "admin_auth.read_only_api_keys",
    "cors",
    "ingest.max_payload_size",
    "logging.access_sample",
    "logging.level",
    "rate_limit.default_burst",
    "rate_limit.default_rps",
    "rate_limit.enabled",
    "rate_limit.endpoints",
    "rate_limit.trusted_proxies",
    "server.max_admin_body_size",
    "server.max_in_flight_bytes",
];

/// Returns `true` if a reload takes a new value of a setting.
pub(crate) fn is_reloadable(path: &str) -> bool {
    let covers =
        |known: &str| path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    RELOADABLE.iter().any(|known| covers(known))
}

/// The place that the configuration was read from, to read it again.
#[derive(Clone)]
pub struct ConfigSource {
    /// The file.
    pub path: PathBuf,
    /// The environment of the process, which overrides it.
    pub environment: Vec<(String, String)>,
}

/// Shows the file alone: the environment has secrets.
impl std::fmt::Debug for ConfigSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfigSource").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ConfigSource {
    /// Reads the configuration.
    ///
    /// # Errors
    /// All problems of the file and the environment.
    pub(crate) fn read(&self) -> Result<LoadedConfig, ConfigError> {
        load(Some(&self.path), &self.environment)
    }
}

/// The settings that differ between the configuration in effect and one that was read, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SettingsChange {
    /// Settings whose new value is in effect.
    pub(crate) taken: Vec<String>,
    /// Settings whose new value needs a restart.
    pub(crate) needs_restart: Vec<String>,
}

impl Config {
    /// Returns this configuration with what a reload takes of another one, and the differences. `takes_level` tells that
    /// the level of the log can be changed.
    ///
    /// # Errors
    /// The problems of a configuration that is made of both.
    pub(crate) fn reloaded(
        &self,
        read: &Self,
        takes_level: bool,
    ) -> Result<(Self, SettingsChange), ConfigError> {
        let mut change = SettingsChange::default();
        let mut config = self.clone();
        // Without the other setting, new keys could lock everybody out.
        let takes_keys = self.admin_auth.enabled == read.admin_auth.enabled;
        // The bound of messages is set at the start.
        let takes_payloads = max_message_bytes(self) == max_message_bytes(read);
        config.take_changes(read, "", &mut |path| {
            let is_taken = is_reloadable(path)
                && (takes_keys || !path.starts_with("admin_auth."))
                && (takes_payloads || path != "ingest.max_payload_size")
                && (takes_level || path != "logging.level");
            let list = if is_taken { &mut change.taken } else { &mut change.needs_restart };
            list.push(path.to_owned());
            is_taken
        });
        let mut diagnostics = Diagnostics::default();
        config.check(&mut diagnostics);
        diagnostics.finish().map(|_| (config, change))
    }
}
