//! The state of a view: a run over its own copy of the message, for the elements of a fan-out one after the other, or
//! for a member of a parallel group.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::RunState;
use crate::bounds::extent;
use crate::message::Displaced;
use crate::path::Path;

/// Keys of the metadata that a run writes by itself.
const STAMPS: [&str; 2] = ["progress", "_svc_errors"];

/// The newest changes among which one that covers a further write is looked for.
const RECENT: usize = 8;

/// The part of a run's state that only views have.
#[derive(Debug)]
pub(crate) struct ViewState {
    /// The place of the element among those of its step, behind the places of the elements around it; `None` for a
    /// member of a parallel group that is not within an element.
    pub(crate) place: Option<Arc<str>>,
    /// The writes and removals so far, by which they are undone or repeated.
    log: Vec<Displaced>,
    /// Bytes of the values that are kept for that.
    kept_bytes: usize,
    /// The failed tasks so far, as `_svc_errors` shows them.
    failures: Vec<Map<String, Value>>,
    /// The stamps and the count of bytes before the first write.
    stamps: [Option<Value>; 2],
    bytes: usize,
}

impl ViewState {
    fn keep(&mut self, displaced: Displaced) {
        self.kept_bytes += displaced.value().map_or(0, extent::value_bytes);
        self.log.push(displaced);
    }

    /// Returns `true` if undoing an earlier write takes back one to this path too. No index may have moved in between.
    fn covers(&self, path: &Path) -> bool {
        let mut recent = self.log.iter().rev().take(RECENT).take_while(|earlier| !earlier.is_removal());
        recent.any(|earlier| earlier.takes_back(path))
    }
}

impl RunState {
    /// Makes this the state of a view whose message is complete.
    pub(crate) fn become_view(&mut self, place: Option<Arc<str>>) {
        let stamps = STAMPS.map(|key| self.message.metadata.get(key).cloned());
        let (log, failures) = (Vec::new(), Vec::new());
        let bytes = self.bytes;
        self.view = Some(Box::new(ViewState { place, log, kept_bytes: 0, failures, stamps, bytes }));
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

    /// Returns the bytes of the values that are kept for the undoing of changes.
    pub(super) fn kept_bytes(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.kept_bytes)
    }

    /// Records what a write to a path replaces.
    pub(super) fn log_write(&mut self, path: &Path) {
        if let Some(view) = &mut self.view
            && !view.covers(path)
        {
            view.keep(self.message.displace(path));
        }
    }

    /// Removes what is at a path; from the message of a view so that it comes back. Returns whether there was anything.
    pub(super) fn take_away(&mut self, path: &Path) -> bool {
        let Some(view) = &mut self.view else { return self.message.remove(path) };
        let Some(displaced) = self.message.displace_removal(path) else { return false };
        view.keep(displaced);
        true
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

    /// Takes the changes of a view in their order: a path and its value; `None` for one that is removed.
    pub(crate) fn take_changes(&mut self) -> impl Iterator<Item = (Path, Option<Value>)> {
        let log = self.view.as_mut().map(|view| std::mem::take(&mut view.log)).unwrap_or_default();
        let message = &self.message;
        log.into_iter().filter_map(move |displaced| displaced.into_change(message))
    }

    /// Undoes every change of a view.
    pub(crate) fn roll_back(&mut self) {
        let Some(view) = &mut self.view else { return };
        while let Some(displaced) = view.log.pop() {
            self.message.restore(displaced);
        }
        view.kept_bytes = 0;
        for (key, stamp) in STAMPS.into_iter().zip(&view.stamps) {
            if self.message.metadata.get(key) == stamp.as_ref() {
                continue;
            }
            match stamp {
                Some(stamp) => drop(self.message.metadata.insert(key.to_owned(), stamp.clone())),
                None => drop(self.message.metadata.remove(key)),
            }
        }
        self.is_progress_due = false;
        self.bytes = view.bytes;
    }
}
