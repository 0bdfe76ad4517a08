//! Idempotent answers: of several requests with one key the first runs, and the others get its answer.
//!
//! A key has one entry, a text that each step replaces only if it knows it: the claim of a run with the digest of its
//! body, under a lease that is renewed while the run goes on; then the answer, until the window ends. So a run whose
//! process was killed gives its key back when its lease ends, and one that was overtaken keeps no answer.

mod answer_entry;
mod answer_memory;
mod answer_store;
mod late_writes;

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use slog::Logger;
use svc_model::config::{AnswerPlace, DeduplicationConfig, DuplicatePolicy};
use svc_model::{Code, ErrorReason, ServiceError};
use tokio::time::sleep;

use self::answer_entry::{AnswerEntry, EntryState, KeptAnswer};
use self::answer_memory::AnswerMemory;
use self::answer_store::SharedAnswers;
use self::late_writes::LateWrites;
use super::passage::{GuardRefusal, RefusalKind, UNCHECKED};
use super::shared_cache::SharedCacheRef;
use crate::answer::response::ChannelResponse;
use crate::services::ChannelServices;
use crate::shared_cache::CacheError;

pub(super) use self::answer_entry::digest_body;
pub use self::answer_store::{AnswerStore, ReplayServices};

/// Seconds of a lease at most: a run that takes longer renews it.
const LONGEST_LEASE: u64 = 60;

/// Seconds after which a caller may ask for the answer of a run that goes on.
const RETRY_AFTER: u32 = 1;

/// Claims of a key whose entry ends between the claim and the look at it.
const MAX_CLAIMS: usize = 3;

/// The place of kept answers, and their bounds.
pub(super) struct ReplayGuard {
    place: ReplayPlace,
    lease_secs: u64,
    window_secs: u64,
    max_bytes: usize,
    capacity: u64,
    late_writes: LateWrites,
    /// The answers of this process; created with the first key.
    memory: Arc<OnceLock<AnswerMemory>>,
}

enum ReplayPlace {
    /// The memory of this process.
    Memory,
    /// The Redis server of a connector or of the cluster.
    Redis,
    Database(Arc<dyn AnswerStore>),
}

/// The result of a request for its turn.
pub(super) enum ReplayTurn {
    /// It is the first and runs.
    Run(ReplayClaim),
    /// It is a repeat, and this is its answer.
    Answer(ChannelResponse),
}

/// The outcome of an attempt to claim a key.
pub(super) enum ClaimAttempt {
    Turn(ReplayTurn),
    Refused(GuardRefusal),
    /// It is not known if the key is free; the claim may have been made.
    Unknown(CacheError, ReplayClaim),
}

impl ReplayGuard {
    /// Builds the guard of a channel; `None` for another policy. The answers in memory are taken over from `previous`.
    ///
    /// # Errors
    /// The reason to quarantine the channel: a store that this service does not have.
    pub(super) fn build(
        block: &DeduplicationConfig,
        timeout_ms: Option<u64>,
        services: &ChannelServices,
        previous: Option<&Self>,
    ) -> Result<Option<Self>, String> {
        if block.on_duplicate != DuplicatePolicy::Replay {
            return Ok(None);
        }
        // A little longer than the run, whose answer is still to be stored.
        let lease = timeout_ms.map_or(LONGEST_LEASE, |timeout| timeout.div_ceil(1000).saturating_add(1));
        Ok(Some(Self {
            place: ReplayPlace::choose(block, services)?,
            lease_secs: lease.min(LONGEST_LEASE),
            window_secs: block.window_secs,
            max_bytes: usize::try_from(block.max_answer_bytes).unwrap_or(usize::MAX),
            capacity: services.memory_entries,
            late_writes: LateWrites::default(),
            memory: previous.map(|previous| Arc::clone(&previous.memory)).unwrap_or_default(),
        }))
    }

    /// Returns the store of the answers.
    ///
    /// # Errors
    /// [`CacheError`] when the connector is not in use now.
    pub(super) fn store(
        &self,
        shared: &SharedCacheRef,
        channel: &str,
        services: &ChannelServices,
    ) -> Result<Arc<dyn AnswerStore>, CacheError> {
        let store: Arc<dyn AnswerStore> = match &self.place {
            ReplayPlace::Database(database) => Arc::clone(database),
            ReplayPlace::Memory => Arc::new(self.memory(services)),
            ReplayPlace::Redis => match shared.cache(channel, services)? {
                Some(cache) => Arc::new(SharedAnswers(cache)),
                None => Arc::new(self.memory(services)),
            },
        };
        Ok(store)
    }

