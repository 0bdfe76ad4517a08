//! Lint of one file: the checks of a create.

use std::fmt;
use std::sync::Arc;

use svc_engine::Engine;
use svc_model::{EntityKind, FieldError};

use super::LintSummary;
use super::entity::{create, refusal, reportable_errors, warnings};
use super::placed::document_path;
use crate::finding::Finding;
use crate::project::{AuthoredEntity, Project};
use crate::recognize::DocumentShape;
use crate::shared::SharedDefinitions;
use crate::source::SourceFile;

/// A field that a create refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedField {
    /// The path as the admin API gives it; the authored one for a field that an expansion has moved.
    pub path: String,
    /// The code of the problem.
    pub code: &'static str,
    /// The problem.
    pub message: String,
}

impl fmt::Display for RefusedField {
    /// Writes `- path [CODE]: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "- {} [{}]: {}", self.path, self.code, self.message)
    }
}

/// A file after its checks.
#[derive(Debug)]
pub struct LintedFile {
    /// The fields that a create refuses.
    pub refused: Vec<RefusedField>,
    /// All findings, those of the refused fields first.
    pub findings: Vec<Finding>,
    /// The counts.
    pub summary: LintSummary,
}

impl LintedFile {
    /// Returns the findings about something else than a refused field.
    pub fn other_findings(&self) -> &[Finding] {
        self.findings.get(self.refused.len()..).unwrap_or_default()
    }
}

/// Checks a file as a create does. A document of no known shape is taken for a workflow. Calls of fragments
/// and references to shared values are expanded if there are definitions, and refused otherwise.
pub fn lint_file(
    source: &Arc<SourceFile>,
    shared: Option<(SharedDefinitions, Vec<Finding>)>,
    engine: &Arc<Engine>,
) -> LintedFile {
    let kind = match DocumentShape::recognize(&source.value) {
        DocumentShape::Entity(kind) => kind,
        DocumentShape::Shared
        | DocumentShape::Requirements
        | DocumentShape::Values
        | DocumentShape::Other => EntityKind::Workflow,
    };
    let (shared, faults) = shared.map_or((None, Vec::new()), |(shared, faults)| (Some(shared), faults));
    let project = Project { findings: faults, ..Project::read_one(kind, source, shared) };
    let mut refused = Vec::new();
    let mut findings = Vec::new();
    let mut others = project.findings.clone();
    for entity in &project.entities {
        others.extend(entity.expansion.findings.iter().cloned());
        let created = create(kind, &entity.document, engine, |_| None);
        let errors = created.as_ref().err().map_or(&[][..], Vec::as_slice);
        for error in reportable_errors(entity, errors) {
            refused.push(RefusedField {
                path: field_path(entity, error),
                code: error.code.name(),
                message: error.message.clone(),
            });
            findings.push(refusal(entity, error));
        }
        others.extend(warnings(entity, created.as_ref().ok(), engine));
    }
    findings.extend(others);
    let summary = LintSummary::new(&project, &findings);
    LintedFile { refused, findings, summary }
}

/// Returns the path of a refused field: that of the admin API, or the authored one if an expansion has
/// moved it.
fn field_path(entity: &AuthoredEntity, error: &FieldError) -> String {
    let in_document = document_path(entity.kind, &error.path);
    let origins = &entity.expansion.origins;
    let origin =
        if error.code.is_about_key() { origins.trace_key(in_document) } else { origins.trace(in_document) };
    match &origin.source {
        Some(source) if !origin.shares_file(origins.root()) => {
            format!("{} in {}", origin.path, source.name)
        }
        _ if origin.path == in_document => error.path.clone(),
        _ => origin.path,
    }
}
