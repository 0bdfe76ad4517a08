//! MongoDB deployments.

mod actor;
mod client;
mod error;
mod hop;
mod operation;
mod probe;
mod settings;

use svc_model::config::connector::DbConfig;

use crate::driver::{ResolveResult, erase_type};

pub(crate) use actor::{MongoDriver, RunOperation};
pub(crate) use error::MongoError;
pub(crate) use operation::{CollectionOperation, Find, InsertedItem, OperationResult};
pub(crate) use settings::MongoSettings;

/// Resolves the config of a MongoDB deployment.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &DbConfig) -> ResolveResult {
    MongoSettings::new(config).map(erase_type)
}
