//! The plugins of a project: folders with a manifest and a component.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use svc_outbound::describe_cause;
use svc_plugins::PluginManifest;

use crate::source::read_text;

/// The file of the manifest in the folder of a plugin.
pub(crate) const MANIFEST_FILE: &str = "plugin.toml";

/// The folder of a project with its plugins.
const PLUGINS: &str = "plugins";

/// The ending that the file of a signature adds to that of the component.
const SIGNATURE: &str = "sig";

/// Bytes of a component at most, as many as a package has.
const MAX_COMPONENT_BYTES: u64 = 256 << 20;

/// Bytes of a signature at most; it is one line.
const MAX_SIGNATURE_BYTES: u64 = 4 << 10;

/// A folder with a plugin, its manifest read.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginFolder {
    pub path: PathBuf,
    pub manifest: PluginManifest,
}

impl PluginFolder {
    /// Reads the manifest in a folder.
    ///
    /// # Errors
    /// Every problem, a line each that begins with the file.
    fn read(path: &Path) -> Result<Self, Vec<String>> {
        let file = path.join(MANIFEST_FILE);
        let name = file.display().to_string();
        let text = read_text(&name, &file).map_err(|error| vec![error.report(&name)])?;
        let manifest = PluginManifest::parse_toml(&text).map_err(|errors| {
            errors.iter().map(|error| format!("{name}: {error}")).collect::<Vec<String>>()
        })?;
        Ok(Self { path: path.to_owned(), manifest })
    }

    /// Reads the component that the manifest names.
    ///
    /// # Errors
    /// The reason why it is not here, in one line.
    pub fn read_component(&self) -> Result<Vec<u8>, String> {
        let Some(component) = &self.manifest.component else {
            let file = self.path.join(MANIFEST_FILE);
            return Err(format!("{}: names no component; add `component = \"plugin.wasm\"`", file.display()));
        };
        self.read_file(component, MAX_COMPONENT_BYTES).map_err(|error| {
            let (file, cause) = (self.path.join(component), describe_cause(&error));
            let remedy = match error.kind() {
                io::ErrorKind::InvalidInput => "name the component, a file in the folder of the plugin",
                _ => "build the plugin, as its README says",
            };
            format!("{}: cannot be read: {cause}; {remedy}", file.display())
        })
    }

    /// Reads a file in the folder. The project may be that of a stranger: a file elsewhere, which a package would carry
    /// away, is refused.
    fn read_file(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let refuse = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why.to_owned()));
        let path = self.path.join(name).canonicalize()?;
        if !path.starts_with(self.path.canonicalize()?) {
            return refuse("it is outside of the folder of the plugin");
        }
        // A pipe would be waited for, and a device may have no end.
        if !path.is_file() {
            return refuse("it is no regular file");
        }
        let mut bytes = Vec::new();
        File::open(&path)?.take(most + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > most {
            true => refuse(&format!("it has more than {most} bytes")),
            false => Ok(bytes),
        }
    }

    /// Reads the signature next to the component; `None` without one.
    ///
    /// # Errors
    /// The file cannot be read, in one line.
    pub fn read_signature(&self) -> Result<Option<String>, String> {
        let Some(component) = &self.manifest.component else { return Ok(None) };
        let name = format!("{component}.{SIGNATURE}");
        match self.read_file(&name, MAX_SIGNATURE_BYTES) {
            Ok(line) => Ok(Some(String::from_utf8_lossy(&line).trim().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let file = self.path.join(name);
                Err(format!("{}: cannot be read: {}", file.display(), describe_cause(&error)))
            }
        }
    }
}

/// Reads the plugin in a directory, or those in its folders, in the order of their names.
///
/// # Errors
/// Every problem, a line each: a directory without a plugin, a manifest that is refused, a name that two have.
pub fn read_plugin_folders(directory: &Path) -> Result<Vec<PluginFolder>, Vec<String>> {
    let folders = match directory.join(MANIFEST_FILE).is_file() {
        true => vec![directory.to_owned()],
        false => folders_with_manifest(directory)
            .map_err(|error| vec![format!("{}: {}", directory.display(), describe_cause(&error))])?,
    };
    if folders.is_empty() {
        let directory = directory.display();
        return Err(vec![format!("{directory}: neither it nor a folder in it has a {MANIFEST_FILE}")]);
    }
    read_all(&folders)
}

/// Reads the plugins of a project directory, those in `plugins/`; none without that folder.
///
/// # Errors
/// As [`read_plugin_folders`], but for a folder without a plugin.
pub fn read_project_plugins(project: &Path) -> Result<Vec<PluginFolder>, Vec<String>> {
    match folders_with_manifest(&project.join(PLUGINS)) {
        Ok(folders) => read_all(&folders),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(vec![format!("{}: {}", project.join(PLUGINS).display(), describe_cause(&error))]),
    }
}

/// Returns the paths of the files of plugins that go into the package of a project: manifests, components, signatures.
/// They need not exist.
pub fn plugin_files(project: &Path) -> Vec<PathBuf> {
    let folders = folders_with_manifest(&project.join(PLUGINS)).unwrap_or_default();
    let files = folders.iter().flat_map(|folder| {
        let component = PluginFolder::read(folder).ok().and_then(|read| read.manifest.component);
        let signature = component.as_ref().map(|component| format!("{component}.{SIGNATURE}"));
        let names = [Some(MANIFEST_FILE.to_owned()), component, signature];
        names.into_iter().flatten().map(move |name| folder.join(name))
    });
    files.collect()
}

