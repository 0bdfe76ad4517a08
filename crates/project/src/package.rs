//! Packages: a compiled project in one document, with its boundary and the hash of its content.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_engine::Engine;
use svc_model::{EntityKind, FieldError, check_package_name, check_package_version, content_hash};

use crate::boundary::{Boundary, requires_problems};
use crate::checks::Check;
use crate::compile::{IMPORT_ORDER, compile, hashable, package_items};
use crate::content::EntityContent;
use crate::finding::Finding;
use crate::lint::{LintSummary, LintedProject, SetForm, lint};
use crate::plugins::{PLUGINS, PackagedPlugin, read_packaged_plugins};
use crate::project::Project;
use crate::shared::Origin;
use crate::source::SourceFile;
use crate::values::EnvironmentValues;

/// A version in a header that is replaced by one made from the content: the same content has the same version.
pub const CONTENT_VERSION: &str = "content";

/// Number of hexadecimal digits of a version that is made from the content.
const CONTENT_DIGITS: usize = 16;

/// The header of a package to be made.
#[derive(Clone, Debug)]
pub struct PackageHeader {
    pub name: String,
    /// The version, or [`CONTENT_VERSION`].
    pub version: String,
    pub tool_version: String,
    /// The channels and connectors that the package needs from elsewhere.
    pub requires: Boundary,
    /// True if the entities are to be activated unless they say otherwise.
    pub activates: bool,
}

/// Returns the package of a project that lint passed, with its plugins.
pub fn build_package(
    linted: &LintedProject<'_>,
    mut plugins: Vec<PackagedPlugin>,
    header: &PackageHeader,
) -> Value {
    plugins.sort_by(|one, other| one.manifest.name.cmp(&other.manifest.name));
    plugins.iter_mut().for_each(|plugin| plugin.activates = header.activates);
    let compiled = IMPORT_ORDER.map(|kind| (kind, compile(linted, kind)));
    let hash = content_hash(&hashable(&plugins, |kind| {
        let of_kind = compiled.iter().filter(|(other, _)| *other == kind);
        of_kind.flat_map(|(_, documents)| documents.iter().map(|document| document.content)).collect()
    }));
    let requires = header.requires.to_requires();
    let lists = compiled.map(|(kind, documents)| (kind, package_items(&documents, header.activates)));
    let version = match header.version.as_str() {
        CONTENT_VERSION => content_version(&hash, &requires, &lists),
        version => version.to_owned(),
    };
    let mut package = Map::new();
    package.insert(
        "package".to_owned(),
        json!({
            "name": header.name,
            "version": version,
            "content_hash": hash,
            "svc": header.tool_version,
        }),
    );
    package.insert("requires".to_owned(), requires);
    if !plugins.is_empty() {
        package.insert(PLUGINS.to_owned(), plugins.iter().map(PackagedPlugin::to_item).collect());
    }
    package.extend(lists.map(|(kind, items)| (kind.plural().to_owned(), items.into())));
    Value::Object(package)
}

/// Returns the version of a content: of what is hashed, what is activated with which share, and what is required.
fn content_version(hash: &str, requires: &Value, lists: &[(EntityKind, Vec<Value>)]) -> String {
    let intent = |item: &Value| match item.get("rollout") {
        None => json!([item.get("activate"), item.get("rollout_percentage")]),
        steps => json!([item.get("activate"), item.get("rollout_percentage"), steps]),
    };
    let intents: Vec<Vec<Value>> =
        lists.iter().map(|(_, items)| items.iter().map(intent).collect()).collect();
    let digits = content_hash(&json!([hash, requires, intents]));
    let digits = digits.rsplit(':').next().unwrap_or_default();
    digits.chars().take(CONTENT_DIGITS).collect()
}

