//! Projects: the entities of a directory or a package, expanded.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use svc_model::EntityKind;

use crate::boundary::{Boundary, requires_problems};
use crate::checks::Check;
use crate::finding::Finding;
use crate::recognize::{DocumentShape, suspect_key};
use crate::shared::{Expansion, ExpansionPass, Origin, SharedDefinitions};
use crate::source::SourceFile;
use crate::statements::reference_paths;
use crate::values::EnvironmentValues;

/// A workflow, connector or channel of a project, expanded.
#[derive(Clone, Debug)]
pub struct AuthoredEntity {
    pub kind: EntityKind,
    /// The name in findings.
    pub label: String,
    /// The file, relative to the project directory.
    pub file: String,
    /// The document, without calls of fragments and references to shared values.
    pub document: Value,
    /// The problems of the expansion, and the authored places of the elements.
    pub expansion: Expansion,
}

impl AuthoredEntity {
    /// Takes the document of a file, as it is.
    fn from_file(kind: EntityKind, source: &Arc<SourceFile>) -> Self {
        let label = label(kind, &source.value, "", Some(&source.name));
        Self::new(kind, label, Origin::root(Arc::clone(source)), &source.value)
    }

    fn new(kind: EntityKind, label: String, root: Origin, document: &Value) -> Self {
        let file = root.source.as_ref().map(|source| source.name.clone()).unwrap_or_default();
        let expansion = Expansion::new(root);
        Self { kind, label, file, document: document.clone(), expansion }
    }

    /// Expands the document.
    #[must_use]
    fn expand(self, shared: &SharedDefinitions) -> Self {
        let Self { kind, label, file, mut document, expansion } = self;
        let root = expansion.origins.root().clone();
        let expansion = shared.expand_entity(kind, &label, root, &mut document);
        Self { kind, label, file, document, expansion }
    }

    /// Returns the value of a top-level field that is a text and not empty.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.document.get(field).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Returns the key that an import finds the entity by: the id, or the name of a connector.
    pub fn key(&self) -> Option<&str> {
        self.text(key_field(self.kind))
    }
}

/// Returns the field that holds the key of an import item.
pub(crate) const fn key_field(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Workflow => "workflow_id",
        EntityKind::Channel => "channel_id",
        EntityKind::Connector => "name",
    }
}

/// Returns `workflow 'orders' (workflows/orders.json)`. An entity without a name is named by its path in the
/// file.
fn label(kind: EntityKind, document: &Value, path: &str, file: Option<&str>) -> String {
    let named = [key_field(kind), "name"].into_iter().find_map(|field| document.get(field)?.as_str());
    let name = match named.filter(|name| !name.trim().is_empty()) {
        Some(name) => format!("{kind} '{name}'"),
        None if path.is_empty() => kind.to_string(),
        None => format!("{kind} {path}"),
    };
    file.map_or_else(|| name.clone(), |file| format!("{name} ({file})"))
}

/// Returns true for a document that names a workflow and an input of it, or what it expects.
fn reads_like_case(document: &Value) -> bool {
    let has = |key: &str| document.get(key).is_some();
    let names_run = ["input", "expect", "expect_errors", "expect_calls", "expect_tasks"].into_iter().any(has);
    names_run && document.get("workflow").is_some_and(Value::is_string)
}

/// Returns the finding about a file that was probably meant to be an entity or shared definitions.
fn unknown_shape(source: &SourceFile) -> Option<Finding> {
    if reads_like_case(&source.value) {
        let message = "workflow: the file reads like a test case, and is run only if its name ends in .case.json, \
                       .case.yaml or .case.yml; rename it";
        let finding = Check::ProjectUnknownShape.finding(source.name.as_str(), message);
        return Some(Finding { place: source.key_place("workflow"), ..finding });
    }
    let (key, known) = suspect_key(&source.value)?;
    let written = key.rsplit('.').next().unwrap_or_default();
    let problem = match (&source.value, written == known) {
        (Value::Array(_), _) => "a file holds one definition, and this one is a list".to_owned(),
        (Value::String(_), _) => {
            "a file holds an object, and this one is one text; write a blank behind the colon of each key".to_owned()
        }
        (_, true) => {
            "only an entity has this key, and none of `tasks`, `connector_type`, `channel_type` and `protocol` is here"
                .to_owned()
        }
        (_, false) => format!("did you mean '{known}'?"),
    };
    let message =
        format!("{key}: the file is left out, it is neither an entity nor shared definitions; {problem}");
    let finding = Check::ProjectUnknownShape.finding(source.name.as_str(), message);
    Some(Finding { place: source.key_place(&key), ..finding })
}

