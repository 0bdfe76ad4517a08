//! The service: configuration, HTTP edge, assembly of the supervision tree; library `svc` and binary `svc-server`.
//!
//! [`Service`] is a running service as a value. The binary starts one and runs [`serve`]; a larger actix-web
//! application starts one and mounts [`Service::routes`].

mod admin;
mod assembly;
pub mod cli;
pub mod config;
mod descriptors;
mod error;
pub mod error_codes;
pub mod http;
mod io_runtime;
mod jobs;
mod lifecycle;
mod listener_shutdown;
pub mod logging;
mod operations;
mod options;
pub mod reencrypt;
mod routes;
pub mod serve;
pub mod service;
pub mod settings;
mod shutdown;
pub mod signals;
mod start;
pub mod state;
mod transport;
mod tree;
mod watchdog;
mod worker_threads;

pub use actix_supervision::{FaultKind, PlannedFault, TreeExit};
pub use config::Config;
pub use error::ServiceStartError;
pub use operations::Operations;
pub use options::Options;
pub use service::Service;
/// The engine, with the types for functions of an embedding application.
pub use svc_engine as engine;

/// The version of the service.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit of the build, `unknown` outside a checkout.
pub(crate) const GIT_HASH: &str = match option_env!("SVC_BUILD_COMMIT") {
    Some(hash) => hash,
    None => "unknown",
};

/// The time of the build, `unknown` outside a checkout.
pub(crate) const BUILD_TIMESTAMP: &str = match option_env!("SVC_BUILD_TIME") {
    Some(time) => time,
    None => "unknown",
};
