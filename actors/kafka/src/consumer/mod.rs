//! The consumer of a consumer group.
//!
//! Owns the client. It alone polls, and carries out what changes the client: subscriptions, assignments,
//! pauses, seeks and commits. Records go to the workers of their partitions, which bound what waits; a full
//! one pauses its partition, so that a blocked partition blocks no other. A revoked partition is given up
//! after its record in progress has ended and what is done is committed. A client that fails for good is made
//! anew. A restart leaves the group and joins it again. Partitions that a crashed instance left are given up
//! before that.

mod broker_questions;
mod commit_queue;
mod commits;
mod config;
mod context;
mod convert;
mod error_scope;
mod last_commit;
mod measurements;
mod pending_commit;
mod probe;
mod session;
mod topic_name;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Placement, Supervised, Tree};
use futures_util::future::LocalBoxFuture;
use slog::warn;
use svc_model::ErrorReason;
use tokio::time::timeout;

use crate::shared::{GroupHandle, KafkaShared};
use session::{Session, SessionEnd};
use workers::end_left_workers;

pub(crate) use config::check;
pub(crate) use probe::find_readable;

/// Time in which a consumer ends whose group has no topics any more.
pub(crate) const DRAIN: Duration = Duration::from_secs(10);
/// Time beyond the limit of records in progress in which the client leaves its group.
pub(crate) const LEAVING: Duration = Duration::from_secs(3);
/// Delay before an order to a client that failed is carried out again.
const AGAIN: Duration = Duration::from_secs(1);
/// First and longest delay before a failed client is made anew.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// The place of a consumer in the tree.
#[derive(Clone)]
pub(crate) struct ConsumerPlace {
    pub(crate) tree: Tree,
    /// Path of the group of nodes that holds the consumer and its workers.
    pub(crate) path: Arc<str>,
    pub(crate) at: Placement,
    /// Paths of the nodes that runs use.
    pub(crate) needs: Arc<[String]>,
}

/// The actor. Takes no messages: its handle orders it about.
pub(crate) struct GroupConsumer {
    pub(crate) shared: Arc<KafkaShared>,
    pub(crate) group: Arc<GroupHandle>,
    pub(crate) place: ConsumerPlace,
}

impl Actor for GroupConsumer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (shared, group, place) = (Arc::clone(&self.shared), Arc::clone(&self.group), self.place.clone());
        // Before anything waits: a drain of this instance comes after it.
        let is_open = group.open();
        ctx.spawn(
            async move {
                end_left_workers(&group, &place, &shared.metrics, &shared.log).await;
                if is_open {
                    consume_until_stopped(&shared, &group, &place).await;
                }
                group.end();
            }
            .into_actor(self),
        );
    }
}

impl Supervised for GroupConsumer {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        let group = Arc::clone(&self.group);
        Box::pin(async move {
            group.stop(DRAIN);
            group.wait_until_ended().await;
        })
    }
}

async fn consume_until_stopped(shared: &Arc<KafkaShared>, group: &Arc<GroupHandle>, place: &ConsumerPlace) {
    let mut delay = FIRST_DELAY;
    loop {
        let reason = match Session::open(shared, group, place).await {
            Ok(session) => match session.run().await {
                SessionEnd::Stopped => return,
                SessionEnd::Failed { reason, has_consumed } => {
                    delay = if has_consumed { FIRST_DELAY } else { delay };
                    reason
                }
            },
            Err(reason) => reason,
        };
        (shared.settings.errors)(ErrorReason::KafkaConsumer);
        warn!(shared.log, "a consumer failed and is made anew"; "group" => &*group.name, "error" => &reason);
        group.set_trouble(Some(reason));
        if timeout(delay, group.wait_until_stopping()).await.is_ok() {
            return;
        }
        delay = (delay * 2).min(LONGEST_DELAY);
    }
}
