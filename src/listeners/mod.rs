//! The listeners of the daemon: bounds, certificates, the probes of operators, and what the transport asks the service.
//!
//! An embedded service has none but that for operators: the server of the host keeps its own limits.

mod certificate_expiry;
pub(crate) mod certificates;
pub(crate) mod limits;
pub(crate) mod listener_shutdown;
pub(crate) mod operations;
pub(crate) mod passed_sockets;
mod refusals;
#[cfg(test)]
mod tests;
