//! Boot packages: those that a node applies to itself at its start, by the steps of `package apply`.
//!
//! The node asks itself, without a connection. What is newer there than the package stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use svc_api::PackageDetail;
use svc_auth::signature_path;
use svc_client::LocalServer;
use svc_model::ReceiptState;
use svc_outbound::describe_cause;
use svc_project::{PackageArtifact, SourceFile, SourceFormat};

use super::apply::{ApplyChoices, ApplyRun};
use super::degradation::find_degraded;
use super::diff::find_changed;
use super::error::{PackageError, describe_package_error};
use super::progress::StepProgress;
use super::remote::PackageServer;
use super::signed_file::read_signature;
use super::state::PackageState;
use crate::plugins::package_engine;

/// A package of the settings of a node, read and checked.
#[derive(Clone, Debug)]
pub struct BootPackage {
    file: PathBuf,
    artifact: PackageArtifact,
}

/// The state of a boot package in the database of its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootState {
    /// It was never applied, or its apply has not ended.
    Due,
    /// It is applied, and everything in it is stored and active.
    Applied,
    /// Something newer has taken its place.
    Superseded {
        /// The newer version, or the changed parts.
        by: String,
    },
}

/// The reason why a boot package does not serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BootFailure {
    /// The reason, in one line.
    pub message: String,
    /// `true` if time may heal it.
    pub is_transient: bool,
}

impl From<PackageError> for BootFailure {
    fn from(error: PackageError) -> Self {
        let lines = describe_package_error(&error);
        let mut lines = lines.iter().map(|line| line.trim_start_matches([' ', '-']));
        let first = lines.next().unwrap_or_default().to_owned();
        let others: Vec<_> = lines.collect();
        let message = if others.is_empty() { first } else { format!("{first}: {}", others.join("; ")) };
        Self { message, is_transient: error.is_transient() }
    }
}

impl BootPackage {
    /// Reads a package and checks its signature by `check_trust`, its header, its hash, and that it holds no masked
    /// value. `check_trust` gets the file and the line of its signature, if there is one.
    ///
    /// # Errors
    /// The reason why it cannot be applied, with the file.
    pub fn read(
        file: &Path,
        check_trust: impl Fn(&[u8], Option<&str>) -> Result<(), String>,
    ) -> Result<Self, String> {
        let name = file.display().to_string();
        let unreadable = |error: io::Error| format!("{name}: {}", describe_cause(&error));
        let content = fs::read(file).map_err(unreadable)?;
        let signature = read_signature(&signature_path(file)).map_err(unreadable)?;
        check_trust(&content, signature.as_deref()).map_err(|problem| format!("{name}: {problem}"))?;
        // What is parsed is what was checked: the file may have been replaced meanwhile.
        let format = SourceFormat::from_path(file).unwrap_or(SourceFormat::Json);
        let source = SourceFile::from_bytes(&name, format, content);
        let source = source.map_err(|error| format!("{name}: {error}"))?;
        let artifact = PackageArtifact::read(&Arc::new(source), package_engine);
        let artifact = artifact.map_err(|error| format!("{name}: {error}"))?;
        artifact.requires.check_version(crate::VERSION).map_err(|problem| format!("{name}: {problem}"))?;
        if let Some((item, error)) = artifact.masked_values().first() {
            return Err(format!("{name}: {} '{}': {}: {}", item.kind, item.key, error.path, error.message));
        }
        Ok(Self { file: file.to_owned(), artifact })
    }

    /// Returns name and version.
    pub fn label(&self) -> String {
        format!("{}@{}", self.artifact.name, self.artifact.version)
    }

    /// Returns the state of the package.
    ///
    /// # Errors
    /// The version was applied with other content; or the node cannot be asked.
    pub async fn state(&self, node: &BootNode) -> Result<BootState, BootFailure> {
        Ok(self.find_state(&node.server(self)?).await?)
    }

    async fn find_state(&self, server: &PackageServer) -> Result<BootState, PackageError> {
        let detail = server.package(&self.artifact.name).await?;
        let state = PackageState::from_detail(&self.artifact, detail.as_ref());
        if let Some(refusal) = state.refusal(&self.artifact) {
            return Err(PackageError::Refused(refusal));
        }
        let version = |version: &str| BootState::Superseded { by: format!("version {version}") };
        Ok(match state {
            PackageState::Former { current } => version(&current),
            PackageState::Unfinished { .. } => match detail.as_ref().and_then(|found| self.later(found)) {
                Some(later) => version(&later),
                None => BootState::Due,
            },
            PackageState::Current => {
                let changed = find_changed(server, &self.artifact).await?;
                if changed.is_empty() {
                    BootState::Applied
                } else {
                    BootState::Superseded { by: format!("changes of {}", changed.join(", ")) }
                }
            }
            PackageState::Unknown | PackageState::Conflicting { .. } => BootState::Due,
        })
    }

