//! MongoDB deployments.

mod actor;
mod client;
mod error;
mod hop;
mod operation;
mod probe;
mod settings;

pub(crate) use actor::{MongoDriver, Run};
pub(crate) use error::MongoError;
pub(crate) use operation::{Find, Item, Operation, Outcome};
pub(crate) use probe::probe;
pub(crate) use settings::MongoSettings;
