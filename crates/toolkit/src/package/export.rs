//! `package export`: makes a package of channels that a server has stored, with all they need.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde_json::{Map, Value, json};
use svc_model::{EntityKind, Timestamp, check_package_name, check_package_version};
use svc_project::{Boundary, PackagedPlugin, package_of_stored, to_json_text};

use super::error::PackageError;
use super::plugins::plugins_called_by;
use super::remote::PackageServer;
use super::{PackageExportArgs, Streams};
use crate::exit::{self, EXIT_FAILURE, EXIT_OK, EXIT_USAGE};
use crate::output;

/// The definitions of a package, a list for each kind.
type DefinitionLists = [(EntityKind, Vec<Value>); 3];

/// An exported package, and what is questionable about it.
struct ExportedPackage {
    document: Value,
    counts: String,
    warnings: Vec<String>,
}

/// Runs `package export`.
pub(super) fn export(args: &PackageExportArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let labels =
        [check_package_name("--name", &args.name), check_package_version("--version", &args.version)];
    if let Some(refused) = labels.into_iter().flatten().next() {
        writeln!(streams.err, "error: {}: {}; no server takes it otherwise", refused.path, refused.message)?;
        return Ok(EXIT_USAGE);
    }
    let context = format!("package={}@{} export", args.name, args.version);
    let Some(server) = streams.connect(&args.server, &context)? else { return Ok(EXIT_FAILURE) };
    let Some(exported) = streams.run(collect(&server, args))? else { return Ok(EXIT_FAILURE) };
    for warning in &exported.warnings {
        writeln!(streams.err, "warning: {warning}")?;
    }
    let text = to_json_text(&exported.document);
    match output::named_file(args.output.as_deref()) {
        None => streams.out.write_all(text.as_bytes())?,
        Some(file) => {
            if let Err(error) = output::write_file(file, &text) {
                return exit::write_error(&error, streams.err).map(|()| EXIT_FAILURE);
            }
        }
    }
    writeln!(streams.err, "note: exported {}", exported.counts)?;
    Ok(EXIT_OK)
}

async fn collect(server: &PackageServer, args: &PackageExportArgs) -> Result<ExportedPackage, PackageError> {
    let channels = select(server.export(EntityKind::Channel).await?, args)?;
    let mut warnings = Vec::new();
    let stored = by_member(server.export(EntityKind::Workflow).await?, "workflow_id");
    let ids: BTreeSet<String> = channels.iter().filter_map(|row| text(row, "workflow_id")).collect();
    let mut workflows = Vec::with_capacity(ids.len());
    let (mut connectors, mut calls) = (BTreeSet::new(), BTreeSet::new());
    for id in &ids {
        let workflow = stored.get(id).ok_or_else(|| {
            PackageError::Refused(format!("workflow '{id}' of an exported channel does not exist"))
        })?;
        let needs = server.dependencies(id).await?;
        let names = needs["connectors"].as_array().into_iter().flatten();
        connectors.extend(names.filter_map(|used| text(used, "connector")));
        let called = needs["channels"].as_array().into_iter().flatten();
        calls.extend(called.filter_map(Value::as_str).map(str::to_owned));
        if needs["has_dynamic_channel_calls"] == true {
            warnings.push(format!(
                "workflow '{id}' calls channels that an expression names; add those outside of the package to requires.channels"
            ));
        }
        workflows.push(workflow.clone());
    }
    let channel_names: BTreeSet<String> = channels.iter().filter_map(|row| text(row, "name")).collect();
    let stored = by_member(server.export(EntityKind::Connector).await?, "name");
    let (own, missing): (Vec<_>, Vec<_>) = connectors.into_iter().partition(|name| stored.contains_key(name));
    let own: Vec<Value> = own.iter().filter_map(|name| stored.get(name).cloned()).collect();
    let requires = Boundary::new(calls.into_iter().filter(|name| !channel_names.contains(name)), missing);
    let plugins = collect_plugins(server, &workflows, &mut warnings).await?;
    let mut counts =
        format!("{} connector(s), {} workflow(s), {} channel(s)", own.len(), workflows.len(), channels.len());
    if !plugins.is_empty() {
        counts = format!("{} plugin(s), {counts}", plugins.len());
    }
    let lists =
        [(EntityKind::Connector, own), (EntityKind::Workflow, workflows), (EntityKind::Channel, channels)];
    for (kind, documents) in &lists {
        documents.iter().for_each(|document| warnings.extend(questions(*kind, document)));
    }
    Ok(ExportedPackage { document: build(server, args, &requires, lists, &plugins), counts, warnings })
}

