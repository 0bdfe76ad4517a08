//! `engine`: the state of the engine, and its reload.

use clap::Subcommand;
use svc_client::{ApiRequest, admin_path};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::plain;
use crate::watch::{WatchArgs, WatchFrame};

/// The commands of the engine.
#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Show versions, workflows and channels that are served
    Status {
        #[command(flatten)]
        watch: WatchArgs,
    },
    /// Serve what is stored now
    Reload,
}

/// Runs a command of the engine.
pub(crate) async fn run(command: EngineCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        EngineCommand::Status { watch } => watch.show(context, async || status(context).await).await,
        EngineCommand::Reload => {
            let answer =
                context.fetch(&ApiRequest::post(admin_path(&["engine", "reload"])).repeatable()).await?;
            let count = plain(&answer["data"]["workflows_count"]);
            let sentence = format!("Reloaded the engine: {count} workflows.");
            context.output.print(&context.output.change(Some(&answer), "reloaded", &sentence)?)?;
            Ok(0)
        }
    }
}

async fn status(context: &CommandContext) -> Result<WatchFrame, CliError> {
    let answer = context.fetch(&ApiRequest::get(admin_path(&["engine", "status"]))).await?;
    Ok(WatchFrame::new(context.output.record(&answer, &answer["data"], "version")?))
}
