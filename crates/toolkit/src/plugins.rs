//! The plugins of offline commands: their functions are checked by all, and called by those that run workflows.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};
use svc_engine::{Engine, Function};
use svc_plugins::{PluginManifest, declared_functions};
use svc_project::{PackagedPlugin, PluginFolder, read_plugin_folders, read_project_plugins, repeated_names};

use crate::offline;

/// The plugins of a command, as arguments.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginArgs {
    /// A plugin, or a directory of plugins, whose functions workflows may call; may be repeated
    #[arg(long = "plugin-dir", value_name = "DIR")]
    pub plugin_dirs: Vec<PathBuf>,
}

/// A plugin as the admin API takes it.
#[derive(Clone, Debug)]
pub struct PluginUpload {
    /// The name of the plugin, its id.
    pub name: String,
    /// The body of the request: manifest, component in base64 and, where there is one, its signature.
    pub body: Value,
}

impl PluginUpload {
    /// Reads the plugins of a directory, built: the one in it, or those in its folders.
    ///
    /// # Errors
    /// Every problem, a line each.
    pub fn read(directory: &Path) -> Result<Vec<Self>, Vec<String>> {
        let folders = read_plugin_folders(directory)?;
        folders.iter().map(|folder| Self::from_folder(folder).map_err(|problem| vec![problem])).collect()
    }

    fn from_folder(folder: &PluginFolder) -> Result<Self, String> {
        let component = STANDARD.encode(folder.read_component()?);
        let mut body = json!({"manifest": folder.manifest.to_json(), "component": component});
        if let Some(signature) = folder.read_signature()? {
            body["signature"] = signature.into();
        }
        Ok(Self { name: folder.manifest.name.clone(), body })
    }
}

/// An engine with the functions of plugins.
pub(crate) struct PluginEngine {
    pub(crate) engine: Engine,
    /// Notes about plugins that cannot be called.
    pub(crate) notes: Vec<String>,
}

impl PluginEngine {
    /// Makes an engine that calls the plugins of a package.
    ///
    /// # Errors
    /// Every problem, a line each.
    pub(crate) fn of_package(plugins: &[PackagedPlugin]) -> Result<Self, Vec<String>> {
        let callable = plugins.iter().map(|plugin| CallablePlugin {
            manifest: &plugin.manifest,
            component: Ok(plugin.component.to_vec()),
            place: format!("plugin '{}'", plugin.manifest.name),
        });
        Self::make(&callable.collect::<Vec<_>>())
    }

    /// Makes an engine that calls the plugins of a project.
    ///
    /// # Errors
    /// Every problem, a line each.
    pub(crate) fn of_project(project: &Path) -> Result<Self, Vec<String>> {
        Self::of_folders(&read_project_plugins(project)?)
    }

    fn of_folders(folders: &[PluginFolder]) -> Result<Self, Vec<String>> {
        let callable = folders.iter().map(|folder| CallablePlugin {
            manifest: &folder.manifest,
            component: folder.read_component(),
            place: folder.path.display().to_string(),
        });
        Self::make(&callable.collect::<Vec<_>>())
    }

    fn make(plugins: &[CallablePlugin<'_>]) -> Result<Self, Vec<String>> {
        let (functions, notes) = callable_functions(plugins)?;
        Ok(Self { engine: with_functions(functions.into_iter()), notes })
    }
}

/// A plugin that is to be called.
struct CallablePlugin<'p> {
    manifest: &'p PluginManifest,
    /// The bytes of the component, or the reason why they are not here.
    component: Result<Vec<u8>, String>,
    /// The name in problems.
    place: String,
}

impl PluginArgs {
    /// Returns an engine that checks calls of plugins: those that are named, and those of the project.
    ///
    /// # Errors
    /// Every problem, a line each.
    pub(crate) fn checking_engine(&self, project: Option<&Path>) -> Result<Arc<Engine>, Vec<String>> {
        let folders = self.read(project)?;
        let functions = folders.iter().flat_map(|folder| declared_functions(&folder.manifest));
        Ok(Arc::new(with_functions(functions)))
    }

