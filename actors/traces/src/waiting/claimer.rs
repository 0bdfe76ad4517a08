//! The task that claims accepted work which waits in the database, as soon as it may run and a worker is free.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slog::{Logger, warn};
use svc_cluster::nodes::NodeHandle;
use svc_store::{
    Ownership, QueueShares, StoreError, TraceRepository, UnfinishedRun, WaitReason, WaitingWork,
};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use super::pace::ClaimPace;
use super::tally::WaitingTally;
use crate::backoff::DATABASE_BACKOFF;
use crate::job::Runner;
use crate::queue::{Adoption, JobQueue};

/// Longest time between two looks, for what other nodes accepted.
const POLL: Duration = Duration::from_secs(1);
/// Longest time between two looks while work waits for a share or a permit, which work of other nodes, or calls, may
/// free.
const POLL_OF_LINES: Duration = Duration::from_millis(250);
/// Time after which work is looked for again that another node was claiming, and shortest time between two looks that
/// submissions ask for: a flood over its share asks with each.
const SOON: Duration = Duration::from_millis(10);
/// Longest wait for a free worker. Then as much is claimed as the workers took meanwhile, at most one job each.
const LONGEST_WAIT: Duration = Duration::from_millis(250);

/// The task that claims waiting work. It outlives each instance of the actor, because what it has claimed belongs to no
/// other node.
pub(crate) struct WaitingClaimer {
    pub(crate) tally: Arc<WaitingTally>,
    pub(crate) waiting: Arc<JobQueue>,
    pub(crate) store: TraceRepository,
    pub(crate) nodes: NodeHandle,
    pub(crate) runner: Arc<dyn Runner>,
    /// Queues what was claimed.
    pub(crate) adoption: Arc<Adoption>,
    /// Number of workers of this process.
    pub(crate) workers: usize,
    /// True if the last page left work that could run: its channel has no permit, or another node serves it.
    pub(crate) leaves_some: AtomicBool,
    pub(crate) task: parking_lot::Mutex<Option<JoinHandle<()>>>,
    pub(crate) log: Logger,
}

/// The result of a look at the waiting work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LookResult {
    /// Nothing can run now.
    Nothing,
    /// Another node was faster, or is claiming.
    Contended,
    /// Some was claimed, or waits for another reason now: more may follow.
    Progress,
}

/// Rows by what keeps them from running.
#[derive(Default)]
struct SortedWork {
    /// Those that can run now.
    ready: Vec<Uuid>,
    /// Those whose channel is paused.
    paused: Vec<Uuid>,
    /// Those that take a share of their channel.
    in_line: Vec<Uuid>,
    /// Those whose channel has no permit left, or is served by another node.
    without_room: Vec<Uuid>,
}

/// The kinds of waiting work.
#[derive(Clone, Copy)]
enum WaitingKind {
    /// Its instant has come.
    Due,
    /// Its channel was paused and is no longer.
    Resumed,
    /// It is its turn in the line for a share.
    InLine,
}

/// The kinds in the order of their looks, which begin with another one each time.
const KINDS: [WaitingKind; 3] = [WaitingKind::Due, WaitingKind::Resumed, WaitingKind::InLine];

