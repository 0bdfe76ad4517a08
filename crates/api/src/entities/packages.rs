//! Packages: the receipts of what was promoted to a server.

use serde::{Deserialize, Serialize};
use svc_model::{NewReceipt, PackageInventory, PackageReceipt, ReceiptState, Timestamp};
use utoipa::ToSchema;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa::openapi::{RefOr, Schema, Type};

/// The receipt of a package version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Receipt {
    /// The name of the package.
    pub name: String,
    /// The version of the package.
    pub version: String,
    /// The hash of its content.
    pub content_hash: String,
    /// Its progress: `staged` while an apply has begun and not ended, then `applied`.
    #[schema(schema_with = states)]
    pub state: ReceiptState,
    /// The caller that wrote the receipt last.
    pub principal: String,
    /// Time of the first apply.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of the last change; the newest applied receipt is the current version.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// The entities of the package; absent if the apply did not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub inventory: Option<Inventory>,
}

/// The keys of the entities in a package version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Inventory {
    /// Names of connectors.
    pub connectors: Vec<String>,
    /// Ids of workflows.
    pub workflows: Vec<String>,
    /// Ids of channels.
    pub channels: Vec<String>,
    /// Ids of plugins; absent without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub plugins: Vec<String>,
}

/// The body that stores a receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReceiptRequest {
    /// The version of the package: at most 64 letters, digits, `.`, `_`, `-`.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]+$")]
    pub version: String,
    /// The hash of its content, such as `sha256:` and 64 hexadecimal digits.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._-]*:?[A-Za-z0-9._-]*$")]
    pub content_hash: String,
    /// Its progress.
    #[schema(schema_with = states)]
    pub state: ReceiptState,
    /// The entities of the package; a later version finds by them the ones to delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
}

/// A package: its current version, and the receipts of all versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PackageDetail {
    /// The name of the package.
    pub name: String,
    /// The newest applied receipt; `null` if no version was applied.
    #[schema(required = true)]
    pub current: Option<Receipt>,
    /// The receipts, newest first.
    pub versions: Vec<Receipt>,
}

impl PackageDetail {
    /// Creates the response for a package with these receipts, newest first.
    pub fn new(name: &str, versions: Vec<PackageReceipt>) -> Self {
        let current = PackageReceipt::current(&versions).cloned().map(Receipt::from);
        Self { name: name.to_owned(), current, versions: versions.into_iter().map(Receipt::from).collect() }
    }
}

impl From<PackageReceipt> for Receipt {
    fn from(receipt: PackageReceipt) -> Self {
        let PackageReceipt {
            name,
            version,
            content_hash,
            state,
            principal,
            created_at,
            updated_at,
            inventory,
        } = receipt;
        let inventory = inventory.map(Inventory::from);
        Self { name, version, content_hash, state, principal, created_at, updated_at, inventory }
    }
}

impl From<NewReceipt> for ReceiptRequest {
    fn from(receipt: NewReceipt) -> Self {
        let NewReceipt { name: _, version, content_hash, state, inventory } = receipt;
        Self { version, content_hash, state, inventory: inventory.map(Inventory::from) }
    }
}

impl From<PackageInventory> for Inventory {
    fn from(inventory: PackageInventory) -> Self {
        let PackageInventory { connectors, workflows, channels, plugins } = inventory;
        Self { connectors, workflows, channels, plugins }
    }
}

/// Returns the schema of the progress of a package version.
fn states() -> RefOr<Schema> {
    let names = [ReceiptState::Staged, ReceiptState::Applied].map(ReceiptState::name);
    let states = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(names))
        .description(Some("The progress: `staged` while an apply has begun and not ended, then `applied`."));
    states.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_inventory_that_was_not_told_is_absent() {
        let receipt = json!({"name": "orders", "version": "1", "content_hash": "sha256:00", "state": "applied",
            "principal": "anonymous", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"});
        let read: Receipt = serde_json::from_value(receipt.clone()).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), receipt.to_string());
    }
}
