//! Decisions about the outcome of a run: pure, no clock, no I/O.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Backoff;
use svc_store::{CancelledRun, Ownership, RenewedWait, TraceEnd, TraceFailure, TraceStatus, WaitReason};
use uuid::Uuid;

use crate::early_start::EarlyStart;
use crate::job::{Job, JobFailure, JobOutcome, JobResult};

/// Delays before a dead letter is retried: from one second to a little more than 18 hours.
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(1 << 16));

/// Time after which a job that waited in the database is claimed again whose channel had no permit for it.
const REFUSAL_PAUSE: Duration = Duration::from_millis(500);
/// Time after which a job is claimed again that met a paused channel which is paused no more: what this node knows of it is
/// out of date for a moment.
const RESUMED_PAUSE: Duration = Duration::from_secs(1);

/// One attempt at a job, with the number of its retries.
#[derive(Clone, Debug)]
pub(crate) struct JobAttempt {
    pub(crate) id: Uuid,
    /// The claim under which the attempt runs.
    pub(crate) ownership: Ownership,
    /// Number of the retry of a dead letter; 0 for a first run.
    pub(crate) retry: u32,
    pub(crate) max_retries: u32,
    /// True if dead letters are retried.
    pub(crate) retries: bool,
    /// Set for a submission that may have begun before its row was on disk.
    pub(crate) early: Option<Arc<EarlyStart>>,
}

/// The record to write about an attempt.
#[derive(Debug)]
pub(crate) enum AttemptOutcome {
    /// The job has ended.
    Over(TraceEnd),
    /// The attempt failed, and may be retried.
    Failed(TraceFailure),
    /// The job was cancelled.
    Cancelled(CancelledRun),
    /// The job did not run to its end, and waits in the database.
    Waits(RenewedWait),
}

/// The reason why a job has no outcome.
#[derive(Debug)]
pub(crate) enum UnrunJob {
    /// Its channel had no permit.
    Busy(Box<Job>),
    /// The channel with this id, its own or one that it called, is paused.
    Paused(Arc<str>),
}

impl UnrunJob {
    /// Returns the record of a job that waits in the database: for a permit, or until the channel is resumed.
    pub(crate) fn into_wait(self) -> AttemptOutcome {
        let (reason, awaited_channel, delay) = match self {
            Self::Busy(_) => (WaitReason::Share, None, REFUSAL_PAUSE),
            Self::Paused(channel) => (WaitReason::Paused, Some(channel), RESUMED_PAUSE),
        };
        AttemptOutcome::Waits(RenewedWait { reason, awaited_channel, delay: Some(delay) })
    }
}

impl JobAttempt {
    /// Returns `true` for the first attempt at its work, whose row is that of the work.
    pub(crate) const fn is_first(&self) -> bool {
        self.retry == 0
    }

    /// Returns `true` if the outcome is written with the row of the job, which no transaction has taken yet.
    pub(crate) fn ends_with_row(&self, outcome: &AttemptOutcome) -> bool {
        let (Some(early), AttemptOutcome::Over(end)) = (&self.early, outcome) else { return false };
        self.is_first() && early.end(end)
    }

    /// Returns the record of a run.
    ///
    /// # Errors
    /// Returns the reason if the job is to run again without a further attempt.
    pub(crate) fn outcome_of(&self, completed: JobResult) -> Result<AttemptOutcome, UnrunJob> {
        let JobResult { ended, task_trace, workflow, error_group, took } = completed;
        let duration_ms = Some(took.as_secs_f64() * 1000.0);
        let group = error_group.clone();
        let over = |status, result_json, error_message| {
            AttemptOutcome::Over(TraceEnd {
                id: self.id,
                status,
                result_json,
                error_message,
                error_code: None,
                error_group: group.clone(),
                duration_ms,
                task_trace_json: task_trace.clone(),
                workflow: workflow.clone(),
                ownership: Some(self.ownership.clone()),
            })
        };
        Ok(match ended {
            JobOutcome::Completed { result } => over(TraceStatus::Completed, result, None),
            JobOutcome::TooLarge { message } => over(TraceStatus::Failed, None, Some(message)),
            JobOutcome::Failed(failure) => {
                let failure = TraceFailure {
                    duration_ms,
                    task_trace_json: task_trace,
                    workflow,
                    error_group,
                    ..self.failure(failure)
                };
                AttemptOutcome::Failed(failure)
            }
            JobOutcome::Unavailable { message } => {
                // Nothing was tried, so this retry does not count.
                let earlier = Self { retry: self.retry.saturating_sub(1), ..self.clone() };
                AttemptOutcome::Failed(earlier.failure(JobFailure::transient(message)))
            }
            JobOutcome::Cancelled => {
                let ended = TraceEnd {
                    duration_ms,
                    task_trace_json: task_trace,
                    workflow,
                    ..TraceEnd::cancelled(self.id, Some(self.ownership.clone()))
                };
                AttemptOutcome::Cancelled(self.cancelled_run(ended, None))
            }
            JobOutcome::Busy(job) => return Err(UnrunJob::Busy(job)),
            JobOutcome::Paused { channel_id, .. } => return Err(UnrunJob::Paused(channel_id)),
        })
    }

    /// Returns the record of an attempt that was dropped because its work is cancelled.
    pub(crate) fn cancelled(&self, took: Duration, in_flight_json: Option<String>) -> AttemptOutcome {
        let ended = TraceEnd {
            duration_ms: Some(took.as_secs_f64() * 1000.0),
            ..TraceEnd::cancelled(self.id, Some(self.ownership.clone()))
        };
        AttemptOutcome::Cancelled(self.cancelled_run(ended, in_flight_json))
    }

