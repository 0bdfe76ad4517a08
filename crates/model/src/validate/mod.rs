//! Validation: converts the JSON of a caller to content that may be stored.
//!
//! All functions report all problems at once, each with its path: `body.<field>` if the JSON does not have
//! the shape of the request, otherwise rooted at the resource (`channel.config.auth`, `workflow.name`,
//! `tasks[2].function.input.connector`). Unknown keys are refused. Keys of a read that an author cannot set
//! are ignored, so that an exported document can be sent back.

mod body;
mod channel;
mod connector;
mod cron;
mod import;
mod keys;
mod scan;
mod steps;
mod transport;
mod value_stand_ins;
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
pub use transport::excluded_instants;
pub use workflow::{parse_new_workflow, parse_workflow_update, validate_workflow, workflow_warnings};

/// The rules of a workflow that need the engine.
///
/// The model has already checked the shape of the document: fields and their types, ids and duplicates,
/// nesting, uncompiled source, secret references. The implementation checks expressions (the conditions of
/// the workflow, its groups and tasks), the fields of the loop block, function names and function inputs. It
/// is called even if the shape is invalid, so that all problems are reported at once; it skips the parts that
/// it cannot read.
pub trait WorkflowChecks {
    /// Adds problems for which a create request is refused to `errors`, and others to `warnings`.
    fn check(&self, content: &WorkflowContent, errors: &mut Vec<FieldError>, warnings: &mut Vec<Issue>);

    /// Returns true if the function resolves a secret reference at this path of its input, such as
    /// `.keys[0].key`.
    fn resolves_reference(&self, function: &str, place: &str) -> bool {
        let _ = (function, place);
        false
    }
}

/// The rules of a channel that need more than its document: the engine, cryptography, or the settings of the
/// server.
pub trait ChannelChecks {
    /// Checks that an expression compiles.
    ///
    /// # Errors
    /// The reason why it does not.
    fn compiles(&self, expression: &Value) -> Result<(), String>;

    /// Returns further problems that prevent a valid config from being served. References to secrets are not
    /// resolved.
    fn config(&self, config: &ChannelConfig) -> Vec<FieldError> {
        let _ = config;
        Vec::new()
    }

    /// Returns warnings about probable mistakes in a config that can be served.
    fn suspicions(&self, config: &ChannelConfig) -> Vec<Issue> {
        let _ = config;
        Vec::new()
    }

    /// Returns warnings about a schedule whose payload its own channel refuses.
    fn refused_payload(&self, config: &ChannelConfig, payload: &Value) -> Vec<Issue> {
        let _ = (config, payload);
        Vec::new()
    }
}

/// The rules of a connector that need more than its document.
pub trait ConnectorChecks {
    /// Returns further problems that prevent a valid config from being used. Nothing is resolved.
    fn config(&self, config: &ConnectorConfig) -> Vec<FieldError> {
        let _ = config;
        Vec::new()
    }
}

/// Removes problems that both the model and an implementation of the checks found.
fn distinct(mut errors: Vec<FieldError>) -> Vec<FieldError> {
    let mut seen = HashSet::new();
    errors.retain(|error| seen.insert((error.path.clone(), error.code)));
    errors
}
