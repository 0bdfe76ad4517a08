//! The definitions of a package that are stored on a server and could not be loaded.

use std::collections::BTreeSet;

use serde_json::Value;
use svc_api::{ConnectorResource, PluginDetail, ValidationIssue};
use svc_model::EntityKind;
use svc_project::{Boundary, PackageArtifact, PackageItem, PackagedPlugin};

use super::error::PackageError;
use super::remote::PackageServer;

/// Returns a line for each channel of the package that is quarantined, for each workflow of it that could not be loaded and
/// that no channel of it would show as such, for each plugin of it that cannot be used, and for each connector of it, or
/// that it requires, that is not loaded. `engine` is the answer of a reload, or the state of the engine.
pub(super) async fn find_degraded(
    server: &PackageServer,
    artifact: &PackageArtifact,
    engine: &Value,
) -> Result<Vec<String>, PackageError> {
    let quarantined = engine["quarantined"].as_array().into_iter().flatten();
    let own = quarantined
        .filter(|row| row["channel_id"].as_str().is_some_and(|id| artifact.holds(EntityKind::Channel, id)));
    let text = |row: &Value, member: &str| row[member].as_str().unwrap_or_default().to_owned();
    let channels =
        own.map(|row| format!("channel '{}' is quarantined: {}", text(row, "channel"), text(row, "reason")));
    let mut degraded: Vec<_> = channels.collect();
    degraded.extend(failed_plugins(server, &artifact.plugins).await?);
    let needs_connectors =
        artifact.items(EntityKind::Connector).next().is_some() || !artifact.requires.connectors.is_empty();
    if needs_connectors {
        let connectors = server.connectors().await?;
        let brought = connectors.iter().filter(|row| artifact.holds(EntityKind::Connector, &row.name));
        degraded.extend(brought.filter_map(not_loaded));
        degraded.extend(required(&connectors, &artifact.requires));
    }
    for workflow in workflows_of_others(artifact) {
        let problems = server.load_problems(workflow).await?.into_iter();
        let describe = |problem: ValidationIssue| {
            format!("workflow '{}' is not loaded: {}", workflow.key, problem.message)
        };
        degraded.extend(problems.map(describe));
    }
    Ok(degraded)
}

/// Returns a line for each of some plugins whose active version the server cannot use.
pub(super) async fn failed_plugins(
    server: &PackageServer,
    plugins: &[PackagedPlugin],
) -> Result<Vec<String>, PackageError> {
    let mut failed = Vec::new();
    for plugin in plugins.iter().filter(|plugin| plugin.activates) {
        let id = &plugin.manifest.name;
        let versions = server.plugin_versions(id).await?;
        let has_failed = |version: &&PluginDetail| {
            version.load.as_deref() == Some("failed")
                && plugin.is_stored_as(&version.manifest, &version.digest)
        };
        failed.extend(versions.iter().find(has_failed).map(|version| {
            let reason = version.load_error.as_deref().unwrap_or("the server does not say why");
            format!("plugin '{id}' is not loaded: {reason}")
        }));
    }
    Ok(failed)
}

/// Returns the workflows of a package that only channels elsewhere name.
fn workflows_of_others(artifact: &PackageArtifact) -> impl Iterator<Item = &PackageItem> {
    let channels = artifact.items(EntityKind::Channel).filter(|channel| channel.is_loaded());
    let own: BTreeSet<&str> =
        channels.filter_map(|channel| channel.document["workflow_id"].as_str()).collect();
    let workflows = artifact.items(EntityKind::Workflow).filter(|workflow| workflow.is_loaded());
    workflows.filter(move |workflow| !own.contains(workflow.key.as_str()))
}

/// Returns a line for each connector that a package requires from elsewhere, that the server has, and that is not in
/// use there.
pub(super) async fn degraded_requirements(
    server: &PackageServer,
    requires: &Boundary,
) -> Result<Vec<String>, PackageError> {
    if requires.connectors.is_empty() {
        return Ok(Vec::new());
    }
    Ok(required(&server.connectors().await?, requires).collect())
}

fn required<'r>(
    connectors: &'r [ConnectorResource],
    requires: &'r Boundary,
) -> impl Iterator<Item = String> + 'r {
    let required = connectors.iter().filter(|row| requires.connectors.contains(&row.name));
    required.filter_map(|row| match row.enabled {
        true => not_loaded(row),
        false => Some(format!("required connector '{}' is disabled", row.name)),
    })
}

fn not_loaded(row: &ConnectorResource) -> Option<String> {
    let has_failed = row.load_status.as_deref() == Some("failed");
    let reason = row.load_error.as_deref().unwrap_or("the server does not say why");
    has_failed.then(|| format!("connector '{}' is not loaded: {reason}", row.name))
}
