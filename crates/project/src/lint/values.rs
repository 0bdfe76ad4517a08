//! Checks of a set against the values of an environment: every name that it reads is declared, and every value fits the
//! field that names it.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use svc_engine::{Engine, secret_uses};
use svc_model::EntityKind;
use svc_model::config::value_reference::{
    ValueReference, ValueScope, declared_value, find_value_references, replace_value_references,
};

use super::LintedProject;
use super::entity::{create, readable_workflow};
use super::placed::{document_path, finding_at};
use crate::checks::Check;
use crate::finding::Finding;
use crate::project::AuthoredEntity;
use crate::rules::import_body;
use crate::values::{EnvironmentValues, list};

/// The path below which expressions read declared values.
const VARS: &str = "metadata.vars.";

impl LintedProject<'_> {
    /// Adds the findings about names that an environment does not declare, and values that do not fit.
    pub fn check_values(&mut self, engine: &Arc<Engine>, values: &EnvironmentValues) {
        for checked in &self.entities {
            self.findings.extend(check_entity(checked.entity, engine, values));
        }
        self.summary = self.summary.with(&self.findings);
    }
}

fn check_entity(entity: &AuthoredEntity, engine: &Arc<Engine>, values: &EnvironmentValues) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut report = |check: Check, path: &str, message: &str| {
        if !entity.expansion.is_broken(path) {
            findings.push(finding_at(check, entity, path, &format!("{message} ({})", values.name)));
        }
    };
    let mut unread = BTreeSet::new();
    each_read("", &entity.document, &mut |path, name| {
        if !values.vars.contains_key(name) && unread.insert(name.to_owned()) {
            let message = format!("{VARS}{name} is not declared{}", list(values.vars.keys()));
            report(Check::ValuesUndeclared, path, &message);
        }
    });
    let scopes: &[(ValueScope, &str)] = match entity.kind {
        EntityKind::Workflow => {
            let uses = secret_uses(&readable_workflow(&entity.document));
            for name in uses.names.iter().filter(|name| !values.secrets.contains(*name)) {
                let message = format!("the secret '{name}' is not declared{}", list(values.secrets.iter()));
                report(Check::ValuesUndeclared, "", &message);
            }
            &[]
        }
        EntityKind::Connector => &[(ValueScope::ConnectorConfig, "config")],
        EntityKind::Channel => {
            &[(ValueScope::ChannelConfig, "config"), (ValueScope::ChannelTransport, "transport_config")]
        }
    };
    let mut references = Vec::new();
    let mut document = entity.document.clone();
    for (scope, member) in scopes {
        let Some(part) = document.get_mut(*member) else { continue };
        let found = find_value_references(*scope, part);
        for problem in found.iter().filter_map(|one| declared_value(one, Some(&values.vars)).err()) {
            report(Check::ValuesUndeclared, document_path(entity.kind, &problem.path), &problem.message);
        }
        // Problems were reported one by one.
        if replace_value_references(*scope, part, Some(&values.vars)).is_ok() {
            references.extend(found);
        }
    }
    let imported =
        || import_body(entity.kind, &document).and_then(|body| create(entity.kind, &body, engine, |_| None));
    if !references.is_empty()
        && let Err(problems) = imported()
    {
        for problem in problems.iter().filter(|problem| is_about(&references, &problem.path)) {
            report(Check::ValuesType, document_path(entity.kind, &problem.path), &problem.message);
        }
    }
    findings
}

/// Returns true if a problem is about a field that holds a reference.
fn is_about(references: &[ValueReference], path: &str) -> bool {
    references.iter().any(|reference| {
        let rest = reference.path.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

/// Visits the reads of declared values in expressions, `{"var": "metadata.vars.name"}`, that have no default.
fn each_read(path: &str, value: &Value, visit: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(members) => {
            let read = members.get("var").filter(|_| members.len() == 1);
            let read = read.and_then(|read| match read {
                Value::Array(parts) if parts.len() == 1 => parts.first().and_then(Value::as_str),
                other => other.as_str(),
            });
            if let Some(name) = read.and_then(|read| read.strip_prefix(VARS)) {
                visit(path, name.split('.').next().unwrap_or_default());
            }
            for (key, member) in members {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                each_read(&path, member, visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_read(&format!("{path}[{index}]"), item, visit);
            }
        }
        _ => {}
    }
}