fn folders_with_manifest(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> =
        directory.read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    folders.retain(|folder| folder.join(MANIFEST_FILE).is_file());
    folders.sort();
    Ok(folders)
}

fn read_all(paths: &[PathBuf]) -> Result<Vec<PluginFolder>, Vec<String>> {
    let (mut folders, mut problems) = (Vec::new(), Vec::new());
    for path in paths {
        match PluginFolder::read(path) {
            Ok(folder) => folders.push(folder),
            Err(found) => problems.extend(found),
        }
    }
    problems.extend(repeated_names(&folders));
    if problems.is_empty() { Ok(folders) } else { Err(problems) }
}

/// Returns a problem for each plugin whose name an earlier one has.
pub fn repeated_names(folders: &[PluginFolder]) -> Vec<String> {
    let mut first = BTreeMap::new();
    let mut problems = Vec::new();
    for folder in folders {
        let (name, path) = (&folder.manifest.name, folder.path.display());
        match first.get(name) {
            Some(earlier) => {
                problems.push(format!("{path}: {earlier} has a plugin \"{name}\" too; rename one"))
            }
            None => drop(first.insert(name, path.to_string())),
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{PluginLanguage, new_plugin};

    fn write_plugin(folder: &Path, name: &str) {
        for file in new_plugin(PluginLanguage::Python, name) {
            let path = folder.join(file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.text).unwrap();
        }
    }

    fn names(folders: &[PluginFolder]) -> Vec<&str> {
        folders.iter().map(|folder| folder.manifest.name.as_str()).collect()
    }

    #[test]
    fn plugins_of_a_project_are_read_by_name() {
        let project = tempfile::tempdir().unwrap();
        assert_eq!(read_project_plugins(project.path()), Ok(Vec::new()));
        for name in ["tax", "rates"] {
            write_plugin(&project.path().join("plugins").join(name), name);
        }
        fs::create_dir(project.path().join("plugins/notes")).unwrap();
        let folders = read_project_plugins(project.path()).unwrap();
        assert_eq!(names(&folders), ["rates", "tax"]);
        assert_eq!(folders[0].manifest.function_names(), ["rates.slug"]);
        assert_eq!(names(&read_plugin_folders(&project.path().join("plugins/tax")).unwrap()), ["tax"]);
        let files = plugin_files(project.path());
        assert!(files.len() == 6 && files.contains(&project.path().join("plugins/tax/plugin.wasm")));
    }

    #[test]
    fn missing_component_names_the_file() {
        let project = tempfile::tempdir().unwrap();
        write_plugin(project.path(), "tax");
        let folder = &read_plugin_folders(project.path()).unwrap()[0];
        let missing = folder.read_component().unwrap_err();
        assert!(
            missing.contains("plugin.wasm: cannot be read") && missing.contains("build the plugin"),
            "{missing}"
        );
        fs::write(project.path().join("plugin.wasm"), b"wasm").unwrap();
        assert_eq!(folder.read_component().unwrap(), b"wasm");
    }

    #[test]
    fn file_outside_of_the_folder_is_not_read() {
        let project = tempfile::tempdir().unwrap();
        let plugin = project.path().join("plugins/tax");
        write_plugin(&plugin, "tax");
        let secret = project.path().join("secret");
        fs::write(&secret, b"s3cret").unwrap();
        fs::create_dir(plugin.join("built")).unwrap();
        symlink(&secret, plugin.join("linked")).unwrap();
        let manifest = fs::read_to_string(plugin.join(MANIFEST_FILE)).unwrap();
        for (component, reason) in [
            ("../../secret", "outside of the folder"),
            (secret.to_str().unwrap(), "outside of the folder"),
            ("linked", "outside of the folder"),
            ("/dev/zero", "outside of the folder"),
            ("built", "no regular file"),
        ] {
            let manifest = manifest.replace("\"plugin.wasm\"", &format!("{component:?}"));
            fs::write(plugin.join(MANIFEST_FILE), manifest).unwrap();
            let folder = &read_plugin_folders(&plugin).unwrap()[0];
            let refused = folder.read_component().unwrap_err();
            assert!(refused.contains(reason) && refused.contains("name the component"), "{refused}");
        }
        fs::write(plugin.join(MANIFEST_FILE), &manifest).unwrap();
        symlink(&secret, plugin.join("plugin.wasm.sig")).unwrap();
        let folder = &read_plugin_folders(&plugin).unwrap()[0];
        let refused = folder.read_signature().unwrap_err();
        assert!(refused.contains("outside of the folder") && !refused.contains("s3cret"), "{refused}");
    }

    #[test]
    fn refused_manifests_and_repeated_names_are_problems() {
        let project = tempfile::tempdir().unwrap();
        let plugins = project.path().join("plugins");
        assert!(read_plugin_folders(&plugins).is_err());
        for folder in ["a", "b"] {
            write_plugin(&plugins.join(folder), "tax");
        }
        let problems = read_plugin_folders(&plugins).unwrap_err();
        assert!(problems.len() == 1 && problems[0].contains("has a plugin \"tax\" too"), "{problems:?}");
        fs::write(plugins.join("b/plugin.toml"), "name = \"tax\"").unwrap();
        let problems = read_project_plugins(project.path()).unwrap_err();
        assert!(problems.iter().all(|problem| problem.contains("b/plugin.toml: ")), "{problems:?}");
        fs::create_dir(project.path().join("none")).unwrap();
        let problems = read_plugin_folders(&project.path().join("none")).unwrap_err();
        assert!(problems[0].ends_with("neither it nor a folder in it has a plugin.toml"), "{problems:?}");
    }
}
