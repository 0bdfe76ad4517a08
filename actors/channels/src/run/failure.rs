//! The records of failed runs.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use svc_engine::{AuditTrailEntry, ExecutionTrace, RunOutcome, StepResult, TaskError, TraceStep};
use svc_model::{ErrorGroup, FailureFacts};

use crate::compiled_channel::CompiledChannel;

/// Error of the trace of a run that panicked.
pub const CRASHED: &str = "the run ended unexpectedly: a task panicked; the log has the panic";

/// Number of task errors in the description of a failed run; the others are counted.
const DESCRIBED: usize = 8;

/// Bytes of the message of one error that this description shows: lists have it in each row, and an expression may
/// throw a text of a caller. The errors of the trace have it whole.
const DESCRIBED_BYTES: usize = 4096;

/// Errors of one run that are kept, the newest.
const KEPT_ERRORS: usize = 100;

/// Steps of one run that are kept if its channel records none, the newest.
const KEPT_STEPS: usize = 1000;

/// The errors of a failed run as its trace keeps them.
#[derive(Serialize)]
struct Errors<'o> {
    errors: &'o [TaskError],
}

/// The data of a scheduled run that went on after errors. No data document has a member of that name by itself.
#[derive(Serialize)]
struct DataAndErrors<'o> {
    data: &'o Value,
    #[serde(rename = "_svc_errors")]
    errors: &'o [TaskError],
}

impl CompiledChannel {
    /// The data of a scheduled run and the errors that it went on after, JSON. The data alone if both are larger than a
    /// result may be; nothing if they are too.
    pub(crate) fn serialize_with_errors(&self, outcome: &RunOutcome) -> Option<String> {
        let (data, errors) = (&outcome.message.data, newest(&outcome.errors, KEPT_ERRORS));
        let both = self.serialize_result(&DataAndErrors { data, errors }).ok();
        both.or_else(|| self.serialize_result_if_small(data))
    }

    /// The errors of a failed run, JSON; nothing if they are larger than a result may be.
    pub(crate) fn serialize_errors(&self, outcome: &RunOutcome) -> Option<String> {
        let errors = newest(&outcome.errors, KEPT_ERRORS);
        if errors.is_empty() {
            return None;
        }
        let text = serde_json::to_string(&Errors { errors }).ok()?;
        self.services.settings.check_result(text.len()).is_ok().then_some(text)
    }

    /// Returns the group of a failed run: that of the error which ended it, else of `message`.
    pub(crate) fn error_group(&self, outcome: &RunOutcome, message: &str) -> Arc<ErrorGroup> {
        let error = fatal_error(outcome);
        let message = error.map_or(Cow::Borrowed(message), |error| show_thrown(&error.message));
        let facts = FailureFacts {
            channel: &self.name,
            workflow: outcome.workflow.as_ref().map(|workflow| &*workflow.id),
            task: error.and_then(|error| error.task_id.as_deref()),
            code: error.map(|error| error.code.name()),
            status: error.and_then(|error| error.http_status),
            message: &message,
        };
        Arc::new(ErrorGroup::new(facts))
    }

    /// Returns the group of a failure before or after a run, which its message alone describes.
    pub(crate) fn message_group(&self, message: &str) -> Arc<ErrorGroup> {
        let facts = FailureFacts { channel: &self.name, message, ..FailureFacts::default() };
        Arc::new(ErrorGroup::new(facts))
    }

    /// The steps of a failed run, JSON: those its channel recorded, else the names of what ran.
    pub(crate) fn serialize_steps(&self, outcome: &mut RunOutcome) -> Option<String> {
        let steps = outcome.trace.take().unwrap_or_else(|| steps(outcome));
        self.serialize_task_trace(Some(steps))
    }
}

/// Begin of the value that an expression threw, in a message.
const THROWN: &str = "Thrown: ";

/// Returns a message in which the text that an expression threw has no quotation marks: it separates one cause from
/// another, as the quoted values of other messages do not.
fn show_thrown(message: &str) -> Cow<'_, str> {
    let Some((before, after)) = message.split_once(THROWN) else { return Cow::Borrowed(message) };
    let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
    let Some(Ok(thrown)) = values.next() else { return Cow::Borrowed(message) };
    let Some(text) = thrown.get("type").and_then(Value::as_str) else { return Cow::Borrowed(message) };
    let is_text_alone = thrown.as_object().is_some_and(|members| members.len() == 1);
    let rest = if is_text_alone { after.get(values.byte_offset()..).unwrap_or_default() } else { after };
    let blank = if is_text_alone { "" } else { " " };
    Cow::Owned(format!("{before}{THROWN}{text}{blank}{rest}"))
}

/// Returns the error that ended a run, or the first one that its workflow does not tolerate.
pub(crate) fn fatal_error(outcome: &RunOutcome) -> Option<&TaskError> {
    let failure = outcome.failure.as_ref().map(|failure| &failure.error);
    failure.or_else(|| outcome.errors.iter().find(|error| !error.is_tolerated))
}

/// Describes the errors by which a run fails, in one text for operators: all but those that its workflow tolerates.
pub(crate) fn describe_failure(outcome: &RunOutcome) -> String {
    describe_within(DESCRIBED_BYTES, outcome.errors.iter().filter(|error| !error.is_tolerated))
}

/// Describes errors in one text for operators, which may be masked after it: their messages are whole.
pub(crate) fn describe<'e>(errors: impl Iterator<Item = &'e TaskError> + Clone) -> String {
    describe_within(usize::MAX, errors)
}

