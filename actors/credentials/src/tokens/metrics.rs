//! Metrics of token requests.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// The outcome of a token request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestOutcome {
    Ok,
    Rejected,
    /// There was no usable answer, or the request could not be made.
    TransportError,
}

impl RequestOutcome {
    const ALL: [Self; 3] = [Self::Ok, Self::Rejected, Self::TransportError];

    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Rejected => "rejected",
            Self::TransportError => "transport_error",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    connector: String,
    outcome: &'static str,
}

/// The metric families of tokens. Cheap to clone; labels are names of definitions.
#[derive(Clone, Debug, Default)]
pub struct TokenMetrics {
    requests: Family<Labels, Counter>,
}

impl TokenMetrics {
    /// Registers the family; the prefix is the registry's.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "oauth_token_requests",
            "Requests to token endpoints by outcome",
            self.requests.clone(),
        );
    }

    pub(crate) fn record_request(&self, connector: &str, outcome: RequestOutcome) {
        self.requests.get_or_create(&labels(connector, outcome)).inc();
    }

    /// Drops the series of a connector that is gone.
    pub(crate) fn forget(&self, connector: &str) {
        for outcome in RequestOutcome::ALL {
            self.requests.remove(&labels(connector, outcome));
        }
    }
}

fn labels(connector: &str, outcome: RequestOutcome) -> Labels {
    Labels { connector: connector.to_owned(), outcome: outcome.name() }
}
