//! The wait for the end of a bulk run, with its progress.

use std::time::Duration;

use clap::Args;
use serde_json::Value;
use svc_client::{ApiRequest, admin_path};
use tokio::time::sleep;

use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::output::plain;
use crate::progress::ProgressDisplay;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(500);
/// Lines that report the progress if there is no terminal: one after each such part of the rows.
const LINES: u64 = 10;

/// The option to wait for a run.
#[derive(Args, Debug)]
pub(crate) struct RunWaitArgs {
    /// Wait for the end, with a progress bar; exits with 1 unless it completed without errors
    #[arg(long)]
    wait: bool,
}

/// Shows that a run began, and waits for its end if that is asked for.
pub(in crate::commands) async fn show_start(
    answer: &Value,
    id: &str,
    sentence: &str,
    wait: &RunWaitArgs,
    context: &CommandContext,
) -> Result<u8, CliError> {
    if wait.wait {
        context.output.note(sentence);
        return wait_for_end(id, context).await;
    }
    context.output.print(&context.output.change(Some(answer), id, sentence)?)?;
    Ok(0)
}

/// Waits for the end of a run, and shows the run.
pub(super) async fn wait_for_end(id: &str, context: &CommandContext) -> Result<u8, CliError> {
    let request = ApiRequest::get(admin_path(&["bulk", id]));
    let mut answer = context.fetch(&request).await?;
    let is_drawn = context.output.is_err_terminal && !context.output.is_quiet;
    let total = usize::try_from(count(&answer, "matched")).unwrap_or_default();
    let progress = ProgressDisplay::new(total, !is_drawn);
    let (mut shown, mut told) = (0, 0);
    loop {
        let run = &answer["data"];
        let past = ["done", "failed", "skipped"].map(|key| count(&answer, key)).iter().sum::<u64>();
        progress.add(usize::try_from(past.saturating_sub(shown)).unwrap_or_default());
        shown = past;
        if has_ended(run) {
            break;
        }
        let part = past * LINES / count(&answer, "matched").max(1);
        if !is_drawn && part > told {
            told = part;
            context.output.note(&describe(run));
        }
        sleep(INTERVAL).await;
        answer = context.fetch(&request).await?;
    }
    drop(progress);
    let run = &answer["data"];
    let is_clean = run["state"] == "completed" && count(&answer, "failed") == 0;
    if context.output.is_table() {
        context.output.print(&context.output.change(Some(&answer), id, &describe(run))?)?;
        for error in run["errors"].as_array().into_iter().flatten() {
            context.output.tell(&format!("{}: {}", plain(&error["id"]), plain(&error["message"])));
        }
    } else {
        context.output.print(&context.output.record(&answer, run, "id")?)?;
    }
    Ok(if is_clean { 0 } else { EXIT_FAILURE })
}

fn has_ended(run: &Value) -> bool {
    matches!(run["state"].as_str(), Some("aborted" | "completed" | "failed"))
}

fn count(answer: &Value, key: &str) -> u64 {
    answer["data"][key].as_u64().unwrap_or_default()
}

/// Returns the state of a run and its counts as a sentence.
fn describe(run: &Value) -> String {
    let [state, matched, done, failed, skipped] =
        ["state", "matched", "done", "failed", "skipped"].map(|key| plain(&run[key]));
    let reason = run["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("Bulk run is {state}{reason}: {done} of {matched} done, {failed} failed, {skipped} skipped.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn run_is_described_by_state_and_counts() {
        let mut run = json!({"state": "running", "matched": 9, "done": 4, "failed": 1, "skipped": 0});
        assert_eq!(describe(&run), "Bulk run is running: 4 of 9 done, 1 failed, 0 skipped.");
        assert!(!has_ended(&run));
        run["state"] = "failed".into();
        run["reason"] = "no".into();
        assert_eq!(describe(&run), "Bulk run is failed: no: 4 of 9 done, 1 failed, 0 skipped.");
        assert!(has_ended(&run));
    }
}
