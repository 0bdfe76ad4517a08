//! Pruning: the deletion of what earlier versions of a package had and this one does not.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use serde::Serialize;
use svc_api::{Inventory, PackageDetail, Receipt};
use svc_model::{EntityKind, ReceiptState};
use svc_project::PackageArtifact;

use super::diff::key_member;
use super::error::PackageError;
use super::plugins::PartKind;
use super::remote::PackageServer;

/// The kinds in the order of a deletion: an entity goes before those it needs.
const DELETION_ORDER: [PartKind; 4] = [
    PartKind::Entity(EntityKind::Channel),
    PartKind::Entity(EntityKind::Workflow),
    PartKind::Entity(EntityKind::Connector),
    PartKind::Plugin,
];

/// An entity that a prune deletes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct StaleEntity {
    pub(super) kind: PartKind,
    pub(super) key: String,
    /// The id, by which it is deleted.
    #[serde(skip)]
    pub(super) id: String,
}

impl fmt::Display for StaleEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.kind, self.key)
    }
}

/// Finds the stored entities that earlier versions of the package brought, that this version does not hold, and that no
/// other package holds.
pub(super) async fn find_stale(
    server: &PackageServer,
    artifact: &PackageArtifact,
    detail: Option<&PackageDetail>,
) -> Result<Vec<StaleEntity>, PackageError> {
    let earlier = detail.map(|detail| detail.versions.as_slice()).unwrap_or_default();
    let claimed = claims_of_others(&server.packages().await?, &artifact.name);
    let mut stale = Vec::new();
    for part in DELETION_ORDER {
        let keys = stale_keys(part, artifact, earlier, &claimed);
        if keys.is_empty() {
            continue;
        }
        let PartKind::Entity(kind) = part else {
            stale.extend(stored_plugins(server, keys).await?);
            continue;
        };
        let stored = server.export(kind).await?;
        let id_member = if kind == EntityKind::Connector { "id" } else { key_member(kind) };
        let ids: HashMap<&str, &str> = stored
            .iter()
            .filter_map(|row| Some((row[key_member(kind)].as_str()?, row[id_member].as_str()?)))
            .collect();
        stale.extend(keys.into_iter().filter_map(|key| {
            let id = (*ids.get(key.as_str())?).to_owned();
            Some(StaleEntity { kind: part, key, id })
        }));
    }
    Ok(stale)
}

/// Returns the plugins of these ids that a server has.
async fn stored_plugins(
    server: &PackageServer,
    ids: BTreeSet<String>,
) -> Result<Vec<StaleEntity>, PackageError> {
    let mut stored = Vec::new();
    for id in ids {
        if !server.plugin_versions(&id).await?.is_empty() {
            stored.push(StaleEntity { kind: PartKind::Plugin, key: id.clone(), id });
        }
    }
    Ok(stored)
}

/// Deletes what a prune found, and returns the entities that are still needed, each with the reason.
pub(super) async fn delete_stale(
    server: &PackageServer,
    stale: &[StaleEntity],
) -> Result<Vec<(StaleEntity, String)>, PackageError> {
    let mut retained = Vec::new();
    for entity in stale {
        let deleted = match entity.kind {
            PartKind::Entity(kind) => server.delete(kind, &entity.id).await,
            PartKind::Plugin => server.delete_plugin(&entity.id).await,
        };
        match deleted {
            Ok(_) => {}
            Err(error) if error.status() == Some(409) => retained.push((entity.clone(), error.to_string())),
            Err(error) => {
                return Err(PackageError::step(format!("{entity} was not deleted"))(error));
            }
        }
    }
    Ok(retained)
}

/// The keys that the current versions, and the unfinished ones, of other packages hold.
type Claims = BTreeSet<(&'static str, String)>;

fn claims_of_others(receipts: &[Receipt], name: &str) -> Claims {
    let mut claims = Claims::new();
    let mut current: Option<&str> = None;
    // Receipts come by name, newest first: the first applied one of a name is the current version.
    for receipt in receipts.iter().filter(|receipt| receipt.name != name) {
        let is_former = receipt.state == ReceiptState::Applied && current == Some(receipt.name.as_str());
        if is_former {
            continue;
        }
        if receipt.state == ReceiptState::Applied {
            current = Some(&receipt.name);
        }
        for kind in DELETION_ORDER {
            let keys = receipt.inventory.iter().flat_map(|inventory| keys_of(inventory, kind));
            claims.extend(keys.map(|key| (kind.plural(), key.clone())));
        }
    }
    claims
}

fn stale_keys(
    kind: PartKind,
    artifact: &PackageArtifact,
    earlier: &[Receipt],
    claimed: &Claims,
) -> BTreeSet<String> {
    let brought = earlier.iter().filter_map(|receipt| receipt.inventory.as_ref());
    brought
        .flat_map(|inventory| keys_of(inventory, kind))
        .filter(|key| !holds(artifact, kind, key) && !claimed.contains(&(kind.plural(), (*key).clone())))
        .cloned()
        .collect()
}

fn holds(artifact: &PackageArtifact, kind: PartKind, key: &str) -> bool {
    match kind {
        PartKind::Entity(kind) => artifact.holds(kind, key),
        PartKind::Plugin => artifact.holds_plugin(key),
    }
}

fn keys_of(inventory: &Inventory, kind: PartKind) -> &[String] {
    match kind {
        PartKind::Entity(EntityKind::Connector) => &inventory.connectors,
        PartKind::Entity(EntityKind::Workflow) => &inventory.workflows,
        PartKind::Entity(EntityKind::Channel) => &inventory.channels,
        PartKind::Plugin => &inventory.plugins,
    }
}

#[cfg(test)]
mod tests {
    use svc_model::Timestamp;
    use svc_project::Boundary;

    use super::*;

    fn receipt(name: &str, version: &str, state: ReceiptState, workflows: &[&str]) -> Receipt {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        Receipt {
            name: name.into(),
            version: version.into(),
            content_hash: "a".into(),
            state,
            principal: "anonymous".into(),
            created_at: now,
            updated_at: now,
            inventory: Some(Inventory {
                workflows: workflows.iter().map(|id| (*id).to_owned()).collect(),
                ..Inventory::default()
            }),
        }
    }

    #[test]
    fn entity_in_no_package_any_more_is_stale() {
        use ReceiptState::{Applied, Staged};
        let artifact = PackageArtifact {
            name: "orders".into(),
            version: "2".into(),
            content_hash: "b".into(),
            requires: Boundary::default(),
            plugins: Vec::new(),
            items: Vec::new(),
        };
        let receipts = [
            receipt("billing", "3", Staged, &["unfinished"]),
            receipt("billing", "2", Applied, &["shared"]),
            receipt("billing", "1", Applied, &["former"]),
            receipt("orders", "1", Applied, &["own", "shared", "unfinished", "former"]),
        ];
        let claimed = claims_of_others(&receipts, "orders");
        let stale = stale_keys(PartKind::Entity(EntityKind::Workflow), &artifact, &receipts[3..], &claimed);
        assert_eq!(stale.into_iter().collect::<Vec<_>>(), ["former", "own"]);
    }
}
