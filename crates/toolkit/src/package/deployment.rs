//! The deployment of a project directory while its author works: what passes the checks is imported, activated and loaded
//! by the requests of `package apply`, and what no file declares any more is archived.
//!
//! No receipt is written: the server is the author's own, and each save would be a version. The keys of all that was
//! brought to the server are kept in a file, so that a file that was removed while nothing ran is noticed too.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use svc_client::{ApiRequest, ClientError, Pages, admin_path};
use svc_model::EntityKind;
use svc_project::{
    Boundary, Finding, IMPORT_ORDER, PackageArtifact, PackageHeader, PackageItem, PackagedPlugin, Project,
    SetForm, Severity, SourceFile, SourceFormat, UNREADABLE, build_package, to_json_text,
};
use tokio::runtime::Runtime;

use super::degradation::find_degraded;
use super::deployed_keys::DeployedKeys;
use super::error::{PackageError, describe_package_error};
use super::plugins::{PartKind, activate_plugins, import_plugins, wait_for_plugins};
use super::progress::StepProgress;
use super::remote::PackageServer;
use crate::plugins::{package_engine, read_built_plugins};
use crate::project_files::{Boundaries, unreadable_directory};

/// The name of the package in the audit log.
const NAME: &str = "dev";

/// The kinds in the order of an activation.
const ACTIVATED: [EntityKind; 2] = [EntityKind::Workflow, EntityKind::Channel];

/// A project directory and the server that follows it.
pub struct ProjectDeployment {
    directory: PathBuf,
    boundary: Boundary,
    keys: DeployedKeys,
    server: PackageServer,
    /// Drives the connections to the server, which are kept from one update to the next.
    runtime: Arc<Runtime>,
    /// The content hash with which each entity was activated last, by its key.
    active: BTreeMap<(&'static str, String), String>,
    /// `true` if the server has stored a change that it has not loaded: an update failed before its reload.
    is_behind: bool,
}

/// The result of an update.
#[derive(Debug)]
pub struct ProjectUpdate {
    /// The errors and warnings of the checks.
    pub findings: Vec<Finding>,
    /// The definitions that serve now; `None` if those of the last update go on serving.
    pub deployed: Option<DeployedProject>,
    /// The reasons for which the server refused what had passed the checks, a line each.
    pub refusals: Vec<String>,
}

/// The definitions that an update brought about.
#[derive(Debug, Default)]
pub struct DeployedProject {
    /// The documents of the channels that were activated now or before.
    pub channels: Vec<Value>,
    /// Number of definitions of the project.
    pub total: usize,
    /// Number of definitions whose content changed.
    pub changed: usize,
    /// The definitions that no file declares any more, and that do not serve any more.
    pub archived: Vec<String>,
    /// The definitions that are stored and cannot be loaded, such as a connector without its variable.
    pub degraded: Vec<String>,
    /// `true` if the server has loaded its definitions anew.
    pub reloaded: bool,
}

impl DeployedProject {
    /// Returns `true` if the server serves something else than before.
    pub fn has_changes(&self) -> bool {
        self.reloaded || self.changed > 0 || !self.archived.is_empty()
    }
}

impl ProjectDeployment {
    /// Makes a deployment to a server without keys. `keys` is the file that remembers what was deployed.
    ///
    /// # Errors
    /// The address cannot be used, or the system refuses what connections need.
    pub fn new(
        directory: PathBuf,
        keys: PathBuf,
        boundaries: &Boundaries,
        address: &str,
        program: &str,
    ) -> io::Result<Self> {
        let (server, _) = PackageServer::new(address, NAME, program, &[]).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self {
            directory,
            boundary: boundaries.to_boundary(),
            keys: DeployedKeys::new(keys),
            server,
            runtime: Arc::new(runtime),
            active: BTreeMap::new(),
            is_behind: false,
        })
    }

    /// Checks the project and, if nothing in it is wrong, brings the server to its state. Blocks the thread meanwhile.
    pub fn update(&mut self) -> ProjectUpdate {
        let (artifact, mut findings) = self.compile();
        findings.retain(|finding| finding.severity != Severity::Note);
        let Some(artifact) = artifact else {
            return ProjectUpdate { findings, deployed: None, refusals: Vec::new() };
        };
        let runtime = Arc::clone(&self.runtime);
        match runtime.block_on(self.deploy(&artifact)) {
            Ok(deployed) => ProjectUpdate { findings, deployed: Some(deployed), refusals: Vec::new() },
            Err(error) => {
                ProjectUpdate { findings, deployed: None, refusals: describe_package_error(&error) }
            }
        }
    }

