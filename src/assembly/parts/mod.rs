//! The parts of the service: one for each actor crate, with its rows of the [table](crate::assembly::tree), its settings
//! and its start. The actors of an embedding application are a part too.

pub(crate) mod backtests;
pub(crate) mod bulk;
pub(crate) mod channels;
pub(crate) mod cluster;
pub(crate) mod connectors;
pub(crate) mod console;
pub(crate) mod credentials;
pub(crate) mod cron;
pub(crate) mod host;
pub(crate) mod housekeeping;
pub(crate) mod kafka;
pub(crate) mod registry;
pub(crate) mod store;
pub(crate) mod traces;
pub(crate) mod webhooks;
