//! The rules of create, update and import: one place that the admin API and the project directory both call.
//!
//! Shape and expressions are checked by `svc_model` and the engine; these are the rules beyond them. A rule
//! that only a serving process can judge (its own database, the connectors it has loaded) stays with the
//! server, which passes what it knows.

mod channel;
mod connector;
mod connector_need;
mod directives;
mod import;
mod topics;

pub use channel::ChannelRules;
pub use connector::ConnectorRules;
pub use connector_need::connector_need;
pub(crate) use directives::{check_directives, read_rollout, read_share};
pub use import::import_body;
pub(crate) use import::without_directives;
pub use topics::check_topics;
