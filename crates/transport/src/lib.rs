//! The sockets below HTTP: listening, TLS, time limits, bounds on connections, and the answers that no handler
//! gives.
//!
//! [`Transport`] serves any application that it is given, over HTTP/1.1, and within TLS over HTTP/2 as
//! well. A request finds the state of its
//! connection in the connection data, so that its handler can say when it waits for a body. It knows the service
//! behind it by two traits: [`TransportDelegate`] and, within TLS, [`TlsProvider`].

mod admission;
mod connection;
mod delegate;
mod drainable;
mod http2;
mod listener;
mod refusal;
mod refusal_reporter;
mod service;
mod state;
mod stream;
mod timer;
mod tls;
mod transfer_window;

pub use admission::{ConnectionAdmission, ConnectionLimits};
pub use delegate::TransportDelegate;
pub use http2::FIELD_BYTES;
pub use listener::bind;
pub use refusal::{ConnectionRefusal, RefusalResponse};
pub use refusal_reporter::{ConnectionMetrics, RefusalReporter};
pub use service::Transport;
pub use state::{BodyReading, ConnectionState, Expiry, TlsPeer};
pub use tls::{HTTP_2, TlsProvider};
pub use transfer_window::ConnectionTimeouts;
