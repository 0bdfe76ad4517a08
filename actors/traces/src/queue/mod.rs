//! The entrance of the queue.
//!
//! Owns whether it is open: from its start to its end submissions are taken. Takes up again what an earlier process
//! left: the rows that have not ended, oldest first, as room permits, beside new submissions. No messages. A restart
//! goes on where the last instance was; the jobs in line are not its own and survive it. It never holds more jobs than
//! the line has room for.

mod slots;
mod state;
mod waiting;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;
use slog::{Logger, info, warn};
use svc_store::{RowKey, StoreError, TraceFailure, Unfinished};
use tokio::time::sleep;

use crate::backoff::Backoff;
use crate::input;
use crate::job::Job;

pub(crate) use slots::{Shed, Slot, Slots};
pub(crate) use waiting::{Queued, Waiting};

/// Rows read at once; each may be as large as a payload.
const PAGE: i64 = 20;

/// What every instance shares.
pub(crate) struct Entrance {
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) store: svc_store::Traces,
    pub(crate) max_retries: u32,
    pub(crate) log: Logger,
    pub(crate) resumed: Mutex<Resumed>,
}

/// How far the work of earlier processes has been taken up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resumed {
    after: Option<RowKey>,
    jobs: u64,
    done: bool,
}

/// The actor.
pub(crate) struct Queue(pub(crate) Arc<Entrance>);

impl Actor for Queue {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.0.waiting.slots.set_open(true);
        let entrance = Arc::clone(&self.0);
        ctx.spawn(async move { entrance.resume().await }.into_actor(self));
    }
}

impl Supervised for Queue {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.0.waiting.slots.set_open(false);
        Box::pin(std::future::ready(()))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.0.waiting.slots.set_open(false);
    }
}

impl Entrance {
    /// Reads page after page until none is left.
    async fn resume(&self) {
        let mut backoff = Backoff::of_database();
        while !self.resumed().done {
            match self.store.unfinished_async(self.resumed().after, PAGE).await {
                Ok((page, last)) => {
                    backoff = Backoff::of_database();
                    self.take_up(page).await;
                    self.proceed(last);
                }
                Err(error) => {
                    warn!(self.log, "cannot read what an earlier process left"; "error" => %error);
                    sleep(backoff.pause()).await;
                }
            }
        }
    }

    async fn take_up(&self, page: Vec<Unfinished>) {
        for row in page {
            let Unfinished { key, id, channel_id, channel, input_json } = row;
            let text = input_json.unwrap_or_default();
            match input::read(&text) {
                Ok(input) => {
                    let slot = self.waiting.slots.earlier(text.len()).await;
                    let job = Job {
                        trace_id: id,
                        channel_id: channel_id.map(Into::into),
                        channel: channel.into(),
                        payload: input.data,
                        metadata: input.metadata,
                        bucket: input.bucket,
                        hold: None,
                        attempt: None,
                    };
                    self.waiting.push(Queued::new(job, slot, input.retry));
                }
                Err(error) => {
                    warn!(self.log, "cannot read an accepted job"; "trace_id" => %id, "error" => %error);
                    self.give_up(id).await;
                }
            }
            self.change(|resumed| {
                resumed.after = Some(key);
                resumed.jobs += 1;
            });
        }
    }

    /// Behind a page, to the next; there is none behind one that ends nowhere.
    fn proceed(&self, last: Option<RowKey>) {
        let resumed = self.change(|resumed| {
            resumed.done = last.is_none();
            resumed.after = last.or(resumed.after.take());
            resumed.clone()
        });
        if resumed.done && resumed.jobs > 0 {
            info!(self.log, "took up what an earlier process left"; "jobs" => resumed.jobs);
        }
    }

    /// A row that cannot be run is an operator's business.
    async fn give_up(&self, id: uuid::Uuid) {
        let failure = TraceFailure {
            id,
            error_message: "The stored input cannot be read".to_owned(),
            duration_ms: None,
            task_trace_json: None,
            retry_count: i64::from(self.max_retries),
            max_retries: i64::from(self.max_retries),
            delay: Duration::ZERO,
        };
        let mut backoff = Backoff::of_database();
        while let Err(error) = self.store.fail_to_dead_letters(failure.clone()).await {
            warn!(self.log, "cannot write the end of a job"; "trace_id" => %id, "error" => %error);
            if !matches!(error, StoreError::Unavailable(_) | StoreError::Unanswered(_)) {
                return;
            }
            sleep(backoff.pause()).await;
        }
    }

    fn resumed(&self) -> Resumed {
        self.change(|resumed| resumed.clone())
    }

    fn change<T>(&self, change: impl FnOnce(&mut Resumed) -> T) -> T {
        change(&mut self.resumed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
