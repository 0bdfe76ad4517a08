//! Checks of a connector before it is stored, beyond its document: an address that could never be dialled is
//! refused.

use svc_model::config::connector::{ConnectionTarget, ConnectorConfig};
use svc_model::{ConnectorChecks, FieldError};
use svc_outbound::{check_host, check_peer_url};

#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectorRules;

impl ConnectorChecks for ConnectorRules {
    fn config(&self, config: &ConnectorConfig) -> Vec<FieldError> {
        let private = config.allows_private();
        let refused = config.connection_targets().into_iter().filter_map(|(field, place)| {
            let checked = match place {
                ConnectionTarget::Url(url) => check_peer_url(url, private).map(drop),
                ConnectionTarget::Host(host) => check_host(host, private),
            };
            checked.err().map(|why| FieldError::invalid(field, why.to_string()))
        });
        refused.collect()
    }
}
