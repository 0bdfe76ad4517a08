//! The state of a run that is recorded, or that runs over a recording.

use std::mem;
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use parking_lot::Mutex;
use serde_json::Value;

use super::answers::{ReplayAnswers, ReplayReport};
use super::filter::{self, MetadataReads};
use super::{
    CallRecording, DrawnValue, FollowedRun, RecordedCallError, RecordingMode, RecordingOptions,
    RecordingResult, RunRecording, RunRecordingEnd, SecretStandIns, Unrecorded,
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
    /// Calls of functions that have effects within the process, which a shadow alone needs.
    effects: Vec<CallRecording>,
    bytes: usize,
    /// Bytes that the recording may take; no bound for a run over one.
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

    pub(super) fn keep_call(&self, call: CallRecording, is_effect: bool) {
        let state = &mut *self.0.lock();
        let bytes = extent::value_bytes(&call.input) + extent::value_bytes(&call.answer);
        state.bytes = state.bytes.saturating_add(bytes);
        if state.bytes <= state.max_bytes {
            let kept = if is_effect { &mut state.effects } else { &mut state.calls };
            kept.push(call);
        }
    }
}

/// The recorder of a run, or of a view of it.
#[derive(Debug)]
pub(crate) struct RunRecorder {
    shared: Arc<SharedRecording>,
    role: RecorderRole,
    options: Option<RecordingOptions>,
    task: Arc<str>,
    pub(crate) attempt: u32,
    /// The value that the call in progress has written first.
    answer: Option<Value>,
    /// True if the last call of a shadow was made.
    has_made_call: bool,
    /// The beginning of the recording; empty in a view.
    begun: RunRecording,
    /// The values that are masked in its metadata, and so in all of the recording.
    masked: Vec<Value>,
    /// The beginning of the recording for a shadow; `None` in a view, and if no shadow follows.
    whole: Option<Box<RunRecording>>,
}

/// The relation of a run to a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecorderRole {
    /// It is recorded.
    Recorded,
    /// It is recorded, and a shadow follows.
    Followed,
    /// It runs over a recording.
    Replay,
    /// It runs over a recording, and may read what that does not have.
    Shadow,
}

/// The answer to a call of a run over a recording.
pub(crate) enum ReplayedCall {
    /// That of the recorded run.
    Answered(Result<Value, TaskError>),
    /// None, but the call may be made.
    ToMake,
    /// None.
    Unanswered,
}

impl RunRecorder {
    /// Begins the recording of a run, or a run over a recording.
    pub(crate) fn begin(
        mode: RecordingMode,
        message: &Message,
        reads: Option<&MetadataReads>,
        now: DateTime<Utc>,
    ) -> Self {
        let role = match mode {
            RecordingMode::Record(_) => RecorderRole::Recorded,
            RecordingMode::Follow { .. } => RecorderRole::Followed,
            RecordingMode::Replay(_) => RecorderRole::Replay,
            RecordingMode::Shadow(_) => RecorderRole::Shadow,
        };
        let (options, followed, replay) = match mode {
            RecordingMode::Record(options) => (Some(options), None, None),
            RecordingMode::Follow { max_bytes, record } => (record, Some(max_bytes), None),
            RecordingMode::Replay(recording) | RecordingMode::Shadow(recording) => {
                (None, None, Some(ReplayAnswers::new(recording)))
            }
        };
        let begin_with = |metadata| RunRecording {
            started_at: now.to_rfc3339_opts(SecondsFormat::Micros, true),
            payload: message.payload.clone(),
            metadata,
            ..RunRecording::default()
        };
        let mut masked = Vec::new();
        let begun = match &options {
            None => RunRecording::default(),
            Some(options) => {
                let metadata = &message.metadata;
                let mut named = reads.map(|reads| reads.select(metadata, &mut masked)).unwrap_or_default();
                if let Some(guards) = &options.guard_reads {
                    filter::add_members(&mut named, guards.select(metadata, &mut masked));
                }
                begin_with(named)
            }
        };
        let whole = followed.map(|_| Box::new(begin_with(message.metadata.clone())));
        let bytes = extent::value_bytes(&message.payload);
        // The longer of the two bounds: the shorter one is checked at the end.
        let bounds = options.as_ref().map(|options| options.max_bytes).into_iter().chain(followed);
        let max_bytes = bounds.max().unwrap_or(usize::MAX);
        let state = RecordingState {
            place: String::new(),
            drawn: Vec::new(),
            is_ahead: false,
            ahead: Vec::new(),
            calls: Vec::new(),
            effects: Vec::new(),
            bytes,
            max_bytes,
            replay,
        };
        let shared = Arc::new(SharedRecording(Mutex::new(state)));
        let task = Arc::from("");
        let (attempt, answer, has_made_call) = (1, None, false);
        Self { shared, role, options, task, attempt, answer, has_made_call, begun, masked, whole }
    }