    /// Checks the project and makes a package of it; `None` if the findings do not allow it.
    fn compile(&self) -> (Option<PackageArtifact>, Vec<Finding>) {
        let walked = match svc_project::walk(&self.directory) {
            Ok(walked) => walked,
            Err(error) => return (None, vec![unreadable_directory(&self.directory, error)]),
        };
        let mut project = Project::read(walked.files.into_iter().map(Arc::new).collect());
        project.findings.extend(walked.unreadable);
        let plugins = match read_built_plugins(&self.directory) {
            Ok(plugins) => plugins,
            Err(problems) => {
                project.findings.extend(problems.into_iter().map(|problem| self.refuse(problem)));
                return (None, project.findings);
            }
        };
        let engine = package_engine(&plugins);
        let linted = svc_project::lint(&project, &engine, &self.boundary, SetForm::Package);
        if !linted.summary.passes(false) {
            return (None, linted.findings);
        }
        let header = PackageHeader {
            name: NAME.to_owned(),
            version: crate::VERSION.to_owned(),
            tool_version: crate::VERSION.to_owned(),
            requires: self.boundary.clone().union(&project.requires),
            activates: true,
        };
        let mut findings = linted.findings.clone();
        // The components are megabytes, and go to the server by themselves.
        let package = to_json_text(&build_package(&linted, Vec::new(), &header));
        let source = match SourceFile::parse(NAME, SourceFormat::Json, package) {
            Ok(source) => Arc::new(source),
            Err(error) => {
                findings.push(self.refuse(error.report(NAME)));
                return (None, findings);
            }
        };
        match PackageArtifact::read(&source, |_| engine) {
            Ok(artifact) => (Some(PackageArtifact { plugins, ..artifact }), findings),
            Err(error) => {
                findings.push(self.refuse(error.to_string()));
                (None, findings)
            }
        }
    }

    /// Makes a finding about the directory as a whole.
    fn refuse(&self, message: String) -> Finding {
        Finding {
            severity: Severity::Error,
            check: UNREADABLE,
            entity: self.directory.display().to_string(),
            message,
            fix: None,
            place: None,
        }
    }

    /// Brings the server to the state of the project. Nothing serves before the last step, the reload, but plugins and
    /// connectors.
    async fn deploy(&mut self, artifact: &PackageArtifact) -> Result<DeployedProject, PackageError> {
        let own = artifact.inventory();
        let stale = self.keys.begin(&own).map_err(PackageError::Keys)?;
        let total = artifact.items.len() + artifact.plugins.len();
        let mut deployed = DeployedProject { total, ..DeployedProject::default() };
        deployed.changed += self.bring_plugins(&artifact.plugins).await?;
        for kind in IMPORT_ORDER {
            let items: Vec<_> = artifact.items(kind).collect();
            let mut imported = self.import(&items).await;
            if kind == EntityKind::Channel && matches!(imported, Err(PackageError::Items(_))) {
                self.free_names(&items, &stale.channels).await?;
                // What was refused may have waited for a name that another item had until then.
                imported = self.import(&items).await;
            }
            deployed.changed += imported?;
        }
        // Before the activations: a new channel may have the route of one that is gone.
        self.archive(EntityKind::Channel, &stale.channels, &mut deployed).await?;
        for kind in ACTIVATED {
            self.activate_all(artifact.items(kind).filter(|item| item.activates)).await?;
        }
        self.archive(EntityKind::Workflow, &stale.workflows, &mut deployed).await?;
        self.delete_connectors(&stale.connectors, &mut deployed).await?;
        self.archive_plugins(&stale.plugins, &mut deployed).await?;
        deployed.reloaded = self.is_behind || deployed.has_changes();
        let status = match deployed.reloaded {
            true => self.server.reload().await.map_err(PackageError::step("the engine was not reloaded"))?,
            false => self.server.engine_status().await?,
        };
        self.is_behind = false;
        deployed.degraded.extend(find_degraded(&self.server, artifact, &status).await?);
        self.keys.end(&own).map_err(PackageError::Keys)?;
        let channels = artifact.items(EntityKind::Channel).filter(|item| item.activates);
        deployed.channels = channels.map(|item| item.document.clone()).collect();
        Ok(deployed)
    }

