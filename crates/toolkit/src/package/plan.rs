//! `package plan`: what an apply would do, and what prevents it. Nothing is written.

mod moves;

use std::collections::HashMap;
use std::io;

use serde::Serialize;
use serde_json::Value;
use svc_api::{DefinitionImpact, ImportFailure, ValidationIssue};
use svc_model::{Code, EntityKind, FieldCode};
use svc_project::{IMPORT_ORDER, PackageArtifact, PackageItem};

use self::moves::{ChannelMove, ChannelMoves, MovedClaim, describe_circles};
use super::degradation::{degraded_requirements, failed_plugins};
use super::error::PackageError;
use super::impact::{find_impacts, write_impact};
use super::plugins::{PartKind, PluginTrial};
use super::prune::{StaleEntity, find_stale};
use super::remote::PackageServer;
use super::state::PackageState;
use super::{PackageFormat, PlanArgs, Streams, progress};
use crate::exit::{EXIT_FAILURE, EXIT_OK};
use crate::plugins::package_engine;

/// Action of an import that an item would be refused by.
const REFUSED: &str = "refused";
/// Action of an import of what is not stored yet.
const CREATED: &str = "created";
/// Action of an import of what is stored with other content.
const NEW_VERSION: &str = "new_version";
/// Actions of an import that leave the stored entity as it is.
const UNCHANGED: &str = "unchanged";

/// The step that an apply would take for an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct PlannedItem {
    kind: PartKind,
    key: String,
    /// The action of the import, or `refused`.
    action: String,
    /// True if the apply would activate it.
    activate: bool,
}

/// The plan of an apply.
#[derive(Debug, Serialize)]
struct PlanReport {
    package: String,
    version: String,
    content_hash: String,
    server: String,
    /// The state of the version on the server.
    state: &'static str,
    items: Vec<PlannedItem>,
    /// Problems for which the apply would fail.
    blocking: Vec<String>,
    /// Conditions that the apply itself meets before it needs them.
    pending: Vec<String>,
    /// Definitions that the server could not load, if they do not prevent the apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<String>,
    /// The definitions that `--prune` would delete.
    #[serde(skip_serializing_if = "Option::is_none")]
    prune: Option<Vec<StaleEntity>>,
    /// The reach of each change of a stored definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    impact: Option<Vec<DefinitionImpact>>,
}

impl PlannedItem {
    /// Returns true if the apply would change a stored definition, or its traffic.
    fn changes_stored(&self) -> bool {
        let is_changed = ![REFUSED, UNCHANGED].contains(&self.action.as_str());
        self.action != CREATED && (is_changed || self.activate)
    }
}

/// Runs `package plan`; exit 1 if something prevents the apply.
pub(super) fn plan(args: &PlanArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(artifact) = streams.read_artifact(&args.file)? else { return Ok(EXIT_FAILURE) };
    let undeclared = match &args.values {
        None => Vec::new(),
        Some(name) => match streams.value_problems(&args.file, name)? {
            Some(problems) => problems,
            None => return Ok(EXIT_FAILURE),
        },
    };
    let context = format!("package={}@{} plan", artifact.name, artifact.version);
    let Some(server) = streams.connect(&args.remote.server, &context)? else { return Ok(EXIT_FAILURE) };
    let planner = Planner { server: &server, artifact: &artifact, args };
    let Some(mut report) = streams.run(planner.make())? else { return Ok(EXIT_FAILURE) };
    report.blocking.extend(undeclared);
    match args.remote.format {
        PackageFormat::Json => streams.write_json(&report)?,
        PackageFormat::Text => write_text(&report, streams)?,
    }
    Ok(if report.blocking.is_empty() { EXIT_OK } else { EXIT_FAILURE })
}

fn write_text(report: &PlanReport, streams: &mut Streams<'_>) -> io::Result<()> {
    writeln!(streams.out, "{}@{} on {}: {}", report.package, report.version, report.server, report.state)?;
    for item in &report.items {
        let then = if item.activate { ", then activate" } else { "" };
        writeln!(streams.out, "  {} '{}': {}{then}", item.kind, item.key, item.action.replace('_', " "))?;
    }
    for entity in report.prune.iter().flatten() {
        writeln!(streams.out, "  {entity}: delete")?;
    }
    for impact in report.impact.iter().flatten() {
        write_impact(impact, streams.out)?;
    }
    for pending in &report.pending {
        writeln!(streams.out, "pending: {pending}")?;
    }
    for degraded in &report.degraded {
        writeln!(streams.err, "warning: {degraded}")?;
    }
    for blocking in &report.blocking {
        writeln!(streams.err, "blocking: {blocking}")?;
    }
    match report.blocking.len() {
        0 => writeln!(streams.out, "nothing stands in the way"),
        count => writeln!(streams.out, "{count} problem(s) stand in the way"),
    }
}