    /// Returns an engine that checks calls of plugins: those that are named, and those of a package.
    ///
    /// # Errors
    /// Every problem, a line each.
    pub(crate) fn checking_engine_of_package(
        &self,
        packaged: &[PackagedPlugin],
    ) -> Result<Arc<Engine>, Vec<String>> {
        let mut folders = self.read(None)?;
        // A plugin that the package brings is the one that its workflows call.
        folders.retain(|folder| packaged.iter().all(|plugin| plugin.manifest.name != folder.manifest.name));
        let named = folders.iter().map(|folder| &folder.manifest);
        let manifests = named.chain(packaged.iter().map(|plugin| &plugin.manifest));
        Ok(Arc::new(with_functions(manifests.flat_map(declared_functions))))
    }

    /// Returns an engine that calls the plugins that are named. Their components are compiled, which takes seconds. A
    /// task that calls one without a component fails.
    ///
    /// # Errors
    /// Every problem, a line each.
    pub(crate) fn running_engine(&self) -> Result<PluginEngine, Vec<String>> {
        let folders = self.read(None)?;
        PluginEngine::of_folders(&folders)
    }

    fn read(&self, project: Option<&Path>) -> Result<Vec<PluginFolder>, Vec<String>> {
        let mut folders = match project {
            Some(project) => read_project_plugins(project)?,
            None => Vec::new(),
        };
        for directory in &self.plugin_dirs {
            // The plugins of the project may be named once more.
            let named = read_plugin_folders(directory)?;
            folders.retain(|folder| !named.iter().any(|other| is_same(&folder.path, &other.path)));
            folders.extend(named);
        }
        let problems = repeated_names(&folders);
        if problems.is_empty() { Ok(folders) } else { Err(problems) }
    }
}

/// Returns an engine that checks calls of the plugins of a package.
pub(crate) fn package_engine(plugins: &[PackagedPlugin]) -> Arc<Engine> {
    let functions = plugins.iter().flat_map(|plugin| declared_functions(&plugin.manifest));
    Arc::new(with_functions(functions))
}

