//! Packages as they are carried to a server: the header, and the items with the hash of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_engine::Engine;
use svc_model::gate::CanaryPlan;
use svc_model::{EntityKind, FieldError, PackageInventory, content_hash};

use crate::boundary::{Boundary, requires_problems};
use crate::compile::{IMPORT_ORDER, hashable_plugins};
use crate::lint::{SetForm, lint};
use crate::plugins::{PLUGINS, PackagedPlugin, read_packaged_plugins};
use crate::project::{Project, key_field};
use crate::rules::{import_body, read_rollout, read_share};
use crate::source::SourceFile;

/// The members that are hashed, with the value of an absent one. They are those that the content of an entity has.
const CONNECTOR: &[(&str, Absent)] = &[
    ("name", Absent::Null),
    ("connector_type", Absent::Null),
    ("config", Absent::Object),
    ("enabled", Absent::True),
    ("tags", Absent::Array),
];
const WORKFLOW: &[(&str, Absent)] = &[
    ("name", Absent::Null),
    ("description", Absent::Null),
    ("priority", Absent::Zero),
    ("condition", Absent::True),
    ("tasks", Absent::Array),
    ("tags", Absent::Array),
    ("continue_on_error", Absent::False),
];
const CHANNEL: &[(&str, Absent)] = &[
    ("name", Absent::Null),
    ("description", Absent::Null),
    ("channel_type", Absent::Null),
    ("protocol", Absent::Null),
    ("methods", Absent::Null),
    ("route_pattern", Absent::Null),
    ("topic", Absent::Null),
    ("consumer_group", Absent::Null),
    ("transport_config", Absent::Object),
    ("workflow_id", Absent::Null),
    ("config", Absent::Object),
    ("priority", Absent::Zero),
    ("tags", Absent::Array),
];

/// The stored value of a member that a document leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absent {
    Null,
    Object,
    Array,
    True,
    False,
    Zero,
}

impl Absent {
    fn value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Object => json!({}),
            Self::Array => json!([]),
            Self::True => json!(true),
            Self::False => json!(false),
            Self::Zero => json!(0),
        }
    }
}

/// A package, read to be applied.
#[derive(Clone, Debug)]
pub struct PackageArtifact {
    pub name: String,
    pub version: String,
    pub content_hash: String,
    /// The channels and connectors that the package needs from elsewhere.
    pub requires: Boundary,
    /// The plugins, which are imported first.
    pub plugins: Vec<PackagedPlugin>,
    /// The items, in the order of an import.
    pub items: Vec<PackageItem>,
}

/// An item of a package.
#[derive(Clone, Debug)]
pub struct PackageItem {
    pub kind: EntityKind,
    /// The key by which an import finds the stored entity.
    pub key: String,
    pub document: Value,
    /// The hash that a server shows for the entity once it has this content.
    pub content_hash: String,
    /// True if an apply activates it.
    pub activates: bool,
    /// The share of the traffic that a workflow is activated with, if the package states one.
    pub rollout_percentage: Option<i64>,
    /// The plan by which the share of a workflow rises by itself, if the package has one.
    pub canary: Option<CanaryPlan>,
}

impl PackageItem {
    /// Returns true if a server loads it once it is applied.
    pub fn is_loaded(&self) -> bool {
        match self.kind {
            EntityKind::Connector => self.document.get("enabled") != Some(&Value::Bool(false)),
            EntityKind::Workflow | EntityKind::Channel => self.activates,
        }
    }
}

/// The reason why a file is no package that can be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactError {
    /// A member has the wrong shape.
    #[error("{path}: {problem}")]
    Shape {
        /// The place.
        path: String,
        /// The problem and the remedy.
        problem: String,
    },
    /// The content is not the one that the header names.
    #[error(
        "package.content_hash names {named}, and the content has {actual}: the package was changed after it was made; make it again"
    )]
    Hash {
        /// The hash of the header.
        named: String,
        /// The hash of the content.
        actual: String,
    },
}

