//! The actor that alone replaces the snapshot, which is in [`RegistryShared`] and survives its restart.

mod messages;
mod shared;
mod state;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, ResponseActFuture, WrapFuture};
use actix_supervision::{Context, StartError, Supervised};
use tokio::sync::oneshot;

use crate::commit::SnapshotDelta;
use crate::scope::{ReloadError, ReloadReport, ReloadScope};
use crate::workflow_users::WorkflowUsers;
use state::ChangeQueue;

pub(crate) use messages::ApplyChange;
pub(crate) use shared::RegistryShared;
pub(crate) use state::SnapshotChange;

/// Delay before a reload that failed because the database was unreachable is retried.
const RETRY: Duration = Duration::from_secs(5);

type Waiter = oneshot::Sender<Result<ReloadReport, ReloadError>>;

/// Writes the snapshot; all others read it.
///
/// Takes [`ApplyChange`], one at a time: the work runs as a future next to the mailbox, what arrives meanwhile
/// waits, and reloads that wait become one. Hears the events of the tree and shows a channel that supervision
/// quarantined, or an operator released, in the snapshot. The snapshot survives a restart of the actor and
/// serves on; the new instance starts from it and reloads. Only the very first instance needs the database to
/// start.
pub(crate) struct RegistryActor {
    shared: Arc<RegistryShared>,
    queue: ChangeQueue<Waiter>,
    workflow_users: WorkflowUsers,
    /// Set while a retry of a failed reload is scheduled.
    retries: bool,
}

impl RegistryActor {
    /// Starts from the snapshot, or loads the first one.
    pub(crate) async fn start(shared: Arc<RegistryShared>) -> Result<Self, StartError> {
        let boot = shared.snapshot().generation() == 0;
        let mut workflow_users = WorkflowUsers::from_snapshot(&shared.snapshot());
        let mut queue = ChangeQueue::default();
        if boot {
            let delta = shared
                .reload(ReloadScope::All, Vec::new(), true)
                .await
                .map_err(|error| StartError::Transient(error.to_string()))?;
            shared.swap(&delta, &mut workflow_users);
        } else {
            queue.push(SnapshotChange::Reload(ReloadScope::All), None);
        }
        Ok(Self { shared, queue, workflow_users, retries: false })
    }

    /// Starts the next change unless one runs.
    fn pump(&mut self, ctx: &mut Context<Self>) {
        let Some(change) = self.queue.begin_next() else { return };
        let shared = Arc::clone(&self.shared);
        let users = match &change {
            SnapshotChange::Reload(ReloadScope::Changed { workflows, .. }) => {
                self.workflow_users.users(workflows).cloned().collect()
            }
            _ => Vec::new(),
        };
        let work = async move {
            match change {
                SnapshotChange::Reload(scope) => shared.reload(scope, users, false).await,
                SnapshotChange::Join(worker) => Ok(shared.join(worker).await),
                SnapshotChange::Leave(worker) => Ok(shared.leave(worker)),
            }
        };
        ctx.spawn(work.into_actor(self).map(|result, actor, ctx| {
            match result {
                Ok(delta) => actor.finish(&delta, ctx),
                Err(error) => actor.fail(&error, ctx),
            }
            actor.pump(ctx);
        }));
    }

    fn finish(&mut self, delta: &SnapshotDelta, ctx: &mut Context<Self>) {
        let report = self.shared.swap(delta, &mut self.workflow_users);
        for waiter in self.queue.finish() {
            // A waiter may have left.
            let _ = waiter.send(Ok(report));
        }
        for &worker in &delta.gone {
            self.queue.push(SnapshotChange::Leave(worker), None);
        }
        // Outside the queue of changes: a slow drain delays no reload.
        let retired = self.shared.clone().retire(delta);
        ctx.spawn(retired.into_actor(self));
    }

    fn fail(&mut self, error: &ReloadError, ctx: &mut Context<Self>) {
        let waiters = match error {
            // The stored configuration will be readable again; until then the scope is kept.
            ReloadError::Storage(_) => self.queue.fail(),
            _ => self.queue.finish(),
        };
        for waiter in waiters {
            let _ = waiter.send(Err(error.clone()));
        }
        if self.queue.has_unapplied() && !self.retries {
            self.retries = true;
            ctx.run_later(RETRY, |actor, ctx| {
                actor.retries = false;
                if actor.queue.has_unapplied() {
                    let nothing = ReloadScope::Changed { workflows: Vec::new(), channels: Vec::new() };
                    actor.queue.push(SnapshotChange::Reload(nothing), None);
                    actor.pump(ctx);
                }
            });
        }
    }
}

impl Actor for RegistryActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let watcher = Arc::clone(&self.shared).watch_tree();
        ctx.spawn(watcher.into_actor(self));
        // Known before the first change of this instance deploys anything.
        let orphans = self.shared.orphans();
        let retired = Arc::clone(&self.shared).retire(&orphans);
        ctx.spawn(retired.into_actor(self));
        self.pump(ctx);
    }
}

impl Supervised for RegistryActor {}

impl Handler<ApplyChange> for RegistryActor {
    type Result = ResponseActFuture<Self, Result<ReloadReport, ReloadError>>;

    fn handle(&mut self, ApplyChange(change): ApplyChange, ctx: &mut Self::Context) -> Self::Result {
        let (waiter, done) = oneshot::channel();
        self.queue.push(change, Some(waiter));
        self.pump(ctx);
        let answer = async move {
            done.await.unwrap_or_else(|_| {
                Err(ReloadError::Unavailable("the registry dropped the change".to_owned()))
            })
        };
        Box::pin(answer.into_actor(self))
    }
}
