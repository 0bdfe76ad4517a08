//! The retries of dead letters.
//!
//! Owns the rhythm; no messages. At each look it takes the letters that are due under a lease of its own, makes a trace
//! of each, which ends the letter, and queues it like any submission. A letter the queue has no room for goes back and
//! waits longer; one whose holder died is due again when the lease is over. Nothing of it survives a restart but the
//! letters. It never runs anything itself.

mod state;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use slog::{Logger, warn};
use svc_model::id::new_ordered_id;
use svc_store::{ClaimedLetter, NewTrace, StoreError, TraceMode, TraceStatus};
use tokio::time::sleep;
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::input;
use crate::metrics::TraceMetrics;
use crate::queue::{Queued, Shed, Waiting};
use crate::settings::{Callback, DeadLetterSettings};
use crate::worker::retry_delay;

/// How often it is asked whether a letter was taken, when the answer to the taking was lost.
const QUESTIONS: usize = 10;

/// What every instance shares.
pub(crate) struct Retries {
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) letters: svc_store::DeadLetters,
    pub(crate) traces: svc_store::Traces,
    pub(crate) settings: DeadLetterSettings,
    /// Names this process among those that may hold a letter.
    pub(crate) holder: String,
    pub(crate) metrics: TraceMetrics,
    pub(crate) jobs: Callback,
    pub(crate) log: Logger,
}

/// The actor.
pub(crate) struct DeadLetters(pub(crate) Arc<Retries>);

impl Actor for DeadLetters {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let retries = Arc::clone(&self.0);
        let looks = async move {
            loop {
                match retries.look().await {
                    Ok(()) => retries.jobs.tell("dlq_retry"),
                    Err(error) => warn!(retries.log, "cannot retry dead letters"; "error" => %error),
                }
                sleep(retries.settings.poll_interval).await;
            }
        };
        ctx.spawn(looks.into_actor(self));
    }
}

impl Supervised for DeadLetters {}

/// What became of a letter that was held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Queued,
    PutBack,
}

impl Retries {
    /// Retries what is due, as far as there is room.
    async fn look(&self) -> Result<(), StoreError> {
        let batch = i64::from(self.settings.batch_size);
        let mut room = self.settings.retry_enabled;
        while room {
            let due = self.letters.claim_due(batch, self.settings.lease, &self.holder).await?;
            room = i64::try_from(due.len()).is_ok_and(|claimed| claimed == batch);
            for letter in due {
                room &= self.retry(&letter).await? == Fate::Queued;
            }
        }
        self.metrics.dlq_depth.set(self.letters.depth().await?);
        Ok(())
    }

    /// Room first, then the row: what is taken out of the letters is in line.
    async fn retry(&self, letter: &ClaimedLetter) -> Result<Fate, StoreError> {
        let (job, retry) = state::job(letter, new_ordered_id());
        let input = input::write(&job, retry).map_err(|error| StoreError::Database(error.to_string()))?;
        let slot = self.waiting.slots.place().and_then(|mut slot| slot.weigh(input.len()).map(|()| slot));
        let slot = match slot {
            Ok(slot) => slot,
            Err(shed) => return self.put_back(letter, shed).await,
        };
        let row = NewTrace {
            input_json: Some(input),
            ..NewTrace::new(job.trace_id, Arc::clone(&job.channel), TraceMode::Async, TraceStatus::Pending)
        };
        if self.take(letter, row).await? {
            self.metrics.dlq_retry("retried");
            self.waiting.push(Queued::new(job, slot, retry));
        }
        Ok(Fate::Queued)
    }

    async fn put_back(&self, letter: &ClaimedLetter, shed: Shed) -> Result<Fate, StoreError> {
        if shed != Shed::Closed {
            self.metrics.dlq_retry("failed");
        }
        let delay = retry_delay(state::retries(letter));
        self.letters.put_back(&letter.id, &self.holder, delay).await?;
        Ok(Fate::PutBack)
    }

    /// Ends the letter; `false` when it was not held any more.
    async fn take(&self, letter: &ClaimedLetter, row: NewTrace) -> Result<bool, StoreError> {
        let id = row.id;
        match self.letters.take_into_trace(&letter.id, row, &self.holder).await {
            Err(StoreError::Unavailable(detail)) => {
                warn!(self.log, "a dead letter may have been taken"; "trace_id" => %id, "detail" => detail);
                self.was_taken(id).await
            }
            told => told,
        }
    }

    /// Whether the trace is there after all.
    async fn was_taken(&self, id: Uuid) -> Result<bool, StoreError> {
        let mut backoff = Backoff::new(Duration::from_millis(100), self.settings.poll_interval);
        let mut asked = self.traces.get(&id.to_string()).await;
        for _ in 0..QUESTIONS {
            if !matches!(asked, Err(StoreError::Unavailable(_))) {
                break;
            }
            sleep(backoff.pause()).await;
            asked = self.traces.get(&id.to_string()).await;
        }
        asked.map(|trace| trace.is_some())
    }
}
