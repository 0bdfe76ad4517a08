//! HTTP APIs.

mod actor;
mod probe;
mod settings;
mod way;

pub(crate) use actor::{Exchange, HttpActor, HttpDriver};
pub(crate) use probe::probe;
pub(crate) use settings::HttpSettings;
pub(crate) use way::Unanswered;
