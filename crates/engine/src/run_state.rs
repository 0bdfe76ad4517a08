//! The part of a run that a task may touch: the message, its changes, the errors it reports.

mod view;

use std::sync::Arc;

use datalogic_rs::DataValue;
use serde_json::{Map, Value, json};
use svc_model::mask::MASK;

use crate::bounds::extent;
use crate::error::TaskError;
use crate::message::Message;
use crate::path::{Path, Root, WriteError};
use crate::reads::Reads;
use crate::recording::RunRecorder;
use crate::redaction::Redaction;
use crate::scope::{EvaluationScope, WrittenRoots};
use crate::stubs::{StubCall, Stubs};
use crate::trace::{AuditChange, AuditTrailEntry, Tracer};

pub(crate) use self::view::ViewState;

/// Members of an object that are merged into a root one by one under the eyes of its copy.
const FOLLOWED: usize = 16;

/// The state that the tasks of one run share.
#[derive(Debug)]
pub(crate) struct RunState {
    pub(crate) message: Message,
    /// The writes of the task that runs now; `None` unless the run records them.
    pub(crate) changes: Option<Vec<AuditChange>>,
    /// Errors of the run; the ids of the newest are filled in when their task ends.
    pub(crate) errors: Vec<TaskError>,
    pub(crate) tracer: Option<Tracer>,
    /// Contexts of the mappings of the task that runs now.
    pub(crate) mapping_contexts: Vec<Value>,
    /// The records of the tasks that ran.
    pub(crate) audit_trail: Vec<AuditTrailEntry>,
    /// True if the newest of them is not stamped as `metadata.progress` yet: that is done only when something can see it.
    pub(crate) is_progress_due: bool,
    /// Bytes written since the message was last measured, and what it took then.
    pub(crate) bytes: usize,
    /// Bytes the message may take.
    pub(crate) max_bytes: usize,
    /// Bytes the recorded changes may still take.
    pub(crate) change_bytes: usize,
    /// The secrets that no record may show.
    pub(crate) redaction: Redaction,
    /// The answers to the calls of a stubbed run.
    pub(crate) stubs: Stubs,
    /// The calls of a stubbed run.
    pub(crate) calls: Vec<StubCall>,
    /// The recorder of a run that is recorded, or that runs over a recording.
    pub(crate) recorder: Option<Box<RunRecorder>>,
    /// The connector or channel that the task which runs now has called; kept for a trace.
    pub(crate) target: Option<Arc<str>>,
    /// The state of a view. Its `changes` are never absent, so that a run without views looks at them alone.
    pub(crate) view: Option<Box<ViewState>>,
}

