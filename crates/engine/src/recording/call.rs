//! The recording of a call: its input is computed by the table of its function, as a stub would record it, and then by the
//! function itself, which gets the same random values.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use svc_secrets::Readings;
use tokio::time::Instant;

use super::recorder::SharedRecording;
use super::{CallRecording, RunRecorder, SecretStandIns};
use crate::catalogue::{FunctionEntry, FunctionTarget};
use crate::error::TaskError;
use crate::expression::Evaluator;
use crate::function::{CompileCx, CompileSecrets, TaskCx, TaskOutcome};
use crate::run_state::RunState;
use crate::stubs::SentInput;

/// A task whose calls can be recorded.
pub(crate) struct RecordableCall {
    entry: &'static FunctionEntry,
    input: Arc<Value>,
    /// The function calls nothing outside, but has effects: a shadow alone needs its answer.
    is_effect: bool,
    /// The input compiled for recordings, by the first run that is recorded; `None` if that fails.
    sent: OnceLock<Option<SentInput>>,
}

/// A call that has begun. If it is dropped before its end, it was cut.
pub(crate) struct CallInProgress {
    /// `None` once it has ended.
    recording: Option<CallRecording>,
    shared: Arc<SharedRecording>,
    is_effect: bool,
    started: Instant,
}

impl RecordableCall {
    pub(crate) fn new(entry: &'static FunctionEntry, input: &Value) -> Self {
        let is_effect = entry.target == FunctionTarget::None;
        Self { entry, input: Arc::new(input.clone()), is_effect, sent: OnceLock::new() }
    }

    /// Begins the recording of a call; `None` if the run is not recorded, or the input cannot be computed: then the
    /// function makes no call.
    pub(crate) fn begin(&self, cx: &mut TaskCx<'_>) -> Option<Box<CallInProgress>> {
        let element = cx.work.element_place().cloned();
        let is_effect = self.is_effect;
        let is_kept = |recorder: &RunRecorder| match is_effect {
            true => recorder.is_followed(),
            false => recorder.is_recording(),
        };
        let recorder = cx.work.recorder.as_mut().filter(|recorder| is_kept(recorder))?;
        recorder.begin_call();
        recorder.mark_place(element.as_ref());
        recorder.set_ahead(true);
        let recording = self.compute_input(cx, element.as_ref());
        if let Some(recorder) = &cx.work.recorder {
            recorder.set_ahead(false);
        }
        let recorder = cx.work.recorder.as_ref()?;
        let recording = Some(recorder.name_call(recording?));
        let shared = recorder.shared();
        Some(Box::new(CallInProgress { recording, shared, is_effect, started: Instant::now() }))
    }

    fn compute_input(&self, cx: &mut TaskCx<'_>, element: Option<&Arc<str>>) -> Option<CallRecording> {
        let evaluator = cx.evaluator;
        let sent = self.sent.get_or_init(|| self.compile(evaluator)).as_ref()?;
        let mut redaction = cx.redaction().clone();
        let mut input = Value::Object(sent.evaluate(cx, &mut redaction).ok()?);
        let target = self.entry.target.input().and_then(|name| input.get(name)?.as_str());
        let target = target.map(|target| redaction.mask_text(target.to_owned()));
        let secrets = evaluator.secrets();
        SecretStandIns::of_call(&secrets, redaction, sent.first_secret()).replace(&mut input);
        Some(CallRecording {
            index: innermost_index(element),
            function: self.entry.name.to_owned(),
            target,
            input,
            ..CallRecording::default()
        })
    }

    fn compile(&self, evaluator: &Evaluator) -> Option<SentInput> {
        let references = Readings::default();
        let declared = evaluator.secrets();
        let material = CompileSecrets { references: &references, declared: &declared };
        SentInput::compile(self.entry, &self.input, &CompileCx { evaluator, material }).ok()
    }
}

impl CallInProgress {
    /// Keeps the call with its outcome.
    pub(crate) fn end(mut self, work: &mut RunState, outcome: &Result<TaskOutcome, TaskError>) {
        let call = self.take_call();
        if let (Some(recorder), Some(call)) = (&mut work.recorder, call) {
            recorder.end_call(call, self.is_effect, outcome.as_ref().err());
        }
    }

    fn take_call(&mut self) -> Option<CallRecording> {
        let call = self.recording.take()?;
        Some(CallRecording { ms: self.started.elapsed().as_secs_f64() * 1000.0, ..call })
    }
}

impl Drop for CallInProgress {
    fn drop(&mut self) {
        if let Some(call) = self.take_call() {
            self.shared.keep_call(CallRecording { is_cut: true, ..call }, self.is_effect);
        }
    }
}

/// Returns the index of the innermost element of a place such as `3.0.12`.
pub(crate) fn innermost_index(place: Option<&Arc<str>>) -> Option<usize> {
    place?.rsplit('.').next()?.parse().ok()
}
