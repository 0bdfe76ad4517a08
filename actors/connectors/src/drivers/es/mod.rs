//! Elasticsearch clusters: HTTP APIs of a known kind, called through the same actor as any other.

mod probe;
mod settings;

use std::sync::Arc;

use actix_supervision::{Address, SpawnError};
use futures_util::future::LocalBoxFuture;
use svc_model::config::connector::EsConfig;

use crate::driver::{Driver, ResolveResult, ResolvedSettings, RunningDriver, SpawnContext, erase};
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
        let factory =
            HttpActor::at(context.settings.outbound.clone(), http.base.clone(), http.allow_private, None);
        let address = context.tree.spawn(context.path, context.spec, context.placement, factory).await?;
        Ok(Self { settings: Arc::clone(settings), address })
    }
}

impl Driver for EsDriver {
    const REQUIREMENT: &'static str = "of type es";
}

impl ResolvedSettings for EsSettings {
    fn probe<'a>(&'a self, name: &'a str, settings: &'a Settings) -> LocalBoxFuture<'a, ConnectorProbe> {
        Box::pin(probe(name, self, settings))
    }

    fn spawn(
        self: Arc<Self>,
        context: SpawnContext<'_>,
    ) -> LocalBoxFuture<'_, Result<RunningDriver, SpawnError>> {
        Box::pin(async move { Ok(Arc::new(EsDriver::start(&self, context).await?) as RunningDriver) })
    }
}

/// Resolves the config of an Elasticsearch cluster.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &EsConfig) -> ResolveResult {
    EsSettings::new(config).map(erase)
}
