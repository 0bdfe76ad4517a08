//! The instants and random values of a run: operators draw them here, so that a recording keeps them and a run over it
//! gets the same ones.

use std::cell::RefCell;
use std::sync::Arc;

use datalogic_rs::DataValue;
use datalogic_rs::bumpalo::Bump;

use super::recorder::SharedRecording;

thread_local! {
    /// The recording of the run that has the thread.
    static CURRENT: RefCell<Option<Arc<SharedRecording>>> = const { RefCell::new(None) };
}

/// The time in which the values that are drawn on this thread belong to one run, or to none that is recorded.
pub(crate) struct DrawScope {
    before: Option<Arc<SharedRecording>>,
}

impl DrawScope {
    /// Begins the scope of a run.
    pub(crate) fn enter(recording: Option<Arc<SharedRecording>>) -> Self {
        Self { before: CURRENT.replace(recording) }
    }
}

impl Drop for DrawScope {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// Returns a value that no two runs have alike: a new one, which the recording of the run keeps, or that of the recorded
/// run. `kind` names the operator with its arguments.
pub(crate) fn draw_value<'a>(
    kind: impl FnOnce() -> String,
    arena: &'a Bump,
    make: impl FnOnce() -> datalogic_rs::Result<&'a DataValue<'a>>,
) -> datalogic_rs::Result<&'a DataValue<'a>> {
    let Some(recording) = CURRENT.with_borrow(Clone::clone) else { return make() };
    let kind = kind();
    if let Some(value) = recording.take_drawn(&kind) {
        return Ok(arena.alloc(DataValue::from_serde_value_in(&value, arena)));
    }
    let made = make()?;
    recording.keep_drawn(kind, made.to_serde_value());
    Ok(made)
}
