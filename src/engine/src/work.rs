//! The part of a run that a task may touch: the message, its changes, the errors it reports.

use std::sync::Arc;

use datalogic_rs::DataValue;
use serde_json::{Map, Value, json};

use crate::error::TaskError;
use crate::message::Message;
use crate::path::{Path, Root, WriteError};
use crate::scope::{Reads, Scope};
use crate::trace::{Change, Tracer};

/// The record of the newest task, as `metadata.progress` shows it.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    pub(crate) workflow_id: Arc<str>,
    pub(crate) task_id: Arc<str>,
    pub(crate) status: u16,
}

/// What the tasks of one run share.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) message: Message,
    /// The writes of the task that runs now; `None` while nobody asked for them.
    pub(crate) changes: Option<Vec<Change>>,
    /// Errors of the run; the ids of the newest are filled in when their task ends.
    pub(crate) errors: Vec<TaskError>,
    pub(crate) tracer: Option<Tracer>,
    /// Contexts of the mappings of the task that runs now.
    pub(crate) mapping_contexts: Vec<Value>,
    /// Stamped into the metadata only when something can see it.
    pub(crate) progress: Option<Progress>,
}

impl Work {
    /// Where `metadata.progress` is written.
    fn progress_path() -> &'static Path {
        static PATH: std::sync::LazyLock<Path> =
            std::sync::LazyLock::new(|| Path::below_metadata("progress"));
        &PATH
    }

    /// The context of an expression that can read `reads`.
    pub(crate) fn context<'r>(&mut self, scope: &mut Scope<'r>, reads: Reads) -> &'r DataValue<'r> {
        if reads.metadata {
            self.stamp_progress(scope);
        }
        scope.context(&self.message, reads)
    }

    /// Writes the pending progress into the metadata.
    pub(crate) fn stamp_progress(&mut self, scope: &mut Scope<'_>) {
        if let Some(progress) = self.progress.take() {
            let stamp = json!({
                "workflow_id": &*progress.workflow_id,
                "task_id": &*progress.task_id,
                "status_code": progress.status,
            });
            scope.follow(Self::progress_path(), &stamp, None);
            self.message.metadata.insert("progress".into(), stamp);
        }
    }

    /// A copy of what stands at a path; null where it leads nowhere.
    pub(crate) fn get(&mut self, scope: &mut Scope<'_>, path: &Path) -> Value {
        if *path.root() == Root::Metadata {
            self.stamp_progress(scope);
        }
        self.message.get(path)
    }

    /// Writes a value, keeping scope and changes in step. `copy` is the value's arena form, if there is one.
    ///
    /// # Errors
    /// What the write would exceed; nothing is written then.
    pub(crate) fn put<'r>(
        &mut self,
        scope: &mut Scope<'r>,
        path: &Path,
        value: Value,
        copy: Option<DataValue<'r>>,
    ) -> Result<(), WriteError> {
        self.message.check(path, &value)?;
        scope.follow(path, &value, copy);
        self.write(path, value);
        Ok(())
    }

    /// Merges an object into a bare root key by key; sets anything else.
    ///
    /// # Errors
    /// What the write would exceed.
    pub(crate) fn merge<'r>(
        &mut self,
        scope: &mut Scope<'r>,
        path: &Path,
        value: Value,
        copy: Option<DataValue<'r>>,
    ) -> Result<(), WriteError> {
        let bare =
            path.segments().is_empty() && matches!(path.root(), Root::Data | Root::Metadata | Root::TempData);
        match value {
            Value::Object(map) if bare && self.holds_object(path.root()) => {
                map.into_iter().try_for_each(|(key, value)| self.put(scope, &path.child(&key), value, None))
            }
            value => self.put(scope, path, value, copy),
        }
    }

    fn holds_object(&self, root: &Root) -> bool {
        match root {
            Root::Data => self.message.data.is_object(),
            Root::TempData => self.message.temp_data.is_object(),
            _ => true,
        }
    }

    /// Writes a value, recording the change if somebody asked for it.
    fn write(&mut self, path: &Path, value: Value) {
        match &mut self.changes {
            None => {
                self.message.put(path, value);
            }
            Some(changes) => {
                let old_value = self.message.get(path);
                let new_value = value.clone();
                if self.message.put(path, value) {
                    changes.push(Change { path: path.to_string(), old_value, new_value });
                }
            }
        }
    }

    /// Keeps the context a mapping is about to see, when the run is traced.
    pub(crate) fn keep_mapping_context(&mut self, scope: &mut Scope<'_>) {
        if self.tracer.is_some() {
            let snapshot = self.snapshot(scope);
            self.mapping_contexts.extend(snapshot);
        }
    }

    /// A snapshot for the trace, while its budget lasts.
    pub(crate) fn snapshot(&mut self, scope: &mut Scope<'_>) -> Option<Value> {
        if self.tracer.is_some() {
            self.stamp_progress(scope);
        }
        self.tracer.as_mut().and_then(|tracer| tracer.snapshot(&self.message))
    }

    /// Appends to `metadata._svc_errors`, which keeps the newest records.
    pub(crate) fn record_failure(&mut self, scope: &mut Scope<'_>, record: Map<String, Value>) {
        const KEY: &str = "_svc_errors";
        const KEPT: usize = 32;
        let records = self.message.metadata.entry(KEY).or_insert_with(|| json!([]));
        if let Value::Array(records) = records {
            records.push(Value::Object(record));
            let surplus = records.len().saturating_sub(KEPT);
            records.drain(..surplus);
        }
        scope.follow(&Path::below_metadata(KEY), records, None);
    }
}
