//! The state of a view: a run over its own copy of the message, for the elements of a fan-out one after the other, or
//! for a member of a parallel group.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::RunState;
use crate::message::Displaced;
use crate::path::Path;

/// Keys of the metadata that a run writes by itself.
const STAMPS: [&str; 2] = ["progress", "_svc_errors"];

/// A write of a view.
#[derive(Debug)]
struct LoggedWrite {
    displaced: Displaced,
    /// The path that was removed; what was displaced is its container then.
    removed: Option<Path>,
}

/// The part of a run's state that only views have.
#[derive(Debug)]
pub(crate) struct ViewState {
    /// The place of the element among those of its step, behind the places of the elements around it; `None` for a
    /// member of a parallel group that is not within an element.
    pub(crate) place: Option<Arc<str>>,
    /// The writes so far, by which they are undone or repeated.
    log: Vec<LoggedWrite>,
    /// The failed tasks so far, as `_svc_errors` shows them.
    failures: Vec<Map<String, Value>>,
    /// The stamps and the count of bytes before the first write.
    stamps: [Option<Value>; 2],
    bytes: usize,
}

impl RunState {
    /// Makes this the state of a view whose message is complete.
    pub(crate) fn become_view(&mut self, place: Option<Arc<str>>) {
        let stamps = STAMPS.map(|key| self.message.metadata.get(key).cloned());
        let (log, failures) = (Vec::new(), Vec::new());
        self.view = Some(Box::new(ViewState { place, log, failures, stamps, bytes: self.bytes }));
    }

    /// Returns the place of the element that the run works on.
    pub(crate) fn element_place(&self) -> Option<&Arc<str>> {
        self.view.as_ref()?.place.as_ref()
    }

    /// Sets the place of the element that the view works on.
    pub(crate) fn set_place(&mut self, place: Arc<str>) {
        if let Some(view) = &mut self.view {
            view.place = Some(place);
        }
    }

    /// Records what a write to a path replaces.
    pub(super) fn log_write(&mut self, path: &Path) {
        if let Some(view) = &mut self.view {
            view.log.push(LoggedWrite { displaced: self.message.displace(path), removed: None });
        }
    }

    /// Records the container of what is about to be removed, so that its members come back in their order.
    pub(super) fn log_removal(&mut self, path: &Path) {
        let Some(view) = &mut self.view else { return };
        let container = path.container();
        let copy = self.message.read_any(&container);
        let displaced = self.message.displace(&container);
        if let Some(copy) = copy {
            self.message.put(&container, copy);
        }
        view.log.push(LoggedWrite { displaced, removed: Some(path.clone()) });
    }

    /// Records a failed task of a view.
    pub(super) fn log_failure(&mut self, record: &Map<String, Value>) {
        if let Some(view) = &mut self.view {
            view.failures.push(record.clone());
        }
    }

    /// Takes the failed tasks of a view.
    pub(crate) fn take_failures(&mut self) -> Vec<Map<String, Value>> {
        self.view.as_mut().map(|view| std::mem::take(&mut view.failures)).unwrap_or_default()
    }

    /// Takes the values that a view has written, in the order of the writes; `None` for one that it has removed.
    pub(crate) fn take_writes(&mut self) -> Vec<(Path, Option<Value>)> {
        let log = self.view.as_mut().map(|view| std::mem::take(&mut view.log)).unwrap_or_default();
        let change = |LoggedWrite { displaced, removed }: LoggedWrite| match removed {
            Some(path) => Some((path, None)),
            None => {
                let value = self.message.read_any(displaced.path())?;
                Some((displaced.path().clone(), Some(value)))
            }
        };
        log.into_iter().filter_map(change).collect()
    }

    /// Undoes every write of a view.
    pub(crate) fn roll_back(&mut self) {
        let Some(view) = &mut self.view else { return };
        while let Some(LoggedWrite { displaced, .. }) = view.log.pop() {
            self.message.restore(displaced);
        }
        for (key, stamp) in STAMPS.into_iter().zip(&view.stamps) {
            match stamp {
                Some(stamp) => drop(self.message.metadata.insert(key.to_owned(), stamp.clone())),
                None => drop(self.message.metadata.remove(key)),
            }
        }
        self.is_progress_due = false;
        self.bytes = view.bytes;
    }
}