struct Planner<'a> {
    server: &'a PackageServer,
    artifact: &'a PackageArtifact,
    args: &'a PlanArgs,
}

impl Planner<'_> {
    async fn make(&self) -> Result<PlanReport, PackageError> {
        self.server.present_signature(&self.args.file).await?;
        let detail = self.server.package(&self.artifact.name).await?;
        let state = PackageState::from_detail(self.artifact, detail.as_ref());
        let mut report = PlanReport {
            package: self.artifact.name.clone(),
            version: self.artifact.version.clone(),
            content_hash: self.artifact.content_hash.clone(),
            server: self.server.address().to_owned(),
            state: state.name(),
            items: Vec::new(),
            blocking: state.refusal(self.artifact).into_iter().collect(),
            pending: Vec::new(),
            degraded: Vec::new(),
            prune: None,
            impact: None,
        };
        self.check_requirements(&mut report).await?;
        let plugins = PluginTrial::make(self.server, &self.artifact.plugins).await?;
        report.blocking.extend_from_slice(&plugins.refusals);
        let (mut imported, mut activated) = (ChannelMoves::default(), ChannelMoves::default());
        for kind in IMPORT_ORDER {
            self.try_import(kind, &plugins, &mut imported, &mut report).await?;
        }
        self.try_activations(&mut activated, &mut report).await?;
        let LoadTrial { unloadable, conflicts } = self.try_loads(&report.items, &mut activated).await?;
        report.blocking.extend(describe_circles([&imported, &activated]));
        let unknown = |conflict: &String| !report.blocking.contains(conflict);
        let conflicts: Vec<_> = conflicts.into_iter().filter(unknown).collect();
        report.blocking.extend(conflicts);
        match self.args.allow_degraded {
            true => report.degraded = unloadable,
            false => report.blocking.extend(unloadable),
        }
        // They come first, as in an apply.
        let mut items = self.planned_plugins(plugins);
        items.append(&mut report.items);
        report.items = items;
        if self.args.impact {
            let changed = report.items.iter().filter(|item| item.changes_stored());
            let changed: Vec<_> = changed.map(|item| (item.kind, item.key.as_str())).collect();
            report.impact = Some(find_impacts(self.server, &changed).await?);
        }
        if self.args.prune {
            report.prune = Some(self.find_prunable(detail.as_ref(), &mut report.blocking).await?);
        }
        Ok(report)
    }

    fn planned_plugins(&self, trial: PluginTrial) -> Vec<PlannedItem> {
        let named = self.artifact.plugins.iter().zip(trial.planned);
        let planned = named.map(|(plugin, (action, activate))| PlannedItem {
            kind: PartKind::Plugin,
            key: plugin.manifest.name.clone(),
            action: action.unwrap_or_else(|| REFUSED.to_owned()),
            activate,
        });
        planned.collect()
    }

    /// Asks the server for the definitions that it could not load: connectors, and what the package activates.
    /// Adds the moves of what it does not have yet.
    async fn try_loads(
        &self,
        planned: &[PlannedItem],
        moves: &mut ChannelMoves,
    ) -> Result<LoadTrial, PackageError> {
        let progress = progress();
        let mut conflicts = Vec::new();
        let mut unloadable = degraded_requirements(self.server, &self.artifact.requires).await?;
        unloadable.extend(failed_plugins(self.server, &self.artifact.plugins).await?);
        let items = self.artifact.items.iter().zip(planned);
        let items = items.filter(|(_, planned)| planned.action != REFUSED);
        let loaded: Vec<_> = items.filter(|(item, _)| item.is_loaded()).collect();
        for (index, (item, planned)) in loaded.iter().enumerate() {
            progress.advance("asking what can be loaded", index + 1, loaded.len());
            for issue in self.server.load_problems(item).await? {
                let name = format!("{} '{}'", item.kind, item.key);
                let message = &issue.message;
                if issue.code.as_deref() != Some(FieldCode::Conflict.name()) {
                    unloadable.push(format!("{name} could not be loaded on this server: {message}"));
                } else if planned.activate {
                    match self.find_move(item, &issue) {
                        // The trial of its activation knows those of a draft that is stored already.
                        Some(_) if planned.action == UNCHANGED => {}
                        Some(step) => moves.add(step),
                        None => conflicts.push(format!("{name}: {message}")),
                    }
                }
            }
        }
        progress.finish(format_args!("asked what can be loaded"));
        Ok(LoadTrial { unloadable, conflicts })
    }

    /// Returns the move behind a conflict with a channel that the package changes as well, so that it makes way.
    fn find_move(&self, item: &PackageItem, issue: &ValidationIssue) -> Option<ChannelMove> {
        let holder = issue.rival.as_deref()?;
        let claim = MovedClaim::of_field(&issue.field);
        let mut channels = self.artifact.items(EntityKind::Channel).filter(|own| own.activates);
        let makes_way = channels.any(|own| {
            let leaves = claim != MovedClaim::Name || own.document["name"] != item.document["name"];
            own.key == holder && leaves
        });
        let (taker, holder) = (item.key.clone(), holder.to_owned());
        makes_way.then_some(ChannelMove { taker, holder, claim })
    }

    /// Checks that what the package needs from elsewhere is there.
    async fn check_requirements(&self, report: &mut PlanReport) -> Result<(), PackageError> {
        let requires = &self.artifact.requires;
        let version = self.server.version_problem(requires).await?;
        report.blocking.extend(version.map(|problem| format!("the package {problem}")));
        if !requires.connectors.is_empty() {
            let stored = self.server.export(EntityKind::Connector).await?;
            let missing = requires
                .connectors
                .iter()
                .filter(|name| stored.iter().all(|row| row["name"] != name.as_str()));
            report.blocking.extend(missing.map(|name| format!("required connector '{name}' does not exist")));
        }
        if !requires.channels.is_empty() {
            let serving = self.server.serving_channels().await?;
            let missing = requires.channels.iter().filter(|name| !serving.contains(name));
            report.blocking.extend(missing.map(|name| format!("required channel '{name}' is not active")));
        }
        Ok(())
    }

    async fn try_import(
        &self,
        kind: EntityKind,
        plugins: &PluginTrial,
        moves: &mut ChannelMoves,
        report: &mut PlanReport,
    ) -> Result<(), PackageError> {
        let items: Vec<&PackageItem> = self.artifact.items(kind).collect();
        if items.is_empty() {
            return Ok(());
        }
        let trial = self.server.import(kind, &items, true, |_| {}).await;
        let trial =
            trial.map_err(PackageError::step(format!("the import of {} cannot be tried", kind.plural())))?;
        let mut actions: HashMap<usize, String> =
            trial.results.into_iter().map(|item| (item.index, item.action)).collect();
        let engine = package_engine(&self.artifact.plugins);
        let is_conflict = |refused: &ImportFailure| refused.code.as_deref() == Some(Code::Conflict.name());
        let stored = match kind {
            EntityKind::Channel if trial.errors.iter().any(is_conflict) => self.server.export(kind).await?,
            _ => Vec::new(),
        };
        let mut renamed = Vec::new();
        for refused in trial.errors {
            let Some(item) = items.get(refused.index) else { continue };
            let problem = format!("{kind} '{}': {}", item.key, refused.error);
            let freed = self.find_freed_name(item, &stored).filter(|_| is_conflict(&refused));
            let action = if let Some(freed) = freed {
                moves.add(freed);
                renamed.push((item, problem));
                let is_stored = stored.iter().any(|row| row["channel_id"] == item.key.as_str());
                if is_stored { NEW_VERSION } else { CREATED }
            } else if plugins.explains_refusal(item, &engine) {
                report.pending.push(format!("{problem}; this package brings the plugin"));
                let is_new = self.server.active_versions(&item.key).await?.is_empty();
                if is_new { CREATED } else { NEW_VERSION }
            } else {
                report.blocking.push(problem);
                REFUSED
            };
            actions.insert(refused.index, action.to_owned());
        }
        let renamed = renamed.iter().filter(|(item, _)| !moves.is_circular(&item.key));
        let renamed = renamed.map(|(_, problem)| format!("{problem}; this package renames that channel"));
        report.pending.extend(renamed);
        report.items.extend(items.iter().enumerate().map(|(index, item)| PlannedItem {
            kind: PartKind::Entity(kind),
            key: item.key.clone(),
            action: actions.remove(&index).unwrap_or_else(|| REFUSED.to_owned()),
            activate: item.activates,
        }));
        Ok(())
    }

    /// Returns the move of a name to a channel from one of the stored channels, which leaves it by this package; `None`
    /// if none does.
    fn find_freed_name(&self, item: &PackageItem, stored: &[Value]) -> Option<ChannelMove> {
        let name = &item.document["name"];
        let is_renamed = |id: &&str| {
            let mut channels = self.artifact.items(EntityKind::Channel);
            channels.any(|own| own.key == *id && own.document["name"] != *name)
        };
        let mut holders = stored.iter().filter(|row| row["name"] == *name);
        let holder = holders.find_map(|row| row["channel_id"].as_str().filter(is_renamed))?;
        let (taker, holder) = (item.key.clone(), holder.to_owned());
        Some(ChannelMove { taker, holder, claim: MovedClaim::Name })
    }

    /// Tries the activations on what is stored now. What the apply stores first cannot be tried, so a draft that it
    /// makes is pending. Adds the moves of the drafts that are stored as the package has them.
    async fn try_activations(
        &self,
        moves: &mut ChannelMoves,
        report: &mut PlanReport,
    ) -> Result<(), PackageError> {
        let progress = progress();
        let planned = report.items.clone();
        let items = self.artifact.items.iter().zip(&planned).enumerate();
        let activated: Vec<_> = items.filter(|(_, (item, _))| item.activates).collect();
        for (index, (position, (item, planned))) in activated.iter().enumerate() {
            progress.advance("trying activations", index + 1, activated.len());
            if planned.action == REFUSED {
                continue;
            }
            let trial = self.server.try_activation(item, self.args.replace_canary).await?;
            let name = format!("{} '{}'", item.kind, item.key);
            if planned.action == UNCHANGED && trial.errors.iter().any(is_without_draft) {
                // Without a change there is no draft, because the content is active.
                report.items[*position].activate = false;
            }
            for issue in &trial.errors {
                if let Some(step) = self.find_move(item, issue).filter(|_| planned.action == UNCHANGED) {
                    moves.add(step);
                }
                match self.judge(item, issue) {
                    Judgement::Met => {}
                    Judgement::Pending => {
                        report.pending.push(format!("{name}: {}; this package brings it", issue.message));
                    }
                    Judgement::Blocking => report.blocking.push(format!("{name}: {}", issue.message)),
                }
            }
            let is_new_draft = planned.action != UNCHANGED && trial.errors.iter().any(is_without_draft);
            if is_new_draft {
                self.check_canary(item, report).await?;
            }
        }
        if !activated.is_empty() {
            progress.finish(format_args!("tried {} activation(s)", activated.len()));
        }
        Ok(())
    }

    fn judge(&self, item: &PackageItem, issue: &ValidationIssue) -> Judgement {
        if self.find_move(item, issue).is_some() {
            return Judgement::Met;
        }
        if !is_missing(issue) {
            return Judgement::Blocking;
        }
        if is_without_draft(issue) {
            // The content is active, or the apply stores the draft first.
            return Judgement::Met;
        }
        let named = |kind: EntityKind| {
            self.artifact.items(kind).any(|item| issue.message.contains(&format!("{kind} '{}'", item.key)))
        };
        if named(EntityKind::Connector) || named(EntityKind::Workflow) {
            return Judgement::Pending;
        }
        Judgement::Blocking
    }

    /// Refuses a second canary.
    async fn check_canary(&self, item: &PackageItem, report: &mut PlanReport) -> Result<(), PackageError> {
        let is_canary =
            item.kind == EntityKind::Workflow && item.rollout_percentage.is_some_and(|share| share < 100);
        if !is_canary || self.args.replace_canary {
            return Ok(());
        }
        if let [(canary, share), (stable, _), ..] = self.server.active_versions(&item.key).await?.as_slice() {
            report.blocking.push(format!(
                "workflow '{}' has a canary already (version {canary} at {share} percent beside version {stable}); end \
                 it, or apply with --replace-canary",
                item.key
            ));
        }
        Ok(())
    }

    async fn find_prunable(
        &self,
        detail: Option<&svc_api::PackageDetail>,
        blocking: &mut Vec<String>,
    ) -> Result<Vec<StaleEntity>, PackageError> {
        let stale = find_stale(self.server, self.artifact, detail).await?;
        for entity in &stale {
            // What goes first may be all that needs it, so a refusal says something only about the first to go.
            if entity.kind == PartKind::Entity(EntityKind::Channel)
                && let Some(reason) = self.server.try_deletion(EntityKind::Channel, &entity.id).await?
            {
                blocking.push(format!("{entity} cannot be deleted: {reason}"));
            }
        }
        Ok(stale)
    }
}

/// The answers of a server about definitions that it does not have yet.
struct LoadTrial {
    /// Those that it could not load.
    unloadable: Vec<String>,
    /// Those that it would not activate as it is.
    conflicts: Vec<String>,
}

/// The weight of a problem of a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Met,
    Pending,
    Blocking,
}

fn is_missing(issue: &ValidationIssue) -> bool {
    issue.code.as_deref() == Some(FieldCode::NotFound.name())
}

/// Returns `true` for the problem that there is no draft to activate.
fn is_without_draft(issue: &ValidationIssue) -> bool {
    is_missing(issue) && issue.field == "(root)"
}

impl PackageState {
    const fn name(&self) -> &'static str {
        match self {
            Self::Unknown => "not applied",
            Self::Unfinished { .. } => "an apply has not ended",
            Self::Current => "applied",
            Self::Former { .. } => "applied before, another version is current",
            Self::Conflicting { .. } => "applied with other content",
        }
    }
}