/// Reads the built plugins of a project, to be put into its package.
///
/// # Errors
/// Every problem, a line each, such as a plugin that is not built.
pub(crate) fn read_built_plugins(project: &Path) -> Result<Vec<PackagedPlugin>, Vec<String>> {
    let (mut plugins, mut problems) = (Vec::new(), Vec::new());
    for folder in read_project_plugins(project)? {
        match PackagedPlugin::from_folder(&folder) {
            Ok(plugin) => plugins.push(plugin),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(plugins) } else { Err(problems) }
}

/// Writes the problems of plugins.
pub(crate) fn write_problems(problems: &[String], err: &mut dyn Write) -> io::Result<()> {
    problems.iter().try_for_each(|problem| writeln!(err, "Error: {problem}"))
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn with_functions(functions: impl Iterator<Item = Arc<dyn Function>>) -> Engine {
    functions.fold(offline::engine_builder(), |engine, function| engine.function(function)).build()
}

/// The functions of plugins, and a note about each plugin that cannot be called.
type CallableFunctions = (Vec<Arc<dyn Function>>, Vec<String>);

#[cfg(feature = "plugins")]
fn callable_functions(plugins: &[CallablePlugin<'_>]) -> Result<CallableFunctions, Vec<String>> {
    use svc_plugins::{ComponentSlot, PluginLimits, PluginRuntime, component_digest, plugin_functions};

    let (mut functions, mut notes) = (Vec::new(), Vec::new());
    if plugins.is_empty() {
        return Ok((functions, notes));
    }
    let runtime = PluginRuntime::start(PluginLimits::default()).map_err(|error| vec![error.to_string()])?;
    let mut problems = Vec::new();
    for CallablePlugin { manifest, component, place } in plugins {
        let component = match component {
            Ok(component) => component,
            Err(missing) => {
                notes.push(missing.clone());
                functions.extend(declared_functions(manifest));
                continue;
            }
        };
        match runtime.compile(component) {
            Ok(compiled) => {
                let (digest, slot) = (component_digest(component), ComponentSlot::ready(compiled));
                functions.extend(plugin_functions(&runtime, manifest, &digest, &slot));
            }
            Err(error) => problems.push(format!("{place}: {error}")),
        }
    }
    if problems.is_empty() { Ok((functions, notes)) } else { Err(problems) }
}

#[cfg(not(feature = "plugins"))]
fn callable_functions(plugins: &[CallablePlugin<'_>]) -> Result<CallableFunctions, Vec<String>> {
    let functions = plugins.iter().flat_map(|plugin| declared_functions(plugin.manifest)).collect();
    let note = |plugin: &CallablePlugin<'_>| match &plugin.component {
        Ok(_) => {
            format!("{}: not in this build (cargo feature `plugins`), tasks that call it fail", plugin.place)
        }
        Err(missing) => missing.clone(),
    };
    Ok((functions, plugins.iter().map(note).collect()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use svc_model::validate_workflow;
    use svc_project::{PluginLanguage, new_plugin};

    use super::*;

    fn write_plugin(folder: &Path, name: &str) {
        for file in new_plugin(PluginLanguage::JavaScript, name) {
            let path = folder.join(file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.text).unwrap();
        }
    }

    fn calls(engine: &Engine, function: &str, input: Value) -> bool {
        let task = json!({"id": "t", "name": "t", "function": {"name": function, "input": input}});
        validate_workflow(&json!({"name": "w", "tasks": [task]}), engine).valid()
    }

    #[test]
    fn plugins_of_project_and_arguments_are_checked() {
        let root = tempfile::tempdir().unwrap();
        let (project, other) = (root.path().join("shop"), root.path().join("other"));
        write_plugin(&project.join("plugins/tax"), "tax");
        write_plugin(&other, "rates");
        let args = PluginArgs { plugin_dirs: vec![other, project.join("plugins")] };
        let engine = args.checking_engine(Some(&project)).unwrap();
        for function in ["tax.slug", "rates.slug"] {
            assert!(calls(&engine, function, json!({"text": "a", "output": "data.x"})), "{function}");
            assert!(!calls(&engine, function, json!({"output": "data.x"})), "{function}: text is required");
        }
        assert!(!calls(&engine, "tax.none", json!({"text": "a"})));
    }

    #[test]
    fn plugin_without_component_is_noted() {
        let root = tempfile::tempdir().unwrap();
        write_plugin(root.path(), "tax");
        let made = PluginArgs { plugin_dirs: vec![root.path().to_owned()] }.running_engine().unwrap();
        assert_eq!(made.notes.len(), 1);
        assert!(calls(&made.engine, "tax.slug", json!({"text": "a"})));
    }

    #[test]
    fn upload_has_component_and_signature() {
        let root = tempfile::tempdir().unwrap();
        write_plugin(root.path(), "tax");
        assert!(PluginUpload::read(root.path()).unwrap_err()[0].contains("build the plugin"));
        fs::write(root.path().join("plugin.wasm"), b"wasm").unwrap();
        let uploads = PluginUpload::read(root.path()).unwrap();
        assert_eq!((uploads[0].name.as_str(), &uploads[0].body["component"]), ("tax", &json!("d2FzbQ==")));
        assert!(uploads[0].body["manifest"].get("component").is_none());
        assert!(uploads[0].body.get("signature").is_none());
        fs::write(root.path().join("plugin.wasm.sig"), "c2ln\n").unwrap();
        assert_eq!(PluginUpload::read(root.path()).unwrap()[0].body["signature"], json!("c2ln"));
    }

    #[test]
    fn built_plugins_of_project_are_packaged() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(read_built_plugins(root.path()), Ok(Vec::new()));
        let folder = root.path().join("plugins/tax");
        write_plugin(&folder, "tax");
        let problems = read_built_plugins(root.path()).unwrap_err();
        assert!(problems.len() == 1 && problems[0].contains("build the plugin"), "{problems:?}");
        fs::write(folder.join("plugin.wasm"), b"wasm").unwrap();
        let plugins = read_built_plugins(root.path()).unwrap();
        assert_eq!(plugins[0].to_item()["component"], json!("d2FzbQ=="));
        let engine = package_engine(&plugins);
        assert!(calls(&engine, "tax.slug", json!({"text": "a"})) && !calls(&engine, "tax.slug", json!({})));
        let other = PluginArgs::default().checking_engine_of_package(&plugins).unwrap();
        assert!(calls(&other, "tax.slug", json!({"text": "a"})));
    }

    #[test]
    fn two_plugins_of_one_name_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let plugin_dirs = vec![root.path().join("a"), root.path().join("b")];
        plugin_dirs.iter().for_each(|folder| write_plugin(folder, "tax"));
        let problems = PluginArgs { plugin_dirs }.checking_engine(None).err().unwrap_or_default();
        assert!(problems.len() == 1 && problems[0].contains("rename one"), "{problems:?}");
    }
}
