//! The shared definitions that `--definitions` names.

use std::io::{self, Write};
use std::path::Path;

use serde_json::Value;
use svc_model::EntityKind;
use svc_project::shared::SharedDefinitions;
use svc_project::{Expand, Finding, Severity};

use super::lint::read_definitions;

/// The shared definitions of a directory, or none.
pub(crate) struct Definitions(Option<SharedDefinitions>);

impl Definitions {
    /// Reads the shared documents of a directory. Returns `None` for unusable definitions, and reports it on `err`.
    pub(crate) fn read(directory: Option<&Path>, err: &mut dyn Write) -> io::Result<Option<Self>> {
        let Some(directory) = directory else { return Ok(Some(Self(None))) };
        let Some((shared, findings)) = read_definitions(directory, err)? else { return Ok(None) };
        findings.iter().try_for_each(|finding| writeln!(err, "{finding}"))?;
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            writeln!(err, "Error: {}: the shared definitions cannot be used", directory.display())?;
            return Ok(None);
        }
        Ok(Some(Self(Some(shared))))
    }

    /// Calls a function with the expansion of workflows, if there are definitions.
    pub(crate) fn with_expansion<T>(&self, act: impl FnOnce(Option<&Expand<'_>>) -> T) -> T {
        let Some(shared) = &self.0 else { return act(None) };
        let expand = |document: &mut Value| -> Vec<Finding> { shared.expand(EntityKind::Workflow, document) };
        act(Some(&expand))
    }
}
