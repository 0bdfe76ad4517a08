//! The command-line client of the HTTP API, with the toolkit of authors.
//!
//! The commands of authors are those of [`svc_toolkit`], as `svc-server` has them. Any other command makes requests
//! through [`svc_client`] and shows their answers. JSON and YAML are the answer of the server as it is; tables and
//! sentences are made for people. Standard output holds results alone: errors, notes, questions and progress go to
//! standard error. Exit codes: 0 success, 1 an error, 2 wrong usage or a wait that timed out.

mod advice;
mod args;
mod authoring;
mod commands;
mod config_file;
mod confirmation;
mod context;
mod environment;
mod error;
mod globals;
mod input;
mod moment;
mod output;
mod paging;
mod progress;
mod remedy;
mod setting_sources;
mod settings;
mod watch;

use std::ffi::OsString;
use std::io;

use clap::{CommandFactory as _, FromArgMatches as _, Subcommand as _};
use svc_toolkit::AuthorCommand;

use args::{ClientCommand, CommandLine};
use config_file::UserConfig;
use context::CommandContext;
use environment::Environment;
use error::CliError;
use settings::Settings;

/// Returns the definition of the command line, of which help, completions and manual pages are made.
#[must_use]
pub fn command() -> clap::Command {
    let client = CommandLine::command();
    let globals: Vec<clap::Arg> = client.get_arguments().map(|arg| arg.clone().global(true)).collect();
    // The commands of authors have options of their own under the same letters, so they do not get these.
    let client = client.mut_subcommands(|command| command.args(globals.clone()));
    let about = client.get_about().cloned().unwrap_or_default();
    let long_about = client.get_long_about().cloned().unwrap_or_default();
    // The commands that are added bring a description of their own.
    AuthorCommand::augment_subcommands(client).about(about).long_about(long_about)
}

/// Runs one command line and returns its exit code. A usage error and `--help` end the process themselves.
pub fn run(arguments: impl Iterator<Item = OsString>, environment: Vec<(String, String)>) -> u8 {
    let matches = command().get_matches_from(arguments);
    if matches.subcommand_name().is_some_and(AuthorCommand::has_subcommand) {
        return authoring::run(&matches, &environment);
    }
    let environment = Environment::new(environment);
    let line = CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let CommandLine { globals, command } = line;
    let is_verbose = globals.verbose;
    let result = match command {
        ClientCommand::Completions(args) => commands::local::completions::run(&args),
        ClientCommand::Man(args) => commands::local::man::run(&args),
        ClientCommand::Config(command) => commands::local::config::run(&command, &globals, &environment),
        command => UserConfig::load(&environment)
            .and_then(|file| Settings::resolve(&globals, &environment, &file))
            .and_then(|settings| run_online(command, settings)),
    };
    result.unwrap_or_else(|error| {
        error.write(&mut io::stderr(), is_verbose);
        error.exit_code()
    })
}

/// Runs a command that talks to the server.
fn run_online(command: ClientCommand, settings: Settings) -> Result<u8, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| CliError::Runtime { source })?;
    let context = CommandContext::new(settings)?;
    runtime.block_on(async {
        match commands::run(command, &context).await {
            Err(CliError::Client(error)) => Err(advice::advise(error, &context).await),
            other => other,
        }
    })
}
