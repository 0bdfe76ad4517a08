//! The commands, a file for each group.

pub(crate) mod actors;
pub(crate) mod audit_logs;
pub(crate) mod backups;
pub(crate) mod benchmark;
pub(crate) mod bulk;
pub(crate) mod channels;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connectors;
pub(crate) mod cron;
mod definition_diff;
pub(crate) mod dlq;
pub(crate) mod engine;
mod entity;
pub(crate) mod errors;
pub(crate) mod functions;
pub(crate) mod health;
mod import;
pub(crate) mod kafka;
mod lifecycle;
pub(crate) mod man;
pub(crate) mod metrics;
pub(crate) mod nodes;
pub(crate) mod packages;
pub(crate) mod send;
mod send_lines;
mod several;
mod trace_tail;
mod trace_view;
mod trace_wait;
pub(crate) mod traces;
mod validation;
pub(crate) mod whoami;
pub(crate) mod workflows;

use crate::args::ClientCommand;
use crate::context::CommandContext;
use crate::error::CliError;

/// Runs a command that talks to the server, and returns its exit code.
pub(crate) async fn run(command: ClientCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        ClientCommand::Health(args) => health::run(&args, context).await,
        ClientCommand::Workflows(command) => workflows::run(command, context).await,
        ClientCommand::Channels(command) => channels::run(command, context).await,
        ClientCommand::Connectors(command) => connectors::run(command, context).await,
        ClientCommand::Send(args) => send::run(&args, context).await,
        ClientCommand::Traces(command) => traces::run(command, context).await,
        ClientCommand::Dlq(command) => dlq::run(command, context).await,
        ClientCommand::Errors(args) => errors::run(args, context).await,
        ClientCommand::Bulk(command) => bulk::run(command, context).await,
        ClientCommand::Cron(command) => cron::run(command, context).await,
        ClientCommand::Why(args) => cron::explain(&args, context).await,
        ClientCommand::Kafka(command) => kafka::run(command, context).await,
        ClientCommand::Engine(command) => engine::run(command, context).await,
        ClientCommand::Actors(args) => actors::run(args, context).await,
        ClientCommand::Nodes(args) => nodes::run(&args, context).await,
        ClientCommand::Functions(command) => functions::run(command, context).await,
        ClientCommand::Metrics => metrics::run(context).await,
        ClientCommand::Backups(command) => backups::run(command, context).await,
        ClientCommand::Packages(command) => packages::run(command, context).await,
        ClientCommand::AuditLogs(command) => audit_logs::run(command, context).await,
        ClientCommand::Whoami => whoami::run(context).await,
        ClientCommand::Benchmark(args) => benchmark::run(&args, context).await,
        // These need no server, and have run before.
        ClientCommand::Config(_) | ClientCommand::Completions(_) | ClientCommand::Man(_) => Ok(0),
    }
}
