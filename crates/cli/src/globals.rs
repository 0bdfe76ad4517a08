//! The options of every command that talks to the server.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The options of every command that talks to the server; [`crate::command`] adds them to each.
#[derive(Args, Clone)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Address of the server, by default http://localhost:8080 [env: SVC_SERVER_URL]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Key for the admin API [env: SVC_API_KEY]
    #[arg(long, value_name = "KEY")]
    pub(crate) api_key: Option<String>,
    /// Header that carries the key, by default Authorization with Bearer [env: SVC_API_KEY_HEADER]
    #[arg(long, value_name = "NAME")]
    pub(crate) api_key_header: Option<String>,
    /// Label of the changes in the audit log [env: SVC_CHANGE_CONTEXT]
    #[arg(long, value_name = "TEXT")]
    pub(crate) change_context: Option<String>,
    /// Output format, by default table
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<OutputFormat>,
    /// Print ids alone
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Report the requests on standard error
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Use no colours [env: NO_COLOR]
    #[arg(long)]
    pub(crate) no_color: bool,
    /// Answer every question with yes
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Time limit of a request
    #[arg(long, value_name = "SECS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) request_timeout: u64,
    /// Trust the certificate authorities in this file alone (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Certificate of the client (PEM), for a server that asks for one
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub(crate) client_cert: Option<PathBuf>,
    /// Key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
}

/// Prints nothing of the key.
impl std::fmt::Debug for GlobalArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GlobalArgs").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A form of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Tables and sentences for people
    #[default]
    Table,
    /// The answer of the server as JSON
    Json,
    /// The answer of the server as YAML
    Yaml,
}
