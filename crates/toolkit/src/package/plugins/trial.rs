//! The trial of the plugins of a package, for a plan.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_engine::Engine;
use svc_model::{EntityKind, validate_workflow};
use svc_project::rules::import_body;
use svc_project::{PackageItem, PackagedPlugin};

use super::server::stored_status;
use crate::package::error::PackageError;
use crate::package::remote::PackageServer;

/// Action of an import that leaves the stored plugin as it is.
const UNCHANGED: &str = "unchanged";

/// The outcome of a trial.
#[derive(Debug, Default)]
pub(in crate::package) struct PluginTrial {
    /// The action of the import of each plugin, `None` for a refused one; and `true` if the apply would activate it.
    pub(in crate::package) planned: Vec<(Option<String>, bool)>,
    /// The refusals, a line each.
    pub(in crate::package) refusals: Vec<String>,
    /// The names of the functions that the server has only once the package is applied.
    pub(in crate::package) brought: BTreeSet<String>,
}

impl PluginTrial {
    /// Tries the import of plugins on what is stored now.
    pub(in crate::package) async fn make(
        server: &PackageServer,
        plugins: &[PackagedPlugin],
    ) -> Result<Self, PackageError> {
        let mut trial = Self::default();
        if plugins.is_empty() {
            return Ok(trial);
        }
        let imported = server.import_plugins(plugins, true, |_| ()).await;
        let imported = imported.map_err(PackageError::step("the import of plugins cannot be tried"))?;
        for refused in imported.errors {
            let name = plugins.get(refused.index).map_or("", |plugin| plugin.manifest.name.as_str());
            trial.refusals.push(format!("plugin '{name}': {}", refused.error));
        }
        for (index, plugin) in plugins.iter().enumerate() {
            let result = imported.results.iter().find(|item| item.index == index);
            let action = result.map(|item| item.action.clone());
            let versions = server.plugin_versions(&plugin.manifest.name).await?;
            let serves =
                action.as_deref() == Some(UNCHANGED) && stored_status(&versions, plugin) == Some("active");
            let activates = action.is_some() && plugin.activates && !serves;
            if activates {
                trial.brought.extend(plugin.manifest.function_names());
            }
            trial.planned.push((action, activates));
        }
        Ok(trial)
    }

    /// Returns true for a workflow that the server refuses for now and takes once it has the plugins: it calls one, and
    /// `engine`, which knows them, accepts it.
    pub(in crate::package) fn explains_refusal(&self, item: &PackageItem, engine: &Engine) -> bool {
        let is_accepted = || {
            let body = import_body(item.kind, &item.document);
            body.is_ok_and(|body| validate_workflow(&body, engine).valid())
        };
        item.kind == EntityKind::Workflow
            && functions_of(&item.document).iter().any(|name| self.brought.contains(name))
            && is_accepted()
    }
}

/// Returns the ids of the plugins whose functions a workflow may call: the first parts of names that have two.
pub(in crate::package) fn plugins_called_by(workflow: &Value) -> BTreeSet<String> {
    let names = functions_of(workflow).into_iter();
    names.filter_map(|name| Some(name.split_once('.')?.0.to_owned())).collect()
}

/// Returns the names of the functions that the tasks of a workflow call.
fn functions_of(workflow: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for member in ["tasks", "loop"] {
        if let Some(steps) = workflow.get(member) {
            collect_functions(steps, &mut names);
        }
    }
    names
}

fn collect_functions(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            let name = members.get("function").and_then(|function| function.get("name")?.as_str());
            names.extend(name.map(str::to_owned));
            members.values().for_each(|member| collect_functions(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_functions(item, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plugins_of_nested_tasks_are_found() {
        let call = |name: &str| json!({"id": "t", "function": {"name": name, "input": {}}});
        let group = json!({"id": "g", "tasks": [call("rates.eur"), call("map")]});
        let tasks = json!([call("tax.vat"), group, call("tax.net")]);
        let workflow = json!({"workflow_id": "w", "tasks": tasks, "loop": {"setup": [call("ids.next")]}});
        let called: Vec<_> = plugins_called_by(&workflow).into_iter().collect();
        assert_eq!(called, ["ids", "rates", "tax"]);
        assert!(plugins_called_by(&json!({"function": {"name": "a.b"}})).is_empty());
    }
}
