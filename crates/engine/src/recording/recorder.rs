//! The state of a run that is recorded, or that runs over a recording.

use std::mem;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use parking_lot::Mutex;
use serde_json::Value;

use super::answers::{ReplayAnswers, ReplayReport};
use super::filter::{self, MetadataReads};
use super::{
    CallRecording, DrawnValue, RecordedCallError, RecordingMode, RecordingOptions, RecordingResult,
    RunRecording, RunRecordingEnd, SecretStandIns, Unrecorded,
};
use crate::bounds::extent;
use crate::error::TaskError;
use crate::message::Message;
use crate::operators::DeclaredSecrets;

/// The kind of an instant that a function reads from the clock of the engine.
const CLOCK: &str = "clock";

/// The part of a recording that the views of a run share.
#[derive(Debug)]
pub(crate) struct SharedRecording(Mutex<RecordingState>);

#[derive(Debug)]
struct RecordingState {
    /// The place that draws values now.
    place: String,
    drawn: Vec<DrawnValue>,
    /// Set while the input of a call is computed for the recording, before its function computes it.
    is_ahead: bool,
    /// The values that were drawn then, which the function gets.
    ahead: Vec<DrawnValue>,
    calls: Vec<CallRecording>,
    bytes: usize,
    /// Bytes that the recording may take; `None` for a run over one.
    max_bytes: usize,
    replay: Option<ReplayAnswers>,
}

impl SharedRecording {
    /// Returns a value that was drawn before: of the recorded run, or for the input of the same call.
    pub(super) fn take_drawn(&self, kind: &str) -> Option<Value> {
        let state = &mut *self.0.lock();
        let place = &state.place;
        match &mut state.replay {
            Some(replay) => replay.take_drawn(place, kind),
            None if state.is_ahead => None,
            None => {
                let found = state.ahead.iter().position(|drawn| drawn.at == *place && drawn.kind == kind)?;
                Some(state.ahead.remove(found).value)
            }
        }
    }

    /// Keeps a value that was drawn.
    pub(super) fn keep_drawn(&self, kind: String, value: Value) {
        let state = &mut *self.0.lock();
        if state.replay.is_some() {
            return;
        }
        state.bytes = state.bytes.saturating_add(kind.len() + extent::value_bytes(&value));
        if state.bytes > state.max_bytes {
            return;
        }
        let drawn = DrawnValue { at: state.place.clone(), kind, value };
        if state.is_ahead {
            state.ahead.push(drawn.clone());
        }
        state.drawn.push(drawn);
    }

    fn keep_call(&self, call: CallRecording) {
        let state = &mut *self.0.lock();
        let bytes = extent::value_bytes(&call.input) + extent::value_bytes(&call.answer);
        state.bytes = state.bytes.saturating_add(bytes);
        if state.bytes <= state.max_bytes {
            state.calls.push(call);
        }
    }
}

/// The recorder of a run, or of a view of it.
#[derive(Debug)]
pub(crate) struct RunRecorder {
    shared: Arc<SharedRecording>,
    options: Option<RecordingOptions>,
    task: Arc<str>,
    pub(crate) attempt: u32,
    /// The value that the call in progress has written first.
    answer: Option<Value>,
    /// The beginning of the recording; empty in a view.
    begun: RunRecording,
}

impl RunRecorder {
    /// Begins the recording of a run, or a run over a recording.
    pub(crate) fn begin(
        mode: RecordingMode,
        message: &Message,
        reads: Option<&MetadataReads>,
        now: DateTime<Utc>,
    ) -> Self {
        let (options, replay) = match mode {
            RecordingMode::Record(options) => (Some(options), None),
            RecordingMode::Replay(recording) => (None, Some(ReplayAnswers::new(recording))),
        };
        let begun = match options {
            None => RunRecording::default(),
            Some(_) => RunRecording {
                started_at: now.to_rfc3339_opts(SecondsFormat::Micros, true),
                payload: message.payload.clone(),
                metadata: reads.map(|reads| reads.select(&message.metadata)).unwrap_or_default(),
                ..RunRecording::default()
            },
        };
        let bytes = extent::value_bytes(&begun.payload);
        let max_bytes = options.as_ref().map_or(usize::MAX, |options| options.max_bytes);
        let state = RecordingState {
            place: String::new(),
            drawn: Vec::new(),
            is_ahead: false,
            ahead: Vec::new(),
            calls: Vec::new(),
            bytes,
            max_bytes,
            replay,
        };
        let shared = Arc::new(SharedRecording(Mutex::new(state)));
        Self { shared, options, task: Arc::from(""), attempt: 1, answer: None, begun }
    }