    fn memory(&self, services: &ChannelServices) -> AnswerMemory {
        let create = || {
            services.local_caches.add(&self.memory);
            let longest = Duration::from_secs(self.window_secs.max(self.lease_secs));
            AnswerMemory::new(longest, self.capacity)
        };
        self.memory.get_or_init(create).clone()
    }

    /// Claims the key `name` for a request whose body has this digest, or finds the end of the run that has it.
    pub(super) async fn claim(
        &self,
        store: Arc<dyn AnswerStore>,
        name: String,
        request: String,
        services: &ChannelServices,
    ) -> ClaimAttempt {
        let entry = AnswerEntry::claim(&request);
        let claim = ReplayClaim(Arc::new(ClaimState {
            store,
            name,
            entry,
            request,
            lease_secs: self.lease_secs,
            window_secs: self.window_secs,
            max_bytes: self.max_bytes,
            late_writes: self.late_writes.clone(),
            is_released: AtomicBool::new(false),
        }));
        for _ in 0..MAX_CLAIMS {
            let ClaimState { store, name, entry, request, .. } = &*claim.0;
            let claimed = store.claim(name.clone(), entry.clone(), self.lease_secs).await;
            match claimed {
                Ok(true) => return ClaimAttempt::Turn(ReplayTurn::Run(claim)),
                Ok(false) => {}
                Err(error) => return ClaimAttempt::Unknown(error, claim),
            }
            match store.read(name.clone()).await {
                Ok(Some(text)) => return judge_entry(&text, request, name, services),
                Ok(None) => {}
                Err(error) => {
                    services.metrics.count_error(ErrorReason::DedupBackend);
                    let refusal =
                        ServiceError::unavailable("The answer of an earlier request cannot be read");
                    let refusal = refusal.with_retry_after(RETRY_AFTER).with_internal(error);
                    return ClaimAttempt::Refused(RefusalKind::Deferred.with(UNCHECKED, refusal));
                }
            }
        }
        ClaimAttempt::Refused(in_progress())
    }
}

impl ReplayPlace {
    fn choose(block: &DeduplicationConfig, services: &ChannelServices) -> Result<Self, String> {
        let (is_cluster, database) = (services.cluster.is_some(), services.replay.database.as_ref());
        let has_redis = is_cluster || block.connector.is_some();
        match (block.store, database) {
            (Some(AnswerPlace::Memory), _) if is_cluster => {
                Err("deduplication: the store 'memory' serves one process, use redis or database".to_owned())
            }
            (Some(AnswerPlace::Redis), _) if !has_redis => {
                Err("deduplication: the store 'redis' needs a connector where there is no cluster".to_owned())
            }
            (Some(AnswerPlace::Database), None) => {
                Err("deduplication: this service has no database for the store 'database'".to_owned())
            }
            (Some(AnswerPlace::Redis), _) => Ok(Self::Redis),
            (None, _) if has_redis => Ok(Self::Redis),
            (Some(AnswerPlace::Memory), _) | (None, None) => Ok(Self::Memory),
            (Some(AnswerPlace::Database) | None, Some(database)) => Ok(Self::Database(Arc::clone(database))),
        }
    }
}

/// Finds what a repeat gets of the entry of its key.
fn judge_entry(text: &str, request: &str, name: &str, services: &ChannelServices) -> ClaimAttempt {
    let duplicate = |reason, message: &'static str| {
        ClaimAttempt::Refused(RefusalKind::Duplicate.with(reason, ServiceError::conflict(message)))
    };
    let Some(entry) = AnswerEntry::parse(text) else {
        return duplicate("duplicate", "Duplicate request: its idempotency key was already seen");
    };
    if entry.request != request {
        let refusal = ServiceError::from_code(Code::IdempotencyKeyReused);
        return ClaimAttempt::Refused(RefusalKind::Duplicate.with("key_reused", refusal));
    }
    let answer = match entry.state {
        EntryState::Running(_) => return ClaimAttempt::Refused(in_progress()),
        EntryState::Answered(kept) => kept.into_response(),
        EntryState::Sealed(sealed) => {
            KeptAnswer::open(&sealed, name, &services.replay.keys).and_then(KeptAnswer::into_response)
        }
        EntryState::NotKept => None,
    };
    match answer {
        Some(mut answer) => {
            answer.mark_replayed();
            ClaimAttempt::Turn(ReplayTurn::Answer(answer))
        }
        None => {
            duplicate("not_kept", "Duplicate request: the first one has ended, and its answer is not kept")
        }
    }
}