impl WaitingClaimer {
    /// Starts the task, if it is not running.
    pub(crate) fn ensure_running(self: &Arc<Self>) {
        let mut task = self.task.lock();
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let claimer = Arc::clone(self);
            #[expect(
                clippy::disallowed_methods,
                reason = "outlives the actor: what was claimed must be queued"
            )]
            let claims = tokio::spawn(async move { claimer.run().await });
            *task = Some(claims);
        }
    }

    /// Claims work until it is cancelled.
    async fn run(&self) {
        let (mut backoff, mut pace) = (DATABASE_BACKOFF.delays(), ClaimPace::new());
        loop {
            let pause = match self.look(&mut pace).await {
                Ok(pause) => {
                    backoff.reset();
                    pause
                }
                Err(error) => {
                    warn!(self.log, "cannot claim work that waits"; "error" => %error);
                    backoff.next_delay()
                }
            };
            let submission = async {
                sleep(SOON.min(pause)).await;
                // Both a submission and an elapsed interval lead to a new look.
                let _ = timeout(pause.saturating_sub(SOON), self.tally.wait_for_submission()).await;
            };
            tokio::select! {
                () = self.tally.wait_for_wake() => {}
                () = submission => {}
            }
        }
    }

    /// Claims what may run now. Returns the time after which to look again.
    async fn look(&self, pace: &mut ClaimPace) -> Result<Duration, StoreError> {
        if !self.waiting.slots.is_open() {
            return Ok(POLL);
        }
        self.nodes.wait_until_proven().await;
        for turn in 0.. {
            self.tally.count_if_stale(&self.store).await?;
            // A later turn may find no more of one kind, and forget its rows, while others of them are due.
            if (turn == 0 && self.tally.is_empty()) || !self.waiting.slots.is_open() {
                return Ok(POLL);
            }
            match self.take_page(turn, pace).await? {
                LookResult::Progress => {}
                LookResult::Contended => return Ok(SOON),
                LookResult::Nothing => break,
            }
        }
        let has_lines = !self.tally.channels(WaitReason::Share).is_empty();
        let is_near = has_lines || self.leaves_some.load(Ordering::Relaxed);
        let longest = if is_near { POLL_OF_LINES } else { POLL };
        Ok(self.store.next_waiting_due().await?.map_or(longest, |due| due.clamp(SOON, longest)))
    }

    /// Claims as much work as there is room for: a page, once a worker is free.
    async fn take_page(&self, turn: usize, pace: &mut ClaimPace) -> Result<LookResult, StoreError> {
        let taken = self.waiting.taken_jobs();
        let mut room = match timeout(LONGEST_WAIT, self.waiting.wait_for_free_workers()).await {
            Ok(free) => pace.next_page(free, Instant::now()),
            // New submissions must not keep waiting work from running. Where workers take none either, it is for others.
            Err(_) => self.waiting.taken_jobs().wrapping_sub(taken).min(self.workers),
        };
        if room == 0 {
            return Ok(LookResult::Contended);
        }
        self.leaves_some.store(false, Ordering::Relaxed);
        let mut result = LookResult::Nothing;
        for kind in KINDS.into_iter().cycle().skip(turn % KINDS.len()).take(KINDS.len()) {
            let taken = match kind {
                WaitingKind::Due => self.take_due(&mut room).await?,
                WaitingKind::Resumed => self.take_resumed(&mut room).await?,
                WaitingKind::InLine => self.take_turns(turn, &mut room).await?,
            };
            result = result.max(taken);
            if room == 0 {
                pace.record_full_page(Instant::now());
                break;
            }
        }
        Ok(result)
    }

    /// Takes the rows whose instant has come.
    async fn take_due(&self, room: &mut usize) -> Result<LookResult, StoreError> {
        let rows = self.store.due_waiting(*room).await?;
        self.begin(rows, room).await
    }

    /// Returns the number of jobs of the channel with this id, or else with this name, that may begin on this node now.
    async fn find_room(&self, channel_id: Option<&str>, channel: &str) -> usize {
        let begins_here = self.runner.serves(channel_id, channel)
            || self.runner.begins_unserved(channel_id.map(Arc::from), Arc::from(channel)).await;
        let room = if begins_here { self.runner.free_permits(channel_id, channel) } else { 0 };
        if room == 0 {
            self.leaves_some.store(true, Ordering::Relaxed);
        }
        room
    }

    /// Takes the rows of channels that were paused and are no longer.
    async fn take_resumed(&self, room: &mut usize) -> Result<LookResult, StoreError> {
        for channel in self.tally.channels(WaitReason::Paused) {
            if self.runner.is_paused(Some(&channel), "") {
                continue;
            }
            let most = self.find_room(Some(&channel), "").await.min(*room);
            if most == 0 {
                continue;
            }
            let rows = self.store.paused_waiting(channel.clone(), most).await?;
            if !rows.is_empty() {
                return self.begin(rows, room).await;
            }
            self.tally.forget(&channel, WaitReason::Paused);
        }
        Ok(LookResult::Nothing)
    }

    /// Takes the rows of channels with shares whose turn it is, as far as shares are left.
    async fn take_turns(&self, turn: usize, room: &mut usize) -> Result<LookResult, StoreError> {
        let mut result = LookResult::Nothing;
        let mut channels = self.tally.channels(WaitReason::Share);
        if !channels.is_empty() {
            let first = turn % channels.len();
            channels.rotate_left(first);
        }
        for channel in channels {
            let is_paused = self.runner.is_paused(Some(&channel), "");
            let Some(shares) = self.runner.shares(&channel).filter(|_| !is_paused) else { continue };
            let most = self.find_room(Some(&channel), "").await.min(*room);
            if most == 0 {
                continue;
            }
            let turns = self.store.next_turns(shares.clone(), most).await?;
            if turns.is_empty() {
                continue;
            }
            let claimed = self.claim(turns, Some(shares), room).await?;
            result = result.max(if claimed > 0 { LookResult::Progress } else { LookResult::Contended });
            if *room == 0 {
                break;
            }
        }
        Ok(result)
    }

    /// Claims those of the rows that can run now, and has the others wait for what keeps them: their paused channel, a
    /// share of it, or room on a node that serves it.
    async fn begin(&self, rows: Vec<WaitingWork>, room: &mut usize) -> Result<LookResult, StoreError> {
        if rows.is_empty() {
            return Ok(LookResult::Nothing);
        }
        let SortedWork { ready, paused, in_line, without_room } = self.sort(rows).await;
        let mut has_progress = false;
        for (ids, reason) in [(paused, WaitReason::Paused), (in_line, WaitReason::Share)] {
            if !ids.is_empty() {
                self.store.rest_waiting(ids, reason).await?;
                has_progress = true;
            }
        }
        if !without_room.is_empty() {
            self.store.join_line(without_room).await?;
            has_progress = true;
        }
        if !ready.is_empty() {
            has_progress |= self.claim(ready, None, room).await? > 0;
        }
        Ok(if has_progress { LookResult::Progress } else { LookResult::Contended })
    }

    /// Sorts rows by what keeps them from running.
    async fn sort(&self, rows: Vec<WaitingWork>) -> SortedWork {
        let (mut sorted, mut left) = (SortedWork::default(), HashMap::<String, usize>::new());
        for row in rows {
            // Without the id of its channel a row could not be found again: it is claimed, and put back if need be.
            let Some(id) = row.channel_id.as_deref() else {
                sorted.ready.push(row.id);
                continue;
            };
            if self.runner.is_paused(Some(id), &row.channel) {
                self.tally.add(id, WaitReason::Paused);
                sorted.paused.push(row.id);
                continue;
            }
            if row.queue_channel.is_none() {
                let room = match left.get(id) {
                    Some(room) => *room,
                    None => self.find_room(Some(id), &row.channel).await,
                };
                left.insert(id.to_owned(), room.saturating_sub(1));
                if room > 0 {
                    sorted.ready.push(row.id);
                    continue;
                }
                sorted.without_room.push(row.id);
            } else {
                sorted.in_line.push(row.id);
            }
            self.tally.add(id, WaitReason::Share);
        }
        sorted
    }

    /// Claims rows and queues them. Returns their number.
    async fn claim(
        &self,
        ids: Vec<Uuid>,
        shares: Option<QueueShares>,
        room: &mut usize,
    ) -> Result<usize, StoreError> {
        let node = self.nodes.wait_until_proven().await;
        let claimed = self.claim_until_known(&node, &ids, shares).await?;
        let count = claimed.len();
        for run in claimed {
            let ownership = Ownership { owner: Arc::clone(&node), recoveries: run.recoveries };
            self.adoption.resume_waiting(run, ownership).await;
        }
        *room = room.saturating_sub(count);
        Ok(count)
    }

    /// Claims rows. Retries until the database says which of them belong to the node: a claim whose answer was lost may
    /// have succeeded.
    async fn claim_until_known(
        &self,
        node: &Arc<str>,
        ids: &[Uuid],
        shares: Option<QueueShares>,
    ) -> Result<Vec<UnfinishedRun>, StoreError> {
        let mut backoff = DATABASE_BACKOFF.delays();
        loop {
            match self.store.claim_waiting(node, ids.to_vec(), shares.clone()).await {
                // While this node holds its lease, no other node takes the rows over, so it must not give up.
                Err(error) if self.nodes.holds(node) => {
                    warn!(self.log, "cannot claim work that waits"; "error" => %error);
                    sleep(backoff.next_delay()).await;
                }
                outcome => return outcome,
            }
        }
    }
}
