//! Plugins in packages: the manifest and the component of each, in one item.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use svc_model::{FieldError, content_hash, unknown_keys};
use svc_plugins::{PluginManifest, component_digest};

use super::folder::PluginFolder;

/// The member of a package with its plugins.
pub(crate) const PLUGINS: &str = "plugins";

/// The members of an item.
const MEMBERS: [&str; 4] = ["manifest", "component", "signature", "activate"];

/// A plugin of a package.
#[derive(Clone, PartialEq)]
pub struct PackagedPlugin {
    /// The manifest, as the package states it.
    pub document: Value,
    /// The manifest, read.
    pub manifest: PluginManifest,
    /// The bytes of the component.
    pub component: Arc<[u8]>,
    /// The digest of the component.
    pub digest: String,
    /// The line of the signature of the component.
    pub signature: Option<String>,
    /// True if an apply activates it.
    pub activates: bool,
}

/// Shows no component, which has megabytes.
impl fmt::Debug for PackagedPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackagedPlugin")
            .field("name", &self.manifest.name)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl PackagedPlugin {
    /// Reads a built plugin of a project.
    ///
    /// # Errors
    /// The reason why it cannot be in a package, in one line.
    pub fn from_folder(folder: &PluginFolder) -> Result<Self, String> {
        let component = folder.read_component()?;
        let signature = folder.read_signature()?;
        let document = folder.manifest.to_json();
        let manifest = PluginManifest { component: None, ..folder.manifest.clone() };
        let digest = component_digest(&component);
        Ok(Self { document, manifest, component: component.into(), digest, signature, activates: true })
    }

    /// Reads an item of a package; `at` is its path in the paths of the problems.
    ///
    /// # Errors
    /// All problems, each with its path.
    pub fn read(item: &Value, at: &str) -> Result<Self, Vec<FieldError>> {
        let Value::Object(members) = item else {
            return Err(vec![FieldError::type_mismatch(at, "object", item)]);
        };
        let path = |member: &str| format!("{at}.{member}");
        let mut problems = unknown_keys(members, at, &MEMBERS, &[]);
        let document = members.get("manifest").cloned().unwrap_or_default();
        let manifest = match document.is_null() {
            true => Err(vec![FieldError::required(path("manifest"))]),
            false => PluginManifest::parse(&document, &path("manifest")),
        };
        let manifest = manifest.map(|manifest| PluginManifest { component: None, ..manifest });
        let manifest = manifest.map_err(|found| problems.extend(found)).ok();
        let component =
            read_component(members, &path("component")).map_err(|found| problems.push(found)).ok();
        let signature = match members.get("signature") {
            None | Some(Value::Null) => None,
            Some(Value::String(line)) => Some(line.clone()),
            Some(other) => {
                problems.push(FieldError::type_mismatch(path("signature"), "string", other));
                None
            }
        };
        let activates = match members.get("activate") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(activates)) => *activates,
            Some(other) => {
                problems.push(FieldError::type_mismatch(path("activate"), "boolean", other));
                false
            }
        };
        match (manifest, component) {
            (Some(manifest), Some(component)) if problems.is_empty() => {
                let digest = component_digest(&component);
                let component = component.into();
                Ok(Self { document, manifest, component, digest, signature, activates })
            }
            _ => Err(problems),
        }
    }

    /// Reads a stored version, as a server exports it; `activates` is its state.
    ///
    /// # Errors
    /// All problems, each with its path.
    pub fn from_stored(stored: &Value, activates: bool) -> Result<Self, Vec<FieldError>> {
        let member = |name: &str| stored.get(name).cloned().unwrap_or_default();
        let item = json!({
            "manifest": member("manifest"),
            "component": member("component"),
            "signature": member("signature"),
            "activate": activates,
        });
        Self::read(&item, "plugin")
    }

    /// Returns the item of a package, which an import takes.
    pub fn to_item(&self) -> Value {
        let mut item = json!({"manifest": self.document, "component": STANDARD.encode(&self.component)});
        if let Some(signature) = &self.signature {
            item["signature"] = signature.as_str().into();
        }
        if self.activates {
            item["activate"] = true.into();
        }
        item
    }

    pub fn content_hash(&self) -> String {
        content_hash(&self.hashable())
    }

    /// Returns the part that the hash of a package is made over: with the digest in the place of the component.
    pub(crate) fn hashable(&self) -> Value {
        let mut content = json!({"manifest": self.document, "digest": self.digest});
        if let Some(signature) = &self.signature {
            content["signature"] = signature.as_str().into();
        }
        content
    }

    /// Returns true if a stored version has this manifest and this component.
    pub fn is_stored_as(&self, manifest: &Value, digest: &str) -> bool {
        // Another version of the service may write a manifest in other words.
        self.digest == digest
            && (self.document == *manifest
                || PluginManifest::parse(manifest, "manifest").is_ok_and(|stored| stored == self.manifest))
    }
}

