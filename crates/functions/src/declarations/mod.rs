//! The functions over connectors, channels and webhooks as authors meet them: their catalogue entries, and the checks of an
//! authored input.
//!
//! The actors that carry the functions out take both from here. So a tool of authors checks a definition as a server
//! does, without the drivers. Everything here is pure.

pub mod cache;
pub mod channel_call;
mod cloud_event;
mod data;
pub mod http_call;
mod input;
pub mod mail;
pub mod mongo;
mod publish_kafka;
mod send_webhook;
pub mod sql;
pub mod storage;

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{CompileCx, CompiledTask, EngineBuilder, Function};
use svc_model::FieldError;

pub use cache::{CACHE_DELETE, CACHE_INCR, CACHE_READ, CACHE_WRITE};
pub use channel_call::CHANNEL_CALL;
pub use data::{DATA_QUERY, DATA_WRITE};
pub use http_call::HTTP_CALL;
pub use input::{LONGEST_MS, read_timeout};
pub use mail::SEND_EMAIL;
pub use mongo::{MONGO_AGGREGATE, MONGO_READ, MONGO_WRITE};
pub use publish_kafka::PUBLISH_KAFKA;
pub use send_webhook::SEND_WEBHOOK;
pub use sql::{DB_READ, DB_WRITE};
pub use storage::{STORAGE_HEAD, STORAGE_PRESIGN, STORAGE_READ, STORAGE_WRITE};

/// A check of an authored input beyond its table in the catalogue: the input, its path, the problems found.
type InputCheck = fn(&Map<String, Value>, &str, &mut Vec<FieldError>);

/// The part of a function that is known without the system that it calls.
pub struct FunctionDeclaration {
    /// The catalogue entry.
    pub entry: FunctionEntry,
    check: InputCheck,
}

impl FunctionDeclaration {
    /// Adds what is wrong with an authored input beyond its table in the catalogue; `at` is the path of the input.
    pub fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        (self.check)(input, at, errors);
    }
}

/// Takes the entry and the check of a function from its declaration, within `impl Function`.
#[macro_export]
macro_rules! declared_by {
    ($declaration:ident) => {
        fn entry(&self) -> &'static svc_engine::catalogue::FunctionEntry {
            &$declaration.entry
        }

        fn check(
            &self,
            input: &serde_json::Map<String, serde_json::Value>,
            at: &str,
            errors: &mut Vec<svc_model::FieldError>,
        ) {
            $declaration.check(input, at, errors);
        }
    };
}

/// Every function over connectors and channels.
static ALL: [&FunctionDeclaration; 20] = [
    &CACHE_DELETE,
    &CACHE_INCR,
    &CACHE_READ,
    &CACHE_WRITE,
    &HTTP_CALL,
    &PUBLISH_KAFKA,
    &MONGO_READ,
    &MONGO_WRITE,
    &MONGO_AGGREGATE,
    &SEND_EMAIL,
    &STORAGE_HEAD,
    &STORAGE_PRESIGN,
    &STORAGE_READ,
    &STORAGE_WRITE,
    &DATA_QUERY,
    &DATA_WRITE,
    &DB_READ,
    &DB_WRITE,
    &CHANNEL_CALL,
    &SEND_WEBHOOK,
];

/// Registers the functions over connectors and channels by their declarations alone, with an engine that checks
/// definitions and runs them with stubs.
#[must_use]
pub fn register_declarations(builder: EngineBuilder) -> EngineBuilder {
    ALL.iter()
        .fold(builder, |builder, &declaration| builder.function(Arc::new(DeclaredFunction(declaration))))
}

/// A function that nothing here carries out.
struct DeclaredFunction(&'static FunctionDeclaration);

impl Function for DeclaredFunction {
    fn entry(&self) -> &'static FunctionEntry {
        &self.0.entry
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        self.0.check(input, at, errors);
    }

    fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Err(format!("{} is carried out by a server, or answered by a stub", self.0.entry.name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_engine::Engine;
    use svc_engine::catalogue::FunctionTarget;
    use svc_model::validate_workflow;

    use super::*;

    #[test]
    fn declared_function_is_checked_without_its_driver() {
        let engine = register_declarations(Engine::builder()).build();
        let is_valid = |query: &str| {
            let function = json!({"name": "db_read", "input": {"connector": "c", "query": query}});
            let task = json!({"id": "t", "name": "t", "function": function});
            validate_workflow(&json!({"name": "w", "tasks": [task]}), &engine).valid()
        };
        assert!(is_valid("SELECT 1"));
        assert!(!is_valid("DELETE FROM t"));
    }

    #[test]
    fn every_declaration_has_a_target_and_own_name() {
        let names: std::collections::BTreeSet<_> =
            ALL.iter().map(|declaration| declaration.entry.name).collect();
        assert_eq!(names.len(), ALL.len());
        for declaration in ALL {
            assert!(declaration.entry.target != FunctionTarget::None, "{}", declaration.entry.name);
        }
    }
}
