//! The extent of a document (the entities it accesses) and the policy of a connector that bounds it.

use std::sync::Arc;

use crate::refusal::DialectRefusal;

/// The entities that a document accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentExtent {
    /// True if a schema declares every name that the document uses.
    pub mapped: bool,
    /// Physical names of the entities, including the targets and join tables of relations.
    pub entities: Vec<Arc<str>>,
}

/// The policy of a connector: which entities documents may access.
#[derive(Clone, Copy, Debug)]
pub struct DialectPolicy<'g> {
    /// True if a schema must declare every name.
    pub require_schema: bool,
    /// Physical names of the entities that are allowed; empty allows all.
    pub allowed_entities: &'g [String],
}

impl DocumentExtent {
    /// Checks this extent against the policy of a connector.
    ///
    /// # Errors
    /// [`DialectRefusal::Denied`] if a name is not declared although the policy requires it, or an entity is
    /// not allowed.
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
