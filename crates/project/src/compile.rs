//! Compile: the documents of a linted project, as the admin API imports them.

use serde_json::{Map, Value};
use svc_model::EntityKind;

use crate::content::EntityContent;
use crate::lint::{CheckedEntity, LintedProject};
use crate::plugins::{PLUGINS, PackagedPlugin};
use crate::project::AuthoredEntity;

/// The kinds, in the order of an import.
pub const IMPORT_ORDER: [EntityKind; 3] = [EntityKind::Connector, EntityKind::Workflow, EntityKind::Channel];

#[derive(Clone, Debug)]
pub struct CompiledDocument<'p> {
    pub entity: &'p AuthoredEntity,
    /// The content that an import stores.
    pub content: &'p EntityContent,
    pub document: Value,
}

/// Returns the compiled documents of a kind, in the order of their keys: the layout of the files does not
/// show. Entities that lint refused are left out.
pub fn compile<'p>(linted: &'p LintedProject<'p>, kind: EntityKind) -> Vec<CompiledDocument<'p>> {
    let of_kind = linted.entities.iter().filter(|checked| checked.entity.kind == kind);
    let mut compiled: Vec<_> = of_kind.filter_map(compile_entity).collect();
    compiled.sort_by(|one, other| sort_key(one.entity).cmp(&sort_key(other.entity)));
    compiled
}

fn compile_entity<'p>(checked: &'p CheckedEntity<'p>) -> Option<CompiledDocument<'p>> {
    let content = checked.content.as_ref()?;
    let mut document = checked.entity.document.clone();
    // Names a schema relative to the source.
    if let Value::Object(members) = &mut document {
        members.shift_remove("$schema");
    }
    Some(CompiledDocument { entity: checked.entity, content, document })
}

fn sort_key(entity: &AuthoredEntity) -> (&str, &str, &str) {
    (entity.key().unwrap_or_default(), entity.text("name").unwrap_or_default(), &entity.file)
}

/// Returns the compiled documents with their files, which mirror those of the sources: `workflows/a.yaml`
/// becomes `workflows/a.json`.
///
/// # Errors
/// The name of a file that two sources lead to.
pub fn mirrored_files(linted: &LintedProject<'_>) -> Result<Vec<(String, Value)>, String> {
    let mut files: Vec<(String, Value)> = Vec::new();
    for compiled in linted.entities.iter().filter_map(compile_entity) {
        let file = &compiled.entity.file;
        let stem = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem);
        files.push((format!("{stem}.json"), compiled.document));
    }
    files.sort_by(|one, other| one.0.cmp(&other.0));
    match files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(pair[0].0.clone()),
        None => Ok(files),
    }
}

/// Returns the import items of a package: the compiled documents, which are activated unless they say
/// otherwise.
pub(crate) fn package_items(compiled: &[CompiledDocument<'_>], activates: bool) -> Vec<Value> {
    let item = |compiled: &CompiledDocument<'_>| {
        let mut document = compiled.document.clone();
        let is_versioned = compiled.entity.kind != EntityKind::Connector;
        if let Value::Object(members) = &mut document
            && activates
            && is_versioned
        {
            members.entry("activate").or_insert(Value::Bool(true));
        }
        document
    };
    compiled.iter().map(item).collect()
}

/// Returns documents as one JSON text with a line break at its end.
pub fn to_json_text(document: &Value) -> String {
    format!("{document:#}\n")
}

/// Returns the object that the content hash of a package is made over.
pub(crate) fn hashable<'c>(
    plugins: &[PackagedPlugin],
    contents: impl Fn(EntityKind) -> Vec<&'c EntityContent>,
) -> Value {
    let lists = IMPORT_ORDER.into_iter().map(|kind| {
        let projected = contents(kind).into_iter().map(EntityContent::hashable);
        (kind.plural().to_owned(), projected.collect::<Value>())
    });
    Value::Object(lists.chain(hashable_plugins(plugins)).collect::<Map<_, _>>())
}

/// Returns the hashed member of plugins; none for a package without them, which has the hash that it had before there
/// were plugins.
pub(crate) fn hashable_plugins(plugins: &[PackagedPlugin]) -> Option<(String, Value)> {
    let content = || plugins.iter().map(PackagedPlugin::hashable).collect();
    (!plugins.is_empty()).then(|| (PLUGINS.to_owned(), content()))
}