/// The entities and shared definitions of a directory or a package.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// The entities, in the order of their files.
    pub entities: Vec<AuthoredEntity>,
    /// The shared definitions.
    pub shared: SharedDefinitions,
    /// The problems of files and shared definitions.
    pub findings: Vec<Finding>,
    /// The boundary that files of the project state.
    pub requires: Boundary,
    /// The names of the files that have neither an entity nor shared definitions, and look like neither.
    pub skipped: Vec<String>,
}

impl Project {
    /// Reads the files of a directory. They are taken in the order of their names.
    pub fn read(mut sources: Vec<Arc<SourceFile>>) -> Self {
        sources.sort_by(|one, other| one.name.cmp(&other.name));
        let (shared, findings) = SharedDefinitions::collect(&sources);
        let has_refused = sources.iter().any(|source| source.has_refused_statements);
        let mut project = Self { shared, findings, ..Self::default() };
        for source in sources {
            match DocumentShape::recognize(&source.value) {
                DocumentShape::Entity(kind) => {
                    let mut entity = AuthoredEntity::from_file(kind, &source).expand(&project.shared);
                    if has_refused {
                        reference_paths(&entity.document).for_each(|path| entity.expansion.mark_broken(path));
                    }
                    project.entities.push(entity);
                }
                DocumentShape::Shared => {}
                DocumentShape::Requirements => project.read_requirements(&source),
                DocumentShape::Values => {
                    project.findings.extend(EnvironmentValues::read(&source).err().unwrap_or_default());
                }
                DocumentShape::Other => match unknown_shape(&source) {
                    Some(finding) => project.findings.push(finding),
                    None => project.skipped.push(source.name.clone()),
                },
            }
        }
        project
    }

    /// Reads a document with what the project requires from elsewhere.
    fn read_requirements(&mut self, source: &Arc<SourceFile>) {
        let root = Origin::root(Arc::clone(source));
        let stated = source.value.get("requires");
        let mut problems = requires_problems(stated);
        let read = Boundary::from_requires(stated);
        if let (Some(range), Some(other)) = (&read.svc, &self.requires.svc)
            && range != other
        {
            let problem = format!("another file requires '{other}'; keep one of them");
            problems.push(("requires.svc".to_owned(), problem));
        }
        for (path, problem) in problems {
            let finding = Check::PackageRequires.finding(source.name.as_str(), format!("{path}: {problem}"));
            self.findings.push(Finding { place: root.join(&path).place(), ..finding });
        }
        self.requires = std::mem::take(&mut self.requires).union(&read);
    }

    /// Reads one document of a known kind, expanded with definitions from elsewhere if there are any.
    pub fn read_one(kind: EntityKind, source: &Arc<SourceFile>, shared: Option<SharedDefinitions>) -> Self {
        let entity = AuthoredEntity::from_file(kind, source);
        match shared {
            Some(shared) => Self { entities: vec![entity.expand(&shared)], shared, ..Self::default() },
            None => Self { entities: vec![entity], ..Self::default() },
        }
    }

    /// Reads the items of a package, which are compiled.
    pub(crate) fn read_package(source: &Arc<SourceFile>) -> Self {
        let mut project = Self::default();
        for kind in [EntityKind::Connector, EntityKind::Workflow, EntityKind::Channel] {
            let items = source.value.get(kind.plural()).and_then(Value::as_array);
            for (index, item) in items.into_iter().flatten().enumerate() {
                let root = Origin::root(Arc::clone(source)).join(&format!("{}[{index}]", kind.plural()));
                let label = label(kind, item, &root.path, None);
                project.entities.push(AuthoredEntity::new(kind, label, root, item));
            }
        }
        project
    }

    /// Returns the entities of a kind.
    pub fn entities(&self, kind: EntityKind) -> impl Iterator<Item = &AuthoredEntity> {
        self.entities.iter().filter(move |entity| entity.kind == kind)
    }

    /// Returns the number of documents that each pass of the expansion has changed.
    pub fn rewritten_counts(&self) -> BTreeMap<ExpansionPass, usize> {
        let mut counts = BTreeMap::new();
        for pass in self.entities.iter().flat_map(|entity| &entity.expansion.passes) {
            *counts.entry(*pass).or_default() += 1;
        }
        counts
    }
}
