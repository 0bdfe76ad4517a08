//! The answers of a recorded run to the calls of another run over its message.

use std::sync::Arc;

use serde_json::Value;
use svc_model::mask::MASK;

use super::{CallRecording, RecordedCallError, RunRecording, RunRecordingEnd};
use crate::error::TaskError;
use crate::error_code::ErrorCode;

/// The match of a call with one of the recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMatch {
    /// The recorded run made it with the same input.
    Same,
    /// The recorded run made it with another input, and its answer is used.
    ChangedInput,
    /// The recorded run did not make it: it has no answer, and fails.
    New,
}

/// A call of a run over a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredCall {
    /// The call, without its answer.
    pub call: CallRecording,
    /// The place of its match among the recorded calls.
    pub recorded: Option<usize>,
    /// The kind of the match.
    pub matching: CallMatch,
    /// True if the call was made, because it only reads: it got an answer of its own.
    pub is_made: bool,
}

/// The report of a run over a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayReport {
    /// The end of the run.
    pub end: RunRecordingEnd,
    /// The calls in the order in which they were made.
    pub calls: Vec<AnsweredCall>,
    /// The places of the recorded calls that were not made.
    pub missing: Vec<usize>,
    /// The number of instants and random values that the recording does not have.
    pub fresh_values: usize,
}

/// The values and answers of a recorded run. Each is given out once.
#[derive(Debug)]
pub(super) struct ReplayAnswers {
    recording: Arc<RunRecording>,
    /// True if the run may have nothing in the place of a mask.
    lacks_sources: bool,
    used_values: Vec<bool>,
    used_calls: Vec<bool>,
    calls: Vec<AnsweredCall>,
    fresh_values: usize,
}

impl ReplayAnswers {
    pub(super) fn new(recording: Arc<RunRecording>) -> Self {
        let used_values = vec![false; recording.drawn.len()];
        let used_calls = vec![false; recording.calls.len()];
        let lacks_sources = recording.lacks_sources();
        Self { recording, lacks_sources, used_values, used_calls, calls: Vec::new(), fresh_values: 0 }
    }

    /// Takes the next value of a kind: that of the same place, else the first one of any.
    pub(super) fn take_drawn(&mut self, place: &str, kind: &str) -> Option<Value> {
        let recording = Arc::clone(&self.recording);
        let drawn = &recording.drawn;
        let is_free = |at: &usize| drawn[*at].kind == kind && !self.used_values[*at];
        let here = (0..drawn.len()).find(|at| is_free(at) && drawn[*at].at == place);
        let Some(at) = here.or_else(|| (0..drawn.len()).find(is_free)) else {
            self.fresh_values += 1;
            return None;
        };
        let value = drawn[at].value.clone();
        self.used_values[at] = true;
        Some(value)
    }

    /// Answers a call; `None` for one that the recorded run did not make. A call that may be made gets the answer to an
    /// equal one only.
    pub(super) fn answer(
        &mut self,
        asked: CallRecording,
        may_be_made: bool,
    ) -> Option<Result<Value, TaskError>> {
        let equal = if may_be_made { self.find_equal(&asked) } else { None };
        let found = equal.or_else(|| self.find(&asked));
        let recording = Arc::clone(&self.recording);
        let recorded = found.and_then(|at| recording.calls.get(at));
        let matching = match recorded {
            None => CallMatch::New,
            Some(call) if self.has_input(call, &asked) => CallMatch::Same,
            Some(_) => CallMatch::ChangedInput,
        };
        let is_cut = recorded.is_some_and(|call| call.is_cut);
        let is_made = may_be_made && (matching != CallMatch::Same || is_cut);
        let answer = recorded.filter(|_| !is_made).map(|call| match &call.error {
            // No code that leads to another attempt.
            None if call.is_cut => {
                Err(TaskError::new(ErrorCode::Function, "the recorded call was ended before its answer"))
            }
            None => Ok(call.answer.clone()),
            Some(error) => Err(to_task_error(error)),
        });
        if let Some(used) = found.and_then(|at| self.used_calls.get_mut(at)) {
            *used = true;
        }
        self.calls.push(AnsweredCall { call: asked, recorded: found, matching, is_made });
        answer
    }