    /// Makes the plugins serve that are not the same as before, and returns their number.
    async fn bring_plugins(&mut self, plugins: &[PackagedPlugin]) -> Result<usize, PackageError> {
        let key = |plugin: &PackagedPlugin| (PartKind::Plugin.plural(), plugin.manifest.name.clone());
        let is_changed =
            |plugin: &&PackagedPlugin| self.active.get(&key(plugin)) != Some(&plugin.content_hash());
        let changed = plugins.iter().filter(is_changed);
        let changed: Vec<_> =
            changed.map(|plugin| PackagedPlugin { activates: true, ..plugin.clone() }).collect();
        let silent = StepProgress::silent();
        import_plugins(&self.server, &changed, &silent).await?;
        activate_plugins(&self.server, &changed).await?;
        wait_for_plugins(&self.server, &changed, &silent).await?;
        self.active.extend(changed.iter().map(|plugin| (key(plugin), plugin.content_hash())));
        Ok(changed.len())
    }

    /// Archives plugins that have no folder any more.
    async fn archive_plugins(
        &mut self,
        ids: &[String],
        deployed: &mut DeployedProject,
    ) -> Result<(), PackageError> {
        for id in ids {
            let archived = self.server.archive_plugin(id).await;
            self.record_removal(PartKind::Plugin, id, archived, deployed)?;
        }
        Ok(())
    }

    /// Imports the items of a kind and returns the number of those that are to be activated, or changed.
    async fn import(&mut self, items: &[&PackageItem]) -> Result<usize, PackageError> {
        let Some(kind) = items.first().map(|item| item.kind) else { return Ok(0) };
        let step = format!("importing {} failed", kind.plural());
        let imported = self.server.import(kind, items, false, |_| ()).await;
        let imported = imported.map_err(PackageError::step(step))?;
        let key = |index: usize| items.get(index).map(|item| item.key.as_str()).unwrap_or_default();
        let refused = imported.errors.iter();
        let refused: Vec<_> =
            refused.map(|refused| format!("{kind} '{}': {}", key(refused.index), refused.error)).collect();
        if !refused.is_empty() {
            return Err(PackageError::Items(refused));
        }
        let mut changed = 0;
        for row in imported.results {
            let Some(item) = items.get(row.index) else { continue };
            let key = (kind.plural(), item.key.clone());
            if kind == EntityKind::Connector {
                changed += usize::from(row.action != "unchanged");
            } else if row.action != "unchanged" || self.active.get(&key) != Some(&item.content_hash) {
                self.active.remove(&key);
                changed += usize::from(item.activates);
            }
        }
        Ok(changed)
    }

    /// Deletes the channels that hold the names of others of the project, archived ones too: those that the project
    /// declares under another name, and those that it does not declare any more.
    async fn free_names(&mut self, items: &[&PackageItem], stale: &[String]) -> Result<(), PackageError> {
        let step = || PackageError::step("the names of channels were not freed");
        let list = ApiRequest::get(admin_path(&["channels"]));
        let stored = Pages::new(&self.server.client, list, 1000).collect().await.map_err(step())?;
        for row in stored {
            let (Some(id), Some(name)) = (row["channel_id"].as_str(), row["name"].as_str()) else { continue };
            let is_wanted = items.iter().any(|item| item.key != id && item.document["name"] == name);
            let own = items.iter().find(|item| item.key == id);
            let is_given_up = match own {
                Some(own) => own.document["name"] != name,
                None => row["status"] == "archived" || stale.iter().any(|key| key == id),
            };
            if is_wanted && is_given_up {
                let request = ApiRequest::delete(admin_path(&["channels", id])).query("force", true);
                self.server.client.send(&request).await.map_err(step())?;
                self.active.remove(&(EntityKind::Channel.plural(), id.to_owned()));
                self.is_behind = true;
            }
        }
        Ok(())
    }

