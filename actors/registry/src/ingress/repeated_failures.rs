//! Channels that pause themselves after repeated failures, which the database counts for all nodes.

use serde_json::json;
use svc_model::config::RepeatedFailureConfig;
use svc_model::{AuditAction, AuditResource};
use svc_store::{AuditEntry, AuditReceipt, CountedFailure, Mutation, NewPause, StoreError};

use crate::handle::Registry;
use crate::ingress::failure_reports::FailedOccurrence;
use crate::scope::ReloadScope;
use crate::snapshot::LoadedChannel;

/// The principal of a pause by which a channel stops itself: the name of the setting.
const SETTING: &str = "on_repeated_failure";

impl Registry {
    /// Counts a failure that leaves an exhausted dead letter, a failed occurrence or a held record, if the channel pauses
    /// itself after several. A failure that cannot be counted is logged.
    pub async fn note_channel_failure(&self, channel: &LoadedChannel) {
        let limit = channel.compiled_channel().and_then(|compiled| compiled.repeated_failure());
        let Some(limit) = limit.filter(|_| channel.pause().is_none()) else { return };
        if let Err(error) = self.count_failure(channel, limit).await {
            slog::warn!(self.shared.log, "a failure was not counted"; "channel" => channel.name(),
                "error" => %error);
        }
    }

    /// Does the same for the channel of this id, if it is active.
    pub async fn note_failure_of(&self, id: &str) {
        let channel = self.snapshot().channel_by_id(id).cloned();
        if let Some(channel) = channel {
            self.note_channel_failure(&channel).await;
        }
    }

    async fn count_failure(
        &self,
        channel: &LoadedChannel,
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
        match self.shared.store.channel_pauses().record_failure(failure, mutation).await {
            Ok(false) => return Ok(()),
            Ok(true) => {
                if let Some(report) = report {
                    report.begin();
                }
            }
            Err(error) => {
                // The commit that got no answer may have stored the report, which only this node would run.
                let report = report.filter(|_| matches!(error, StoreError::Unanswered(_)));
                let Some(report) = report else { return Err(error) };
                if !report.begin_if_stored().await {
                    return Err(error);
                }
            }
        }
        // If it fails, the watcher of the epoch loads the pause.
        let _ = self.reload(ReloadScope::pauses()).await;
        Ok(())
    }
}
