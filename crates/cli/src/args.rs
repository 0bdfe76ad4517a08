//! The command line: global options and commands.

use clap::{Parser, Subcommand};

use crate::commands::bulk::BulkCommand;
use crate::commands::definitions::channels::ChannelCommand;
use crate::commands::definitions::connectors::ConnectorCommand;
use crate::commands::definitions::consumers::ConsumerCommand;
use crate::commands::definitions::packages::PackagesCommand;
use crate::commands::definitions::plugins::PluginCommand;
use crate::commands::definitions::rollout::RolloutCommand;
use crate::commands::definitions::workflows::WorkflowCommand;
use crate::commands::errors::ErrorListArgs;
use crate::commands::local::completions::CompletionsArgs;
use crate::commands::local::config::ConfigCommand;
use crate::commands::local::man::ManArgs;
use crate::commands::operation::actors::ActorsArgs;
use crate::commands::operation::audit_logs::AuditCommand;
use crate::commands::operation::backups::BackupCommand;
use crate::commands::operation::cache::CacheCommand;
use crate::commands::operation::engine::EngineCommand;
use crate::commands::operation::functions::FunctionCommand;
use crate::commands::operation::health::HealthArgs;
use crate::commands::operation::kafka::KafkaCommand;
use crate::commands::operation::live::LiveArgs;
use crate::commands::operation::nodes::NodesArgs;
use crate::commands::operation::webhooks::WebhookCommand;
use crate::commands::runs::backtests::BacktestCommand;
use crate::commands::runs::benchmark::BenchmarkArgs;
use crate::commands::runs::cron::{CronCommand, WhyArgs};
use crate::commands::runs::dlq::DeadLetterCommand;
use crate::commands::runs::recordings::RecordingCommand;
use crate::commands::runs::send::SendArgs;
use crate::commands::runs::traces::TraceCommand;
use crate::globals::GlobalArgs;

/// Manages and calls a svc-server over its HTTP API; checks, tests and compiles projects without one.
///
/// An option wins over its environment variable, that over ~/.svc/config.toml.
#[derive(Debug, Parser)]
#[command(name = "svc-cli", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    /// The command
    #[command(subcommand)]
    pub(crate) command: ClientCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Show and change the settings of this client
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the health of the server; exits with 1 when a component is degraded
    Health(HealthArgs),
    /// Manage workflows
    #[command(subcommand, visible_alias = "rules")]
    Workflows(WorkflowCommand),
    /// Show and steer canaries that move by themselves
    #[command(subcommand)]
    Rollout(RolloutCommand),
    /// Manage channels
    #[command(subcommand, visible_alias = "ch")]
    Channels(ChannelCommand),
    /// Manage connectors
    #[command(subcommand, visible_alias = "conn")]
    Connectors(ConnectorCommand),
    /// Manage plugins, whose functions workflows call
    #[command(subcommand)]
    Plugins(PluginCommand),
    /// Manage consumers, the named holders of keys that channels accept
    #[command(subcommand)]
    Consumers(ConsumerCommand),
    /// Manage the webhook endpoints of customers, their deliveries and attempts
    #[command(subcommand)]
    Webhooks(WebhookCommand),
    /// Send a message, or a message a line, to a channel
    Send(SendArgs),
    /// Show, wait for and follow traces
    #[command(subcommand)]
    Traces(TraceCommand),
    /// Show, export and delete recorded runs
    #[command(subcommand)]
    Recordings(RecordingCommand),
    /// Show backtests, and end them; 'workflows backtest' and 'channels backtest' start them
    #[command(subcommand)]
    Backtests(BacktestCommand),
    /// Show, requeue and purge dead letters
    #[command(subcommand)]
    Dlq(DeadLetterCommand),
    /// Show failures grouped by their cause, the most frequent first
    Errors(ErrorListArgs),
    /// Act on many dead letters, occurrences or traces at once
    #[command(subcommand)]
    Bulk(BulkCommand),
    /// Show schedules and their occurrences
    #[command(subcommand)]
    Cron(CronCommand),
    /// Explain why a scheduled channel ran at an instant, or did not
    Why(WhyArgs),
    /// Show Kafka partitions, and skip a record that holds one up
    #[command(subcommand)]
    Kafka(KafkaCommand),
    /// Make cached answers of channels stale
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Show and reload the engine
    #[command(subcommand, visible_alias = "eng")]
    Engine(EngineCommand),
    /// Show the supervision tree, and restart a part of it
    Actors(ActorsArgs),
    /// Show the nodes that share the database, and end one
    Nodes(NodesArgs),
    /// Show what happens on a node, a line a second, until it is interrupted
    Live(LiveArgs),
    /// Show the functions that tasks can call
    #[command(subcommand)]
    Functions(FunctionCommand),
    /// Print the metrics of the server
    Metrics,
    /// Show and make backups of the database
    #[command(subcommand)]
    Backups(BackupCommand),
    /// Show the packages that were applied
    #[command(subcommand, visible_alias = "pkg")]
    Packages(PackagesCommand),
    /// Show the audit log
    #[command(subcommand, visible_alias = "audit")]
    AuditLogs(AuditCommand),
    /// Show the name under which the audit log records the changes of this client
    Whoami,
    /// Measure the server with messages of many callers
    #[command(visible_alias = "bench")]
    Benchmark(BenchmarkArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write the manual pages into a directory
    Man(ManArgs),
}
