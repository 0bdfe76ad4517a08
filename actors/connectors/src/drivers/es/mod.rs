//! Elasticsearch clusters: HTTP APIs of a known kind, called through the same actor as any other.

mod probe;
mod settings;

use std::sync::Arc;

use actix_supervision::{Address, SpawnError};
use svc_model::config::connector::EsConfig;

use crate::driver::{Driver, DriverSettings, ResolveResult, SpawnContext, erase_type};
use crate::drivers::http::HttpActor;
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

use probe::probe;
pub(crate) use settings::EsSettings;

/// The driver of an Elasticsearch cluster: its settings and the address of its actor.
pub(crate) struct EsDriver {
    pub(crate) settings: Arc<EsSettings>,
    pub(crate) address: Address<HttpActor>,
}

impl EsDriver {
    async fn start(settings: &Arc<EsSettings>, context: SpawnContext<'_>) -> Result<Self, SpawnError> {
        let http = &settings.http;
        let factory = HttpActor::to_address(
            context.settings.outbound.clone(),
            http.base.clone(),
            http.allow_private,
            None,
            None,
        );
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for EsDriver {
    const REQUIREMENT: &'static str = "of type es";
}

impl DriverSettings for EsSettings {
    type Driver = EsDriver;

    async fn probe(&self, name: &str, settings: &Settings) -> ConnectorProbe {
        probe(name, self, settings).await
    }

    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<EsDriver, SpawnError> {
        EsDriver::start(&self, context).await
    }
}

/// Resolves the config of an Elasticsearch cluster.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &EsConfig) -> ResolveResult {
    EsSettings::new(config).map(erase_type)
}
