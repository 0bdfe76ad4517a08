//! Channels that pause themselves after repeated failures, which the database counts for all nodes.

use std::time::Duration;

use actix_supervision::Backoff;
use serde_json::json;
use svc_model::config::RepeatedFailureConfig;
use svc_model::{AuditAction, AuditResource};
use svc_store::{AuditEntry, AuditReceipt, CountedFailure, Mutation, NewPause, StoreError};
use tokio::time::{Instant, sleep};

use crate::handle::Registry;
use crate::ingress::failure_reports::FailedOccurrence;
use crate::scope::ReloadScope;
use crate::snapshot::LoadedChannel;

/// The principal of a pause by which a channel stops itself: the name of the setting.
const SETTING: &str = "on_repeated_failure";
/// Delays between attempts to count a failure while the database is away.
const COUNT_BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
/// Time after which a failure is no longer counted.
const LONGEST_COUNT: Duration = Duration::from_secs(30);

/// The result of counting a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordedFailure {
    /// It was counted, or its channel was paused before.
    Counted,
    /// Its channel was paused with it.
    Paused,
    /// Its channel may have been paused with it, by a commit that got no answer.
    Unknown,
}

impl Registry {
    /// Counts a failure that leaves an exhausted dead letter, a failed occurrence or a held record, if the channel pauses
    /// itself after several. `failure` names what failed; it counts once, however often it is reported. A failure that
    /// cannot be counted is logged.
    pub async fn note_channel_failure(&self, channel: &LoadedChannel, failure: &str) {
        let limit = channel.compiled_channel().and_then(|compiled| compiled.repeated_failure());
        let Some(limit) = limit.filter(|_| channel.pause().is_none()) else { return };
        if let Err(error) = self.count_failure(channel, failure, limit).await {
            slog::warn!(self.shared.log, "a failure was not counted"; "channel" => channel.name(),
                "error" => %error);
        }
    }

    /// Does the same for the channel of this id, if it is active.
    pub async fn note_failure_of(&self, id: &str, failure: &str) {
        let channel = self.snapshot().channel_by_id(id).cloned();
        if let Some(channel) = channel {
            self.note_channel_failure(&channel, failure).await;
        }
    }

    async fn count_failure(
        &self,
        channel: &LoadedChannel,
        failure: &str,
        limit: RepeatedFailureConfig,
    ) -> Result<(), StoreError> {
        let (id, name) = (channel.id(), channel.name());
        let RepeatedFailureConfig { failures, within_secs } = limit;
        let times = if failures == 1 { "time" } else { "times" };
        let reason = format!("it failed {failures} {times} within {within_secs} s");
        let error = format!("channel '{name}' paused itself: {reason}");
        let failed = FailedOccurrence { channel_id: id, channel_name: name, trace_id: None, error: &error };
        let report = self.prepare_report(failed).await;
        let failure = CountedFailure {
            id: failure.to_owned(),
            channel_id: id.to_owned(),
            limit,
            pause: NewPause { until: None, by: SETTING.to_owned(), reason },
            report: report.as_ref().map(|report| report.row().clone()),
        };
        let mutation = Mutation::new(AuditEntry {
            principal: SETTING.to_owned(),
            action: AuditAction::Pause.name().to_owned(),
            resource_type: AuditResource::Channel.name().to_owned(),
            resource_id: id.to_owned(),
            details: Some(json!({"failures": failures, "within_secs": within_secs})),
            receipt: AuditReceipt::default(),
        });
        let recorded = self.record_failure(failure, mutation).await?;
        if recorded == RecordedFailure::Counted {
            return Ok(());
        }
        if let Some(report) = report {
            if recorded == RecordedFailure::Paused {
                report.begin();
            } else {
                // The commit that got no answer may have stored the report, which only this node would run.
                report.begin_if_stored().await;
            }
        }
        // If it fails, the watcher of the epoch loads the pause.
        let _ = self.reload(ReloadScope::pauses()).await;
        Ok(())
    }

    /// Records a failure. Asks again for a while if the database does not answer: a failure counts once.
    async fn record_failure(
        &self,
        failure: CountedFailure,
        mutation: Mutation,
    ) -> Result<RecordedFailure, StoreError> {
        let pauses = self.shared.store.channel_pauses();
        let (mut backoff, begun, mut is_unanswered) = (COUNT_BACKOFF.delays(), Instant::now(), false);
        loop {
            match pauses.record_failure(failure.clone(), mutation.clone()).await {
                Ok(true) => return Ok(RecordedFailure::Paused),
                Ok(false) if is_unanswered => return Ok(RecordedFailure::Unknown),
                Ok(false) => return Ok(RecordedFailure::Counted),
                Err(error) if error.is_outage() && begun.elapsed() < LONGEST_COUNT => {
                    is_unanswered |= matches!(error, StoreError::Unanswered(_));
                    sleep(backoff.next_delay()).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
