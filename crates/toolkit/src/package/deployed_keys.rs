//! The keys of the definitions that a deployment brought to its server, in a file.

use std::fs;
use std::io;
use std::path::PathBuf;

use svc_api::Inventory;
use svc_model::{EntityKind, PackageInventory};

use super::plugins::PartKind;

/// The file of the keys, and the keys that must stay in it.
pub(super) struct DeployedKeys {
    file: PathBuf,
    /// Keys without a definition in the project that are still on the server.
    kept: PackageInventory,
}

impl DeployedKeys {
    /// Takes the path of the file, which need not exist.
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file, kept: PackageInventory::default() }
    }

    /// Begins a deployment of these keys and returns those of earlier ones that are not among them. All of them are
    /// in the file until the deployment ends, so that none is forgotten if it fails.
    ///
    /// # Errors
    /// The file cannot be read or written, or holds something else.
    pub(super) fn begin(&mut self, own: &PackageInventory) -> io::Result<PackageInventory> {
        let mut stale = self.read()?;
        each_kind(&mut stale, own, |keys, own| keys.retain(|key| !own.contains(key)));
        self.kept = PackageInventory::default();
        self.write(own, &stale)?;
        Ok(stale)
    }

    /// Keeps the key of a definition that could not be removed.
    pub(super) fn keep(&mut self, kind: PartKind, key: &str) {
        let keys = match kind {
            PartKind::Entity(EntityKind::Connector) => &mut self.kept.connectors,
            PartKind::Entity(EntityKind::Workflow) => &mut self.kept.workflows,
            PartKind::Entity(EntityKind::Channel) => &mut self.kept.channels,
            PartKind::Plugin => &mut self.kept.plugins,
        };
        keys.push(key.to_owned());
    }

    /// Ends a deployment of these keys.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn end(&mut self, own: &PackageInventory) -> io::Result<()> {
        let kept = std::mem::take(&mut self.kept);
        self.write(own, &kept)
    }

    fn read(&self) -> io::Result<PackageInventory> {
        let text = match fs::read(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PackageInventory::default()),
            text => text?,
        };
        let Inventory { connectors, workflows, channels, plugins } =
            serde_json::from_slice(&text).map_err(|error| {
                let reason = format!("{}: {error}; remove the file", self.file.display());
                io::Error::new(io::ErrorKind::InvalidData, reason)
            })?;
        Ok(PackageInventory { connectors, workflows, channels, plugins })
    }

    /// Replaces the file, so that a reader finds the old keys or the new ones.
    fn write(&self, own: &PackageInventory, more: &PackageInventory) -> io::Result<()> {
        let mut all = own.clone();
        each_kind(&mut all, more, |keys, more| keys.extend_from_slice(more));
        let text = serde_json::to_vec(&all).map_err(io::Error::other)?;
        let written = self.file.with_extension("new");
        fs::write(&written, text)?;
        fs::rename(&written, &self.file)
    }
}

fn each_kind(
    keys: &mut PackageInventory,
    others: &PackageInventory,
    change: impl Fn(&mut Vec<String>, &[String]),
) {
    change(&mut keys.connectors, &others.connectors);
    change(&mut keys.workflows, &others.workflows);
    change(&mut keys.channels, &others.channels);
    change(&mut keys.plugins, &others.plugins);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflows(keys: &[&str]) -> PackageInventory {
        let workflows = keys.iter().map(|key| (*key).to_owned()).collect();
        PackageInventory { workflows, ..PackageInventory::default() }
    }

    #[test]
    fn undeclared_keys_are_stale_until_removed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("served.json");
        let mut keys = DeployedKeys::new(file.clone());
        assert_eq!(keys.begin(&workflows(&["a", "b"])).unwrap(), workflows(&[]));
        keys.end(&workflows(&["a", "b"])).unwrap();

        // A deployment that does not end forgets nothing.
        assert_eq!(keys.begin(&workflows(&["a"])).unwrap(), workflows(&["b"]));
        let mut later = DeployedKeys::new(file);
        assert_eq!(later.begin(&workflows(&["a"])).unwrap(), workflows(&["b"]));
        later.keep(PartKind::Entity(EntityKind::Workflow), "b");
        later.end(&workflows(&["a"])).unwrap();
        assert_eq!(later.begin(&workflows(&["a"])).unwrap(), workflows(&["b"]));
        later.end(&workflows(&["a"])).unwrap();
        assert_eq!(later.begin(&workflows(&["a"])).unwrap(), workflows(&[]));
    }

    #[test]
    fn damaged_file_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("served.json");
        fs::write(&file, "[").unwrap();
        let refused = DeployedKeys::new(file).begin(&workflows(&[])).unwrap_err().to_string();
        assert!(refused.contains("served.json") && refused.contains("remove the file"), "{refused}");
    }
}
