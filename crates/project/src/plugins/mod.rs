//! Plugins: in the folders of a project, and in packages.

mod folder;
mod packaged;

pub(crate) use folder::MANIFEST_FILE;
pub use folder::{PluginFolder, plugin_files, read_plugin_folders, read_project_plugins, repeated_names};
pub(crate) use packaged::PLUGINS;
pub use packaged::{PackagedPlugin, read_packaged_plugins};
