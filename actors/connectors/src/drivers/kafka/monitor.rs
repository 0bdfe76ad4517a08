//! The monitor of the brokers of the server's settings.
//!
//! Owns a producer that publishes nothing, and asks it for metadata every five seconds. Takes no messages and can be lost at any
//! time. Its result is a level that anyone reads without I/O.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{
    ChildSpec, Context, Placement, SpawnError, StartContext, StartError, Supervised, Tree,
};
use slog::{Logger, info, warn};
use tokio::sync::watch;
use tokio::time::sleep;

use super::broker_config::BrokerConfig;
use super::producer::Producer;
use crate::drivers::failure::CallFailure;
use crate::settings::KafkaCluster;

/// Pause between two questions to the brokers.
const PERIOD: Duration = Duration::from_secs(5);

/// Adds the monitor to a tree, at `path`. `placement` must be on a runtime that may block threads of its pool. Each question to
/// the brokers has `limit` to be answered; the answers go to `health`, as the reason why the brokers count as away.
///
/// # Errors
/// [`SpawnError`] if the path is taken, or the placement is gone.
pub(crate) async fn supervise_monitor(
    tree: &Tree,
    path: &str,
    placement: Placement,
    cluster: &KafkaCluster,
    limit: Duration,
    health: watch::Sender<Option<String>>,
    log: Logger,
) -> Result<(), SpawnError> {
    let monitor =
        BrokerMonitor { brokers: BrokerConfig::home(cluster), limit, health: Arc::new(health), log };
    let factory = move |_: StartContext| std::future::ready(Ok::<_, StartError>(monitor.clone()));
    tree.spawn(path, ChildSpec::new(), placement, factory).await.map(drop)
}

/// Asks the brokers once, with a producer of its own.
///
/// # Errors
/// The reason why the brokers count as away.
pub(crate) async fn ask_once(cluster: &KafkaCluster, limit: Duration, log: Logger) -> Result<(), String> {
    let producer =
        Producer::create(&BrokerConfig::home(cluster), log).map_err(|failure| failure.to_string())?;
    producer.ask_brokers(None, limit).await.map_err(|failure| failure.to_string())
}

/// The actor that watches the brokers.
#[derive(Clone)]
struct BrokerMonitor {
    brokers: BrokerConfig,
    limit: Duration,
    health: Arc<watch::Sender<Option<String>>>,
    log: Logger,
}

impl Actor for BrokerMonitor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let monitor = self.clone();
        ctx.spawn(async move { monitor.watch().await }.into_actor(self));
    }
}

impl Supervised for BrokerMonitor {}

impl BrokerMonitor {
    async fn watch(self) {
        let mut producer = None;
        let mut was_away = false;
        loop {
            let problem = self.ask(&mut producer).await.err().map(|failure| failure.to_string());
            match &problem {
                Some(problem) if !was_away => {
                    warn!(self.log, "kafka brokers unreachable"; "error" => problem);
                }
                None if was_away => info!(self.log, "kafka brokers reachable again"),
                _ => {}
            }
            was_away = problem.is_some();
            self.health.send_replace(problem);
            sleep(PERIOD).await;
        }
    }

    async fn ask(&self, kept: &mut Option<Producer>) -> Result<(), CallFailure> {
        let producer = match kept.take() {
            Some(producer) => producer,
            None => Producer::create(&self.brokers, self.log.clone())?,
        };
        kept.insert(producer).ask_brokers(None, self.limit).await
    }
}
