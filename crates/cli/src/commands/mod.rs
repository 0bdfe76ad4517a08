//! The commands, a file for each group.

pub(crate) mod bulk;
pub(crate) mod definitions;
mod entity;
pub(crate) mod errors;
pub(crate) mod local;
pub(crate) mod operation;
pub(crate) mod runs;
mod several;

use crate::args::ClientCommand;
use crate::context::CommandContext;
use crate::error::CliError;

/// Runs a command that talks to the server, and returns its exit code.
pub(crate) async fn run(command: ClientCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        ClientCommand::Health(args) => operation::health::run(&args, context).await,
        ClientCommand::Workflows(command) => definitions::workflows::run(command, context).await,
        ClientCommand::Rollout(command) => definitions::rollout::run(command, context).await,
        ClientCommand::Channels(command) => definitions::channels::run(command, context).await,
        ClientCommand::Connectors(command) => definitions::connectors::run(command, context).await,
        ClientCommand::Plugins(command) => definitions::plugins::run(command, context).await,
        ClientCommand::Consumers(command) => definitions::consumers::run(command, context).await,
        ClientCommand::Webhooks(command) => operation::webhooks::run(command, context).await,
        ClientCommand::Send(args) => runs::send::run(&args, context).await,
        ClientCommand::Traces(command) => runs::traces::run(command, context).await,
        ClientCommand::Recordings(command) => runs::recordings::run(command, context).await,
        ClientCommand::Backtests(command) => runs::backtests::run(command, context).await,
        ClientCommand::Dlq(command) => runs::dlq::run(command, context).await,
        ClientCommand::Errors(args) => errors::run(args, context).await,
        ClientCommand::Bulk(command) => bulk::run(command, context).await,
        ClientCommand::Cron(command) => runs::cron::run(command, context).await,
        ClientCommand::Why(args) => runs::cron::explain(&args, context).await,
        ClientCommand::Kafka(command) => operation::kafka::run(command, context).await,
        ClientCommand::Cache(command) => operation::cache::run(command, context).await,
        ClientCommand::Engine(command) => operation::engine::run(command, context).await,
        ClientCommand::Actors(args) => operation::actors::run(args, context).await,
        ClientCommand::Nodes(args) => operation::nodes::run(args, context).await,
        ClientCommand::Live(args) => operation::live::run(&args, context).await,
        ClientCommand::Functions(command) => operation::functions::run(command, context).await,
        ClientCommand::Metrics => operation::metrics::run(context).await,
        ClientCommand::Backups(command) => operation::backups::run(command, context).await,
        ClientCommand::Packages(command) => definitions::packages::run(command, context).await,
        ClientCommand::AuditLogs(command) => operation::audit_logs::run(command, context).await,
        ClientCommand::Whoami => operation::whoami::run(context).await,
        ClientCommand::Benchmark(args) => runs::benchmark::run(&args, context).await,
        // These need no server, and have run before.
        ClientCommand::Config(_) | ClientCommand::Completions(_) | ClientCommand::Man(_) => Ok(0),
    }
}
