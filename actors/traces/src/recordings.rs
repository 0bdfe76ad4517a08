//! Recordings of runs: those that a channel wants, and their way to the recorder.

use svc_model::config::TracingConfig;
use svc_store::NewRunRecording;

use crate::handle::Traces;
use crate::policy::{RecordPolicy, sample_key};
use crate::recorder::QueuedRecording;

impl Traces {
    /// Returns the policy of recordings of a channel with this configuration block; `None` if it records nothing.
    pub fn record_policy(&self, block: &TracingConfig) -> Option<RecordPolicy> {
        RecordPolicy::for_block(&self.shared.settings.recorder.record, block.record.as_ref())
    }

    /// Hands a recording to the recorder, which writes it soon. One for which there is no room is dropped and counted.
    pub fn keep_recording(&self, policy: &RecordPolicy, row: NewRunRecording) {
        let queued = QueuedRecording { row, max_per_day: policy.max_per_day };
        if !self.shared.recordings.push(queued) {
            self.count_unrecorded("overflow");
        }
    }

    /// Counts a run that was to be recorded and is not.
    pub fn count_unrecorded(&self, reason: &'static str) {
        self.shared.metrics.count_recording(reason);
    }
}

impl RecordPolicy {
    /// Returns `true` if the run with this key is in the share that is recorded. Every attempt and every node draws alike.
    #[must_use]
    pub fn draws(&self, run_key: &str) -> bool {
        self.share > 0.0 && sample_key(&run_key, self.share)
    }
}
