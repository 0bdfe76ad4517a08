//! From a file and the environment to a checked configuration.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use svc_outbound::describe_cause;

use super::problem::Diagnostics;
use super::setting::{SettingEntry, SettingNode};
use super::{Config, ConfigError, file, overrides, production, unavailable};

/// A configuration that may be started with.
#[derive(Debug)]
pub struct LoadedConfig {
    /// The settings.
    pub config: Config,
    /// Warnings to print at start, one line each, without secrets.
    pub notes: Vec<String>,
    /// The places that gave the settings.
    pub origins: SettingOrigins,
}

/// The place that gave a setting its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The configuration file.
    File,
    /// A variable of the environment.
    Environment,
    /// An option of the command line.
    Flag,
}

impl SettingOrigin {
    /// Returns the name in bodies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

/// The places that gave the settings, by their keys. A setting without one has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingOrigins(BTreeMap<String, SettingOrigin>);

impl SettingOrigins {
    /// Returns the place that gave a setting; `None` if none did.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<SettingOrigin> {
        self.0.get(key).copied()
    }

    /// Records the place that gave a setting, or that none did.
    pub fn set(&mut self, key: &str, origin: Option<SettingOrigin>) {
        match origin {
            Some(origin) => drop(self.0.insert(key.to_owned(), origin)),
            None => drop(self.0.remove(key)),
        }
    }

    /// Forgets the places of the settings that a program has replaced: `read` came from the places, `used` is in effect.
    pub(crate) fn forget_replaced(&mut self, read: &Config, used: &Config) {
        let (mut entries, mut used_entries) = (Vec::new(), Vec::new());
        read.list("", "", &mut entries);
        used.list("", "", &mut used_entries);
        let value = |entry: &SettingEntry<'_>| entry.setting.map(|setting| setting.compared_value());
        for (entry, in_use) in entries.iter().zip(&used_entries) {
            if value(entry) != value(in_use) {
                self.set(&entry.path, None);
            }
        }
    }

    fn from_diagnostics(diagnostics: &Diagnostics) -> Self {
        let read = diagnostics.read_keys().map(|key| (key.clone(), SettingOrigin::File));
        let overridden = diagnostics.overridden_keys().map(|key| (key.clone(), SettingOrigin::Environment));
        Self(read.chain(overridden).collect())
    }
}

/// Reads a configuration file (none: the defaults) and what the environment overrides.
///
/// # Errors
/// The file cannot be read, or anything in it or in the environment is wrong: all problems at once.
pub fn load(path: Option<&Path>, environment: &[(String, String)]) -> Result<LoadedConfig, ConfigError> {
    let Some(path) = path else {
        let mut loaded = parse("", "", environment)?;
        loaded.notes.insert(
            0,
            "no configuration file given (-c FILE): defaults and the environment apply".to_owned(),
        );
        return Ok(loaded);
    };
    let name = path.display().to_string();
    match fs::read_to_string(path) {
        Ok(text) => {
            let mut loaded = parse(&name, &text, environment)?;
            loaded.config.packages.resolve(path);
            Ok(loaded)
        }
        Err(error) => {
            let mut diagnostics = Diagnostics::default();
            let cause = describe_cause(&error);
            diagnostics.refuse_subject(name, format!("the configuration file cannot be read: {cause}"));
            Err(diagnostics.finish().err().unwrap_or(ConfigError { problems: Vec::new() }))
        }
    }
}

/// Reads a configuration from text; `name` is what problems call it.
///
/// # Errors
/// Anything in the text or in the environment is wrong: all problems at once.
pub fn parse(name: &str, text: &str, environment: &[(String, String)]) -> Result<LoadedConfig, ConfigError> {
    let mut diagnostics = Diagnostics::default();
    let mut config = Config::default();
    let lookup =
        |wanted: &str| environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let file = file::parse(name, text, lookup, &mut diagnostics);
    let readable = file.table.is_some();
    file::apply(&mut config, file.table.unwrap_or_default(), &mut diagnostics);
    overrides::apply(&mut config, environment, &file.placeholders, &mut diagnostics);
    config.admin_auth.read_files(lookup, &mut diagnostics);
    // Without the file's values, rules would be checked against defaults that nobody chose.
    if readable {
        config.check(&mut diagnostics);
    }
    let origins = SettingOrigins::from_diagnostics(&diagnostics);
    Ok(LoadedConfig { notes: diagnostics.finish()?, config, origins })
}

/// Returns the environment of the process, as [`load`] takes it. Invalid UTF-8 is replaced, so that a damaged name or
/// value of a setting is refused rather than ignored.
#[must_use]
pub fn process_environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect()
}

impl Config {
    /// Reads a configuration file and what the environment of the process overrides, as `svc-server -c` does.
    /// [`load`] returns the warnings too, and takes any environment.
    ///
    /// # Errors
    /// As [`load`].
    ///
    /// ```no_run
    /// let mut config = svc::Config::from_file("svc.toml")?;
    /// config.server.port = 8081;
    /// # Ok::<(), svc::config::ConfigError>(())
    /// ```
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        load(Some(path.as_ref()), &process_environment()).map(|loaded| loaded.config)
    }

    pub(super) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_filled("environment", &self.environment);
        self.server.check(diagnostics);
        self.check_console_path(diagnostics);
        self.storage.check(diagnostics);
        self.backups.check(&self.storage, diagnostics);
        self.ingest.check(diagnostics);
        self.logging.check(diagnostics);
        self.metrics.check(&self.server, self.listen_host(), diagnostics);
        self.tracing.check(diagnostics);
        self.telemetry.check(diagnostics);
        self.trace_storage.check(diagnostics);
        self.trace_queue.check(diagnostics);
        self.audit.check(diagnostics);
        self.engine.check(diagnostics);
        self.query.check(diagnostics);
        self.write.check(diagnostics);
        self.oauth2_login.check(diagnostics);
        self.cron.check(diagnostics);
        self.bulk.check(diagnostics);
        self.webhooks.check(diagnostics);
        self.kafka.check(diagnostics);
        self.cluster.check(&self.storage, diagnostics);
        self.rate_limit.check(diagnostics);
        self.admin_auth.check(diagnostics);
        self.cors.check(diagnostics);
        self.packages.check(diagnostics);
        self.plugins.check(diagnostics);
        self.vars.check(diagnostics);
        self.secrets.check(diagnostics);
        production::check(self, diagnostics);
        unavailable::check(self, diagnostics);
    }

    /// Refuses data mounts that clash with the path of a console that is served.
    fn check_console_path(&self, diagnostics: &mut Diagnostics) {
        if self.console_is_on() {
            let console = &self.server.console;
            for problem in self.server.data_mounts.iter().filter_map(|mount| console.mount_problem(mount)) {
                diagnostics.refuse("server.data_mounts", problem);
            }
        }
    }
}
