//! The inventory of what a set reads from its environment: variables, secret references and declared secrets.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use svc_engine::secret_uses;
use svc_model::EntityKind;
use svc_secrets::{Reference, Syntax, collect, substitute};

use super::CheckedEntity;
use super::entity::readable_workflow;
use crate::checks::Check;
use crate::finding::Finding;
use crate::project::AuthoredEntity;

/// Returns a note for each variable and each declared secret, with its users, sorted by name.
pub(super) fn notes(entities: &[CheckedEntity<'_>]) -> Vec<Finding> {
    let mut variables: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut secrets: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for CheckedEntity { entity, .. } in entities {
        let label = entity.label.as_str();
        let uses = Uses::from_entity(entity);
        uses.variables.into_iter().for_each(|name| variables.entry(name).or_default().push(label));
        uses.secrets.into_iter().for_each(|name| secrets.entry(name).or_default().push(label));
    }
    let note = |check: Check| {
        move |(name, users): (String, Vec<&str>)| check.finding(name, format!("read by {}", users.join(", ")))
    };
    let variables = variables.into_iter().map(note(Check::EnvReference));
    variables.chain(secrets.into_iter().map(note(Check::SecretsReference))).collect()
}

/// The names that one entity reads.
#[derive(Default)]
struct Uses {
    variables: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

impl Uses {
    fn from_entity(entity: &AuthoredEntity) -> Self {
        let mut uses = Self::default();
        match entity.kind {
            EntityKind::Workflow => {
                let secrets = secret_uses(&readable_workflow(&entity.document));
                uses.references(secrets.references);
                uses.secrets = secrets.names;
            }
            EntityKind::Connector | EntityKind::Channel => {
                let mut references = BTreeSet::new();
                let config = entity.document.get("config").unwrap_or(&Value::Null);
                collect(config, &mut references);
                uses.references(references);
                if entity.kind == EntityKind::Connector {
                    uses.placeholders(config);
                }
            }
        }
        uses
    }

    fn references(&mut self, references: BTreeSet<Reference>) {
        self.variables.extend(references.into_iter().map(|reference| match reference {
            Reference::Env { var } => var,
            other @ (Reference::File { .. } | Reference::Vault { .. }) => other.to_string(),
        }));
    }

    /// Adds the variables of the `${VAR}` placeholders in the config of a connector.
    fn placeholders(&mut self, value: &Value) {
        match value {
            Value::String(text) => {
                let substituted = substitute(text, Syntax::Plain, |_| Some("set".to_owned()));
                self.variables.extend(substituted.into_iter().flat_map(|text| text.names));
            }
            Value::Array(items) => items.iter().for_each(|item| self.placeholders(item)),
            Value::Object(members) => members.values().for_each(|member| self.placeholders(member)),
            _ => {}
        }
    }
}
