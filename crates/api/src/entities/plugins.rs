//! Plugins: task functions in WebAssembly.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_model::Timestamp;
use utoipa::ToSchema;

use crate::names::{lifecycle_status, target_status};

/// A version of a plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Plugin)]
pub struct PluginDetail {
    /// Its id: the name in its manifest.
    pub plugin_id: String,
    /// The number of the version.
    pub version: i64,
    /// Its state.
    #[schema(schema_with = lifecycle_status)]
    pub status: String,
    /// The manifest: the functions and their inputs.
    #[schema(value_type = Object)]
    pub manifest: Value,
    /// The digest of the component.
    pub digest: String,
    /// True if the component came with a signature.
    pub signed: bool,
    /// The state of the component on this node: `compiling`, `ready` or `failed`; absent unless the version is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub load: Option<String>,
    /// The reason for which the component cannot be used on this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub load_error: Option<String>,
    /// Time of its creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of its last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// The latest version of a plugin with its component, as an import takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExportedPlugin {
    /// Its id: the name in its manifest.
    pub plugin_id: String,
    /// The number of the version.
    pub version: i64,
    /// Its state.
    #[schema(schema_with = lifecycle_status)]
    pub status: String,
    /// The manifest: the functions and their inputs.
    #[schema(value_type = Object)]
    pub manifest: Value,
    /// The digest of the component.
    pub digest: String,
    /// The component in base64.
    pub component: String,
    /// The line of its signature; absent if it came without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub signature: Option<String>,
    /// Time of its creation.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Time of its last change.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// The body of the requests that store a draft of a plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginRequest {
    /// The manifest: `abi`, `name`, `version`, `functions` and, if it lowers bounds, `limits`.
    #[schema(value_type = Object)]
    pub manifest: Value,
    /// The component in base64.
    pub component: String,
    /// The line of its signature: base64 of Ed25519 over `sha256:` and the hash of the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The body of the request that activates or archives a plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PluginStatusRequest {
    /// The status to have.
    #[schema(schema_with = target_status)]
    pub status: String,
}