impl PackageArtifact {
    /// Reads a package and checks its header and its hash. `make_engine` makes an engine that knows the functions of
    /// the plugins in the package.
    ///
    /// # Errors
    /// [`ArtifactError`] for the first problem.
    pub fn read(
        source: &Arc<SourceFile>,
        make_engine: impl FnOnce(&[PackagedPlugin]) -> Arc<Engine>,
    ) -> Result<Self, ArtifactError> {
        let document = &source.value;
        let header = |member: &str| {
            let text = document.get("package").and_then(|header| header.get(member)?.as_str());
            text.filter(|text| !text.trim().is_empty())
                .map(str::to_owned)
                .ok_or_else(|| shape(format!("package.{member}"), "a text that is not blank is required"))
        };
        let (name, version, named) = (header("name")?, header("version")?, header("content_hash")?);
        let stated = document.get("requires");
        // A range that cannot be read must not count as none; other members may be of a later version.
        let is_range = |(path, _): &(String, String)| path == "requires.svc";
        if let Some((path, problem)) = requires_problems(stated).into_iter().find(is_range) {
            return Err(shape(path, &problem));
        }
        let requires = Boundary::from_requires(stated);
        let plugins = read_packaged_plugins(document).map_err(|problems| first_problem(&problems))?;
        let project = Project::read_package(source);
        // A document that the validators accept is hashed as it will be stored.
        let engine = make_engine(&plugins);
        let linted = lint(&project, &engine, &requires, SetForm::Package);
        let mut hashable: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        let mut items = Vec::with_capacity(linted.entities.len());
        for kind in IMPORT_ORDER {
            if document.get(kind.plural()).is_some_and(|list| !list.is_array()) {
                return Err(shape(kind.plural().to_owned(), "expected an array of import items"));
            }
            let projected = hashable.entry(kind.plural()).or_default();
            let of_kind = linted.entities.iter().filter(|checked| checked.entity.kind == kind);
            for (index, checked) in of_kind.enumerate() {
                let content = checked.content.as_ref();
                let content =
                    content.map_or_else(|| project_item(kind, &checked.entity.document), |c| c.hashable());
                items.push(read_item(kind, index, &checked.entity.document, content_hash(&content))?);
                projected.push(content);
            }
        }
        if !plugins.is_empty() {
            hashable.insert(PLUGINS, plugins.iter().map(PackagedPlugin::hashable).collect());
        }
        let actual = content_hash(&json!(hashable));
        if actual != named {
            return Err(ArtifactError::Hash { named, actual });
        }
        Ok(Self { name, version, content_hash: named, requires, plugins, items })
    }

    /// Returns the items of a kind.
    pub fn items(&self, kind: EntityKind) -> impl Iterator<Item = &PackageItem> {
        self.items.iter().filter(move |item| item.kind == kind)
    }

    /// Returns true if the package holds this entity.
    pub fn holds(&self, kind: EntityKind, key: &str) -> bool {
        self.items(kind).any(|item| item.key == key)
    }

    /// Returns the keys of the items.
    pub fn inventory(&self) -> PackageInventory {
        let keys = |kind| self.items(kind).map(|item| item.key.clone()).collect();
        PackageInventory {
            connectors: keys(EntityKind::Connector),
            workflows: keys(EntityKind::Workflow),
            channels: keys(EntityKind::Channel),
            plugins: self.plugins.iter().map(|plugin| plugin.manifest.name.clone()).collect(),
        }
    }

    /// Returns true if the package holds the plugin of this id.
    pub fn holds_plugin(&self, id: &str) -> bool {
        self.plugins.iter().any(|plugin| plugin.manifest.name == id)
    }

    /// Returns the places at which the items hold the mask of a read instead of a value.
    pub fn masked_values(&self) -> Vec<(&PackageItem, FieldError)> {
        let masked = |item: &PackageItem| import_body(item.kind, &item.document).err().unwrap_or_default();
        self.items.iter().flat_map(|item| masked(item).into_iter().map(move |error| (item, error))).collect()
    }
}

/// Returns the hashed part of a document as a server shows it or an author wrote it.
pub fn project_item(kind: EntityKind, document: &Value) -> Value {
    let members = match kind {
        EntityKind::Connector => CONNECTOR,
        EntityKind::Workflow => WORKFLOW,
        EntityKind::Channel => CHANNEL,
    };
    let value = |name: &str, absent: Absent| match document.get(name) {
        None | Some(Value::Null) => absent.value(),
        Some(value) => value.clone(),
    };
    let mut projected: Map<String, Value> =
        members.iter().map(|(name, absent)| ((*name).to_owned(), value(name, *absent))).collect();
    if let (EntityKind::Workflow, Some(block)) = (kind, document.get("loop").filter(|block| !block.is_null()))
    {
        projected.insert("loop".to_owned(), block.clone());
    }
    Value::Object(projected)
}

/// Returns a package of documents and plugins that a server shows, each list in the order of its keys, and the hash of
/// its content.
pub fn package_of_stored(
    mut lists: [(EntityKind, Vec<Value>); 3],
    plugins: &[PackagedPlugin],
) -> (Map<String, Value>, String) {
    let (mut package, mut hashable) = (Map::new(), Map::new());
    if let Some((member, content)) = hashable_plugins(plugins) {
        package.insert(member.clone(), plugins.iter().map(PackagedPlugin::to_item).collect());
        hashable.insert(member, content);
    }
    for (kind, documents) in &mut lists {
        documents.sort_by(|one, other| key(*kind, one).cmp(&key(*kind, other)));
        let projected: Value = documents.iter().map(|document| project_item(*kind, document)).collect();
        hashable.insert(kind.plural().to_owned(), projected);
        let items = documents.iter().map(|document| to_import_item(*kind, document));
        package.insert(kind.plural().to_owned(), items.collect());
    }
    let hash = content_hash(&Value::Object(hashable));
    (package, hash)
}

