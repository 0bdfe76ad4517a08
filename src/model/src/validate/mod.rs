//! From the JSON a caller sends to content that may be stored.
//!
//! Every function here reports all problems at once, each with its path: `body.<field>` when the JSON does not fit
//! the shape of the request, otherwise rooted at the resource (`channel.config.auth`, `workflow.name`,
//! `tasks[2].function.input.connector`). A key that is not known is refused; what a read shows and an author cannot set
//! is passed over, so that an exported document can be sent back.

mod body;
mod channel;
mod connector;
mod cron;
mod import;
mod keys;
mod scan;
mod steps;
mod workflow;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;

use crate::config::ChannelConfig;
use crate::config::connector::ConnectorConfig;
use crate::entity::WorkflowContent;
use crate::field::{FieldError, Issue};

pub use channel::{channel_warnings, parse_channel_update, parse_new_channel, validate_channel};
pub use connector::{parse_connector_update, parse_new_connector, validate_connector};
pub use cron::next_fires;
pub use import::check_import_item;
pub use keys::{KeyPlace, is_annotation, unknown_key, unknown_keys};
pub use steps::MAX_LABEL;
pub use workflow::{parse_new_workflow, parse_workflow_update, validate_workflow, workflow_warnings};

/// The rules of a workflow that need the engine.
///
/// The model has checked the shape of the document before: fields and their types, ids and duplicates, nesting,
/// left-over source, secret references. Left to the implementation are expressions (the conditions of the workflow,
/// its groups and tasks), the fields of the loop block, function names and function inputs. It is called even when
/// the shape is broken, so that all problems are reported at once: it passes over what it cannot read.
pub trait WorkflowChecks {
    /// Adds what create would refuse to `errors` and what it would only mention to `warnings`.
    fn check(&self, content: &WorkflowContent, errors: &mut Vec<FieldError>, warnings: &mut Vec<Issue>);

    /// Returns `true` if a function resolves a secret reference at this place of its input, such as `.keys[0].key`.
    fn resolves_reference(&self, function: &str, place: &str) -> bool {
        let _ = (function, place);
        false
    }
}

/// The rules of a channel that need more than its document: the engine, cryptography, settings of the server.
pub trait ChannelChecks {
    /// Whether an expression compiles.
    ///
    /// # Errors
    /// Why it does not.
    fn compiles(&self, expression: &Value) -> Result<(), String>;

    /// What else keeps a well-formed config from being served as it is written. References to secrets are not looked up.
    fn config(&self, config: &ChannelConfig) -> Vec<FieldError> {
        let _ = config;
        Vec::new()
    }

    /// What a config is likely not meant to say, although it could be served.
    fn suspicions(&self, config: &ChannelConfig) -> Vec<Issue> {
        let _ = config;
        Vec::new()
    }
}

/// The rules of a connector that need more than its document.
pub trait ConnectorChecks {
    /// What keeps a well-formed config from being used as it is written. Nothing is looked up.
    fn config(&self, config: &ConnectorConfig) -> Vec<FieldError> {
        let _ = config;
        Vec::new()
    }
}

/// Drops a problem that was found twice, by the model and by an implementation of the checks.
fn distinct(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    let mut seen = HashSet::new();
    errors.retain(|error| seen.insert((error.path.clone(), error.code)));
    errors
}
