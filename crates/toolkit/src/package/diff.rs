//! `package diff`: compares the items of a package with what a server has stored.

use std::collections::HashMap;
use std::io;

use serde::Serialize;
use serde_json::Value;
use svc_model::EntityKind;
use svc_project::{IMPORT_ORDER, PackageArtifact};

use super::error::PackageError;
use super::plugins::{PartKind, stored_status};
use super::remote::PackageServer;
use super::{PackageDiffArgs, PackageFormat, Streams};
use crate::exit::{EXIT_FAILURE, EXIT_OK};

/// The relation of an item to the stored entity of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Drift {
    /// The contents are equal.
    Unchanged,
    /// The contents differ.
    Changed,
    /// The server has no such entity.
    Missing,
}

impl Drift {
    const fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Missing => "missing",
        }
    }
}

/// An item and its relation to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ItemDrift {
    pub(super) kind: PartKind,
    pub(super) key: String,
    /// The relation.
    pub(super) drift: Drift,
    /// The status of the stored entity; `None` for a connector and for a missing entity.
    #[serde(skip)]
    pub(super) status: Option<String>,
}

#[derive(Serialize)]
struct DiffReport<'r> {
    package: &'r str,
    version: &'r str,
    server: &'r str,
    drifted: bool,
    items: &'r [ItemDrift],
}

/// Runs `package diff`; exit 1 if an item differs or is missing.
pub(super) fn diff(args: &PackageDiffArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(artifact) = streams.read_artifact(&args.file)? else { return Ok(EXIT_FAILURE) };
    let context = format!("package={}@{} diff", artifact.name, artifact.version);
    let Some(server) = streams.connect(&args.remote.server, &context)? else { return Ok(EXIT_FAILURE) };
    let Some(items) = streams.run(compare(&server, &artifact))? else { return Ok(EXIT_FAILURE) };
    let drifted = items.iter().any(|item| item.drift != Drift::Unchanged);
    match args.remote.format {
        PackageFormat::Json => streams.write_json(&DiffReport {
            package: &artifact.name,
            version: &artifact.version,
            server: server.address(),
            drifted,
            items: &items,
        })?,
        PackageFormat::Text => {
            for item in &items {
                writeln!(streams.out, "{:<9} {} '{}'", item.drift.name(), item.kind, item.key)?;
            }
        }
    }
    Ok(if drifted { EXIT_FAILURE } else { EXIT_OK })
}

/// Compares every plugin, and then every item, with the latest stored version of it.
async fn compare(server: &PackageServer, artifact: &PackageArtifact) -> Result<Vec<ItemDrift>, PackageError> {
    let mut drifts = compare_plugins(server, artifact).await?;
    for kind in IMPORT_ORDER {
        if artifact.items(kind).next().is_none() {
            continue;
        }
        let stored = server.export(kind).await?;
        let by_key: HashMap<&str, &Value> =
            stored.iter().filter_map(|row| Some((row[key_member(kind)].as_str()?, row))).collect();
        drifts.extend(artifact.items(kind).map(|item| {
            let row = by_key.get(item.key.as_str());
            let drift = match row {
                None => Drift::Missing,
                Some(row) if row["content_hash"] == item.content_hash.as_str() => Drift::Unchanged,
                Some(_) => Drift::Changed,
            };
            let status = row.and_then(|row| row["status"].as_str()).map(str::to_owned);
            ItemDrift { kind: PartKind::Entity(kind), key: item.key.clone(), drift, status }
        }));
    }
    Ok(drifts)
}

/// Compares every plugin with the latest stored version of it.
async fn compare_plugins(
    server: &PackageServer,
    artifact: &PackageArtifact,
) -> Result<Vec<ItemDrift>, PackageError> {
    let mut drifts = Vec::with_capacity(artifact.plugins.len());
    for plugin in &artifact.plugins {
        let versions = server.plugin_versions(&plugin.manifest.name).await?;
        let drift = match (versions.is_empty(), stored_status(&versions, plugin)) {
            (true, _) => Drift::Missing,
            (false, Some(_)) => Drift::Unchanged,
            (false, None) => Drift::Changed,
        };
        let status = versions.into_iter().next().map(|latest| latest.status);
        drifts.push(ItemDrift { kind: PartKind::Plugin, key: plugin.manifest.name.clone(), drift, status });
    }
    Ok(drifts)
}

/// Returns a name for each item that the server does not hold, or does not serve, as the package says.
pub(super) async fn find_changed(
    server: &PackageServer,
    artifact: &PackageArtifact,
) -> Result<Vec<String>, PackageError> {
    let items = compare(server, artifact).await?;
    let plugins = artifact.plugins.iter().map(|plugin| plugin.activates);
    let activates = plugins.chain(artifact.items.iter().map(|item| item.activates));
    let changed = items.iter().zip(activates).filter(|(drift, activates)| {
        let is_inactive = drift.status.as_deref().is_some_and(|status| status != "active");
        drift.drift != Drift::Unchanged || (*activates && is_inactive)
    });
    Ok(changed.map(|(drift, _)| format!("{} '{}'", drift.kind, drift.key)).collect())
}

/// Returns the member of a stored document that holds the key of an import.
pub(super) const fn key_member(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Workflow => "workflow_id",
        EntityKind::Channel => "channel_id",
        EntityKind::Connector => "name",
    }
}