    /// Finds a recorded call with the same function, target and input, one of the same task first.
    fn find_equal(&self, asked: &CallRecording) -> Option<usize> {
        let calls = &self.recording.calls;
        let is_equal = |at: &usize| {
            let call = &calls[*at];
            !self.used_calls[*at]
                && call.function == asked.function
                && call.target == asked.target
                && self.has_input(call, asked)
        };
        let of_task = (0..calls.len()).find(|at| is_equal(at) && calls[*at].task == asked.task);
        of_task.or_else(|| (0..calls.len()).find(is_equal))
    }

    /// Finds the recorded call: by function, target and task, of these first the same element and attempt, if there are
    /// several with the same input, then the same input; else the first one with the same input.
    fn find(&self, asked: &CallRecording) -> Option<usize> {
        let calls = &self.recording.calls;
        let is_free = |at: usize| {
            !self.used_calls[at] && calls[at].function == asked.function && calls[at].target == asked.target
        };
        let free: Vec<usize> = (0..calls.len()).filter(|at| is_free(*at)).collect();
        let of_task: Vec<usize> = free.iter().copied().filter(|at| calls[*at].task == asked.task).collect();
        let is_of_element = |call: &CallRecording| call.index == asked.index;
        let has_input = |call: &CallRecording| self.has_input(call, asked);
        let first = |among: &[usize], is_match: &dyn Fn(&CallRecording) -> bool| {
            among.iter().copied().find(|at| is_match(&calls[*at]))
        };
        let is_of_attempt = |call: &CallRecording| is_of_element(call) && call.attempt == asked.attempt;
        // Sweeps, and the lists within several elements, have calls of one index: their order is that of their ends.
        first(&of_task, &|call| is_of_attempt(call) && has_input(call))
            .or_else(|| first(&of_task, &is_of_attempt))
            .or_else(|| first(&of_task, &|call| is_of_element(call)))
            .or_else(|| first(&of_task, &|call| has_input(call)))
            .or_else(|| of_task.first().copied())
            .or_else(|| first(&free, &|call| has_input(call)))
    }

    /// Returns `true` if a recorded call has the input of this one.
    fn has_input(&self, recorded: &CallRecording, asked: &CallRecording) -> bool {
        is_same(&recorded.input, &asked.input, self.lacks_sources)
    }

    /// Ends the run.
    pub(super) fn finish(self) -> ReplayReport {
        let unused = self.used_calls.iter().enumerate().filter(|(_, used)| !**used);
        let missing = unused.map(|(at, _)| at).collect();
        ReplayReport {
            end: RunRecordingEnd::default(),
            calls: self.calls,
            missing,
            fresh_values: self.fresh_values,
        }
    }
}

/// Returns `true` if an input is the recorded one. A text of the recording with a mask matches every text; and null, if
/// its source may be left out of the recording.
fn is_same(recorded: &Value, asked: &Value, lacks_sources: bool) -> bool {
    match (recorded, asked) {
        (Value::String(one), Value::String(other)) => one == other || one.contains(MASK),
        (Value::String(one), Value::Null) => lacks_sources && one.contains(MASK),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_same(one, other, lacks_sources))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_member = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| is_same(value, other, lacks_sources))
            };
            one.len() == other.len() && one.iter().all(is_member)
        }
        (one, other) => one == other,
    }
}

