//! From a file and the environment to a checked configuration.

use std::fs;
use std::path::Path;

use super::problem::Report;
use super::{Config, ConfigError, file, overrides, production, unavailable};

/// A configuration that may be started with.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Warnings to print at start, one line each, without secrets.
    pub notes: Vec<String>,
}

/// Reads a configuration file (none: the defaults) and what the environment overrides.
///
/// # Errors
/// The file cannot be read, or anything in it or in the environment is wrong: all problems at once.
pub fn load(path: Option<&Path>, environment: &[(String, String)]) -> Result<Loaded, ConfigError> {
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
        Ok(text) => parse(&name, &text, environment),
        Err(error) => {
            let mut report = Report::default();
            report.refuse_subject(name, format!("the configuration file cannot be read: {error}"));
            Err(report.finish().err().unwrap_or(ConfigError { problems: Vec::new() }))
        }
    }
}

/// Reads a configuration from text; `name` is what problems call it.
///
/// # Errors
/// Anything in the text or in the environment is wrong: all problems at once.
pub fn parse(name: &str, text: &str, environment: &[(String, String)]) -> Result<Loaded, ConfigError> {
    let mut report = Report::default();
    let mut config = Config::default();
    let lookup =
        |wanted: &str| environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let file = file::parse(name, text, lookup, &mut report);
    let readable = file.table.is_some();
    file::apply(&mut config, file.table.unwrap_or_default(), &mut report);
    overrides::apply(&mut config, environment, &file.placeholders, &mut report);
    // Without the file's values, rules would be checked against defaults that nobody chose.
    if readable {
        config.check(&mut report);
    }
    Ok(Loaded { notes: report.finish()?, config })
}

impl Config {
    fn check(&self, report: &mut Report) {
        report.filled("environment", &self.environment);
        self.server.check(report);
        self.storage.check(report);
        self.ingest.check(report);
        self.metrics.check((self.listen_host(), self.server.port), report);
        self.tracing.check(report);
        self.trace_storage.check(report);
        self.trace_queue.check(report);
        self.audit.check(report);
        self.engine.check(report);
        self.query.check(report);
        self.write.check(report);
        self.cron.check(report);
        self.kafka.check(report);
        self.cluster.check(&self.storage, report);
        self.rate_limit.check(report);
        self.admin_auth.check(report);
        self.cors.check(report);
        self.vars.check(report);
        self.secrets.check(report);
        production::check(self, report);
        unavailable::check(self, report);
    }
}
