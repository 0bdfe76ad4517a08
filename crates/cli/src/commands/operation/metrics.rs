//! `metrics`: the metrics of the server as Prometheus reads them.

use svc_client::ApiRequest;

use crate::context::CommandContext;
use crate::error::CliError;

/// Prints the metrics as they are, whatever the format.
pub(crate) async fn run(context: &CommandContext) -> Result<u8, CliError> {
    let response = context.send(&ApiRequest::get("/metrics")).await?;
    context.output.print_bytes(&response.body)?;
    Ok(0)
}