    /// Returns the recorder of a view of the run.
    pub(crate) fn of_view(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            role: self.role,
            options: None,
            task: Arc::clone(&self.task),
            attempt: 1,
            answer: None,
            has_made_call: false,
            begun: RunRecording::default(),
            masked: Vec::new(),
            whole: None,
        }
    }

    pub(crate) fn shared(&self) -> Arc<SharedRecording> {
        Arc::clone(&self.shared)
    }

    /// Returns `true` if the run is recorded, `false` if it runs over a recording.
    pub(crate) const fn is_recording(&self) -> bool {
        matches!(self.role, RecorderRole::Recorded | RecorderRole::Followed)
    }

    /// Returns `true` if the run is recorded and a shadow follows.
    pub(crate) const fn is_followed(&self) -> bool {
        matches!(self.role, RecorderRole::Followed)
    }

    /// Returns `true` if the run is a shadow.
    pub(crate) const fn is_shadow(&self) -> bool {
        matches!(self.role, RecorderRole::Shadow)
    }

    /// Returns `true` if another attempt at the last call need not wait: it got a recorded answer.
    pub(crate) const fn may_repeat_at_once(&self) -> bool {
        !self.is_recording() && !self.has_made_call
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

    /// Returns a value that a function draws: that of the recorded run, or the one that it makes, which is kept.
    pub(crate) fn draw<E>(
        &self,
        element: Option<&Arc<str>>,
        kind: &str,
        make: impl FnOnce() -> Result<Value, E>,
    ) -> Result<Value, E> {
        self.mark_place(element);
        if let Some(value) = self.shared.take_drawn(kind) {
            return Ok(value);
        }
        let made = make()?;
        self.shared.keep_drawn(kind.to_owned(), made.clone());
        Ok(made)
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

    /// Adds the task and its attempt to a call.
    pub(super) fn name_call(&self, call: CallRecording) -> CallRecording {
        CallRecording { task: self.task.to_string(), attempt: self.attempt, ..call }
    }

    /// Keeps a call that has ended.
    pub(super) fn end_call(&mut self, call: CallRecording, is_effect: bool, error: Option<&TaskError>) {
        let answer = self.answer.take().filter(|_| error.is_none()).unwrap_or_default();
        let is_cut = error.is_some_and(|error| error.is_deadline);
        let error = error.map(RecordedCallError::from);
        self.shared.keep_call(CallRecording { answer, error, is_cut, ..call }, is_effect);
    }

    /// Answers a call of a run over a recording. `is_read` is set for one that a shadow may make.
    pub(crate) fn answer_call(
        &mut self,
        function: &str,
        target: Option<&str>,
        index: Option<usize>,
        input: &Value,
        is_read: bool,
    ) -> ReplayedCall {
        let may_be_made = is_read && self.is_shadow();
        self.has_made_call = false;
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
        let answer = state.replay.as_mut().and_then(|replay| replay.answer(asked, may_be_made));
        match answer {
            Some(answer) => ReplayedCall::Answered(answer),
            None if may_be_made => {
                self.has_made_call = true;
                ReplayedCall::ToMake
            }
            None => ReplayedCall::Unanswered,
        }
    }

    /// Ends the recording, or the run over one.
    pub(crate) fn finish(self, end: RunRecordingEnd, secrets: &DeclaredSecrets) -> RecordingResult {
        let state = &mut *self.shared.0.lock();
        let stand_ins = SecretStandIns::of_all(secrets);
        if !self.is_recording() {
            let report = state.replay.take().map(ReplayAnswers::finish).unwrap_or_default();
            let mut report = ReplayReport { end, ..report };
            if let Some(stand_ins) = stand_ins {
                stand_ins.replace(&mut report.end.data);
                report.end.errors.iter_mut().for_each(|errors| stand_ins.replace(errors));
            }
            return RecordingResult::Replayed(Box::new(report));
        }
        let is_too_large = state.bytes > state.max_bytes;
        let parts = RecordingParts {
            drawn: mem::take(&mut state.drawn),
            calls: mem::take(&mut state.calls),
            effects: mem::take(&mut state.effects),
            end,
        };
        let (options, begun, masked) = (self.options, self.begun, self.masked);
        let Some(whole) = self.whole else {
            let kept = match (options, stand_ins) {
                _ if is_too_large => Err(Unrecorded::TooLarge),
                (Some(options), Some(stand_ins)) => parts.mask(begun, &options, &masked, &stand_ins),
                _ => Err(Unrecorded::Confidential),
            };
            return match kept {
                Ok(recording) => RecordingResult::Recorded(Box::new(recording)),
                Err(reason) => RecordingResult::Unrecorded(reason),
            };
        };
        let Some(stand_ins) = stand_ins.filter(|_| !is_too_large) else {
            let reason = if is_too_large { Unrecorded::TooLarge } else { Unrecorded::Confidential };
            let recorded = options.map(|_| Err(reason));
            return RecordingResult::Followed(Box::new(FollowedRun { run: Err(reason), recorded }));
        };
        let recorded = options.map(|options| parts.clone().mask(begun, &options, &masked, &stand_ins));
        let run = Ok(parts.follow(*whole, &stand_ins));
        RecordingResult::Followed(Box::new(FollowedRun { run, recorded }))
    }
}

/// The parts of a recording that a run leaves.
#[derive(Clone)]
struct RecordingParts {
    drawn: Vec<DrawnValue>,
    calls: Vec<CallRecording>,
    effects: Vec<CallRecording>,
    end: RunRecordingEnd,
}

impl RecordingParts {
    /// Makes the recording for others.
    fn mask(
        self,
        begun: RunRecording,
        options: &RecordingOptions,
        masked: &[Value],
        stand_ins: &SecretStandIns<'_>,
    ) -> Result<RunRecording, Unrecorded> {
        let mut recording = RunRecording { drawn: self.drawn, calls: self.calls, end: self.end, ..begun };
        filter::mask_answer(&mut recording.end.data);
        filter::drop_paths(&mut recording, &options.drop, masked);
        stand_ins.replace_in(&mut recording);
        match serde_json::to_vec(&recording) {
            Ok(text) if text.len() <= options.max_bytes => Ok(recording),
            _ => Err(Unrecorded::TooLarge),
        }
    }

    /// Makes the recording for a shadow. Its end is compared, and shown where it differs.
    fn follow(mut self, begun: RunRecording, stand_ins: &SecretStandIns<'_>) -> RunRecording {
        stand_ins.replace(&mut self.end.data);
        self.end.errors.iter_mut().for_each(|errors| stand_ins.replace(errors));
        self.calls.append(&mut self.effects);
        RunRecording { drawn: self.drawn, calls: self.calls, end: self.end, ..begun }
    }
}
