//! `config`: the settings of this client, and its file `~/.svc/config.toml`.

use clap::{Subcommand, builder::PossibleValuesParser};
use serde_json::{Map, Value, json};
use svc_client::{ApiKey, ServerAddress};

use crate::config_file::{SETTINGS, UserConfig};
use crate::environment::Environment;
use crate::error::CliError;
use crate::globals::GlobalArgs;
use crate::output::{CellKind, Output, TableColumn, TableLayout, plain};
use crate::setting_sources::{ClientSetting, SettingSource, SettingSources};
use crate::settings::{OutputSettings, parse_format};

/// A key as it is shown.
const MASK: &str = "******";

const LAYOUT: TableLayout = TableLayout {
    id: "setting",
    columns: &[
        TableColumn::new("SETTING", "setting", CellKind::Id),
        TableColumn::new("VALUE", "value", CellKind::Id),
        TableColumn::new("SOURCE", "source", CellKind::Text),
    ],
};

/// The commands of the settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Set the address of the server
    SetServer {
        /// The address, such as https://svc.example.com
        url: String,
    },
    /// Show the settings as they count, each with its source, the key masked
    Show,
    /// Print one setting as it counts, the key masked; its source goes to standard error
    Get {
        /// The name of the setting
        #[arg(value_parser = PossibleValuesParser::new(ClientSetting::ALL.map(ClientSetting::name)))]
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
            let (body, rows) = listing(SettingSources { globals, environment, file: &file });
            output.print(&output.list(&body, &rows, &LAYOUT)?)?;
        }
        ConfigCommand::Get { key } => {
            let output = output(globals, environment, &file);
            let sources = SettingSources { globals, environment, file: &file };
            for setting in ClientSetting::ALL.into_iter().filter(|setting| setting.name() == key) {
                print_setting(&output, sources, setting)?;
            }
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

/// Prints the value of a setting alone, for scripts, and prints its source; another format has both in one document.
fn print_setting(
    output: &Output,
    sources: SettingSources<'_>,
    setting: ClientSetting,
) -> Result<(), CliError> {
    let row = setting_row(sources, setting);
    if !output.is_table() && !output.is_quiet {
        return output.print(&output.document(&row)?);
    }
    if let Some(value) = row["value"].as_str() {
        output.print(&format!("{value}\n"))?;
    }
    output.note(&format!("note: source: {}", plain(&row["source"])));
    Ok(())
}

/// Returns a setting as it counts: its name, its value and its source.
fn setting_row(sources: SettingSources<'_>, setting: ClientSetting) -> Value {
    let settled = sources.settle(setting);
    let source = match settled.source {
        SettingSource::Option(name) => format!("option {name}"),
        SettingSource::Variable(name) => format!("environment {name}"),
        SettingSource::File => format!("file {}", sources.file.path().display()),
        SettingSource::Default if settled.value.is_none() => "not set".to_owned(),
        SettingSource::Default => "default".to_owned(),
    };
    let value = settled.value.map(|text| display_value(setting.name(), &text));
    json!({"setting": setting.name(), "value": value, "source": source})
}

/// Returns the settings as they count: an object of values with their sources, and the rows of a table.
fn listing(sources: SettingSources<'_>) -> (Value, Vec<Value>) {
    let (mut values, mut origins, mut rows) = (Map::new(), Map::new(), Vec::new());
    for setting in ClientSetting::ALL {
        let row = setting_row(sources, setting);
        values.insert(setting.name().to_owned(), row["value"].clone());
        origins.insert(setting.name().to_owned(), row["source"].clone());
        rows.push(row);
    }
    values.insert("sources".to_owned(), Value::Object(origins));
    (Value::Object(values), rows)
}

/// Returns the value of a setting without its secrets.
fn display_value(name: &str, text: &str) -> String {
    match name {
        "api_key" => MASK.to_owned(),
        "server_url" => without_credentials(text),
        _ => text.to_owned(),
    }
}

/// Returns an address without the credentials that it should not have.
fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{MASK}@{host}{path}"),
        None => text.to_owned(),
    }
}

fn set(file: &mut UserConfig, name: &str, value: &str) -> Result<(), CliError> {
    if !value.is_empty() {
        match name {
            "server_url" => value.parse::<ServerAddress>().map(|_| ())?,
            "api_key" => ApiKey::new(value, None).map(|_| ())?,
            "api_key_header" => ApiKey::new("", Some(value)).map(|_| ())?,
            "default_output" => parse_format(value).map(|_| ()).map_err(CliError::Usage)?,
            _ => {}
        }
    }
    file.set(name, value)
}
