//! The actor that owns the snapshot.

mod msg;
mod state;
mod work;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, ResponseActFuture, WrapFuture};
use actix_supervision::{Context, StartError, Supervised};
use tokio::sync::oneshot;

use crate::commit::Changes;
use crate::index::Index;
use crate::scope::{ReloadError, ReloadReport, ReloadScope};
use state::Queue;

pub(crate) use msg::Change;
pub(crate) use state::Job;
pub(crate) use work::Shared;

/// How soon a reload that failed for want of the database is tried again by itself.
const RETRY: Duration = Duration::from_secs(5);

type Waiter = oneshot::Sender<Result<ReloadReport, ReloadError>>;

/// Writes the snapshot; everybody else reads it.
///
/// Takes [`Change`], one at a time: the work runs as a future beside the mailbox, what arrives meanwhile waits, and
/// reloads that wait become one. Hears the events of the tree and shows a channel that supervision quarantined, or
/// an operator released, in the snapshot. The snapshot survives a restart of the actor and serves on; the new
/// instance starts from it and reloads. Only the very first instance needs the database to start.
pub(crate) struct RegistryActor {
    shared: Arc<Shared>,
    queue: Queue<Waiter>,
    index: Index,
    /// Whether a retry of a failed reload is on its way.
    retries: bool,
}

impl RegistryActor {
    /// Starts from the snapshot; when there is none yet, loads one.
    pub(crate) async fn start(shared: Arc<Shared>) -> Result<Self, StartError> {
        let boot = shared.snapshot().generation() == 0;
        let mut index = Index::of(&shared.snapshot());
        let mut queue = Queue::default();
        if boot {
            let changes = shared
                .reload(ReloadScope::All, Vec::new(), true)
                .await
                .map_err(|error| StartError::Transient(error.to_string()))?;
            shared.swap(&changes, &mut index);
        } else {
            queue.push(Job::Reload(ReloadScope::All), None);
        }
        Ok(Self { shared, queue, index, retries: false })
    }

    /// Starts the next job unless one runs.
    fn pump(&mut self, ctx: &mut Context<Self>) {
        let Some(job) = self.queue.next() else { return };
        let shared = Arc::clone(&self.shared);
        let users = match &job {
            Job::Reload(ReloadScope::Changed { workflows, .. }) => {
                self.index.users(workflows).cloned().collect()
            }
            _ => Vec::new(),
        };
        let work = async move {
            match job {
                Job::Reload(scope) => shared.reload(scope, users, false).await,
                Job::Join(worker) => Ok(shared.join(worker).await),
                Job::Leave(worker) => Ok(shared.leave(worker)),
            }
        };
        ctx.spawn(work.into_actor(self).map(|result, actor, ctx| {
            match result {
                Ok(changes) => actor.finish(&changes, ctx),
                Err(error) => actor.fail(&error, ctx),
            }
            actor.pump(ctx);
        }));
    }

    fn finish(&mut self, changes: &Changes, ctx: &mut Context<Self>) {
        let report = self.shared.swap(changes, &mut self.index);
        for waiter in self.queue.finish() {
            // Who stopped waiting needs no answer.
            let _ = waiter.send(Ok(report));
        }
        for &worker in &changes.gone {
            self.queue.push(Job::Leave(worker), None);
        }
        // Outside the line of jobs: a slow drain holds up no reload.
        let retired = self.shared.clone().retire(changes);
        ctx.spawn(retired.into_actor(self));
    }

    fn fail(&mut self, error: &ReloadError, ctx: &mut Context<Self>) {
        let waiters = match error {
            // The stored configuration will be readable again; until then the scope must not be forgotten.
            ReloadError::Storage(_) => self.queue.fail(),
            _ => self.queue.finish(),
        };
        for waiter in waiters {
            let _ = waiter.send(Err(error.clone()));
        }
        if self.queue.has_missed() && !self.retries {
            self.retries = true;
            ctx.run_later(RETRY, |actor, ctx| {
                actor.retries = false;
                if actor.queue.has_missed() {
                    let nothing = ReloadScope::Changed { workflows: Vec::new(), channels: Vec::new() };
                    actor.queue.push(Job::Reload(nothing), None);
                    actor.pump(ctx);
                }
            });
        }
    }
}

impl Actor for RegistryActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let watch = Arc::clone(&self.shared).watch();
        ctx.spawn(watch.into_actor(self));
        // Known before the first job of this instance deploys anything.
        let orphans = self.shared.orphans();
        let retired = Arc::clone(&self.shared).retire(&orphans);
        ctx.spawn(retired.into_actor(self));
        self.pump(ctx);
    }
}

impl Supervised for RegistryActor {}

impl Handler<Change> for RegistryActor {
    type Result = ResponseActFuture<Self, Result<ReloadReport, ReloadError>>;

    fn handle(&mut self, Change(job): Change, ctx: &mut Self::Context) -> Self::Result {
        let (waiter, done) = oneshot::channel();
        self.queue.push(job, Some(waiter));
        self.pump(ctx);
        let answer = async move {
            done.await
                .unwrap_or_else(|_| Err(ReloadError::Unavailable("the registry dropped the job".to_owned())))
        };
        Box::pin(answer.into_actor(self))
    }
}
