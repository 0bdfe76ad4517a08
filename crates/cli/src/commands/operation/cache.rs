//! `cache`: the cached answers of channels.

use clap::Subcommand;
use serde_json::json;
use svc_client::{ApiRequest, admin_path};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::plain;

/// The commands of cached answers.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Make the cached answers of namespaces stale
    Invalidate {
        /// The namespaces
        #[arg(required = true, value_name = "NAMESPACE")]
        namespaces: Vec<String>,
    },
}

/// Runs a command of cached answers.
pub(crate) async fn run(command: CacheCommand, context: &CommandContext) -> Result<u8, CliError> {
    let CacheCommand::Invalidate { namespaces } = command;
    let request = ApiRequest::post(admin_path(&["cache", "invalidate"]));
    let request = request.json(&json!({"namespaces": namespaces}))?.repeatable();
    let answer = context.fetch(&request).await?;
    let stores = plain(&answer["data"]["stores"]);
    let sentence = format!("Invalidated {}; caches: {stores}.", namespaces.join(", "));
    context.output.print(&context.output.change(Some(&answer), "invalidated", &sentence)?)?;
    Ok(0)
}
