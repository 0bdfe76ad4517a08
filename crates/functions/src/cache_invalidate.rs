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
use svc_model::config::check_namespace;

use crate::input::text;

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
        let literal = input.get("namespaces").map(Template::compile);
        let literal = literal.as_ref().and_then(Template::as_literal);
        let literal = literal.filter(|value| value.is_array() && !holds_computed(value));
        if let Some(Err(problem)) = literal.map(|list| read_namespaces(list, &format!("{at}.namespaces"))) {
            errors.push(problem);
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

    fn without_effects(&self) -> Option<Arc<dyn Function>> {
        Some(Arc::new(Self::new(Arc::new(NoCaches))))
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
            let namespaces = read_namespaces(&self.inputs.require(cx, "namespaces")?, "namespaces")
                .map_err(|problem| TaskError::validation(problem.to_string()))?;
            let count = namespaces.len();
            let stores = self.caches.invalidate(namespaces).await;
            let stores = stores.map_err(|reason| TaskError::new(ErrorCode::Io, reason))?;
            if let Some(output) = &self.output {
                let result = json!({"namespaces": count, "stores": stores});
                // A run over a recording makes nothing stale, and writes the number of the recorded run.
                let drawn = cx.draw("cache_invalidate", || Ok::<Value, TaskError>(result))?;
                cx.write(output, json!({"namespaces": count, "stores": drawn["stores"]}))?;
            }
            Ok(TaskOutcome::Success)
        })
    }
}

/// Reads the list of namespaces that is at a path.
///
/// # Errors
/// The first problem, at its place.
pub fn read_namespaces(list: &Value, at: &str) -> Result<Vec<String>, FieldError> {
    let Value::Array(items) = list else { return Err(FieldError::type_mismatch(at, "array", list)) };
    if !(1..=MAX_NAMESPACES).contains(&items.len()) {
        return Err(FieldError::invalid(at, format!("name from 1 to {MAX_NAMESPACES} namespaces")));
    }
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let place = || format!("{at}[{index}]");
            let name = item.as_str().ok_or_else(|| FieldError::invalid(place(), "is no text"))?;
            check_namespace(name, &place()).map(|()| name.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_namespaces_is_bounded_and_checked() {
        let read = |list: Value| read_namespaces(&list, "input.namespaces");
        assert_eq!(read(json!(["a", "b:1"])).unwrap(), ["a", "b:1"]);
        for (list, place, why) in [
            (json!("a"), "input.namespaces", "expected array, got string"),
            (json!([]), "input.namespaces", "from 1 to 64"),
            (json!(vec!["a"; 65]), "input.namespaces", "from 1 to 64"),
            (json!(["a", 1]), "input.namespaces[1]", "is no text"),
            (json!(["A"]), "input.namespaces[0]", "from 1 to 64 letters"),
            (json!([""]), "input.namespaces[0]", "from 1 to 64 letters"),
            (json!(["n".repeat(65)]), "input.namespaces[0]", "at most 64 letters"),
        ] {
            let refused = read(list).unwrap_err();
            assert_eq!(refused.path, place);
            assert!(refused.message.contains(why), "{}", refused.message);
        }
    }
}