/// Reads the plugins of a package; none if it has no such member.
///
/// # Errors
/// All problems, each with its path in the package.
pub fn read_packaged_plugins(package: &Value) -> Result<Vec<PackagedPlugin>, Vec<FieldError>> {
    let items = match package.get(PLUGINS) {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(vec![FieldError::type_mismatch(PLUGINS, "array", other)]),
    };
    let (mut plugins, mut problems) = (Vec::<PackagedPlugin>::with_capacity(items.len()), Vec::new());
    for (index, item) in items.iter().enumerate() {
        let at = format!("{PLUGINS}[{index}]");
        match PackagedPlugin::read(item, &at) {
            Ok(plugin) if plugins.iter().any(|other| other.manifest.name == plugin.manifest.name) => {
                let message = "an earlier plugin of the package has this name; remove one of the two";
                let problem = FieldError::invalid(format!("{at}.manifest.name"), message);
                problems.push(problem.with_got(plugin.manifest.name));
            }
            Ok(plugin) => plugins.push(plugin),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(plugins) } else { Err(problems) }
}

fn read_component(members: &Map<String, Value>, path: &str) -> Result<Vec<u8>, FieldError> {
    match members.get("component") {
        None => Err(FieldError::required(path)),
        Some(Value::String(text)) => {
            STANDARD.decode(text).map_err(|_| FieldError::invalid(path, "expected standard base64"))
        }
        Some(other) => Err(FieldError::type_mismatch(path, "string", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(name: &str) -> Value {
        let functions = json!([{"name": "vat", "description": "Adds the value-added tax"}]);
        let manifest =
            json!({"abi": "svc:plugin@1.0.0", "name": name, "version": "1.0.0", "functions": functions});
        json!({"manifest": manifest, "component": "d2FzbQ==", "activate": true})
    }

    #[test]
    fn item_is_read_and_written_alike() {
        let mut stated = item("tax");
        stated["signature"] = json!("c2ln");
        let plugin = PackagedPlugin::read(&stated, "plugins[0]").unwrap();
        assert_eq!((&*plugin.component, plugin.activates), (b"wasm".as_slice(), true));
        assert_eq!(plugin.digest, component_digest(b"wasm"));
        assert_eq!(plugin.to_item(), stated);
        assert!(plugin.is_stored_as(&plugin.manifest.to_json(), &plugin.digest));
        assert!(!plugin.is_stored_as(&plugin.manifest.to_json(), "sha256:00"));
        assert!(!plugin.is_stored_as(&json!({"name": "tax"}), &plugin.digest));
    }

    #[test]
    fn problems_of_plugins_have_paths() {
        let paths = |package: Value| {
            let problems = read_packaged_plugins(&package).unwrap_err();
            problems.into_iter().map(|problem| problem.path).collect::<Vec<_>>()
        };
        assert_eq!(read_packaged_plugins(&json!({})), Ok(Vec::new()));
        assert_eq!(paths(json!({"plugins": {}})), ["plugins"]);
        assert_eq!(paths(json!({"plugins": [item("tax"), item("tax")]})), ["plugins[1].manifest.name"]);
        let mut faulty = item("tax");
        faulty["component"] = json!("?");
        faulty["activates"] = json!(1);
        assert_eq!(
            paths(json!({"plugins": [faulty, 1]})),
            ["plugins[0].activates", "plugins[0].component", "plugins[1]"]
        );
        assert_eq!(paths(json!({"plugins": [{}]})), ["plugins[0].manifest", "plugins[0].component"]);
    }
}
