//! The scheduler of the jobs.
//!
//! The actor owns the schedule, which the underlying library runs on tasks of its own. It sends [`Due`] and
//! handles no messages. It adds a heartbeat to the schedule, which takes the same path as every job. If no
//! heartbeat arrives for a while, the task of the library has died or the wall clock was set back. The actor
//! then fails, so that supervision restarts it with a new schedule. It never runs a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, WrapFuture};
use actix_supervision::{Address, Context, StartError, Supervised};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_cron_scheduler::{Job as Entry, JobScheduler, JobSchedulerError};

use crate::housekeeping::job::{Due, RecurringJob};

/// Time between two heartbeats.
const BEAT: Duration = Duration::from_secs(1);
/// Time without a heartbeat after which the schedule counts as dead.
const SILENCE: Duration = Duration::from_secs(15);

/// A job and its interval.
#[derive(Debug)]
pub(crate) struct JobInterval {
    pub(crate) address: Address<RecurringJob>,
    pub(crate) every: Duration,
}

/// The actor that notifies jobs that are due.
pub(crate) struct JobTimer {
    beat: Arc<Notify>,
    /// Ends the task of the library.
    ended: Arc<AtomicBool>,
}

impl JobTimer {
    /// Creates the actor with a new schedule.
    ///
    /// # Errors
    /// [`StartError::Transient`] if the library cannot create the schedule.
    pub(crate) async fn start(rhythms: Arc<[JobInterval]>) -> Result<Self, StartError> {
        let broken = |error: JobSchedulerError| StartError::Transient(format!("no schedule: {error}"));
        let schedule = JobScheduler::new().await.map_err(broken)?;
        let beat = Arc::new(Notify::new());
        let beats = Arc::clone(&beat);
        schedule.add(every(BEAT, move || beats.notify_one()).map_err(broken)?).await.map_err(broken)?;
        for index in 0..rhythms.len() {
            let (interval, rhythms) = (rhythms[index].every.max(BEAT), Arc::clone(&rhythms));
            // A job that cannot take the message is restarting, which runs it, or already has one waiting.
            let due = move || drop(rhythms[index].address.cast(Due));
            schedule.add(every(interval, due).map_err(broken)?).await.map_err(broken)?;
        }
        let ended = Arc::clone(&schedule.scheduler.read().await.shutdown);
        let scheduler = Self { beat, ended };
        schedule.start().await.map_err(broken)?;
        Ok(scheduler)
    }
}

fn every(
    interval: Duration,
    mut tell: impl FnMut() + Send + Sync + 'static,
) -> Result<Entry, JobSchedulerError> {
    Entry::new_repeated(interval, move |_, _| tell())
}

impl Actor for JobTimer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let beat = Arc::clone(&self.beat);
        let silence = async move { while timeout(SILENCE, beat.notified()).await.is_ok() {} };
        ctx.spawn(silence.into_actor(self).map(|(), _, ctx| ctx.fail("the schedule has fallen silent")));
    }
}

impl Supervised for JobTimer {}

impl Drop for JobTimer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
