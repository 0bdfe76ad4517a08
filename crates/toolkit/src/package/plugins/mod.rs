//! The plugins of packages: they are imported, activated and compiled before the workflows that call them are imported.

mod deploy;
mod kind;
mod server;
mod trial;

pub(super) use deploy::{activate_plugins, import_plugins, wait_for_plugins};
pub(super) use kind::PartKind;
pub(super) use server::stored_status;
pub(super) use trial::{PluginTrial, plugins_called_by};