impl RunState {
    /// Returns the path `metadata.progress`.
    fn progress_path() -> &'static Path {
        static PATH: std::sync::LazyLock<Path> =
            std::sync::LazyLock::new(|| Path::below_metadata("progress"));
        &PATH
    }

    /// Returns the context of an expression that can read `reads`.
    pub(crate) fn context<'r>(
        &mut self,
        scope: &mut EvaluationScope<'r>,
        reads: &Reads,
    ) -> &'r DataValue<'r> {
        if !reads.metadata.member("progress").is_nothing() {
            self.stamp_progress(scope);
        }
        self.mark_place();
        scope.context(&self.message, reads)
    }

    /// Names the place of the values that the next evaluation draws, for a recording.
    pub(crate) fn mark_place(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.mark_place(self.element_place());
        }
    }

    /// Records a task that ran.
    pub(crate) fn record_task(&mut self, entry: AuditTrailEntry) {
        self.audit_trail.push(entry);
        self.is_progress_due = true;
    }

    /// Writes the newest record of a task into the metadata, unless it is there already.
    pub(crate) fn stamp_progress(&mut self, scope: &mut EvaluationScope<'_>) {
        if std::mem::take(&mut self.is_progress_due)
            && let Some(newest) = self.audit_trail.last()
        {
            let stamp = json!({
                "workflow_id": &*newest.workflow_id,
                "task_id": &*newest.task_id,
                "status_code": newest.status,
            });
            scope.follow(Self::progress_path(), &stamp);
            self.message.metadata.insert("progress".into(), stamp);
        }
    }

    /// Returns a copy of the value at a path; null if it leads nowhere.
    pub(crate) fn get(&mut self, scope: &mut EvaluationScope<'_>, path: &Path) -> Value {
        if *path.root() == Root::Metadata {
            self.stamp_progress(scope);
        }
        self.message.get(path)
    }

    /// Writes a value, keeping scope and changes in step.
    ///
    /// # Errors
    /// The bound that the write would exceed; nothing is written then.
    pub(crate) fn put(
        &mut self,
        scope: &mut EvaluationScope<'_>,
        path: &Path,
        value: Value,
    ) -> Result<(), WriteError> {
        let checked = self.message.check(path, &value, self.max_bytes);
        let added = checked.map_err(|refusal| self.name_bound(refusal))?;
        self.make_room(added)?;
        scope.follow(path, &value);
        self.write(path, value);
        Ok(())
    }

    /// Counts bytes that are about to be added. What writes replace is not counted off: the message is
    /// measured again when the count says that it is full. What a view keeps of it takes room.
    fn make_room(&mut self, added: usize) -> Result<(), WriteError> {
        let needed = added.saturating_add(self.kept_bytes());
        if self.bytes.saturating_add(needed) > self.max_bytes {
            let rest = self.message.measure(self.max_bytes.saturating_sub(needed));
            self.bytes = rest.ok_or_else(|| self.name_bound(WriteError::TooLarge(self.max_bytes)))?;
        }
        self.bytes += added;
        Ok(())
    }

    /// Returns a refusal for its size as that of a view, whose copy has a share of the bound.
    fn name_bound(&self, refusal: WriteError) -> WriteError {
        match refusal {
            WriteError::TooLarge(_) if self.view.is_some() => WriteError::OverShare(self.max_bytes),
            refusal => refusal,
        }
    }

    /// Merges an object into a bare root key by key; sets anything else.
    ///
    /// # Errors
    /// The bound that the write would exceed.
    pub(crate) fn merge(
        &mut self,
        scope: &mut EvaluationScope<'_>,
        path: &Path,
        value: Value,
    ) -> Result<(), WriteError> {
        let bare =
            path.segments().is_empty() && matches!(path.root(), Root::Data | Root::Metadata | Root::TempData);
        match value {
            Value::Object(map) if bare && self.holds_object(path.root()) => {
                if map.len() > FOLLOWED {
                    // Each write that a copy follows takes as long as the root is wide.
                    forget_root(scope, path);
                }
                map.into_iter().try_for_each(|(key, value)| self.put(scope, &path.child(&key), value))
            }
            value => self.put(scope, path, value),
        }
    }

    /// Adds elements at the end of the array at a path, all or none; an array is made if there is nothing. It takes the
    /// time of the elements, not that of the array.
    ///
    /// # Errors
    /// There is no array at the path, or a bound would be exceeded.
    pub(crate) fn extend(
        &mut self,
        scope: &mut EvaluationScope<'_>,
        path: &Path,
        items: Vec<Value>,
    ) -> Result<(), WriteError> {
        let length = match self.message.read(path) {
            Some(Value::Array(present)) => present.len(),
            None | Some(Value::Null) => {
                return self.put(scope, path, Value::Array(items));
            }
            Some(_) => return Err(WriteError::NoArray),
        };
        let items = Value::Array(items);
        let checked = self.message.check(path, &items, self.max_bytes);
        let added = checked.map_err(|refusal| self.name_bound(refusal))?;
        self.make_room(added)?;
        let Value::Array(items) = items else { return Ok(()) };
        if items.len() > FOLLOWED {
            forget_root(scope, path);
        }
        for (n, item) in items.into_iter().enumerate() {
            let path = path.element(length + n);
            scope.follow(&path, &item);
            self.write(&path, item);
        }
        Ok(())
    }

    /// Removes what is at a path, if there is anything.
    pub(crate) fn remove(&mut self, scope: &mut EvaluationScope<'_>, path: &Path) {
        forget_root(scope, path);
        let is_recorded = self.changes.is_some() && self.records(path, &Value::Null);
        let change = is_recorded.then(|| self.change(path, &Value::Null));
        if self.take_away(path)
            && let (Some(change), Some(changes)) = (change, &mut self.changes)
        {
            changes.push(change);
        }
    }

    fn holds_object(&self, root: &Root) -> bool {
        match root {
            Root::Data => self.message.data.is_object(),
            Root::TempData => self.message.temp_data.is_object(),
            _ => true,
        }
    }

    /// Writes a value, recording the change if the run records changes and there is room for it; of a run with
    /// confidential values only that there was one.
    fn write(&mut self, path: &Path, value: Value) {
        if self.changes.is_none() {
            self.message.put(path, value);
            return;
        }
        if !self.records(path, &value) {
            self.log_write(path);
            self.message.put(path, value);
            return;
        }
        let change = self.change(path, &value);
        self.log_write(path);
        if let (true, Some(changes)) = (self.message.put(path, value), &mut self.changes) {
            changes.push(change);
        }
    }

    /// Returns the record of a change that is about to be made.
    fn change(&self, path: &Path, new: &Value) -> AuditChange {
        let (old_value, new_value) = match self.redaction.is_empty() {
            true => (self.message.get(path), new.clone()),
            false => (MASK.into(), MASK.into()),
        };
        AuditChange { path: path.to_string(), old_value, new_value }
    }

    /// Takes the room a change needs; once there is too little, no change is recorded any more.
    fn records(&mut self, path: &Path, new: &Value) -> bool {
        let old = self.message.read(path).unwrap_or(&Value::Null);
        let sides = [old, new].into_iter().try_fold(self.change_bytes, |left, side| {
            extent::measure(side, usize::MAX, left).map(|bytes| left - bytes)
        });
        if sides.is_err() {
            self.tracer.as_mut().map(Tracer::truncate);
        }
        self.change_bytes = sides.unwrap_or(0);
        sides.is_ok()
    }

    /// Keeps the context a mapping is about to see, when the run is traced.
    pub(crate) fn keep_mapping_context(&mut self, scope: &mut EvaluationScope<'_>) {
        if self.tracer.is_some() {
            let snapshot = self.snapshot(scope);
            self.mapping_contexts.extend(snapshot);
        }
    }

    /// Returns the reason of a failed evaluation, which may quote values, for the log; a mask for a run with
    /// confidential values.
    pub(crate) fn reason_for_log(&self, reason: String) -> String {
        if self.redaction.is_empty() { reason } else { MASK.to_owned() }
    }

    /// Returns a snapshot for the trace, while its budget lasts; none of a run with confidential
    /// values.
    pub(crate) fn snapshot(&mut self, scope: &mut EvaluationScope<'_>) -> Option<Value> {
        if self.tracer.is_some() {
            self.stamp_progress(scope);
        }
        let tracer = self.tracer.as_mut().filter(|_| self.redaction.is_empty())?;
        tracer.snapshot(&self.message)
    }

    /// Appends to `metadata._svc_errors`, which keeps the newest records.
    pub(crate) fn record_failure(&mut self, scope: &mut EvaluationScope<'_>, record: Map<String, Value>) {
        const KEY: &str = "_svc_errors";
        const KEPT: usize = 32;
        self.log_failure(&record);
        let records = self.message.metadata.entry(KEY).or_insert_with(|| json!([]));
        if let Value::Array(records) = records {
            records.push(Value::Object(record));
            let surplus = records.len().saturating_sub(KEPT);
            records.drain(..surplus);
        }
        scope.follow(&Path::below_metadata(KEY), records);
    }
}

/// Forgets the copy of the root of a path, which is about to be written behind the back of the scope.
fn forget_root(scope: &mut EvaluationScope<'_>, path: &Path) {
    let mut written = WrittenRoots::default();
    written.mark(path.root());
    scope.forget(written);
}
