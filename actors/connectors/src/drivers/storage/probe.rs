//! The probe of an object store.

use svc_outbound::{Outbound, PeerRequest};

use super::settings::StorageSettings;
use crate::probe::{ConnectorProbe, PROBE_TIMEOUT};

/// The operation that a probe tries.
const OPERATION: &str = "HEAD bucket";

/// Requests the bucket. A store that refuses counts as reachable.
pub(crate) async fn probe(storage: &StorageSettings, outbound: &Outbound) -> ConnectorProbe {
    let peer = match storage.peer(outbound) {
        Ok(peer) => peer,
        Err(error) => return ConnectorProbe::failed(OPERATION, error.to_string()),
    };
    let request = PeerRequest { timeout: PROBE_TIMEOUT, ..storage.head(storage.bucket()) };
    match peer.send(request).await {
        Ok(answer) if !answer.status.is_server_error() => ConnectorProbe::reached(OPERATION),
        Ok(answer) => {
            ConnectorProbe::failed(OPERATION, format!("it answered with status {}", answer.status.as_u16()))
        }
        Err(error) => ConnectorProbe::failed(OPERATION, error.to_string()),
    }
}
