//! `config`: the settings of this client in `~/.svc/config.toml`.

use clap::{Subcommand, builder::PossibleValuesParser};
use serde_json::{Map, Value};
use svc_client::ServerAddress;

use crate::config_file::{SETTINGS, UserConfig};
use crate::environment::Environment;
use crate::error::CliError;
use crate::globals::GlobalArgs;
use crate::output::Output;
use crate::settings::{OutputSettings, parse_format};

/// A key as it is shown.
const MASK: &str = "******";

/// The commands of the settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Set the address of the server
    SetServer {
        /// The address, such as https://svc.example.com
        url: String,
    },
    /// Show the settings, the key masked
    Show,
    /// Print one setting, the key masked
    Get {
        /// The name of the setting
        #[arg(value_parser = PossibleValuesParser::new(SETTINGS.iter().copied()))]
        key: String,
    },
    /// Change one setting
    Set {
        /// The name of the setting
        #[arg(value_parser = PossibleValuesParser::new(SETTINGS.iter().copied()))]
        key: String,
        /// The value; an empty one unsets it
        value: String,
    },
}

/// Runs a command of the settings.
pub(crate) fn run(
    command: &ConfigCommand,
    globals: &GlobalArgs,
    environment: &Environment,
) -> Result<u8, CliError> {
    let mut file = UserConfig::load(environment)?;
    match command {
        ConfigCommand::SetServer { url } => set(&mut file, "server_url", url)?,
        ConfigCommand::Set { key, value } => set(&mut file, key, value)?,
        ConfigCommand::Show => {
            let output = output(globals, environment, &file);
            let settings = SETTINGS.iter().map(|name| ((*name).to_owned(), shown(&file, name)));
            let settings = Value::Object(Map::from_iter(settings));
            output.print(&output.record(&settings, &settings, "server_url")?)?;
        }
        ConfigCommand::Get { key } => {
            let output = output(globals, environment, &file);
            output.print(&match shown(&file, key) {
                Value::String(text) => format!("{text}\n"),
                _ => String::new(),
            })?;
        }
    }
    Ok(0)
}

/// Returns the output as the options, the environment and the file have it.
fn output(globals: &GlobalArgs, environment: &Environment, file: &UserConfig) -> Output {
    // A wrong setting is shown, so that it can be corrected.
    let format = file.get("default_output").and_then(|text| parse_format(text).ok());
    let format = globals.output.or(format).unwrap_or_default();
    Output::new(&OutputSettings::new(globals, environment, format))
}

fn shown(file: &UserConfig, name: &str) -> Value {
    match file.get(name) {
        Some(_) if name == "api_key" => MASK.into(),
        Some(text) => text.into(),
        None => Value::Null,
    }
}

fn set(file: &mut UserConfig, name: &str, value: &str) -> Result<(), CliError> {
    if !value.is_empty() {
        match name {
            "server_url" => value.parse::<ServerAddress>().map(|_| ())?,
            "default_output" => parse_format(value).map(|_| ()).map_err(CliError::Usage)?,
            _ => {}
        }
    }
    file.set(name, value)
}
