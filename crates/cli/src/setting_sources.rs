//! The settings that several places may give: an option wins over the environment, that over the file, that over the
//! default.

use clap::ValueEnum as _;

use crate::config_file::UserConfig;
use crate::environment::Environment;
use crate::globals::GlobalArgs;

/// The address of a server that was started with its defaults.
const DEFAULT_SERVER: &str = "http://localhost:8080";

/// A setting that several places may give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientSetting {
    /// The address of the server.
    ServerUrl,
    /// The form of results.
    DefaultOutput,
    /// The key for the admin API.
    ApiKey,
    /// The header that carries the key.
    ApiKeyHeader,
    /// The label of changes in the audit log.
    ChangeContext,
}

impl ClientSetting {
    /// All of them, in the order of a listing.
    pub(crate) const ALL: [Self; 5] =
        [Self::ServerUrl, Self::DefaultOutput, Self::ApiKey, Self::ApiKeyHeader, Self::ChangeContext];

    /// Returns the name, which is that in the file.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ServerUrl => "server_url",
            Self::DefaultOutput => "default_output",
            Self::ApiKey => "api_key",
            Self::ApiKeyHeader => "api_key_header",
            Self::ChangeContext => "change_context",
        }
    }

    const fn option(self) -> &'static str {
        match self {
            Self::ServerUrl => "--server",
            Self::DefaultOutput => "--output",
            Self::ApiKey => "--api-key",
            Self::ApiKeyHeader => "--api-key-header",
            Self::ChangeContext => "--change-context",
        }
    }

    const fn variable(self) -> Option<&'static str> {
        match self {
            Self::ServerUrl => Some("SVC_SERVER_URL"),
            Self::DefaultOutput => None,
            Self::ApiKey => Some("SVC_API_KEY"),
            Self::ApiKeyHeader => Some("SVC_API_KEY_HEADER"),
            Self::ChangeContext => Some("SVC_CHANGE_CONTEXT"),
        }
    }

    const fn default(self) -> Option<&'static str> {
        match self {
            Self::ServerUrl => Some(DEFAULT_SERVER),
            Self::DefaultOutput => Some("table"),
            Self::ApiKeyHeader => Some("Authorization"),
            Self::ApiKey | Self::ChangeContext => None,
        }
    }
}

/// The place a setting was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingSource {
    /// An option of the command line.
    Option(&'static str),
    /// A variable of the environment.
    Variable(&'static str),
    /// The file of the user.
    File,
    /// The program.
    Default,
}

/// A setting as it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettledSetting {
    /// The value; `None` if no place gives one and there is no default.
    pub(crate) value: Option<String>,
    /// The place it was taken from.
    pub(crate) source: SettingSource,
}

/// The places that settings are taken from.
#[derive(Clone, Copy)]
pub(crate) struct SettingSources<'s> {
    pub(crate) globals: &'s GlobalArgs,
    pub(crate) environment: &'s Environment,
    pub(crate) file: &'s UserConfig,
}

impl SettingSources<'_> {
    /// Returns a setting as it counts. An empty text counts as none.
    pub(crate) fn settle(self, setting: ClientSetting) -> SettledSetting {
        let option = self
            .option(setting)
            .filter(|text| !text.is_empty())
            .map(|text| (text, SettingSource::Option(setting.option())));
        let variable = || {
            let name = setting.variable()?;
            Some((self.environment.get(name)?.to_owned(), SettingSource::Variable(name)))
        };
        let file = || Some((self.file.get(setting.name())?.to_owned(), SettingSource::File));
        match option.or_else(variable).or_else(file) {
            Some((text, source)) => SettledSetting { value: Some(text), source },
            None => {
                SettledSetting { value: setting.default().map(str::to_owned), source: SettingSource::Default }
            }
        }
    }

    /// Returns a setting that the user has given; `None` if the default counts.
    pub(crate) fn explicit_value(self, setting: ClientSetting) -> Option<String> {
        let settled = self.settle(setting);
        settled.value.filter(|_| settled.source != SettingSource::Default)
    }

    fn option(self, setting: ClientSetting) -> Option<String> {
        let globals = self.globals;
        match setting {
            ClientSetting::ServerUrl => globals.server.clone(),
            ClientSetting::DefaultOutput => {
                let format = globals.output.as_ref()?.to_possible_value()?;
                Some(format.get_name().to_owned())
            }
            ClientSetting::ApiKey => globals.api_key.clone(),
            ClientSetting::ApiKeyHeader => globals.api_key_header.clone(),
            ClientSetting::ChangeContext => globals.change_context.clone(),
        }
    }
}
