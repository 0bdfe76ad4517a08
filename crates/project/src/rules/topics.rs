//! The check that each task which publishes a message names a topic, or uses a connector that names one.

use svc_engine::{ConnectorUse, Engine};
use svc_model::{FieldCode, FieldError, WorkflowContent};

/// The refusal of a task that publishes to no topic.
pub(super) const NO_TOPIC: &str = "required: the connector names no topic either";

/// Returns `true` if neither the task nor its connector names a topic. `names_topic` is `None` for a connector
/// that is not known.
pub(super) fn lacks_topic(used: &ConnectorUse, names_topic: Option<bool>) -> bool {
    used.inherited_input.is_some() && names_topic == Some(false)
}

/// Refuses tasks that publish to no topic. A task with an unknown connector passes: that connector may name a
/// topic later.
///
/// # Errors
/// `REQUIRED` at the topic of each such task.
pub fn check_topics(
    engine: &Engine,
    content: &WorkflowContent,
    names_topic: impl Fn(&str) -> Option<bool>,
) -> Result<(), Vec<FieldError>> {
    let uses = engine.dependencies(content).connectors.into_iter();
    let errors = uses.filter(|used| lacks_topic(used, names_topic(&used.connector))).map(|used| {
        let input = used.path.strip_suffix(".connector").unwrap_or(&used.path);
        FieldError::new(format!("{input}.topic"), FieldCode::Required, NO_TOPIC)
    });
    let errors: Vec<_> = errors.collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}
