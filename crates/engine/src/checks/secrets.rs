//! Secrets a workflow reads. An author's process may not be the one that serves, so these only warn; the
//! engine refuses when it compiles the workflow for serving.

use serde_json::{Map, Value};
use svc_model::{FieldCode, Issue};

use super::Check;
use crate::expression::Survey;

impl Check<'_, '_> {
    /// Warns about secrets this process does not declare.
    pub(super) fn warn_of_undeclared_secrets(&mut self, at: &str, source: &Value) {
        for name in Survey::analyse(source).secrets {
            let message = match name {
                None => {
                    "a secret is read by a literal name; a channel that runs this is quarantined".to_owned()
                }
                Some(name) if !self.engine.evaluator.secrets().declares(name) => {
                    format!(
                        "the secret \"{name}\" is not declared here; a channel that runs this is quarantined"
                    )
                }
                Some(_) => continue,
            };
            self.warnings.push(Issue::new(at, message).with_code(FieldCode::NotLoadable));
        }
    }

    /// Warns about secrets of a built-in: undeclared ones, and those whose value would be recorded.
    pub(super) fn check_recorded(&mut self, function: &str, input: &Map<String, Value>, at: &str) {
        for (field, source) in input {
            let at = format!("{at}.{field}");
            self.warn_of_undeclared_secrets(&at, source);
            if matches!(function, "map" | "log") && !Survey::analyse(source).secrets.is_empty() {
                let message = "a secret read here would be recorded; a channel that runs this is quarantined";
                self.warnings.push(Issue::new(at, message).with_code(FieldCode::NotLoadable));
            }
        }
    }
}
