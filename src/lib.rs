//! The service: configuration, HTTP edge, assembly of the supervision tree; library `svc` and binary `svc-server`.
//!
//! [`Service`] is a running service as a value. The binary starts one and runs [`serve`]; a larger actix-web
//! application starts one and mounts [`Service::routes`].
//!
//! # Embedding
//!
//! The host keeps its own routes and its own server. The service answers its paths next to them, and the host sends
//! messages to channels in-process with [`Service::submit`].
//!
//! ```
//! use std::time::Duration;
//!
//! use actix_web::rt::System;
//! use actix_web::{App, HttpServer, web};
//! use svc::{Config, Options, Service};
//!
//! # fn get(address: std::net::SocketAddr, path: &str) -> std::io::Result<String> {
//! #     use std::io::{Read, Write};
//! #     let mut stream = std::net::TcpStream::connect(address)?;
//! #     write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
//! #     let mut response = String::new();
//! #     stream.read_to_string(&mut response)?;
//! #     Ok(response)
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let directory = tempfile::tempdir()?;
//! let mut config = Config::default();
//! config.storage.url = format!("sqlite:{}", directory.path().join("shop.db").display());
//!
//! System::new().block_on(async {
//!     let service = Service::start(config, Options::default()).await?;
//!     let routes = service.routes();
//!     let shop = || async { "the page of the shop" };
//!     let application = move || App::new().route("/", web::get().to(shop)).configure(routes.clone());
//!     let server = HttpServer::new(application).workers(1).disable_signals().bind(("127.0.0.1", 0))?;
//!     let address = server.addrs()[0];
//!     let server = server.run();
//!     let handle = server.handle();
//!     actix_web::rt::spawn(server);
//!
//!     let page = web::block(move || get(address, "/")).await??;
//!     assert!(page.ends_with("the page of the shop"));
//!     let health = web::block(move || get(address, "/healthz")).await??;
//!     assert!(health.ends_with(r#"{"status":"ok"}"#));
//!
//!     // First the service, so that requests in progress are answered; then the server.
//!     service.shutdown(Duration::from_secs(5)).await;
//!     handle.stop(true).await;
//!     Ok(())
//! })
//! # }
//! ```

#![warn(missing_docs)]

mod admin;
mod assembly;
mod backtests;
mod backups;
mod boot_packages;
mod bulk;
pub mod cli;
pub mod commands;
pub mod config;
pub mod daemon;
mod driver_handle;
mod error;
pub mod error_codes;
pub mod exit;
mod housekeeping;
pub mod http;
mod lifecycle;
mod listeners;
mod options;
mod package_trust;
mod process;
mod rollouts;
mod router;
mod routes;
pub mod serve;
pub mod service;
mod shutdown;
mod telemetry;

pub use actix_supervision::{FaultKind, PlannedFault, TreeExit};
pub use assembly::{settings, state};
pub use config::Config;
pub use error::ServiceStartError;
pub use listeners::operations::Operations;
pub use listeners::passed_sockets::PassedSockets;
pub use options::Options;
pub use process::{logging, signals};
/// The library of the registry in [`Options::metrics`].
pub use prometheus_client;
pub use service::Service;
/// The engine, with the types for functions of an embedding application.
pub use svc_engine as engine;
/// The engine of the commands that work without a server.
pub use svc_toolkit::offline;

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
