//! The end of a recorded run: what is kept of it.

use std::sync::Arc;

use svc_engine::{RecordingResult, RunOutcome, Unrecorded};
use svc_model::RunEnd;
use svc_model::id::new_ordered_id;
use svc_traces::NewRunRecording;

use super::channel_recorder::RunInRecording;
use crate::compiled_channel::CompiledChannel;

impl CompiledChannel {
    /// Hands the recording of a run to the recorder, if it is drawn or has failed.
    pub(super) fn keep_recording(&self, run: RunInRecording, outcome: &mut RunOutcome) {
        let (Some(recorder), Some(traces)) = (&self.recorder, &self.services.traces) else { return };
        let recorded = outcome.recorded.take();
        let end = outcome.end();
        if !run.is_drawn && end == RunEnd::Completed {
            return;
        }
        let recording = match recorded {
            Some(RecordingResult::Recorded(recording)) => recording,
            Some(RecordingResult::Unrecorded(reason)) => return traces.count_unrecorded(reason.name()),
            Some(RecordingResult::Replayed(_) | RecordingResult::Followed(_)) | None => {
                return traces.count_unrecorded(Unrecorded::Confidential.name());
            }
        };
        let Ok(text) = serde_json::to_string(&recording) else { return };
        let row = NewRunRecording {
            id: new_ordered_id().to_string(),
            run_id: outcome.message.id.to_string(),
            run_key: run.run_key,
            channel_id: Arc::clone(&self.id),
            channel: Arc::clone(&self.name),
            workflow: outcome.workflow.clone(),
            source: run.source.name(),
            outcome: end_name(end),
            recording: text,
        };
        traces.keep_recording(&recorder.policy, row);
    }
}

const fn end_name(end: RunEnd) -> &'static str {
    match end {
        RunEnd::Completed => "completed",
        RunEnd::Failed => "failed",
        RunEnd::TimedOut => "timed_out",
        RunEnd::Cancelled => "cancelled",
    }
}
