//! The sockets below HTTP: listening, TLS, time limits, bounds on connections, and the answers that no handler
//! gives.
//!
//! [`Transport`] serves any application that it is given, over HTTP/1.1, and within TLS over HTTP/2 as
//! well. A request finds the state of its
//! connection in the connection data, so that its handler can say when it waits for a body. An embedded
//! service has no transport: the server of the host keeps its own limits.

mod admission;
mod connection;
mod http2;
mod listener;
mod refusal;
mod refusal_reporter;
mod service;
pub(crate) mod settings;
mod state;
mod stream;
#[cfg(test)]
mod tests;
mod timer;
mod transfer_window;

pub(crate) use admission::{ConnectionAdmission, ConnectionLimits};
pub(crate) use listener::bind;
pub(crate) use refusal_reporter::{ConnectionMetrics, RefusalReporter};
pub(crate) use service::Transport;
pub(crate) use state::{ConnectionState, TlsPeer};