    /// Activates items of a kind. Channels may take names and routes from one another: those that are refused come again
    /// behind the others, as long as others are activated. If they wait for one another, the versions that serve are
    /// archived before, which takes effect with the reload.
    async fn activate_all<'i>(
        &mut self,
        items: impl Iterator<Item = &'i PackageItem>,
    ) -> Result<(), PackageError> {
        let mut waiting: Vec<_> = items.collect();
        while !waiting.is_empty() {
            let (mut refused, mut refusal) = (Vec::new(), None);
            for item in &waiting {
                match self.activate(item).await {
                    Err(error) if item.kind == EntityKind::Channel && error.is_refusal() => {
                        refused.push(*item);
                        refusal.get_or_insert(error);
                    }
                    activated => activated?,
                }
            }
            if refused.len() == waiting.len() {
                let exchanging = self.find_exchanging(&refused).await?;
                if let Some(error) = refusal.filter(|_| exchanging.is_empty()) {
                    return Err(error);
                }
                for item in exchanging {
                    let step = format!("{} '{}' was not archived", item.kind, item.key);
                    self.server.archive(item.kind, &item.key).await.map_err(PackageError::step(step))?;
                }
            }
            waiting = refused;
        }
        Ok(())
    }

    /// Returns those of these refused channels that nothing but one another is in the way of. Others go on serving as
    /// they are: an archived version would be missing from the next reload on.
    async fn find_exchanging<'i>(
        &self,
        refused: &[&'i PackageItem],
    ) -> Result<Vec<&'i PackageItem>, PackageError> {
        let mut rivals = Vec::with_capacity(refused.len());
        for item in refused {
            let trial = self.server.try_activation(item, true).await?;
            let own = trial.errors.into_iter().map(|issue| issue.rival);
            rivals.push((*item, own.collect::<Vec<_>>()));
        }
        loop {
            let keys: Vec<_> = rivals.iter().map(|(item, _)| item.key.clone()).collect();
            let is_in = |rival: &Option<String>| rival.as_ref().is_some_and(|rival| keys.contains(rival));
            rivals.retain(|(_, own)| own.iter().all(is_in));
            if rivals.len() == keys.len() {
                break;
            }
        }
        let is_blocked = rivals.iter().any(|(_, own)| !own.is_empty());
        Ok(rivals.into_iter().filter(|_| is_blocked).map(|(item, _)| item).collect())
    }

    /// Activates an item for all of the traffic, unless its content is active.
    async fn activate(&mut self, item: &PackageItem) -> Result<(), PackageError> {
        let key = (item.kind.plural(), item.key.clone());
        if self.active.contains_key(&key) {
            return Ok(());
        }
        let whole = PackageItem { rollout_percentage: None, canary: None, ..item.clone() };
        let step = format!("{} '{}' was not activated", item.kind, item.key);
        // Set first: the answer of what was done may be lost.
        self.is_behind = true;
        self.server.activate(&whole, true).await.map_err(PackageError::step(step))?;
        self.active.insert(key, item.content_hash.clone());
        Ok(())
    }

    /// Archives what no file declares any more. What definitions of others need stays, and is named.
    async fn archive(
        &mut self,
        kind: EntityKind,
        keys: &[String],
        deployed: &mut DeployedProject,
    ) -> Result<(), PackageError> {
        for key in keys {
            let archived = self.server.archive(kind, key).await;
            self.record_removal(PartKind::Entity(kind), key, archived, deployed)?;
        }
        Ok(())
    }

    /// Deletes connectors that no file declares any more: they have no versions that could be archived.
    async fn delete_connectors(
        &mut self,
        names: &[String],
        deployed: &mut DeployedProject,
    ) -> Result<(), PackageError> {
        if names.is_empty() {
            return Ok(());
        }
        let stored = self.server.connectors().await?;
        for connector in stored.iter().filter(|connector| names.contains(&connector.name)) {
            let deleted = self.server.delete(EntityKind::Connector, &connector.id).await;
            let kind = PartKind::Entity(EntityKind::Connector);
            self.record_removal(kind, &connector.name, deleted, deployed)?;
        }
        Ok(())
    }

    fn record_removal(
        &mut self,
        kind: PartKind,
        key: &str,
        removed: Result<bool, ClientError>,
        deployed: &mut DeployedProject,
    ) -> Result<(), PackageError> {
        match removed {
            Ok(removed) => {
                self.active.remove(&(kind.plural(), key.to_owned()));
                self.is_behind |= removed;
                deployed.archived.extend(removed.then(|| format!("{kind} '{key}'")));
                Ok(())
            }
            Err(error) if error.status() == Some(409) => {
                self.keys.keep(kind, key);
                deployed.degraded.push(format!("{kind} '{key}' has no file and is still needed: {error}"));
                Ok(())
            }
            Err(error) => Err(PackageError::step(format!("{kind} '{key}' was not archived"))(error)),
        }
    }
}
