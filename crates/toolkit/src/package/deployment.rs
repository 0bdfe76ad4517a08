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
use svc_client::ClientError;
use svc_engine::Engine;
use svc_model::EntityKind;
use svc_project::{
    Boundary, Finding, IMPORT_ORDER, PackageArtifact, PackageHeader, PackageItem, Project, SetForm, Severity,
    SourceFile, SourceFormat, UNREADABLE, build_package, to_json_text,
};
use tokio::runtime::Runtime;

use super::degradation::find_degraded;
use super::deployed_keys::DeployedKeys;
use super::error::{PackageError, describe_package_error};
use super::remote::PackageServer;
use crate::offline;
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
    engine: Arc<Engine>,
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
            engine: Arc::new(offline::engine_builder().build()),
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
        let linted = svc_project::lint(&project, &self.engine, &self.boundary, SetForm::Package);
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
        let package = to_json_text(&build_package(&linted, &header));
        let refuse = |message: String| Finding {
            severity: Severity::Error,
            check: UNREADABLE,
            entity: self.directory.display().to_string(),
            message,
            fix: None,
            place: None,
        };
        let source = match SourceFile::parse(NAME, SourceFormat::Json, package) {
            Ok(source) => Arc::new(source),
            Err(error) => {
                findings.push(refuse(error.report(NAME)));
                return (None, findings);
            }
        };
        match PackageArtifact::read(&source, &self.engine) {
            Ok(artifact) => (Some(artifact), findings),
            Err(error) => {
                findings.push(refuse(error.to_string()));
                (None, findings)
            }
        }
    }

    /// Brings the server to the state of the project. Nothing serves before the last step, the reload, but connectors.
    async fn deploy(&mut self, artifact: &PackageArtifact) -> Result<DeployedProject, PackageError> {
        let own = artifact.inventory();
        let stale = self.keys.begin(&own).map_err(PackageError::Keys)?;
        let mut deployed = DeployedProject { total: artifact.items.len(), ..DeployedProject::default() };
        for kind in IMPORT_ORDER {
            deployed.changed += self.import(artifact.items(kind).collect()).await?;
        }
        // Before the activations: a new channel may have the route of one that is gone.
        self.archive(EntityKind::Channel, &stale.channels, &mut deployed).await?;
        for kind in ACTIVATED {
            for item in artifact.items(kind).filter(|item| item.activates) {
                self.activate(item).await?;
            }
        }
        self.archive(EntityKind::Workflow, &stale.workflows, &mut deployed).await?;
        self.delete_connectors(&stale.connectors, &mut deployed).await?;
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

    /// Imports the items of a kind and returns the number of those that are to be activated, or changed.
    async fn import(&mut self, items: Vec<&PackageItem>) -> Result<usize, PackageError> {
        let Some(kind) = items.first().map(|item| item.kind) else { return Ok(0) };
        let step = format!("importing {} failed", kind.plural());
        let imported = self.server.import(kind, &items, false, |_| ()).await;
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
            self.record_removal(kind, key, archived, deployed)?;
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
            self.record_removal(EntityKind::Connector, &connector.name, deleted, deployed)?;
        }
        Ok(())
    }

    fn record_removal(
        &mut self,
        kind: EntityKind,
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
