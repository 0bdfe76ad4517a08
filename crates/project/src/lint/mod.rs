//! Lint: every check of a project, in the order of its files.
//!
//! Each entity is checked by the validators of the admin API, without network, environment and store; then the set as a
//! whole, in which every reference must lead to another member or to the boundary.

mod entity;
mod file;
mod inventory;
mod parameters;
mod placed;
mod repeats;
mod set;
mod unsent;
mod values;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use svc_engine::Engine;
use svc_model::EntityKind;

use crate::boundary::Boundary;
use crate::content::EntityContent;
use crate::finding::{Finding, Severity};
use crate::project::{AuthoredEntity, Project};

pub use file::{LintedFile, RefusedField, lint_file};

/// The form in which a set is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetForm {
    /// A directory of sources. Ids may be left to the server.
    Directory,
    /// A package, or a directory about to become one: it is promoted by its ids.
    Package,
}

/// A project after its checks.
#[derive(Debug)]
pub struct LintedProject<'p> {
    /// The entities with what their documents hold.
    pub entities: Vec<CheckedEntity<'p>>,
    /// All findings, in the order of the files; notes at the end.
    pub findings: Vec<Finding>,
    /// The counts.
    pub summary: LintSummary,
}

/// An entity and its content.
#[derive(Debug)]
pub struct CheckedEntity<'p> {
    pub entity: &'p AuthoredEntity,
    /// The content that an import would store; `None` if it would refuse the document.
    pub content: Option<EntityContent>,
}

/// The counts of a linted set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LintSummary {
    /// The number of connectors.
    pub connectors: usize,
    /// The number of workflows.
    pub workflows: usize,
    /// The number of channels.
    pub channels: usize,
    /// The number of shared values.
    pub shared_values: usize,
    /// The number of fragments.
    pub fragments: usize,
    /// The number of errors.
    pub errors: usize,
    /// The number of warnings.
    pub warnings: usize,
}

impl fmt::Display for LintSummary {
    /// Writes the last line of a report.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connectors, workflows, channels, shared_values, fragments, errors, warnings } = self;
        write!(
            f,
            "{connectors} connector(s), {workflows} workflow(s), {channels} channel(s), {shared_values} shared value(s), \
             {fragments} fragment(s) — {errors} error(s), {warnings} warning(s)"
        )
    }
}

impl LintSummary {
    /// Counts the members of a project and the findings about it.
    pub(crate) fn new(project: &Project, findings: &[Finding]) -> Self {
        let entities = |kind| project.entities(kind).count();
        let members = Self {
            connectors: entities(EntityKind::Connector),
            workflows: entities(EntityKind::Workflow),
            channels: entities(EntityKind::Channel),
            shared_values: project.shared.value_count(),
            fragments: project.shared.fragment_count(),
            ..Self::default()
        };
        members.with(findings)
    }

    /// Replaces the counts of the findings.
    #[must_use]
    pub(crate) fn with(self, findings: &[Finding]) -> Self {
        let severe = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        Self { errors: severe(Severity::Error), warnings: severe(Severity::Warning), ..self }
    }

    /// Returns `true` if the findings let a command go on.
    pub fn passes(&self, denies_warnings: bool) -> bool {
        self.errors == 0 && !(denies_warnings && self.warnings > 0)
    }
}

/// Checks a project.
pub fn lint<'p>(
    project: &'p Project,
    engine: &Arc<Engine>,
    boundary: &Boundary,
    form: SetForm,
) -> LintedProject<'p> {
    let mut findings = project.findings.clone();
    let members = set::SetMembers::new(project);
    let mut entities = Vec::with_capacity(project.entities.len());
    for entity in &project.entities {
        findings.extend(entity.expansion.findings.iter().cloned());
        let (content, found) = entity::check(entity, engine, &members);
        findings.extend(found);
        entities.push(CheckedEntity { entity, content });
    }
    let boundary = boundary.clone().union(&project.requires);
    findings.extend(set::check(&entities, engine, &members, &boundary, form));
    findings.extend(unsent::check(&entities));
    findings.extend(parameters::check(&entities, engine));
    // Stable: the findings of one element stay in the order of the checks.
    findings.sort_by(|one, other| place_of(one).cmp(&place_of(other)));
    let mut findings = repeats::merge(findings);
    findings.extend(inventory::notes(&entities));
    let summary = LintSummary::new(project, &findings);
    LintedProject { entities, findings, summary }
}

/// Returns the key by which findings are sorted.
fn place_of(finding: &Finding) -> (&str, usize, usize, &str) {
    match &finding.place {
        Some(place) => (place.file.as_str(), place.line, place.column, finding.entity.as_str()),
        None => ("", 0, 0, finding.entity.as_str()),
    }
}
