//! HTTP APIs.

mod actor;
mod settings;

pub(crate) use actor::{HttpActor, HttpDriver};
pub(crate) use settings::HttpSettings;
