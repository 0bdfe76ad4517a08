//! Object stores that speak the protocol of S3.

mod actor;
mod multipart;
mod probe;
mod settings;
mod sign;

use svc_model::config::connector::StorageConfig;

use crate::driver::{ResolveResult, erase_type};

pub(crate) use actor::{HeadObject, ReadObject, StorageDriver, WriteObject};
pub(crate) use multipart::MultipartUpload;
pub(crate) use settings::StorageSettings;
pub(crate) use sign::{ObjectAccess, PresignGrant};

/// Resolves the config of an object store.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &StorageConfig) -> ResolveResult {
    StorageSettings::new(config).map(erase_type)
}
