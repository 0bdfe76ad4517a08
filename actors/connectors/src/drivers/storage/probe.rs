//! Whether an object store answers.

use svc_outbound::{Outbound, PeerRequest};

use super::settings::StorageSettings;
use crate::probe::{LIMIT, Probe};

/// Asks for the bucket. A store that refuses is there all the same.
pub(crate) async fn probe(storage: &StorageSettings, outbound: &Outbound) -> Probe {
    let what = "HEAD bucket";
    let peer = match storage.peer(outbound) {
        Ok(peer) => peer,
        Err(error) => return Probe::failed(true, what, error.to_string()),
    };
    let request = PeerRequest { timeout: LIMIT, ..storage.head(storage.bucket()) };
    match peer.send(request).await {
        Ok(answer) if !answer.status.is_server_error() => {
            Probe { reachable: true, supported: true, probe: what, error: None }
        }
        Ok(answer) => {
            Probe::failed(true, what, format!("it answered with status {}", answer.status.as_u16()))
        }
        Err(error) => Probe::failed(true, what, error.to_string()),
    }
}
