//! Reports of failures: the channel that receives them, read from the stored row of the failed channel, so that it
//! is known too when that channel is quarantined or no longer active.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Backoff;
use serde_json::Value;
use svc_model::Channel;
use svc_traces::{FAILURE_OF, FailureReport, Job, PreparedReport};
use tokio::time::sleep;
use uuid::Uuid;

use crate::handle::Registry;
use crate::ingress::failure_target::target;

/// Delays between reads of a row while the database is away.
const READ_BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));

/// An occurrence of a schedule that ends as failed.
#[derive(Clone, Copy, Debug)]
pub struct FailedOccurrence<'a> {
    pub channel_id: &'a str,
    pub channel_name: &'a str,
    /// Trace of its run; `None` if no run began.
    pub trace_id: Option<Uuid>,
    /// The error message of the occurrence.
    pub error: &'a str,
}

impl Registry {
    /// Prepares the report of an occurrence that failed; `None` for a channel without a channel for its
    /// failures, and for one that was deleted. Waits while a row that does not serve must be read from a
    /// database that is away.
    pub async fn prepare_report(&self, failed: FailedOccurrence<'_>) -> Option<PreparedReport> {
        let traces = self.shared.services.traces.as_ref()?;
        let serving = self.snapshot().channel_by_id(failed.channel_id).map(|entry| Arc::clone(&entry.row));
        let row = match serving {
            Some(row) => row,
            None => self.stored_channel(Some(failed.channel_id), failed.channel_name).await?,
        };
        let report = FailureReport {
            target: target(&row)?,
            trace_id: failed.trace_id,
            channel: failed.channel_name.into(),
            data: scheduled_payload(&row),
        };
        traces.prepare_report(report, failed.error)
    }

    /// Reads the latest row of a channel that the snapshot does not have, by its id or else by its name.
    /// Waits while the database is away.
    pub(crate) async fn stored_channel(&self, id: Option<&str>, name: &str) -> Option<Arc<Channel>> {
        let channels = self.shared.store.channels();
        let mut backoff = READ_BACKOFF.delays();
        loop {
            let row = match id {
                Some(id) => channels.latest(id).await,
                None => channels.latest_named(name).await,
            };
            match row {
                Ok(row) => return row.map(Arc::new),
                Err(error) if error.is_outage() => sleep(backoff.next_delay()).await,
                Err(error) => {
                    slog::warn!(self.shared.log, "the channel for failures is not known";
                        "channel" => name, "error" => %error);
                    return None;
                }
            }
        }
    }
}

impl Registry {
    /// Logs a report whose channel is gone. It becomes a dead letter, whose retries find a channel that is
    /// activated meanwhile.
    pub(crate) fn warn_of_lost_report(&self, job: &Job) {
        if let Some(failed) = job.metadata.get(FAILURE_OF) {
            slog::warn!(self.shared.log, "a failure report finds no active channel of its name";
                "channel" => &*job.channel, "reported_by" => job.payload["channel"].as_str(),
                "failed_trace_id" => failed.as_str(), "trace_id" => %job.trace_id);
        }
    }
}

/// Returns the payload that every run of a scheduled channel gets.
fn scheduled_payload(row: &Channel) -> Value {
    // The other keys may hold references to declared values, which are not resolved here.
    let payload = row.content.transport_config.get("payload").and_then(Value::as_object);
    Value::Object(payload.cloned().unwrap_or_default())
}
