//! Object stores that speak the protocol of S3.

mod actor;
mod probe;
mod settings;
mod sign;

pub(crate) use actor::{Head, StorageDriver};
pub(crate) use probe::probe;
pub(crate) use settings::StorageSettings;
pub(crate) use sign::{Grant, Use, check_key};
