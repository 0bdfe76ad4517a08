//! The settings of one command line: an option wins over the environment, that over the file.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum as _;
use svc_client::{ApiKey, ClientIdentity, ClientSettings, ServerAddress, Trust};

use crate::config_file::UserConfig;
use crate::environment::Environment;
use crate::error::CliError;
use crate::globals::{GlobalArgs, OutputFormat};
use crate::input::input_error;
use crate::setting_sources::{ClientSetting, SettingSources};

/// The settings of one command line.
pub(crate) struct Settings {
    /// The settings of the client.
    pub(crate) client: ClientSettings,
    /// The settings of the output.
    pub(crate) output: OutputSettings,
    /// Asks no questions.
    pub(crate) yes: bool,
    /// Warnings for standard error.
    pub(crate) warnings: Vec<String>,
}

/// The settings of the output.
pub(crate) struct OutputSettings {
    /// The form of results.
    pub(crate) format: OutputFormat,
    /// Prints ids alone.
    pub(crate) is_quiet: bool,
    /// Prints the requests.
    pub(crate) is_verbose: bool,
    /// Permits colours if there is a terminal.
    pub(crate) may_color: bool,
    /// The number of columns, if the environment names one.
    pub(crate) columns: Option<u16>,
}

impl OutputSettings {
    pub(crate) fn new(globals: &GlobalArgs, environment: &Environment, format: OutputFormat) -> Self {
        Self {
            format,
            is_quiet: globals.quiet,
            is_verbose: globals.verbose,
            may_color: !globals.no_color && environment.get("NO_COLOR").is_none(),
            columns: environment.get("COLUMNS").and_then(|columns| columns.parse().ok()),
        }
    }
}

impl Settings {
    /// Settles every setting.
    pub(crate) fn resolve(
        globals: &GlobalArgs,
        environment: &Environment,
        file: &UserConfig,
    ) -> Result<Self, CliError> {
        let sources = SettingSources { globals, environment, file };
        let server: ServerAddress =
            sources.settle(ClientSetting::ServerUrl).value.unwrap_or_default().parse()?;
        let header = sources.explicit_value(ClientSetting::ApiKeyHeader);
        let mut client = ClientSettings::new(server);
        let key = sources.explicit_value(ClientSetting::ApiKey);
        client.key = key.map(|key| ApiKey::new(&key, header.as_deref())).transpose()?;
        client.change_context = sources.explicit_value(ClientSetting::ChangeContext);
        client.timeout = Duration::from_secs(globals.request_timeout);
        client.user_agent = concat!("svc-cli/", env!("CARGO_PKG_VERSION")).to_owned();
        if let Some(path) = &globals.ca_file {
            client.trust = read_anchors(path)?;
        }
        if let (Some(certificate), Some(key)) = (&globals.client_cert, &globals.client_key) {
            client.identity = Some(ClientIdentity { certificate: read(certificate)?, key: read(key)? });
        }
        let mut warnings = Vec::new();
        if client.key.is_some() && client.server.is_exposed() {
            warnings.push(format!(
                "the key crosses the network in clear; use https instead of {}",
                client.server
            ));
        }
        if file.is_exposed() {
            let path = file.path().display();
            warnings.push(format!("{path} holds a key and others can read it; run: chmod 600 {path}"));
        }
        let output = OutputSettings::new(globals, environment, format(sources)?);
        Ok(Self { client, output, yes: globals.yes, warnings })
    }
}

fn read(path: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|source| CliError::File { path: path.to_owned(), source })
}

fn read_anchors(path: &Path) -> Result<Trust, CliError> {
    let pem = read(path)?;
    if !pem.contains("-----BEGIN CERTIFICATE-----") {
        let cause = "no certificate is in it; name a PEM file with those of authorities";
        return Err(input_error(&path.display().to_string(), cause));
    }
    Ok(Trust::Only(pem))
}

/// Returns the form of results.
fn format(sources: SettingSources<'_>) -> Result<OutputFormat, CliError> {
    let text = sources.settle(ClientSetting::DefaultOutput).value.unwrap_or_default();
    // The option is checked already: a wrong name stands in the file.
    parse_format(&text).map_err(|cause| input_error(&sources.file.path().display().to_string(), &cause))
}

/// Reads the name of a form of results.
pub(crate) fn parse_format(text: &str) -> Result<OutputFormat, String> {
    OutputFormat::from_str(text, false)
        .map_err(|_| format!("default_output must be table, json or yaml, and not '{text}'"))
}