fn describe_within<'e>(most: usize, errors: impl Iterator<Item = &'e TaskError> + Clone) -> String {
    let mut text = String::new();
    for error in errors.clone().take(DESCRIBED) {
        if !text.is_empty() {
            text.push_str("; ");
        }
        let task = error.task_id.as_deref().unwrap_or("workflow");
        // Writing to a text does not fail.
        let _ = match error.index {
            Some(index) => write!(text, "{task}[{}]: ", index.get()),
            None => write!(text, "{task}: "),
        };
        let message = &error.message[..error.message.floor_char_boundary(most)];
        let mark = if message.len() < error.message.len() { "…" } else { "" };
        let _ = write!(text, "{} {message}{mark}", error.code.name());
    }
    if let Some(more) = errors.count().checked_sub(DESCRIBED + 1) {
        let _ = write!(text, "; and {} more", more + 1);
    }
    text
}

/// Returns `true` if a later run of the same message may succeed: one error that time heals, also one that the workflow
/// tolerates, may be the reason of all others.
pub(crate) fn is_transient(errors: &[TaskError]) -> bool {
    errors.iter().any(TaskError::is_transient)
}

/// Returns the longest wait that a system which was called asked for before another attempt.
pub(crate) fn retry_after(errors: &[TaskError]) -> Option<Duration> {
    let asked = errors.iter().filter_map(|error| error.retry_after_secs).max();
    asked.map(|seconds| Duration::from_secs(seconds.get().into()))
}

/// The tasks that ran, without what they wrote.
fn steps(outcome: &RunOutcome) -> ExecutionTrace {
    let entries = newest(&outcome.audit_trail, KEPT_STEPS);
    let steps = entries.iter().map(step).collect();
    ExecutionTrace { steps, input: None, truncated: entries.len() < outcome.audit_trail.len() }
}

fn step(entry: &AuditTrailEntry) -> TraceStep {
    TraceStep {
        workflow_id: entry.workflow_id.clone(),
        task_id: Some(entry.task_id.clone()),
        result: if entry.status < 500 { StepResult::Executed } else { StepResult::Failed },
        message: None,
        mapping_contexts: Vec::new(),
        started_at: None,
        duration_us: None,
        function: None,
        target: None,
        changes: Vec::new(),
        loop_counter: entry.loop_counter,
        index: entry.index,
    }
}

fn newest<T>(items: &[T], count: usize) -> &[T] {
    &items[items.len().saturating_sub(count)..]
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use svc_engine::{ErrorCode, Healing};

    use super::*;

    fn error(code: ErrorCode, http_status: Option<u16>) -> TaskError {
        TaskError { http_status, ..TaskError::new(code, "x") }
    }

    #[test]
    fn long_message_is_cut_between_characters() {
        let long = TaskError::new(ErrorCode::Task, format!("a{}", "é".repeat(10)));
        let text = describe_within(4, [&long].into_iter());
        assert_eq!(text, format!("workflow: {} aé…", ErrorCode::Task.name()));
        let whole = describe([&long].into_iter());
        assert_eq!(whole, format!("workflow: {} {}", ErrorCode::Task.name(), long.message));
    }

    #[test]
    fn thrown_text_is_no_quoted_value() {
        for (message, expected) in [
            (
                r#"x: Thrown: {"type":"order \"a\" is unknown"} (in throw)"#,
                r#"x: Thrown: order "a" is unknown (in throw)"#,
            ),
            (
                r#"Thrown: {"type":"stock","qty":5} (in throw)"#,
                r#"Thrown: stock {"type":"stock","qty":5} (in throw)"#,
            ),
            (r#"Thrown: {"qty":5}"#, r#"Thrown: {"qty":5}"#),
            ("Thrown: nothing", "Thrown: nothing"),
            ("refused", "refused"),
        ] {
            assert_eq!(show_thrown(message), expected);
        }
    }

    #[test]
    fn longest_requested_wait_delays_the_next_run() {
        let asking = |retry_after_secs| TaskError { retry_after_secs, ..error(ErrorCode::Http, Some(429)) };
        assert_eq!(retry_after(&[asking(None)]), None);
        let errors = [asking(NonZeroU16::new(2)), asking(NonZeroU16::new(60)), asking(None)];
        assert_eq!(retry_after(&errors), Some(Duration::from_secs(60)));
    }

    #[test]
    fn later_run_may_succeed_where_one_error_may_heal() {
        use ErrorCode::*;
        for code in [Io, Timeout, CircuitOpen, ChannelUnavailable, ChannelRateLimited] {
            assert!(
                is_transient(&[error(Validation, None), error(code, None), error(Workflow, None)]),
                "{code:?}"
            );
        }
        for code in
            [Validation, Evaluation, IntegrityUnique, IntegrityCheck, Function, Logic, ChannelForbidden]
        {
            assert!(!is_transient(&[error(code, None), error(Workflow, None)]), "{code:?}");
        }
        for (status, expected) in
            [(400, false), (401, false), (404, false), (408, true), (429, true), (503, true)]
        {
            assert_eq!(is_transient(&[error(Http, Some(status))]), expected, "{status}");
        }
        let absent = TaskError { healing: Some(Healing::Transient), ..error(Function, None) };
        assert!(is_transient(&[absent]), "a connector that is loaded later");
        let costly = TaskError { healing: Some(Healing::Permanent), ..error(Timeout, None) };
        assert!(!is_transient(&[costly]), "a run that costs too much processor time");
    }
}
