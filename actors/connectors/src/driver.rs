//! The interface between connector types and everything that works with all of them.
//!
//! A connector type is a folder below `drivers`. Its settings implement [`DriverSettings`], its running form
//! implements [`Driver`], and one line in `drivers/mod.rs` registers it.

use std::any::Any;
use std::sync::Arc;

use actix_supervision::{ChildSpec, Placement, SpawnError, Tree};
use futures_util::future::LocalBoxFuture;
use slog::Logger;
use svc_model::config::connector::DatabaseKind;

use crate::drivers::pool::OpenPools;
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// The settings of one connector of any type, with placeholders and references replaced. Every
/// [`DriverSettings`] is one.
pub(crate) trait ResolvedSettings: Any + Send + Sync {
    /// Tries out the system that these settings lead to, without touching a running connector. `name` is that of the
    /// connector.
    fn probe<'a>(&'a self, name: &'a str, settings: &'a Settings) -> LocalBoxFuture<'a, ConnectorProbe>;

    /// Starts the actor of the connector.
    ///
    /// # Errors
    /// [`SpawnError::Duplicate`] if the path is taken, another variant if the placement is gone.
    fn spawn(
        self: Arc<Self>,
        context: SpawnContext<'_>,
    ) -> LocalBoxFuture<'_, Result<RunningDriver, SpawnError>>;

    /// As [`DriverSettings::refusal`].
    fn refusal(&self, settings: &Settings) -> Option<String>;

    /// As [`DriverSettings::database`].
    fn database(&self) -> Option<DatabaseKind>;

    /// As [`DriverSettings::names_topic`].
    fn names_topic(&self) -> Option<bool>;
}

/// The typed settings of a connector type, with its probe and its running form.
pub(crate) trait DriverSettings: Any + Send + Sync {
    /// The running form.
    type Driver: Driver;

    /// Tries out the system that these settings lead to, without touching a running connector. `name` is that of the
    /// connector.
    async fn probe(&self, name: &str, settings: &Settings) -> ConnectorProbe;

    /// Starts the actor of the connector.
    ///
    /// # Errors
    /// [`SpawnError::Duplicate`] if the path is taken, another variant if the placement is gone.
    async fn start(self: Arc<Self>, context: SpawnContext<'_>) -> Result<Self::Driver, SpawnError>;

    /// Returns the reason why every call of such a connector would be refused in this process.
    fn refusal(&self, _settings: &Settings) -> Option<String> {
        None
    }

    /// Returns the kind of database that these settings lead to; `None` for a system that is no database.
    fn database(&self) -> Option<DatabaseKind> {
        None
    }

    /// Returns true if these settings name a topic for tasks that name none; `None` for a system without
    /// topics.
    fn names_topic(&self) -> Option<bool> {
        None
    }
}

impl<S: DriverSettings> ResolvedSettings for S {
    fn probe<'a>(&'a self, name: &'a str, settings: &'a Settings) -> LocalBoxFuture<'a, ConnectorProbe> {
        Box::pin(DriverSettings::probe(self, name, settings))
    }

    fn spawn(
        self: Arc<Self>,
        context: SpawnContext<'_>,
    ) -> LocalBoxFuture<'_, Result<RunningDriver, SpawnError>> {
        Box::pin(async move { Ok(Arc::new(self.start(context).await?) as RunningDriver) })
    }

    fn refusal(&self, settings: &Settings) -> Option<String> {
        DriverSettings::refusal(self, settings)
    }

    fn database(&self) -> Option<DatabaseKind> {
        DriverSettings::database(self)
    }

    fn names_topic(&self) -> Option<bool> {
        DriverSettings::names_topic(self)
    }
}

/// The running form of a connector type: typed settings and the address of its actor.
pub(crate) trait Driver: Any + Send + Sync {
    /// The requirement that calls of this driver have, worded for errors: `of type kafka`.
    const REQUIREMENT: &'static str;
}

/// A [`Driver`] of any type; callers downcast it to the one they need.
pub(crate) type RunningDriver = Arc<dyn Any + Send + Sync>;

/// The result of resolving a config: settings of any type, or the reason why the config cannot be used,
/// without its values.
pub(crate) type ResolveResult = Result<Arc<dyn ResolvedSettings>, String>;

/// Erases the type of settings.
pub(crate) fn erase_type<S: ResolvedSettings>(settings: S) -> Arc<dyn ResolvedSettings> {
    Arc::new(settings)
}

/// The place in which an actor is started, and the services it may use.
pub(crate) struct SpawnContext<'s> {
    pub(crate) tree: &'s Tree,
    pub(crate) path: &'s str,
    /// Name of the connector.
    pub(crate) name: &'s str,
    pub(crate) spec: ChildSpec,
    pub(crate) placement: Placement,
    pub(crate) settings: &'s Settings,
    pub(crate) pools: &'s OpenPools,
    #[cfg_attr(
        not(any(feature = "kafka", feature = "sql")),
        expect(dead_code, reason = "only these drivers write to the log")
    )]
    pub(crate) log: &'s Logger,
}
