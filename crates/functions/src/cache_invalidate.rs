//! The function `cache_invalidate`: makes the cached answers of channels stale, by their namespaces.

use std::sync::Arc;

use futures_util::future::{LocalBoxFuture, ready};
use serde_json::{Map, Value, json};
use svc_engine::catalogue::{DefaultOutput, FunctionEntry, InputField, PathUse, SentForm};
use svc_engine::{
    CompileCx, CompiledTask, ErrorCode, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome, Template,
    holds_computed,
};
use svc_model::FieldError;
use svc_model::config::namespace_problem;

use crate::input::{InputProblems, text};

/// Namespaces of one call.
pub const MAX_NAMESPACES: usize = 64;

/// The caches of channels, as the function reaches them. A port: the channels implement it.
pub trait CacheInvalidation: Send + Sync {
    /// Makes every answer of these namespaces stale, and returns the number of caches that keep some.
    ///
    /// Fails with the reason when a cache did not confirm it; the others are done.
    fn invalidate(&self, namespaces: Vec<String>) -> LocalBoxFuture<'_, Result<usize, String>>;
}

/// The caches of a process that serves no channel.
pub struct NoCaches;

impl CacheInvalidation for NoCaches {
    fn invalidate(&self, _: Vec<String>) -> LocalBoxFuture<'_, Result<usize, String>> {
        Box::pin(ready(Ok(0)))
    }
}

/// The catalogue entry of `cache_invalidate`.
static ENTRY: FunctionEntry = FunctionEntry {
    strict: true,
    retry_safety: "idempotent_write",
    fields: &[
        InputField::array("namespaces", "Namespaces of cached answers, 64 at most")
            .required()
            .resolvable()
            .computed(),
        InputField::string("output", "Path that gets {namespaces, stores}; without it nothing is written")
            .path(PathUse::Target { alone: false })
            .sent_as(SentForm::Unsent),
    ],
    default_output: DefaultOutput::Discarded,
    ..FunctionEntry::utility("cache_invalidate", "Makes the cached answers of channels stale, by namespace")
};

/// The function `cache_invalidate`.
pub(crate) struct CacheInvalidate {
    caches: Arc<dyn CacheInvalidation>,
}

impl CacheInvalidate {
    pub(crate) fn new(caches: Arc<dyn CacheInvalidation>) -> Self {
        Self { caches }
    }
}

impl Function for CacheInvalidate {
    fn entry(&self) -> &'static FunctionEntry {
        &ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        let mut problems = InputProblems { at, errors };
        let literal = input.get("namespaces").map(Template::compile);
        let literal = literal.as_ref().and_then(Template::as_literal);
        let literal = literal.filter(|value| value.is_array() && !holds_computed(value));
        if let Some(Err(why)) = literal.map(read_namespaces) {
            problems.invalid("namespaces", why);
        }
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let output = text(input, "output").map(Path::parse_target).transpose();
        Ok(Box::new(InvalidateTask {
            caches: Arc::clone(&self.caches),
            inputs: Inputs::new(&ENTRY, input, cx)?,
            output: output.map_err(|error| format!("output: {error}"))?,
        }))
    }
}

struct InvalidateTask {
    caches: Arc<dyn CacheInvalidation>,
    inputs: Inputs,
    output: Option<Path>,
}

impl CompiledTask for InvalidateTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let namespaces = read_namespaces(&self.inputs.require(cx, "namespaces")?)
                .map_err(|why| TaskError::validation(format!("namespaces: {why}")))?;
            let count = namespaces.len();
            let stores = self.caches.invalidate(namespaces).await;
            let stores = stores.map_err(|reason| TaskError::new(ErrorCode::Io, reason))?;
            if let Some(output) = &self.output {
                cx.write(output, json!({"namespaces": count, "stores": stores}))?;
            }
            Ok(TaskOutcome::Success)
        })
    }
}

/// Reads a list of namespaces.
///
/// # Errors
/// The reason why it is none.
pub fn read_namespaces(list: &Value) -> Result<Vec<String>, String> {
    let Value::Array(items) = list else { return Err("expected a list of texts".to_owned()) };
    if !(1..=MAX_NAMESPACES).contains(&items.len()) {
        return Err(format!("name from 1 to {MAX_NAMESPACES} namespaces"));
    }
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let name = item.as_str().ok_or_else(|| format!("[{index}] is no text"))?;
            match namespace_problem(name) {
                Some(why) => Err(format!("[{index}]: {why}")),
                None => Ok(name.to_owned()),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_namespaces_is_bounded_and_checked() {
        assert_eq!(read_namespaces(&json!(["a", "b:1"])), Ok(vec!["a".to_owned(), "b:1".to_owned()]));
        for (list, why) in [
            (json!("a"), "expected a list"),
            (json!([]), "from 1 to 64"),
            (json!(vec!["a"; 65]), "from 1 to 64"),
            (json!(["a", 1]), "[1] is no text"),
            (json!(["A"]), "[0]: "),
        ] {
            let refused = read_namespaces(&list).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
