//! What a document reaches, and what a connector lets it reach.

use std::sync::Arc;

use crate::refusal::DialectRefusal;

/// What a document reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentExtent {
    /// Whether every name it uses is declared by a schema.
    pub mapped: bool,
    /// Physical names of its entities, those of relations and their through tables included.
    pub entities: Vec<Arc<str>>,
}

/// What a connector lets documents reach.
#[derive(Clone, Copy, Debug)]
pub struct DialectPolicy<'g> {
    /// Whether a schema must declare every name.
    pub require_schema: bool,
    /// The physical names there are; empty for all.
    pub allowed_entities: &'g [String],
}

impl DocumentExtent {
    /// Refuses what the guard does not let through.
    ///
    /// # Errors
    /// [`Refusal::Denied`] with the reason.
    pub fn check(&self, guard: DialectPolicy<'_>) -> Result<(), DialectRefusal> {
        if guard.require_schema && !self.mapped {
            let why = "the connector requires a schema whose \"unmapped\" is not \"identity\"";
            return Err(DialectRefusal::Denied(why.to_owned()));
        }
        let allowed = |entity: &Arc<str>| guard.allowed_entities.iter().any(|name| **name == **entity);
        match self.entities.iter().find(|entity| !guard.allowed_entities.is_empty() && !allowed(entity)) {
            None => Ok(()),
            Some(entity) => {
                Err(DialectRefusal::Denied(format!("the connector does not allow the entity \"{entity}\"")))
            }
        }
    }
}
