//! The way from a run that has ended to its shadow.

use std::sync::Arc;
use std::time::Duration;

use svc_engine::{
    CallMatch, FailureKind, FollowedRun, Message, RecordingMode, RecordingOptions, RecordingResult,
    ReplayReport, RunOptions, RunOutcome, RunRecording, Unrecorded,
};
use svc_model::Timestamp;
use tokio::time::Instant;
use uuid::Uuid;

use super::book::ShadowPlace;
use super::metrics::ShadowDropReason;
use super::{ChannelShadow, DifferingRun, ShadowFinding};
use crate::compiled_channel::CompiledChannel;
use crate::metadata::read_run_key;

/// Bytes of a run that a shadow may follow.
const MOST_BYTES: usize = 256 * 1024;
/// Time of a shadow whose channel has no limit.
const LIMIT: Duration = Duration::from_secs(30);
/// A turn of the other tasks of the thread that takes longer is work that a shadow must not delay.
const QUIET: Duration = Duration::from_micros(300);
/// Time for which a shadow waits for a thread without other work.
const PATIENCE: Duration = Duration::from_millis(250);

/// A run that begins and is to have a shadow.
pub(crate) struct FollowedRunStart {
    shadow: Arc<ChannelShadow>,
    id: Uuid,
}

impl FollowedRunStart {
    /// Returns the mode of the engine for the run; `record` is the recording for others.
    pub(crate) fn mode(&self, record: Option<RecordingOptions>) -> RecordingMode {
        RecordingMode::Follow { max_bytes: MOST_BYTES, record }
    }
}

impl CompiledChannel {
    /// Begins a run that is to have a shadow; `None` for one of another version, outside of the share, or while no shadow
    /// may begin.
    pub(crate) fn begin_followed(
        &self,
        shadow: &Arc<ChannelShadow>,
        id: Uuid,
        bucket: Option<u8>,
    ) -> Option<Box<FollowedRunStart>> {
        let terms = &shadow.workflow.terms;
        let version = self.flow.version_for(bucket, id)?;
        if version.version != terms.followed || !draws(id, terms.share) {
            return None;
        }
        let services = &self.services;
        if !services.metrics.shadows().has_place(services.settings.shadow_max_concurrency) {
            shadow.tally.count_dropped(ShadowDropReason::Busy.name());
            return None;
        }
        Some(Box::new(FollowedRunStart { shadow: Arc::clone(shadow), id }))
    }

    /// Hands a run that has ended to its shadow, which begins later. What is recorded for others stays in the outcome.
    pub(crate) fn end_followed(&self, start: FollowedRunStart, outcome: &mut RunOutcome) {
        let FollowedRunStart { shadow, id } = start;
        let drop_run = |reason: ShadowDropReason| shadow.tally.count_dropped(reason.name());
        let Some(RecordingResult::Followed(followed)) = outcome.recorded.take() else {
            return drop_run(ShadowDropReason::Confidential);
        };
        let FollowedRun { run, recorded } = *followed;
        outcome.recorded = recorded.map(|recorded| match recorded {
            Ok(recording) => RecordingResult::Recorded(Box::new(recording)),
            Err(reason) => RecordingResult::Unrecorded(reason),
        });
        let is_cut_short =
            outcome.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Timeout);
        if outcome.is_cancelled || is_cut_short {
            return drop_run(ShadowDropReason::Unfinished);
        }
        let run = match run {
            Ok(run) => run,
            Err(Unrecorded::TooLarge) => return drop_run(ShadowDropReason::TooLarge),
            Err(Unrecorded::Confidential) => return drop_run(ShadowDropReason::Confidential),
        };
        let services = Arc::clone(&self.services);
        let most = services.settings.shadow_max_concurrency;
        let Some(place) = services.metrics.shadows().take_place(most) else {
            return drop_run(ShadowDropReason::Busy);
        };
        let (chain, limit) = (Arc::clone(&self.chain), self.timeout.unwrap_or(LIMIT));
        let options =
            RunOptions { deadline: Some(limit), chain, ignores_metadata: true, ..RunOptions::default() };
        // The future is made on this thread, where its run was, and nothing waits for it.
        tokio::task::spawn_local(async move {
            let _place: ShadowPlace = place;
            if !find_quiet_thread().await {
                return shadow.tally.count_dropped(ShadowDropReason::ThreadBusy.name());
            }
            let run = Arc::new(run);
            let message = Message::with_id(id, run.payload.clone(), run.metadata.clone());
            let recording = Some(RecordingMode::Shadow(Arc::clone(&run)));
            let options = RunOptions { recording, ..options };
            let outcome = services.engine.run(&shadow.workflow.flow, message, options).await;
            let Some(RecordingResult::Replayed(report)) = outcome.recorded else { return };
            let findings = match services.settings.shadow_compare {
                Some(compare) => compare(&run, &report),
                None => compare_ends(&run, &report),
            };
            let run_key = read_run_key(&run.metadata).map_or_else(|| id.to_string(), str::to_owned);
            let message_id = id.to_string();
            let compared = DifferingRun { message_id, run_key, ended_at: Timestamp::now(), findings };
            shadow.tally.count_run(compared, count_unanswered(&report));
        });
    }
}

/// Returns `true` if the run with this id, whose last bits are random, is in the share that is followed.
fn draws(id: Uuid, share: f64) -> bool {
    let [.., high, low] = *id.as_bytes();
    f64::from(u16::from_be_bytes([high, low])) < share * 65_536.0
}

/// Waits until the other tasks of the thread take no time; `false` if they go on for too long.
async fn find_quiet_thread() -> bool {
    let began = Instant::now();
    loop {
        let before = Instant::now();
        tokio::task::yield_now().await;
        let now = Instant::now();
        if now - before < QUIET {
            return true;
        }
        if now - began > PATIENCE {
            return false;
        }
    }
}

fn count_unanswered(report: &ReplayReport) -> u64 {
    let is_unanswered = report.calls.iter().filter(|call| call.matching == CallMatch::New && !call.is_made);
    u64::try_from(is_unanswered.count()).unwrap_or(u64::MAX)
}

/// Compares the ends alone, for a process that has no other comparison.
fn compare_ends(run: &RunRecording, report: &ReplayReport) -> Vec<ShadowFinding> {
    let is_same = run.end.data == report.end.data && run.end.error == report.end.error;
    let finding =
        || ShadowFinding { kind: "different-answer", subject: "data".to_owned(), lines: Vec::new() };
    (!is_same).then(finding).into_iter().collect()
}
