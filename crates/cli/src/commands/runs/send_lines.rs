//! Many messages: one for each line, several under way, results in the order of the lines.

use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use svc_client::{ApiRequest, ApiResponse};

use super::send::message_id;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{json_line, printable};
use crate::progress::ProgressDisplay;

/// Sends a message for each line that is not blank. A line that fails is reported; the others are sent.
pub(super) async fn send_lines(
    text: &str,
    concurrency: usize,
    prepare: impl Fn(&str, &str) -> Result<ApiRequest, CliError>,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let lines: Vec<(usize, &str)> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| (at + 1, line))
        .collect();
    let progress =
        ProgressDisplay::new(lines.len(), !context.output.is_err_terminal || context.output.is_quiet);
    let exchanges = lines.iter().map(|&(number, line)| {
        let request = prepare(line, &format!("line {number}"));
        async move { (number, exchange(request, context).await) }
    });
    let mut answers = stream::iter(exchanges).buffered(concurrency);
    let (mut sent, mut failed, mut unwritten) = (0_usize, 0_usize, None);
    while let Some((number, result)) = answers.next().await {
        match result {
            Ok(response) => {
                sent += 1;
                // The others are sent though nobody reads of it.
                if !context.output.is_table() && unwritten.is_none() {
                    // A bar on the same terminal is drawn again below the line.
                    let line = answer_line(&response, context);
                    unwritten = progress.suspend(|| context.output.print(&line)).err();
                }
            }
            Err(error) => {
                failed += 1;
                progress.note(format!("{failed} failed"));
                progress.suspend(|| context.output.tell(&format!("line {number}: {}", problem(&error))));
            }
        }
        progress.add(1);
    }
    drop(progress);
    if context.output.is_table() {
        unwritten = context.output.print(&format!("{sent} sent, {failed} failed\n")).err();
    }
    match unwritten {
        _ if failed > 0 => Err(CliError::Partial(format!("{failed} of {} messages failed", lines.len()))),
        Some(error) => Err(error),
        None => Ok(0),
    }
}

async fn exchange(
    request: Result<ApiRequest, CliError>,
    context: &CommandContext,
) -> Result<ApiResponse, CliError> {
    context.send(&request?).await
}

/// Returns an answer as one line.
fn answer_line(response: &ApiResponse, context: &CommandContext) -> String {
    match response.json::<Value>() {
        Ok(body) if context.output.is_quiet => message_id(&body),
        Ok(body) => json_line(&body),
        Err(_) => format!("{}\n", printable(&String::from_utf8_lossy(&response.body))),
    }
}

fn problem(error: &CliError) -> String {
    let details = match error {
        CliError::Client(error) => error.api().map(|api| api.details.clone()).unwrap_or_default(),
        _ => Vec::new(),
    };
    let details: Vec<_> = details.iter().map(ToString::to_string).collect();
    if details.is_empty() { error.to_string() } else { format!("{error}: {}", details.join("; ")) }
}