    /// Returns the version that was applied after an apply of this one had begun.
    fn later(&self, detail: &PackageDetail) -> Option<String> {
        let own = detail.versions.iter().find(|receipt| receipt.version == self.artifact.version)?;
        let current = detail.current.as_ref()?;
        let is_later = own.state == ReceiptState::Staged && current.updated_at > own.updated_at;
        is_later.then(|| current.version.clone())
    }

    /// Applies the package. Returns the definitions that the node could not load, if they are accepted.
    ///
    /// # Errors
    /// The reason why it does not serve; what was done stays.
    pub async fn apply(&self, node: &BootNode, allow_degraded: bool) -> Result<Vec<String>, BootFailure> {
        let server = node.server(self)?;
        let choices = ApplyChoices { allow_degraded, ..ApplyChoices::default() };
        let progress = StepProgress::silent();
        let run = ApplyRun { server: &server, artifact: &self.artifact, file: &self.file, choices, progress };
        Ok(run.perform().await?.degraded)
    }

    /// Returns the definitions of the package that the node could not load.
    ///
    /// # Errors
    /// The node cannot be asked.
    pub async fn find_degraded(&self, node: &BootNode) -> Result<Vec<String>, BootFailure> {
        let server = node.server(self)?;
        let status = server.engine_status().await.map_err(PackageError::Client)?;
        Ok(find_degraded(&server, &self.artifact, &status).await?)
    }
}

/// The node that applies its packages, as a server in its own process.
#[derive(Clone, Debug)]
pub struct BootNode {
    server: Arc<dyn LocalServer>,
    program: String,
}

impl BootNode {
    /// Makes the target of the packages. `program` names the caller.
    pub fn new(server: Arc<dyn LocalServer>, program: &str) -> Self {
        Self { server, program: program.to_owned() }
    }

    /// Returns the server for the requests about a package, which name it in their audit rows.
    fn server(&self, package: &BootPackage) -> Result<PackageServer, PackageError> {
        let context = format!("package={}", package.label());
        Ok(PackageServer::local(Arc::clone(&self.server), &context, &self.program)?)
    }
}

#[cfg(test)]
mod tests {
    use svc_model::{PackageReceipt, Timestamp};
    use svc_project::Boundary;

    use super::*;

    #[test]
    fn unfinished_apply_is_superseded_by_later_version() {
        let receipt = |version: &str, state: ReceiptState, updated_at: &str| PackageReceipt {
            name: "shop".into(),
            version: version.into(),
            content_hash: "a".into(),
            state,
            principal: "boot".into(),
            created_at: Timestamp::parse("2026-01-01T00:00:00Z").unwrap(),
            updated_at: Timestamp::parse(updated_at).unwrap(),
            inventory: None,
        };
        let package = BootPackage {
            file: PathBuf::new(),
            artifact: PackageArtifact {
                name: "shop".into(),
                version: "1".into(),
                content_hash: "a".into(),
                requires: Boundary::default(),
                plugins: Vec::new(),
                items: Vec::new(),
            },
        };
        let staged = receipt("1", ReceiptState::Staged, "2026-01-02T00:00:00Z");
        let later =
            |other: PackageReceipt| package.later(&PackageDetail::new("shop", vec![other, staged.clone()]));
        let (applied, earlier, afterwards) =
            (ReceiptState::Applied, "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z");
        assert_eq!(later(receipt("2", applied, afterwards)), Some("2".to_owned()));
        assert_eq!(later(receipt("2", applied, earlier)), None);
        assert_eq!(later(receipt("2", ReceiptState::Staged, afterwards)), None);
    }

    #[test]
    fn replaced_file_is_read_as_it_was_checked() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("package.json");
        fs::write(&file, r#"{"package": {"name": "checked"}}"#).unwrap();
        let refused = BootPackage::read(&file, |content, _| {
            assert!(content.starts_with(b"{\"package\""));
            fs::write(&file, "replaced").map_err(|error| error.to_string())
        });
        let refused = refused.unwrap_err();
        assert!(refused.contains("version"), "the checked content lacks a version: {refused}");
    }

    #[test]
    fn failure_is_one_line_with_its_parts() {
        let degraded = PackageError::Degraded(vec!["channel 'a' is quarantined: x".into(), "y".into()]);
        let failure = BootFailure::from(degraded);
        assert!(!failure.is_transient);
        assert_eq!(
            failure.message,
            "the server could not load 2 definition(s) of the package: channel 'a' is quarantined: x; y"
        );
        assert!(BootFailure::from(PackageError::Overtaken("another".into())).is_transient);
        assert!(!BootFailure::from(PackageError::Refused("other content".into())).is_transient);
    }
}
