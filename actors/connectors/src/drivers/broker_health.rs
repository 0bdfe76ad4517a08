//! The health of the Kafka brokers of the server's settings.

use std::time::Duration;

use actix_supervision::{Placement, SpawnError, Tree};
use slog::Logger;
use tokio::sync::watch;

use crate::settings::KafkaCluster;

/// Health of the brokers of the server's settings: a level that anyone reads without I/O. Cheap to clone. In a build without
/// the Kafka driver the brokers always count as away.
#[derive(Clone, Debug)]
pub struct BrokerHealth {
    /// The reason why the brokers count as away; `None` if they answer.
    problem: watch::Receiver<Option<String>>,
}

impl BrokerHealth {
    /// Adds the monitor to a tree, at `path`. `placement` must be on a runtime that may block threads of its pool. Each question
    /// to the brokers has `limit` to be answered.
    ///
    /// # Errors
    /// [`SpawnError`] if the path is taken, or the placement is gone.
    #[cfg(feature = "kafka")]
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        placement: Placement,
        cluster: &KafkaCluster,
        limit: Duration,
        log: Logger,
    ) -> Result<Self, SpawnError> {
        let (sender, problem) = watch::channel(Some("they have not answered yet".to_owned()));
        super::kafka::supervise_monitor(tree, path, placement, cluster, limit, sender, log).await?;
        Ok(Self { problem })
    }

    /// Starts nothing: this build has no Kafka driver.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "kafka"))]
    pub async fn supervise(
        _tree: &Tree,
        _path: &str,
        _placement: Placement,
        _cluster: &KafkaCluster,
        _limit: Duration,
        log: Logger,
    ) -> Result<Self, SpawnError> {
        let reason = super::missing_driver("Kafka brokers", "kafka");
        slog::warn!(log, "kafka is enabled in a build without its driver"; "reason" => &reason);
        Ok(Self { problem: watch::channel(Some(reason)).1 })
    }

    /// Asks the brokers once, outside any tree; they have `limit` to answer.
    ///
    /// # Errors
    /// The reason why they count as away.
    #[cfg(feature = "kafka")]
    pub async fn ask_once(cluster: &KafkaCluster, limit: Duration, log: Logger) -> Result<(), String> {
        super::kafka::ask_once(cluster, limit, log).await
    }

    /// Fails: this build has no Kafka driver.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(feature = "kafka"))]
    pub async fn ask_once(_cluster: &KafkaCluster, _limit: Duration, _log: Logger) -> Result<(), String> {
        Err(super::missing_driver("Kafka brokers", "kafka"))
    }

    /// Returns the reason why the brokers count as away; `None` if they answer.
    pub fn problem(&self) -> Option<String> {
        self.problem.borrow().clone()
    }

    /// Waits until `wanted` accepts the health; returns at once if it does already, or if the monitor has ended.
    pub async fn wait_for(&mut self, wanted: impl Fn(Option<&str>) -> bool) {
        // An error means that the monitor has ended.
        let _ended = self.problem.wait_for(|problem| wanted(problem.as_deref())).await;
    }
}
