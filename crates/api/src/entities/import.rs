//! Import of batches.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::entities::validation::ValidationIssue;

/// The header with the signature of the body of an import.
pub const PACKAGE_SIGNATURE_HEADER: &str = "x-svc-package-signature";

/// A batch of create bodies, or the response of an export as it is. Each item is read on its own: one that is refused is
/// reported, and the others go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportBatch(pub Vec<Value>);

impl PartialSchema for ImportBatch {
    fn schema() -> RefOr<Schema> {
        let description = "At most 1000 create bodies. Each is read on its own: one that is refused is reported, and the \
                           others go on. The whole response of an export is accepted as well, and so is the file of a \
                           package, of which the items of the kind are taken.";
        let items = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
        ArrayBuilder::new().items(items).max_items(Some(1000)).description(Some(description)).into()
    }
}

impl ToSchema for ImportBatch {
    fn name() -> Cow<'static, str> {
        "ImportBatch".into()
    }
}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = ImportReport)]
pub struct ImportSummary {
    /// `true` if nothing was written because the request asked for a dry run.
    pub dry_run: bool,
    /// Number of items that were written, or would be.
    pub imported: usize,
    /// Number of items that were refused.
    pub failed: usize,
    /// Number of items whose content is stored already.
    pub unchanged: usize,
    /// Number of items that were left out because their key exists.
    pub skipped: usize,
    /// The refusals.
    pub errors: Vec<ImportFailure>,
    /// The accepted items.
    pub results: Vec<ImportedItem>,
    /// `true` if no item was refused; of a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub valid: Option<bool>,
    /// Problems that do not prevent the import; of a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warnings: Option<Vec<ValidationIssue>>,
}

/// A refused item of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportFailure {
    /// Its place in the batch, from 0.
    pub index: usize,
    /// The reason.
    pub error: String,
    /// The code of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub code: Option<String>,
}

/// An accepted item of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportedItem {
    /// Its place in the batch, from 0.
    pub index: usize,
    /// Its key: the id of a workflow, channel or plugin, the name of a connector.
    #[schema(required = true)]
    pub id: Option<String>,
    /// `created`, `updated_draft`, `updated`, `new_version`, `unchanged` or `skipped`.
    pub action: String,
}
