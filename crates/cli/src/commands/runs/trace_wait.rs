//! The wait for the end of a run.

use std::time::Duration;

use serde_json::Value;
use svc_client::{ApiRequest, admin_path};
use tokio::time::{Instant, sleep, timeout_at};

use super::trace_view::view;
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::output::plain;

/// A trace to wait for.
pub(super) struct TraceWait<'a> {
    pub(super) id: &'a str,
    /// The token of its submitter.
    pub(super) token: Option<&'a str>,
    /// Time between two looks.
    pub(super) interval: Duration,
    /// Longest wait.
    pub(super) limit: Duration,
}

/// Builds the request for a trace. The token is sent in a header: an address is logged in many places.
pub(super) fn request(id: &str, token: Option<&str>) -> Result<ApiRequest, CliError> {
    let request = ApiRequest::get(admin_path(&["traces", id]));
    Ok(match token {
        Some(token) => request.header("x-trace-token", token)?,
        None => request,
    })
}

impl TraceWait<'_> {
    /// Looks until the run has ended, and returns the answer with its trace.
    ///
    /// # Errors
    /// [`CliError::TimedOut`] when it has not ended in time.
    pub(super) async fn wait(&self, context: &CommandContext) -> Result<Value, CliError> {
        let request = request(self.id, self.token)?;
        let deadline = Instant::now() + self.limit;
        let late = || CliError::TimedOut { subject: format!("trace '{}'", self.id), limit: self.limit };
        let mut told = Value::Null;
        loop {
            let answer = timeout_at(deadline, context.fetch(&request)).await.map_err(|_| late())??;
            let trace = &answer["data"];
            if has_ended(trace) {
                return Ok(answer);
            }
            if trace["next_retry_at"].is_string() && trace["attempt"] != told {
                told = trace["attempt"].clone();
                let (attempt, due) = (plain(&told), plain(&trace["next_retry_at"]));
                context.output.note(&format!("attempt {attempt} failed; the next is due at {due}"));
            }
            timeout_at(deadline, sleep(self.interval)).await.map_err(|_| late())?;
        }
    }

    /// Waits, shows the trace, and returns 0 for a run that completed and 1 for one that failed.
    pub(super) async fn show(&self, context: &CommandContext) -> Result<u8, CliError> {
        let answer = self.wait(context).await?;
        context.output.print(&view(&answer, context)?)?;
        Ok(if answer["data"]["status"] == "completed" { 0 } else { EXIT_FAILURE })
    }
}

/// Returns `true` for a trace whose run has ended, its retries with it.
pub(super) fn has_ended(trace: &Value) -> bool {
    matches!(trace["status"].as_str(), Some("completed" | "failed" | "cancelled"))
}
