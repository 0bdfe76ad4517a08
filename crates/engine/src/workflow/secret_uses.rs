//! The secrets a workflow is compiled with.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_model::WorkflowContent;
use svc_secrets::Reference;

use crate::expression::Survey;

/// The secrets that a workflow uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretUses {
    /// The references in it, in whatever field.
    pub references: BTreeSet<Reference>,
    /// True if it reads declared secrets.
    pub declared: bool,
    /// The declared secrets that it reads by their literal names.
    pub names: BTreeSet<String>,
}

/// Finds what a workflow takes from outside its document.
pub fn secret_uses(content: &WorkflowContent) -> SecretUses {
    let mut uses = SecretUses::default();
    for part in content.tasks.iter().chain([&content.condition]).chain(&content.loop_) {
        uses.add(part);
    }
    uses
}

impl SecretUses {
    fn add(&mut self, part: &Value) {
        svc_secrets::collect(part, &mut self.references);
        let secrets = Survey::analyse(part).secrets;
        self.declared |= !secrets.is_empty();
        self.names.extend(secrets.into_iter().flatten().map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secret_use_is_found_at_any_depth() {
        let of = |condition: Value, tasks: Value| {
            secret_uses(&WorkflowContent {
                name: "w".into(),
                description: None,
                priority: 0,
                condition,
                tasks: tasks.as_array().unwrap().clone(),
                tags: Vec::new(),
                loop_: None,
                continue_on_error: false,
            })
        };
        let task = json!([{"tasks": [{"function": {"input": {"keys": [{"key": "env://A"}]}}}]}]);
        let found = of(json!(true), task);
        assert_eq!(found.references, BTreeSet::from([Reference::Env { var: "A".into() }]));
        assert!(!found.declared);
        assert!(of(json!({"==": [{"secret": "a"}, 1]}), json!([])).declared);
        let found = of(json!(true), json!([{"function": {"input": {"key": {"secret": ["a"]}}}}]));
        assert_eq!((found.declared, found.names), (true, BTreeSet::from(["a".to_owned()])));
        assert_eq!(of(json!(true), json!([{"id": "a"}])), SecretUses::default());
    }
}