/// Returns the plugins that workflows call and the server has.
async fn collect_plugins(
    server: &PackageServer,
    workflows: &[Value],
    warnings: &mut Vec<String>,
) -> Result<Vec<PackagedPlugin>, PackageError> {
    let ids: BTreeSet<String> = workflows.iter().flat_map(plugins_called_by).collect();
    let mut plugins = Vec::new();
    for id in ids {
        let Some(stored) = server.export_plugin(&id).await? else { continue };
        let status = text(&stored, "status").unwrap_or_default();
        if status != "active" {
            warnings.push(format!(
                "plugin '{id}': the exported version is {status}; an apply stores it and does not activate it"
            ));
        }
        let plugin = PackagedPlugin::from_stored(&stored, status == "active").map_err(|problems| {
            let problem = problems.first().map(ToString::to_string).unwrap_or_default();
            PackageError::Refused(format!("plugin '{id}' cannot be exported: {problem}"))
        })?;
        plugins.push(plugin);
    }
    Ok(plugins)
}

/// Returns the channels that the arguments select.
fn select(channels: Vec<Value>, args: &PackageExportArgs) -> Result<Vec<Value>, PackageError> {
    let names = |row: &Value, wanted: &str| row["channel_id"] == wanted || row["name"] == wanted;
    if let Some(unknown) = args.channels.iter().find(|wanted| channels.iter().all(|row| !names(row, wanted)))
    {
        return Err(PackageError::Refused(format!("channel '{unknown}' does not exist")));
    }
    let has_tag = |row: &Value| {
        let tags = row["tags"].as_array().into_iter().flatten();
        args.tag.as_ref().is_some_and(|tag| tags.into_iter().any(|one| one == tag.as_str()))
    };
    let selected: Vec<Value> = channels
        .into_iter()
        .filter(|row| has_tag(row) || args.channels.iter().any(|wanted| names(row, wanted)))
        .collect();
    if selected.is_empty() {
        let tag = args.tag.as_deref().unwrap_or_default();
        return Err(PackageError::Refused(format!("no channel has the tag '{tag}'")));
    }
    Ok(selected)
}

/// Returns what a target would not get as it is here: values that reads mask, drafts, shares of the traffic.
fn questions(kind: EntityKind, document: &Value) -> Vec<String> {
    let key = text(document, super::diff::key_member(kind)).unwrap_or_default();
    let mut questions: Vec<_> = svc_model::check_import_item(kind, document)
        .into_iter()
        .filter(|error| !error.path.ends_with("config_json"))
        .map(|error| {
            format!(
                "{kind} '{key}': {} is masked and cannot be applied; store a reference such as env://NAME instead",
                error.path
            )
        })
        .collect();
    let status = text(document, "status");
    if kind != EntityKind::Connector && status.as_deref() != Some("active") {
        questions.push(format!(
            "{kind} '{key}': the exported version is {}; an apply stores it and does not activate it",
            status.as_deref().unwrap_or_default()
        ));
    }
    if kind == EntityKind::Workflow
        && status.as_deref() == Some("active")
        && document["rollout_percentage"] != 100
    {
        questions.push(format!(
            "{kind} '{key}': the exported version takes {} percent of the traffic here; an apply gives it all",
            document["rollout_percentage"]
        ));
    }
    questions
}

fn build(
    server: &PackageServer,
    args: &PackageExportArgs,
    requires: &Boundary,
    lists: DefinitionLists,
    plugins: &[PackagedPlugin],
) -> Value {
    let (items, hash) = package_of_stored(lists, plugins);
    let mut package = Map::new();
    package.insert(
        "package".to_owned(),
        json!({
            "name": args.name,
            "version": args.version,
            "content_hash": hash,
            "svc": crate::VERSION,
            "exported_from": server.address(),
            "exported_at": Timestamp::now(),
        }),
    );
    package.insert("requires".to_owned(), requires.to_requires());
    package.extend(items);
    Value::Object(package)
}

fn by_member(rows: Vec<Value>, member: &str) -> BTreeMap<String, Value> {
    rows.into_iter().filter_map(|row| Some((text(&row, member)?, row))).collect()
}

fn text(value: &Value, member: &str) -> Option<String> {
    value.get(member)?.as_str().map(str::to_owned)
}
