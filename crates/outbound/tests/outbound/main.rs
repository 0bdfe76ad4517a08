//! The outbound client from outside: what it dials, whom it trusts, how much it reads.

#![expect(clippy::unwrap_used, reason = "tests")]

mod answers;
mod causes;
mod environment;
mod hosts;
mod redirects;
mod spellings;

use std::time::Duration;

use svc_outbound::{ClientOptions, Outbound, OutboundClient, Trust};

/// Longer than any answer that is expected.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client that trusts these anchors.
fn client(trust: &Trust, allow_private: bool, timeout: Duration) -> OutboundClient {
    let outbound = Outbound::new(trust).unwrap();
    outbound.client(ClientOptions { allow_private, timeout }).unwrap()
}
