//! The bodies of requests that change plugins.

use actix_web::web::{Data, block};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use svc_model::{Code, FieldError, LifecycleStatus, ServiceError};
use svc_plugins::{PluginManifest, component_digest};
use svc_store::NewPlugin;

use crate::admin::request_body::{read_text, require_known_keys};
use crate::state::AppState;

/// The first bytes of every component: the magic number, and the version and the layer of a component.
const COMPONENT: [u8; 8] = [0x00, b'a', b's', b'm', 0x0d, 0x00, 0x01, 0x00];

/// The members of a plugin that are stored.
const STORED: [&str; 3] = ["manifest", "component", "signature"];
/// The members of an exported plugin, or of one in a package, that an import ignores.
const IGNORED: [&str; 7] =
    ["activate", "plugin_id", "version", "status", "digest", "created_at", "updated_at"];

/// Reads a plugin to be stored, with its id.
///
/// # Errors
/// 400 with all problems of the manifest, or of the component; 403 for a component that is not trusted.
pub(super) async fn read_plugin(
    state: &Data<AppState>,
    body: Value,
) -> Result<(String, NewPlugin), ServiceError> {
    read_blocking(state, body, STORED.to_vec()).await
}

/// Reads an item of an import, as [`read_plugin`] reads a body.
///
/// # Errors
/// Those of [`read_plugin`].
pub(super) async fn read_import_item(
    state: &Data<AppState>,
    item: &Value,
) -> Result<(String, NewPlugin), ServiceError> {
    read_blocking(state, item.clone(), STORED.into_iter().chain(IGNORED).collect()).await
}

/// Reads a plugin on a thread that may block: a component of megabytes is decoded and hashed, and other requests of an
/// HTTP thread would wait meanwhile.
async fn read_blocking(
    state: &Data<AppState>,
    body: Value,
    known: Vec<&'static str>,
) -> Result<(String, NewPlugin), ServiceError> {
    let state = state.clone();
    let read = block(move || read_members(&state, require_known_keys(&body, &known)?)).await;
    read.map_err(ServiceError::internal_error)?
}

fn read_members(state: &AppState, members: &Map<String, Value>) -> Result<(String, NewPlugin), ServiceError> {
    let manifest = members.get("manifest").ok_or_else(|| FieldError::required("body.manifest"))?;
    let manifest = PluginManifest::parse(manifest, "body.manifest").map_err(ServiceError::invalid)?;
    let text = match members.get("component") {
        None => return Err(FieldError::required("body.component").into()),
        Some(Value::String(text)) => text,
        Some(other) => return Err(FieldError::type_mismatch("body.component", "string", other).into()),
    };
    let signature = read_text(members, "signature")?.map(str::to_owned);
    let component = read_component(text, state.config.plugins.max_component_bytes)?;
    let trusted = state.serving.plugins.check_trust(&component, signature.as_deref());
    trusted.map_err(|problem| ServiceError::new(Code::Forbidden, problem))?;
    let new = NewPlugin {
        manifest: manifest.to_json(),
        digest: component_digest(&component),
        component: STANDARD.encode(&component),
        bytes: i64::try_from(component.len()).unwrap_or(i64::MAX),
        signature,
    };
    Ok((manifest.name, new))
}

/// Reads the bytes of a component.
fn read_component(text: &str, limit: u64) -> Result<Vec<u8>, ServiceError> {
    let refuse = |message: String| ServiceError::from(FieldError::invalid("body.component", message));
    let component = STANDARD.decode(text).map_err(|_| refuse("expected standard base64".to_owned()))?;
    if component.len() as u64 > limit {
        let length = component.len();
        return Err(refuse(format!(
            "the component has {length} bytes; at most {limit} (plugins.max_component_bytes)"
        )));
    }
    if !component.starts_with(&COMPONENT) {
        let remedy = "expected a component; `wasm-tools component new` makes one of a module";
        return Err(refuse(remedy.to_owned()));
    }
    Ok(component)
}

/// Reads the status that a plugin is to have.
pub(super) fn read_status(body: &Value) -> Result<LifecycleStatus, ServiceError> {
    let members = require_known_keys(body, &["status"])?;
    let status = members.get("status").ok_or_else(|| FieldError::required("body.status"))?;
    match status.as_str().and_then(LifecycleStatus::parse) {
        Some(status @ (LifecycleStatus::Active | LifecycleStatus::Archived)) => Ok(status),
        _ => {
            Err(FieldError::invalid("body.status", "use active or archived").with_got(status.clone()).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn component_is_base64_of_one() {
        let text = STANDARD.encode(COMPONENT);
        assert_eq!(read_component(&text, 8).unwrap(), COMPONENT);
        let module = STANDARD.encode(b"\0asm\x01\0\0\0");
        for (text, limit) in [(text.as_str(), 7), ("?", 8), ("", 8), (module.as_str(), 8)] {
            assert_eq!(read_component(text, limit).unwrap_err().status(), 400, "{text}");
        }
    }

    #[test]
    fn status_is_active_or_archived() {
        assert_eq!(read_status(&json!({"status": "active"})).unwrap(), LifecycleStatus::Active);
        for body in [json!({}), json!({"status": "draft"}), json!({"status": 1}), json!({"state": "active"})]
        {
            assert_eq!(read_status(&body).unwrap_err().status(), 400, "{body}");
        }
    }
}