fn in_progress() -> GuardRefusal {
    let refusal = ServiceError::from_code(Code::IdempotencyInProgress).with_retry_after(RETRY_AFTER);
    RefusalKind::Duplicate.with("in_progress", refusal)
}

/// The claim of a run whose answer is kept. Clones are the same claim; dropped, it ends with its lease.
#[derive(Clone)]
pub(crate) struct ReplayClaim(Arc<ClaimState>);

struct ClaimState {
    store: Arc<dyn AnswerStore>,
    /// The name of the key in the store.
    name: String,
    /// The text of the claim.
    entry: String,
    /// The digest of the body.
    request: String,
    lease_secs: u64,
    window_secs: u64,
    max_bytes: usize,
    late_writes: LateWrites,
    /// Set once the key was given back: nothing ran.
    is_released: AtomicBool,
}

impl ReplayClaim {
    /// Gives the key back for a request that did not run.
    pub(crate) async fn release(&self, services: &ChannelServices) {
        let ClaimState { store, name, entry, late_writes, is_released, .. } = &*self.0;
        is_released.store(true, Ordering::Release);
        if let Err(error) = store.release(name.clone(), entry.clone()).await {
            late_writes.log_failure(
                &services.log,
                "an idempotency key is not given back, it ends by itself",
                &error,
            );
        }
    }

    /// Gives the key back once its store is there again: the request was refused, and the claim may have been made.
    pub(super) fn release_later(self, services: &ChannelServices) {
        self.0.is_released.store(true, Ordering::Release);
        let late_writes = self.0.late_writes.clone();
        late_writes.repeat(services.log.clone(), async move || {
            let ClaimState { store, name, entry, .. } = &*self.0;
            store.release(name.clone(), entry.clone()).await
        });
    }

    /// Renews the lease while a run goes on, and returns the result of the run.
    pub(crate) async fn hold<T>(&self, running: impl Future<Output = T>) -> T {
        let (mut running, mut renewing) = (pin!(running), pin!(self.renew_until_dropped()));
        tokio::select! {
            result = &mut running => result,
            never = &mut renewing => match never {},
        }
    }

    async fn renew_until_dropped(&self) -> Infallible {
        let ClaimState { store, name, entry, lease_secs, is_released, .. } = &*self.0;
        let pause = Duration::from_millis(lease_secs.saturating_mul(1000) / 3);
        loop {
            sleep(pause).await;
            if is_released.load(Ordering::Acquire) {
                // A renewal would take the key again.
                return pending().await;
            }
            // The next attempt comes before the lease ends; one that has ended and is not taken is claimed anew.
            let _ = store.claim(name.clone(), entry.clone(), *lease_secs).await;
        }
    }

    /// Keeps the answer of the run for its repeats, from now until the window ends. If the store does not answer, the
    /// caller waits no longer: the answer is kept once it does.
    pub(crate) async fn keep(&self, answer: &ChannelResponse, services: &ChannelServices) {
        let ClaimState { name, request, max_bytes, late_writes, is_released, .. } = &*self.0;
        if is_released.load(Ordering::Acquire) {
            return;
        }
        let end = AnswerEntry::end(request, answer, *max_bytes, name, &services.replay.keys);
        if let Err(error) = self.settle(&end, &services.log).await {
            services.metrics.count_error(ErrorReason::DedupBackend);
            late_writes.log_failure(
                &services.log,
                "an answer is not kept yet, its store is asked again",
                &error,
            );
            let (claim, log) = (self.clone(), services.log.clone());
            late_writes.repeat(services.log.clone(), async move || claim.settle(&end, &log).await);
        }
    }

    /// Puts the end of the run in the place of its claim.
    async fn settle(&self, end: &str, log: &Logger) -> Result<(), CacheError> {
        let ClaimState { store, name, entry, window_secs, .. } = &*self.0;
        let kept = match store.transfer(name.clone(), entry.clone(), end.to_owned(), *window_secs).await? {
            true => true,
            // The lease has ended while the run went on, or the end is there and its confirmation was lost.
            false => store.claim(name.clone(), end.to_owned(), *window_secs).await?,
        };
        if !kept {
            slog::warn!(log, "an answer is not kept: another run has its idempotency key");
        }
        Ok(())
    }
}
