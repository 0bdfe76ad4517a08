//! The analysis of a project: probable mistakes that a definition may have and still be served. Lint says what is
//! refused; the rules here follow steps, calls and values, each with a level that a project sets.

mod calls;
mod data;
mod flow;
mod placeholders;
mod rules;
mod steps;

use std::collections::BTreeSet;

use svc_engine::Engine;
use svc_model::EntityKind;

use crate::finding::Finding;
use crate::project::{AuthoredEntity, Project};

pub use rules::{AnalysisLevels, AnalysisRule};
pub(crate) use steps::overlap;

/// A finding of the analysis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnalysisFinding {
    pub finding: Finding,
    /// The removal that mends it, if there is one.
    pub removal: Option<Removal>,
}

/// A member of a document that may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The file that has it, relative to the project directory.
    pub file: String,
    /// Its path in the file.
    pub path: String,
    /// The position of the entity in the project.
    pub entity: usize,
    /// Its path in the expanded document of the entity.
    pub member: String,
}

/// Analyses a project. `declared` are the names of the secrets of an environment, if one is given.
pub fn analyze(
    project: &Project,
    engine: &Engine,
    levels: &AnalysisLevels,
    declared: Option<&BTreeSet<String>>,
) -> Vec<AnalysisFinding> {
    let mut report = AnalysisReport { project, levels, findings: Vec::new() };
    for entity in project.entities(EntityKind::Workflow) {
        flow::check_constant(engine, entity, "condition", &entity.document["condition"], &mut report);
        for list in steps::step_lists(&entity.document) {
            flow::check_list(engine, entity, &list, &mut report);
            data::check_inputs(engine, project, entity, &list, &mut report);
        }
        if let Some(declared) = declared {
            data::check_secrets(entity, declared, &mut report);
        }
    }
    calls::check_calls(project, &mut report);
    for kind in [EntityKind::Connector, EntityKind::Channel] {
        for entity in project.entities(kind) {
            data::check_references(entity, &mut report);
        }
    }
    report.findings
}

/// The findings so far.
struct AnalysisReport<'a> {
    project: &'a Project,
    levels: &'a AnalysisLevels,
    findings: Vec<AnalysisFinding>,
}

impl AnalysisReport<'_> {
    /// Adds a finding about the element at a path of an expanded document, if its rule is on.
    fn add(&mut self, rule: AnalysisRule, entity: &AuthoredEntity, path: &str, message: &str) {
        let Some(severity) = self.levels.level(rule) else { return };
        let origin = entity.expansion.origins.trace(path);
        let finding = Finding {
            severity,
            check: rule.id(),
            entity: entity.label.clone(),
            message: if path.is_empty() { message.to_owned() } else { format!("{}: {message}", origin.path) },
            fix: Some(rule.remedy().to_owned()),
            place: origin.place(),
        };
        self.findings.push(AnalysisFinding { finding, removal: None });
    }

    /// Adds a finding about a condition that may go.
    fn add_removable(&mut self, entity: &AuthoredEntity, path: &str, message: &str) {
        let before = self.findings.len();
        self.add(AnalysisRule::RedundantCondition, entity, path, message);
        let origins = &entity.expansion.origins;
        let origin = origins.trace(path);
        let position = self.project.entities.iter().position(|one| std::ptr::eq(one, entity));
        // What a fragment or a shared value brings may be used elsewhere.
        let is_own = origin.shares_file(origins.root()) && origins.call(path).is_none();
        if let (Some(added), Some(position), true) = (self.findings.get_mut(before), position, is_own) {
            added.removal = Some(Removal {
                file: entity.file.clone(),
                path: origin.path,
                entity: position,
                member: path.to_owned(),
            });
        }
    }
}

#[cfg(test)]
mod tests;
