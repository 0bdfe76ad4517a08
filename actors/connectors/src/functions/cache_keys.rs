//! `cache_delete` and `cache_incr`: keys of a cache, each call one step for the backend.

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use svc_engine::{CompileCx, CompiledTask, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome};
use svc_functions::declarations::cache::{counter_ttl, increment};
use svc_functions::declarations::{CACHE_DELETE, CACHE_INCR};

use super::cache::{CacheTarget, invalid, key, keys};
use super::input::{self, text};
use crate::directory::ConnectorDirectory;
use crate::drivers::cache::{AddToEntry, DeleteEntries};

/// `cache_delete`.
pub(crate) struct CacheDelete(pub(crate) ConnectorDirectory);

/// `cache_incr`.
pub(crate) struct CacheIncrement(pub(crate) ConnectorDirectory);

impl Function for CacheDelete {
    svc_functions::declared_by!(CACHE_DELETE);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &CACHE_DELETE.entry;
        Ok(Box::new(DeleteTask {
            cache: CacheTarget::new(&self.0, table, input),
            inputs: Inputs::new(table, input, cx)?,
            output: text(table, input, "output").map(input::path).transpose()?,
        }))
    }
}

impl Function for CacheIncrement {
    svc_functions::declared_by!(CACHE_INCR);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &CACHE_INCR.entry;
        Ok(Box::new(IncrementTask {
            cache: CacheTarget::new(&self.0, table, input),
            inputs: Inputs::new(table, input, cx)?,
            output: input::path(text(table, input, "output").unwrap_or("data"))?,
        }))
    }
}

struct DeleteTask {
    cache: CacheTarget,
    inputs: Inputs,
    output: Option<Path>,
}

impl CompiledTask for DeleteTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let keys = keys(self.inputs.fold(cx, "keys")?)?;
            let deleted = self.cache.ask(cx, "write", &DeleteEntries(keys)).await?;
            if let Some(output) = &self.output {
                cx.write(output, json!({"deleted": deleted}))?;
            }
            Ok(TaskOutcome::Success)
        })
    }
}

struct IncrementTask {
    cache: CacheTarget,
    inputs: Inputs,
    output: Path,
}

impl CompiledTask for IncrementTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let key = key(self.inputs.fold(cx, "key")?)?;
            let by = match self.inputs.fold(cx, "by")? {
                Value::Null => 1,
                given => increment(&given).map_err(|why| invalid("by", &why))?,
            };
            let ttl_secs = match self.inputs.fold(cx, "ttl_secs")? {
                Value::Null => None,
                given => Some(counter_ttl(&given).map_err(|why| invalid("ttl_secs", &why))?),
            };
            let sum = self.cache.ask(cx, "write", &AddToEntry { key, by, ttl_secs }).await?;
            cx.write(&self.output, sum.into())?;
            Ok(TaskOutcome::Success)
        })
    }
}
