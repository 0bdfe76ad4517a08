//! Elasticsearch clusters: HTTP APIs of a known kind, asked by the same actor as any other.

mod probe;
mod settings;

use std::sync::Arc;

use actix_supervision::{Address, SpawnError};

use crate::drivers::http::HttpActor;
use crate::drivers::{Driver, Kind, Spot};

pub(crate) use probe::probe;
pub(crate) use settings::EsSettings;

/// The way to a cluster: its settings, and the actor that asks.
pub(crate) struct EsDriver {
    pub(crate) settings: Arc<EsSettings>,
    pub(crate) address: Address<HttpActor>,
}

impl EsDriver {
    pub(crate) async fn start(settings: &Arc<EsSettings>, spot: Spot<'_>) -> Result<Self, SpawnError> {
        let http = &settings.http;
        let factory = HttpActor::at(spot.with.outbound.clone(), http.base.clone(), http.allow_private, None);
        let address = spot.tree.spawn(spot.path, spot.spec, spot.at, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Kind for EsDriver {
    const NEEDED: &'static str = "of type es";

    fn of(driver: &Driver) -> Option<&Self> {
        match driver {
            Driver::Es(es) => Some(es),
            _ => None,
        }
    }
}
