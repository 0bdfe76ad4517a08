//! `metrics`: the metrics of the server as Prometheus reads them.

use svc_client::ApiRequest;

use crate::context::CommandContext;
use crate::error::CliError;

/// Prints the metrics as they are, whatever the format; a terminal gets them without what would steer it.
pub(crate) async fn run(context: &CommandContext) -> Result<u8, CliError> {
    let sent = context.send(&ApiRequest::get("/metrics")).await;
    let response = sent.map_err(advise_listener)?;
    context.output.print_answer(&response.body)?;
    Ok(0)
}

/// Adds the address of the metrics to the refusal of a server that has none at this one.
fn advise_listener(error: CliError) -> CliError {
    match error {
        CliError::Client(error) if error.status() == Some(404) => CliError::Advised {
            error,
            advice:
                "with metrics.bind_addr they have a listener of their own: name it with --server; without \
                     metrics.enabled there are none"
                    .to_owned(),
        },
        other => other,
    }
}