    fn cancelled_run(&self, end: TraceEnd, in_flight_json: Option<String>) -> CancelledRun {
        CancelledRun { end, in_flight_json, max_retries: i64::from(self.max_retries), report: None }
    }

    /// Returns the record of a failure of this attempt. A permanent failure uses up all retries.
    pub(crate) fn failure(&self, failure: JobFailure) -> TraceFailure {
        let JobFailure { message, code, errors, is_transient, retry_after } = failure;
        TraceFailure {
            id: self.id,
            result_json: errors,
            error_message: if is_transient { message } else { format!("{message} (not retried)") },
            error_code: code,
            error_group: None,
            duration_ms: None,
            task_trace_json: None,
            workflow: None,
            retry_count: i64::from(if is_transient { self.retry } else { self.retry.max(self.max_retries) }),
            max_retries: i64::from(self.max_retries),
            retries: self.retries,
            delay: retry_delay(self.retry).max(retry_after.unwrap_or_default()),
            ownership: Some(self.ownership.clone()),
            report: None,
        }
    }
}

/// Returns the delay of a dead letter that was retried `retries` times: `2^retries` seconds, up to the limit.
pub(crate) fn retry_delay(retries: u32) -> Duration {
    RETRY_BACKOFF.delay(retries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(retry: u32, max_retries: u32) -> JobAttempt {
        let ownership = Ownership { owner: "n:1".into(), recoveries: 2 };
        JobAttempt { id: Uuid::nil(), ownership, retry, max_retries, retries: true, early: None }
    }

    fn verdict(retry: u32, ended: JobOutcome) -> AttemptOutcome {
        let attempt = attempt(retry, 5);
        let took = Duration::from_millis(20);
        let completed = JobResult { task_trace: Some("[]".into()), ..JobResult::bare(ended, took) };
        attempt.outcome_of(completed).expect("it was run")
    }

    #[test]
    fn completed_attempt_keeps_its_result_if_any() {
        for result in [Some("{}".to_owned()), None] {
            let AttemptOutcome::Over(end) = verdict(0, JobOutcome::Completed { result: result.clone() })
            else {
                panic!()
            };
            assert_eq!((end.status, end.result_json), (TraceStatus::Completed, result));
            assert_eq!(end.ownership.map(|claim| claim.recoveries), Some(2));
            assert_eq!((end.duration_ms, end.task_trace_json.as_deref()), (Some(20.0), Some("[]")));
        }
    }

    #[test]
    fn only_failure_becomes_a_dead_letter() {
        let AttemptOutcome::Failed(failure) = verdict(3, JobOutcome::Failed(JobFailure::transient("no")))
        else {
            panic!()
        };
        assert_eq!((failure.retry_count, failure.max_retries), (3, 5));
        assert_eq!((failure.delay, &*failure.error_message), (Duration::from_secs(8), "no"));
        let AttemptOutcome::Over(end) = verdict(0, JobOutcome::TooLarge { message: "big".into() }) else {
            panic!()
        };
        assert_eq!((end.status, end.error_message.as_deref()), (TraceStatus::Failed, Some("big")));
    }

    #[test]
    fn dead_letter_waits_at_least_the_requested_time() {
        for (asked, expected) in [(None, 8), (Some(5), 8), (Some(600), 600)] {
            let retry_after = asked.map(Duration::from_secs);
            let failure = JobFailure { retry_after, ..JobFailure::transient("busy") };
            let AttemptOutcome::Failed(failure) = verdict(3, JobOutcome::Failed(failure)) else { panic!() };
            assert_eq!(failure.delay.as_secs(), expected, "{asked:?}");
        }
    }

    #[test]
    fn retry_that_was_not_made_is_uncounted() {
        for (retry, count) in [(0, 0), (1, 0), (5, 4)] {
            let outcome = JobOutcome::Unavailable { message: "quarantined".into() };
            let AttemptOutcome::Failed(failure) = verdict(retry, outcome) else { panic!() };
            assert_eq!((failure.retry_count, failure.max_retries), (count, 5));
        }
    }

    #[test]
    fn attempt_at_paused_channel_waits_for_resume() {
        let ended = JobOutcome::Paused { message: "it is paused".into(), channel_id: "bank-id".into() };
        let unrun =
            attempt(3, 5).outcome_of(JobResult::bare(ended, Duration::ZERO)).expect_err("it runs again");
        let AttemptOutcome::Waits(wait) = unrun.into_wait() else { panic!("it waits") };
        assert_eq!((wait.reason, wait.awaited_channel.as_deref()), (WaitReason::Paused, Some("bank-id")));
    }

    #[test]
    fn permanent_failure_uses_all_retries_up() {
        for retry in [0, 3, 5, 7] {
            let outcome = JobOutcome::Failed(JobFailure::permanent("no"));
            let AttemptOutcome::Failed(failure) = verdict(retry, outcome) else { panic!() };
            assert!(failure.retry_count >= failure.max_retries, "{retry}");
            assert_eq!(failure.error_message, "no (not retried)");
        }
    }

    #[test]
    fn each_retry_waits_twice_as_long() {
        assert_eq!([0, 1, 5].map(|n| retry_delay(n).as_secs()), [1, 2, 32]);
        assert_eq!(retry_delay(u32::MAX), Duration::from_secs(65536));
    }
}