    /// Returns the recorder of a view of the run.
    pub(crate) fn of_view(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            options: self.options.clone(),
            task: Arc::clone(&self.task),
            attempt: 1,
            answer: None,
            begun: RunRecording::default(),
        }
    }

    pub(crate) fn shared(&self) -> Arc<SharedRecording> {
        Arc::clone(&self.shared)
    }

    /// Returns `true` if the run is recorded, `false` if it runs over a recording.
    pub(crate) const fn is_recording(&self) -> bool {
        self.options.is_some()
    }

    /// Begins a task.
    pub(crate) fn begin_task(&mut self, task: &Arc<str>) {
        self.task = Arc::clone(task);
        self.attempt = 1;
    }

    /// Names the place of the values that are drawn next.
    pub(crate) fn mark_place(&self, element: Option<&Arc<str>>) {
        self.shared.0.lock().place = match element {
            None => self.task.to_string(),
            Some(element) => format!("{}:{element}", self.task),
        };
    }

    /// Returns the instant that a function reads.
    pub(crate) fn read_clock(&self, element: Option<&Arc<str>>, now: DateTime<Utc>) -> DateTime<Utc> {
        self.mark_place(element);
        if let Some(Value::String(text)) = self.shared.take_drawn(CLOCK)
            && let Ok(instant) = DateTime::parse_from_rfc3339(&text)
        {
            return instant.with_timezone(&Utc);
        }
        let text = now.to_rfc3339_opts(SecondsFormat::Micros, true);
        self.shared.keep_drawn(CLOCK.to_owned(), text.into());
        now
    }

    /// Begins or ends the time in which the input of a call is computed for the recording.
    pub(super) fn set_ahead(&self, is_ahead: bool) {
        let state = &mut *self.shared.0.lock();
        state.is_ahead = is_ahead;
        if is_ahead {
            let place = mem::take(&mut state.place);
            state.ahead.retain(|drawn| drawn.at != place);
            state.place = place;
        }
    }

    /// Keeps the first value that a call writes.
    pub(crate) fn note_write(&mut self, value: &Value) {
        if self.is_recording() && self.answer.is_none() {
            self.answer = Some(value.clone());
        }
    }

    /// Forgets the value of an earlier call.
    pub(super) fn begin_call(&mut self) {
        self.answer = None;
    }

    /// Keeps a call that has ended.
    pub(super) fn end_call(&mut self, call: CallRecording, error: Option<&TaskError>) {
        let answer = self.answer.take().filter(|_| error.is_none()).unwrap_or_default();
        let (task, attempt) = (self.task.to_string(), self.attempt);
        let call = CallRecording { task, attempt, answer, error: error.map(RecordedCallError::from), ..call };
        self.shared.keep_call(call);
    }

    /// Answers a call of a run over a recording; `None` for one that the recorded run did not make, or if this run is
    /// none.
    pub(crate) fn answer_call(
        &mut self,
        function: &str,
        target: Option<&str>,
        index: Option<usize>,
        input: &Value,
    ) -> Option<Result<Value, TaskError>> {
        let state = &mut *self.shared.0.lock();
        let asked = CallRecording {
            task: self.task.to_string(),
            index,
            attempt: self.attempt,
            function: function.to_owned(),
            target: target.map(str::to_owned),
            input: input.clone(),
            ..CallRecording::default()
        };
        state.replay.as_mut()?.answer(asked)
    }

    /// Ends the recording, or the run over one.
    pub(crate) fn finish(self, end: RunRecordingEnd, secrets: &DeclaredSecrets) -> RecordingResult {
        let state = &mut *self.shared.0.lock();
        let Some(options) = self.options else {
            let report = state.replay.take().map(ReplayAnswers::finish).unwrap_or_default();
            let mut report = ReplayReport { end, ..report };
            if let Some(stand_ins) = SecretStandIns::of_all(secrets) {
                stand_ins.replace(&mut report.end.data);
            }
            return RecordingResult::Replayed(Box::new(report));
        };
        if state.bytes > state.max_bytes {
            return RecordingResult::Unrecorded(Unrecorded::TooLarge);
        }
        let (drawn, calls) = (mem::take(&mut state.drawn), mem::take(&mut state.calls));
        let mut recording = RunRecording { drawn, calls, end, ..self.begun };
        let Some(stand_ins) = SecretStandIns::of_all(secrets) else {
            return RecordingResult::Unrecorded(Unrecorded::Confidential);
        };
        filter::drop_paths(&mut recording, &options.drop);
        stand_ins.replace_in(&mut recording);
        match serde_json::to_vec(&recording) {
            Ok(text) if text.len() <= options.max_bytes => RecordingResult::Recorded(Box::new(recording)),
            _ => RecordingResult::Unrecorded(Unrecorded::TooLarge),
        }
    }
}
