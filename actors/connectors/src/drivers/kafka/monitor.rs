//! Watches whether the brokers of the server's settings answer.
//!
//! Owns a producer that publishes nothing, and asks it for metadata every five seconds. Takes no messages and can be lost at any
//! time. Its finding is a level that anyone reads without I/O.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{
    ChildSpec, Context, Placement, SpawnError, StartContext, StartError, Supervised, Tree,
};
use slog::{Logger, info, warn};
use tokio::sync::watch;
use tokio::time::sleep;

use super::producer::Producer;
use super::reach::Reach;
use crate::drivers::failure::Failure;
use crate::handle::KafkaCluster;

/// Pause between two questions.
const PERIOD: Duration = Duration::from_secs(5);

/// Health of the brokers of the server's settings. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BrokerHealth {
    /// The reason why they do not; `None` where they do.
    problem: watch::Receiver<Option<String>>,
}

impl BrokerHealth {
    /// Adds the monitor to a tree, at `path`. `at` must be a place on a runtime that may block threads of its pool. Each
    /// question has `limit` to be answered.
    ///
    /// # Errors
    /// The path is taken, or the place is gone.
    pub async fn supervise(
        tree: &Tree,
        path: &str,
        at: Placement,
        cluster: &KafkaCluster,
        limit: Duration,
        log: Logger,
    ) -> Result<Self, SpawnError> {
        let (finding, problem) = watch::channel(Some("they have not answered yet".to_owned()));
        let monitor = Monitor { reach: Reach::home(cluster), limit, finding: Arc::new(finding), log };
        let factory = move |_: StartContext| std::future::ready(Ok::<_, StartError>(monitor.clone()));
        tree.spawn(path, ChildSpec::new(), at, factory).await?;
        Ok(Self { problem })
    }

    /// The reason why the brokers count as away; `None` where they answer.
    pub fn problem(&self) -> Option<String> {
        self.problem.borrow().clone()
    }

    /// Waits until the finding is one that `wanted` accepts; returns at once when it is one already, or when nobody looks any
    /// more.
    pub async fn wait_for(&mut self, wanted: impl Fn(Option<&str>) -> bool) {
        // Nobody looks any more once the tree has ended.
        let _ended = self.problem.wait_for(|problem| wanted(problem.as_deref())).await;
    }
}

/// The actor.
#[derive(Clone)]
struct Monitor {
    reach: Reach,
    limit: Duration,
    finding: Arc<watch::Sender<Option<String>>>,
    log: Logger,
}

impl Actor for Monitor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let monitor = self.clone();
        ctx.spawn(async move { monitor.watch().await }.into_actor(self));
    }
}

impl Supervised for Monitor {}

impl Monitor {
    async fn watch(self) {
        let mut producer = None;
        let mut was_away = false;
        loop {
            let problem = self.ask(&mut producer).await.err().map(|failure| failure.to_string());
            match &problem {
                Some(problem) if !was_away => {
                    warn!(self.log, "the kafka brokers do not answer"; "error" => problem);
                }
                None if was_away => info!(self.log, "the kafka brokers answer again"),
                _ => {}
            }
            was_away = problem.is_some();
            self.finding.send_replace(problem);
            sleep(PERIOD).await;
        }
    }

    async fn ask(&self, kept: &mut Option<Producer>) -> Result<(), Failure> {
        let producer = match kept.take() {
            Some(producer) => producer,
            None => Producer::create(&self.reach, self.log.clone())?,
        };
        kept.insert(producer).ask_brokers(None, self.limit).await
    }
}