/// Checks a package: its header, its hash, and its content as a set.
pub fn lint_package(source: &Arc<SourceFile>, engine: &Arc<Engine>) -> (Vec<Finding>, LintSummary) {
    let project = Project::read_package(source);
    let boundary = Boundary::from_requires(source.value.get("requires"));
    let mut linted = lint(&project, engine, &boundary, SetForm::Package);
    let plugins = read_packaged_plugins(&source.value);
    let mut findings = header_findings(source, &linted, plugins);
    findings.append(&mut linted.findings);
    let summary = linted.summary.with(&findings);
    (findings, summary)
}

/// Returns the findings about what a package reads and an environment does not declare.
pub fn check_package_values(
    source: &Arc<SourceFile>,
    engine: &Arc<Engine>,
    values: &EnvironmentValues,
) -> Vec<Finding> {
    let project = Project::read_package(source);
    let mut linted = lint(&project, engine, &Boundary::default(), SetForm::Package);
    linted.findings.clear();
    linted.check_values(engine, values);
    linted.findings
}

/// A rule for a name or a version: the path and the text, and the reason why no server takes it.
type LabelCheck = fn(&str, &str) -> Option<FieldError>;

fn header_findings(
    source: &Arc<SourceFile>,
    linted: &LintedProject<'_>,
    plugins: Result<Vec<PackagedPlugin>, Vec<FieldError>>,
) -> Vec<Finding> {
    let mut header = HeaderCheck { root: Origin::root(Arc::clone(source)), findings: Vec::new() };
    let text = |member: &str| source.value.get("package")?.get(member)?.as_str();
    let labels: [(Check, &str, LabelCheck); 2] = [
        (Check::PackageName, "name", check_package_name),
        (Check::PackageVersion, "version", check_package_version),
    ];
    for (check, member, label_check) in labels {
        let path = format!("package.{member}");
        match text(member).filter(|text| !text.trim().is_empty()) {
            None => header.report(check, &path, "a text that is not blank is required"),
            Some(text) => {
                if let Some(refused) = label_check(&path, text) {
                    header.report(check, &path, &refused.message);
                }
            }
        }
    }
    for (path, problem) in requires_problems(source.value.get("requires")) {
        header.report(Check::PackageRequires, &path, &problem);
    }
    for kind in IMPORT_ORDER {
        if source.value.get(kind.plural()).is_some_and(|items| !items.is_array()) {
            header.report(Check::parse(kind), kind.plural(), "expected an array of import items");
        }
    }
    for problem in plugins.as_ref().err().into_iter().flatten() {
        header.report(Check::PackagePlugin, &problem.path, &problem.message);
    }
    let stored = plugins.ok().and_then(|plugins| stored_hash(linted, &plugins));
    match (text("content_hash"), stored) {
        (None, _) => header.report(Check::PackageContentHash, "package.content_hash", "the hash is missing"),
        (Some(named), Some(stored)) if named != stored => {
            let message = format!("names {named}, and the content has {stored}");
            header.report(Check::PackageContentHash, "package.content_hash", &message);
        }
        _ => {}
    }
    header.findings
}

/// Returns the hash of the content; `None` while an item is refused, as its content is not known then.
fn stored_hash(linted: &LintedProject<'_>, plugins: &[PackagedPlugin]) -> Option<String> {
    if linted.entities.iter().any(|checked| checked.content.is_none()) {
        return None;
    }
    Some(content_hash(&hashable(plugins, |kind| {
        let of_kind = linted.entities.iter().filter(|checked| checked.entity.kind == kind);
        of_kind.filter_map(|checked| checked.content.as_ref()).collect::<Vec<&EntityContent>>()
    })))
}

struct HeaderCheck {
    root: Origin,
    findings: Vec<Finding>,
}

impl HeaderCheck {
    fn report(&mut self, check: Check, path: &str, message: &str) {
        let finding = check.finding("package", format!("{path}: {message}"));
        self.findings.push(Finding { place: self.root.join(path).place(), ..finding });
    }
}
