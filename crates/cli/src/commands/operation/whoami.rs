//! `whoami`: the name under which the server records the changes of this client.

use svc_client::{ApiRequest, admin_path};

use crate::context::CommandContext;
use crate::error::CliError;

/// Shows the caller.
pub(crate) async fn run(context: &CommandContext) -> Result<u8, CliError> {
    let answer = context.fetch(&ApiRequest::get(admin_path(&["whoami"]))).await?;
    context.output.print(&context.output.record(&answer, &answer["data"], "principal")?)?;
    Ok(0)
}