/// Returns the import item of a stored document: its key, its content, and the intent to activate what is active.
fn to_import_item(kind: EntityKind, document: &Value) -> Value {
    let mut item = Map::new();
    if kind != EntityKind::Connector {
        item.insert(key_field(kind).to_owned(), document.get(key_field(kind)).cloned().unwrap_or_default());
    }
    if let Value::Object(content) = project_item(kind, document) {
        item.extend(content);
    }
    if kind != EntityKind::Connector && document.get("status").is_some_and(|status| status == "active") {
        item.insert("activate".to_owned(), Value::Bool(true));
    }
    Value::Object(item)
}

fn key(kind: EntityKind, document: &Value) -> Option<&str> {
    document.get(key_field(kind)).and_then(Value::as_str)
}

fn read_item(
    kind: EntityKind,
    index: usize,
    document: &Value,
    content_hash: String,
) -> Result<PackageItem, ArtifactError> {
    let path = |member: &str| format!("{}[{index}].{member}", kind.plural());
    let key = key(kind, document).filter(|key| !key.is_empty());
    let key =
        key.ok_or_else(|| shape(path(key_field(kind)), "is required: a package is promoted by its keys"))?;
    let activates = match document.get("activate") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(activates)) => *activates,
        Some(_) => return Err(shape(path("activate"), "expected true or false")),
    };
    let refused = |error: FieldError| {
        let place = error.path.trim_start_matches("body.");
        shape(path(place), &error.message)
    };
    let rollout_percentage = read_share(document).map_err(refused)?;
    let canary = read_rollout(kind, document, rollout_percentage);
    let canary = canary.map_err(|errors| match errors.into_iter().next() {
        Some(error) => refused(error),
        None => shape(path("rollout"), "no plan of a rollout"),
    })?;
    let first_percentage = canary.as_ref().map(CanaryPlan::first_percentage);
    Ok(PackageItem {
        kind,
        key: key.to_owned(),
        document: document.clone(),
        content_hash,
        activates,
        rollout_percentage: first_percentage.or(rollout_percentage),
        canary,
    })
}

/// Returns the refusal for the first of some problems.
fn first_problem(problems: &[FieldError]) -> ArtifactError {
    match problems.first() {
        Some(first) => shape(first.path.clone(), &first.message),
        None => shape(PLUGINS.to_owned(), "cannot be read"),
    }
}

fn shape(path: String, problem: &str) -> ArtifactError {
    ArtifactError::Shape { path, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use svc_model::{Connector, ConnectorContent};

    use super::*;

    #[test]
    fn stored_document_is_hashed_as_its_server_hashes_it() {
        let content = ConnectorContent {
            name: "api".into(),
            connector_type: "http".into(),
            config: json!({"url": "https://example.com"}),
            enabled: true,
            tags: vec!["a".into()],
        };
        let now = svc_model::Timestamp::now();
        let stored = Connector { id: "1".into(), content, created_at: now, updated_at: now };
        assert_eq!(
            content_hash(&project_item(EntityKind::Connector, &stored.to_json())),
            stored.content.content_hash()
        );
    }

    #[test]
    fn absent_members_count_as_their_defaults() {
        let bare = json!({"name": "w", "tasks": [], "loop": null});
        let full = json!({"name": "w", "description": null, "priority": 0, "condition": true, "tasks": [], "tags": [],
            "continue_on_error": false});
        assert_eq!(project_item(EntityKind::Workflow, &bare), full);
    }

    #[test]
    fn exported_items_lose_read_only_fields() {
        let workflow = |id: &str, status: &str| {
            json!({"workflow_id": id, "name": id, "tasks": [], "status": status,
            "version": 3, "content_hash": "sha256:00"})
        };
        let lists = [
            (EntityKind::Connector, vec![]),
            (EntityKind::Workflow, vec![workflow("b", "draft"), workflow("a", "active")]),
            (EntityKind::Channel, vec![]),
        ];
        let (package, hash) = package_of_stored(lists, &[]);
        let items = package["workflows"].as_array().unwrap();
        assert_eq!((&items[0]["workflow_id"], &items[0]["activate"]), (&json!("a"), &json!(true)));
        assert!(items[1].get("activate").is_none() && items[1].get("version").is_none());
        assert!(hash.starts_with("sha256:"));
    }
}
