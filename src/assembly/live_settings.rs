//! The settings in effect, which a configuration that is read again may change.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use svc_api::EffectiveConfig;
use tokio::task::spawn_blocking;

use crate::config::{
    Config, ConfigError, ConfigProblem, ConfigSource, LoadedConfig, SettingOrigins, SettingsChange,
    describe_settings,
};
use crate::logging::LogLevelHandle;

/// The settings in effect.
#[derive(Debug)]
pub(crate) struct LiveSettings {
    source: Option<ConfigSource>,
    log_level: Option<LogLevelHandle>,
    in_effect: Mutex<SettingsInEffect>,
    payload_bytes: AtomicUsize,
    admin_body_bytes: AtomicUsize,
}

#[derive(Debug)]
struct SettingsInEffect {
    config: Config,
    origins: SettingOrigins,
}

impl LiveSettings {
    /// Starts with the settings of the start.
    pub(crate) fn new(
        config: &Config,
        source: Option<ConfigSource>,
        origins: SettingOrigins,
        log_level: Option<LogLevelHandle>,
    ) -> Self {
        Self {
            source,
            log_level,
            in_effect: Mutex::new(SettingsInEffect { config: config.clone(), origins }),
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

    /// Reads the configuration from its source again; `None` without a source.
    ///
    /// # Errors
    /// All problems of the configuration.
    pub(crate) async fn read(&self) -> Result<Option<LoadedConfig>, ConfigError> {
        let Some(source) = self.source.clone() else { return Ok(None) };
        let subject = source.path.display().to_string();
        let read = spawn_blocking(move || source.read()).await.unwrap_or_else(|_| {
            let problem = ConfigProblem { subject, text: "reading it failed unexpectedly".to_owned() };
            Err(ConfigError { problems: vec![problem] })
        });
        read.map(Some)
    }

    /// Takes what may change of a configuration and hands the result to `apply`, one configuration after the other.
    ///
    /// # Errors
    /// All problems of the configuration that is made of both; nothing was taken then.
    pub(crate) fn take(
        &self,
        read: &LoadedConfig,
        apply: impl FnOnce(&Config, &SettingsChange),
    ) -> Result<SettingsChange, ConfigError> {
        let mut in_effect = self.in_effect.lock();
        let takes_level = self.log_level.as_ref().is_some_and(LogLevelHandle::is_changeable);
        let (config, change) = in_effect.config.reloaded(&read.config, takes_level)?;
        if let Some(level) = &self.log_level {
            level.set(config.logging.level);
        }
        self.payload_bytes.store(config.ingest.max_payload_size, Ordering::Relaxed);
        self.admin_body_bytes.store(config.server.max_admin_body_size, Ordering::Relaxed);
        apply(&config, &change);
        for path in &change.taken {
            in_effect.origins.set(path, read.origins.get(path));
        }
        in_effect.config = config;
        Ok(change)
    }

    /// Describes the settings in effect, secrets struck out.
    pub(crate) fn describe(&self) -> EffectiveConfig {
        let in_effect = self.in_effect.lock();
        EffectiveConfig {
            file: self.source.as_ref().map(|source| source.path.display().to_string()),
            settings: describe_settings(&in_effect.config, &in_effect.origins),
        }
    }
}