fn to_task_error(error: &RecordedCallError) -> TaskError {
    let code = ErrorCode::ALL.iter().copied().find(|code| code.name() == error.code);
    TaskError {
        http_status: error.status,
        body: error.body.clone().map(Box::new),
        ..TaskError::new(code.unwrap_or(ErrorCode::Task), error.message.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(task: &str, index: Option<usize>, input: Value, answer: Value) -> CallRecording {
        let function = "http_call".to_owned();
        let target = Some("shop".to_owned());
        CallRecording {
            task: task.into(),
            index,
            attempt: 1,
            function,
            target,
            input,
            answer,
            ..CallRecording::default()
        }
    }

    fn answers(calls: Vec<CallRecording>) -> ReplayAnswers {
        ReplayAnswers::new(Arc::new(RunRecording { calls, ..RunRecording::default() }))
    }

    #[test]
    fn call_of_the_same_task_gets_its_answer() {
        let recorded = vec![
            call("load", Some(0), json!({"id": 1}), json!("one")),
            call("load", Some(1), json!({"id": 2}), json!("two")),
        ];
        let mut answers = answers(recorded);
        let asked = call("load", Some(1), json!({"id": 3}), Value::Null);
        assert_eq!(answers.answer(asked, false), Some(Ok(json!("two"))));
        let report = answers.finish();
        assert_eq!(report.calls[0].matching, CallMatch::ChangedInput);
        assert_eq!(report.missing, [0]);
    }

    #[test]
    fn calls_of_one_index_are_matched_by_input() {
        let recorded = vec![
            call("load", Some(0), json!({"id": 2}), json!("two")),
            call("load", Some(0), json!({"id": 1}), json!("one")),
        ];
        let mut answers = answers(recorded);
        for (id, answer) in [(1, "one"), (2, "two")] {
            let asked = call("load", Some(0), json!({"id": id}), Value::Null);
            assert_eq!(answers.answer(asked, false), Some(Ok(json!(answer))));
        }
        assert!(answers.finish().calls.iter().all(|call| call.matching == CallMatch::Same));
    }

    #[test]
    fn renamed_task_is_matched_by_input() {
        let mut answers = answers(vec![call("load", None, json!({"id": 1}), json!("one"))]);
        assert_eq!(answers.answer(call("fetch", None, json!({"id": 2}), Value::Null), false), None);
        assert_eq!(
            answers.answer(call("fetch", None, json!({"id": 1}), Value::Null), false),
            Some(Ok(json!("one")))
        );
        let kinds: Vec<_> = answers.finish().calls.iter().map(|call| call.matching).collect();
        assert_eq!(kinds, [CallMatch::New, CallMatch::Same]);
    }

    #[test]
    fn read_with_another_input_is_made() {
        let mut answers = answers(vec![call("load", None, json!({"id": 1}), json!("one"))]);
        let other = call("load", None, json!({"id": 2}), Value::Null);
        assert_eq!(answers.answer(other, true), None);
        let made = &answers.finish().calls[0];
        assert_eq!((made.matching, made.is_made), (CallMatch::ChangedInput, true));
    }

    #[test]
    fn masked_input_matches_null_without_source() {
        for (root, expected) in
            [("payload", CallMatch::Same), ("metadata", CallMatch::Same), ("data", CallMatch::ChangedInput)]
        {
            let calls = vec![call("load", None, json!({"card": MASK}), json!("one"))];
            let dropped = vec![vec![root.to_owned(), "card".to_owned()]];
            let recording = RunRecording { calls, dropped, ..RunRecording::default() };
            let mut answers = ReplayAnswers::new(Arc::new(recording));
            let asked = call("load", None, json!({"card": null}), Value::Null);
            assert_eq!(answers.answer(asked, false), Some(Ok(json!("one"))));
            assert_eq!(answers.finish().calls[0].matching, expected, "{root}");
        }
    }

    #[test]
    fn drawn_value_is_given_once() {
        let drawn = |at: &str, value: i64| super::super::DrawnValue {
            at: at.into(),
            kind: "uuid".into(),
            value: value.into(),
        };
        let recording = RunRecording { drawn: vec![drawn("a", 1), drawn("b", 2)], ..RunRecording::default() };
        let mut answers = ReplayAnswers::new(Arc::new(recording));
        assert_eq!(answers.take_drawn("b", "uuid"), Some(json!(2)));
        assert_eq!(answers.take_drawn("b", "uuid"), Some(json!(1)));
        assert_eq!(answers.take_drawn("b", "uuid"), None);
        assert_eq!(answers.finish().fresh_values, 1);
    }
}
