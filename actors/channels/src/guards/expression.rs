//! The expressions of guards: compiled at load and evaluated to truthy or falsy.

use serde_json::{Map, Value};
use svc_contract::is_truthy;
use svc_engine::Expression;
use svc_model::ServiceError;

use crate::services::ChannelServices;

/// Compiles an expression of a channel's config. `name` is its path.
///
/// # Errors
/// The reason to quarantine the channel.
pub(super) fn compile(name: &str, logic: &Value, services: &ChannelServices) -> Result<Expression, String> {
    services.engine.compile_expression(logic).map_err(|error| uncompilable(name, &error))
}

/// Compiles an expression of which only the truth counts. `name` is its key in the config.
///
/// # Errors
/// The reason to quarantine the channel.
pub(super) fn compile_guard(
    name: &str,
    logic: &Value,
    services: &ChannelServices,
) -> Result<Expression, String> {
    services.engine.compile_guard(logic).map_err(|error| uncompilable(name, &error))
}

fn uncompilable(name: &str, error: &str) -> String {
    format!("{name} does not compile: {error}")
}

/// Returns `true` if an expression is truthy over these roots; an expression that fails is not.
pub(super) fn holds(expression: &Expression, roots: &[(&str, &Value)], services: &ChannelServices) -> bool {
    services.engine.evaluate(expression, roots).is_ok_and(|value| is_truthy(&value))
}

/// Evaluates over a message: `data` is its payload, `metadata` what is known of it. Gives the metadata back.
pub(super) fn over_message<T>(
    payload: &Value,
    metadata: Map<String, Value>,
    evaluate: impl FnOnce(&[(&str, &Value)]) -> T,
) -> (T, Map<String, Value>) {
    let metadata = Value::Object(metadata);
    let result = evaluate(&[("data", payload), ("metadata", &metadata)]);
    let Value::Object(metadata) = metadata else { return (result, Map::new()) };
    (result, metadata)
}

/// The expression that a message must satisfy.
pub(crate) struct ValidationGuard(Expression);

impl ValidationGuard {
    pub(super) fn build(logic: &Value, services: &ChannelServices) -> Result<Self, String> {
        compile_guard("validation_logic", logic, services).map(Self)
    }

    /// A falsy result and a failing expression are the same refusal: it reveals nothing of the rule. Gives the
    /// metadata back.
    pub(super) fn check(
        &self,
        payload: &Value,
        metadata: Map<String, Value>,
        services: &ChannelServices,
    ) -> Result<Map<String, Value>, ServiceError> {
        match over_message(payload, metadata, |roots| holds(&self.0, roots, services)) {
            (true, metadata) => Ok(metadata),
            (false, _) => Err(ServiceError::validation("Input validation failed")),
        }
    }
}
