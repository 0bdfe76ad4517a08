//! The life of one client, from its creation to its end.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::iter;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use actix_supervision::ChildSpec;
use futures_util::{FutureExt, StreamExt};
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::{Offset, TopicPartitionList};
use slog::{debug, info, warn};
use svc_model::ErrorReason;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, sleep_until, timeout};

use super::broker_questions::{Measurement, join_measurement};
use super::commit_queue::CommitQueue;
use super::config::{consumer_config, max_poll_interval, unusable};
use super::context::{ClientEvent, GroupContext, give_up, take_over};
use super::convert::{list_of, to_record};
use super::error_scope::{ErrorScope, scope_of};
use super::last_commit::LastCommit;
use super::pending_commit::{PendingCommit, commit_answer};
use super::topic_name::is_topic_name;
use super::workers::{end_workers, forget_partitions, retire_workers};
use super::{AGAIN, ConsumerPlace, LEAVING};
use crate::partition::handle::{ConsumerOrder, PartitionHandle};
use crate::partition::{FlowControl, PartitionWorker, RetryBudget};
use crate::shared::{GroupHandle, KafkaShared};

/// Time that the record in progress of a revoked partition gets to end.
const REVOKING: Duration = Duration::from_secs(10);
/// Time between two looks at the topics if the lag is not measured.
const TOPIC_CHECK: Duration = Duration::from_secs(30);
/// First and longest pause after an error of the client that is no loss of connection.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Time without another error, beyond the pause, after which the last one counts as past.
const TROUBLE_ENDS: Duration = Duration::from_secs(5);
/// Records that are received in a row before others get their turn on the thread.
const IN_A_ROW: usize = 64;
/// Bytes of waiting records of all partitions of a consumer, and the bounds of one partition's share.
const WAITING_BYTES: usize = 64 * 1024 * 1024;
const LEAST_BYTES: usize = 256 * 1024;
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The end of a client.
pub(super) enum SessionEnd {
    /// It was ordered to end.
    Stopped,
    /// It failed for good.
    Failed { reason: String, has_consumed: bool },
}

type Assignment = HashMap<Arc<str>, HashMap<i32, Arc<PartitionHandle>>>;

/// One client and the partitions that are assigned to it.
pub(super) struct Session {
    pub(super) shared: Arc<KafkaShared>,
    pub(super) group: Arc<GroupHandle>,
    place: ConsumerPlace,
    // Dropped before the client, which ends without an actor then.
    events: mpsc::UnboundedReceiver<ClientEvent>,
    pub(super) consumer: Arc<StreamConsumer<GroupContext>>,
    /// Closes when the client has ended.
    client_end: oneshot::Receiver<()>,
    orders: mpsc::UnboundedReceiver<ConsumerOrder>,
    order_sender: mpsc::UnboundedSender<ConsumerOrder>,
    pub(super) assigned: Assignment,
    pub(super) commits: CommitQueue,
    pub(super) pending_commit: Option<PendingCommit>,
    /// Orders that failed, until they are carried out again.
    delayed: Vec<(Instant, ConsumerOrder)>,
    has_consumed: bool,
    pause: Duration,
    /// Time at which an error of the client counts as past, unless it comes again.
    trouble_ends_at: Option<Instant>,
    /// Set if some partition cannot be read, and none was probed since.
    pub(super) is_probe_due: bool,
    /// Time before which no partition is probed once more.
    pub(super) probe_again_at: Instant,
}

/// The times of the next reads.
struct ReadTimers {
    /// Time before which no record is received; `None` if one may be.
    receive_at: Option<Instant>,
    /// Time of the next look at the lag of the partitions, and the time between two of them.
    measure_at: Instant,
    interval: Duration,
}

impl ReadTimers {
    fn start(lag_interval: Option<Duration>) -> Self {
        let interval = lag_interval.unwrap_or(TOPIC_CHECK);
        // The first look is taken as soon as the group may have met.
        Self { receive_at: None, measure_at: Instant::now() + AGAIN, interval }
    }
}

impl Session {
    /// Makes the client and subscribes it.
    pub(super) async fn open(
        shared: &Arc<KafkaShared>,
        group: &Arc<GroupHandle>,
        place: &ConsumerPlace,
    ) -> Result<Self, String> {
        let (context, events, client_end) = GroupContext::new(shared.log.clone());
        let (order_sender, orders) = mpsc::unbounded_channel();
        let config = consumer_config(&shared.settings, &group.name);
        let consumer = config.create_with_context(context).map_err(|error| unusable(&error))?;
        let session = Self {
            shared: Arc::clone(shared),
            group: Arc::clone(group),
            place: place.clone(),
            consumer: Arc::new(consumer),
            client_end,
            events,
            orders,
            order_sender,
            assigned: HashMap::new(),
            commits: CommitQueue::default(),
            pending_commit: None,
            delayed: Vec::new(),
            has_consumed: false,
            pause: FIRST_PAUSE,
            trouble_ends_at: None,
            is_probe_due: false,
            probe_again_at: Instant::now(),
        };
        session.subscribe()?;
        Ok(session)
    }

    fn subscribe(&self) -> Result<(), String> {
        let topics = self.group.topics.borrow().clone();
        let names: Vec<&str> =
            topics.iter().map(|topic| &**topic).filter(|name| is_topic_name(name)).collect();
        if names.is_empty() {
            self.consumer.unsubscribe();
        } else {
            self.consumer.subscribe(&names).map_err(|error| format!("the subscription failed ({error})"))?;
        }
        info!(self.shared.log, "kafka topics subscribed"; "group" => &*self.group.name,
            "topics" => names.join(", "));
        Ok(())
    }

    /// Consumes until it is ordered to end, or the client fails.
    pub(super) async fn run(mut self) -> SessionEnd {
        let group = Arc::clone(&self.group);
        let (limit, end) = tokio::select! {
            biased;
            limit = group.wait_until_stopping() => (limit, SessionEnd::Stopped),
            reason = self.consume() => {
                (Duration::ZERO, SessionEnd::Failed { reason, has_consumed: self.has_consumed })
            }
        };
        self.close(limit).await;
        end
    }

    /// Consumes until the client fails; returns the reason.
    async fn consume(&mut self) -> String {
        let consumer = Arc::clone(&self.consumer);
        let mut stream = consumer.stream();
        let mut topics = self.group.topics.subscribe();
        topics.borrow_and_update();
        let mut resubscribe_at = None;
        let mut timers = ReadTimers::start(self.shared.settings.lag_interval);
        let mut measuring: Option<JoinHandle<Measurement>> = None;
        loop {
            let delayed = self.delayed.iter().map(|(at, _)| *at).min();
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => {
                    let is_change = matches!(event, ClientEvent::Assign(_));
                    if let Err(reason) = self.handle_event(event).await {
                        return reason;
                    }
                    if is_change {
                        timers.measure_at = Instant::now();
                    }
                }
                Some(order) = self.orders.recv() => self.handle_order(order),
                answer = commit_answer(&mut self.pending_commit) => {
                    self.record_commit(answer);
                    self.commit();
                }
                () = sleep_until_some(self.commits.held_until()) => self.release_commits(),
                () = sleep_until_some(delayed) => self.handle_delayed(),
                () = sleep_until_some(resubscribe_at) => {
                    resubscribe_at = None;
                    if let Err(reason) = self.subscribe() {
                        return reason;
                    }
                    timers.measure_at = Instant::now() + AGAIN;
                }
                _ = wait_for_change(&mut topics), if resubscribe_at.is_none() => {
                    resubscribe_at = Some(Instant::now() + jitter(self.shared.settings.rejoin_jitter));
                }
                measured = join_measurement(&mut measuring) => {
                    measuring = None;
                    if let Some(measured) = measured {
                        self.record_measurement(measured);
                    }
                }
                () = sleep_until(timers.measure_at), if measuring.is_none() => {
                    timers.measure_at = Instant::now() + timers.interval;
                    measuring = Some(self.start_measurement());
                }
                () = sleep_until_some(self.trouble_ends_at) => self.end_trouble(),
                () = sleep_until_some(timers.receive_at) => timers.receive_at = None,
                message = stream.next(), if timers.receive_at.is_none() => {
                    let at_hand = iter::from_fn(|| stream.next().now_or_never()).take(IN_A_ROW - 1);
                    if let Err(reason) = self.deliver_each(iter::once(message).chain(at_hand), &mut timers) {
                        return reason;
                    }
                    yield_now().await;
                }
            }
        }
    }

    /// Ends the trouble that came of an error of the client.
    fn end_trouble(&mut self) {
        (self.trouble_ends_at, self.pause) = (None, FIRST_PAUSE);
        self.group.set_trouble(None);
    }

    /// Hands records to the workers of their partitions, up to the first error; `None` is the end of the client.
    ///
    /// # Errors
    /// The reason for which the client has failed.
    fn deliver_each<'m>(
        &mut self,
        messages: impl Iterator<Item = Option<KafkaResult<BorrowedMessage<'m>>>>,
        timers: &mut ReadTimers,
    ) -> Result<(), String> {
        for message in messages {
            match message {
                Some(Ok(message)) => self.deliver(&message),
                Some(Err(error)) => {
                    let pause = self.handle_error(&error)?;
                    timers.receive_at = pause.map(|pause| Instant::now() + pause);
                    timers.measure_at = timers.measure_at.min(Instant::now() + AGAIN);
                    break;
                }
                None => return Err("the client ended".to_owned()),
            }
        }
        Ok(())
    }

    /// Hands a record to the worker of its partition.
    fn deliver(&mut self, message: &BorrowedMessage<'_>) {
        let partition =
            self.assigned.get(message.topic()).and_then(|partitions| partitions.get(&message.partition()));
        // A record of a partition that was just given up is delivered to its next owner.
        let Some(handle) = partition else { return };
        (self.has_consumed, self.pause) = (true, FIRST_PAUSE);
        if handle.push(to_record(&handle.topic, message)) == Some(FlowControl::Pause) {
            let list = list_of([(&**handle, None)]);
            if let Err(error) = self.consumer.pause(&list) {
                debug!(self.shared.log, "a partition was not paused"; "partition" => ?handle, "error" => %error);
            }
        }
    }

    /// Returns the pause after an error of the client.
    ///
    /// # Errors
    /// The client failed for good.
    fn handle_error(&mut self, error: &KafkaError) -> Result<Option<Duration>, String> {
        let pause = match scope_of(error) {
            ErrorScope::Brokers | ErrorScope::Topic => return Ok(None),
            ErrorScope::Partition => {
                self.is_probe_due = true;
                None
            }
            ErrorScope::Client => {
                let pause = self.pause;
                self.pause = (pause * 2).min(LONGEST_PAUSE);
                Some(pause)
            }
            ErrorScope::Fatal => return Err(format!("the client failed for good ({error})")),
        };
        (self.shared.settings.errors)(ErrorReason::KafkaConsumer);
        if self.group.set_trouble(Some(error.to_string())) {
            warn!(self.shared.log, "records cannot be received"; "group" => &*self.group.name,
                "error" => %error);
        }
        self.trouble_ends_at = Some(Instant::now() + pause.unwrap_or_default() + TROUBLE_ENDS);
        Ok(pause)
    }

    async fn handle_event(&mut self, event: ClientEvent) -> Result<(), String> {
        match event {
            ClientEvent::Assign(list) => self.assign(&list).await,
            ClientEvent::Revoke(list) => {
                let elements = list.elements();
                let keys = elements.iter().map(|element| (element.topic().to_owned(), element.partition()));
                let is_lost = self.consumer.assignment_lost();
                let limit = if is_lost { Duration::ZERO } else { REVOKING };
                let handles = self.find(keys);
                let commit = if is_lost { LastCommit::Skipped } else { LastCommit::InRebalance };
                self.give_up_partitions(&handles, limit, commit).await;
                self.forget(&handles);
                give_up(&*self.consumer, &list);
                // What the other partitions have done while a commit was on its way is due.
                self.commit();
                Ok(())
            }
        }
    }

    /// Starts a worker for every assigned partition, then the fetching.
    async fn assign(&mut self, list: &TopicPartitionList) -> Result<(), String> {
        self.shared.metrics.rebalances.inc();
        self.group.set_trouble(None);
        self.trouble_ends_at = None;
        let elements = list.elements();
        let total = elements.len() + self.assigned.values().map(HashMap::len).sum::<usize>();
        let max_bytes = (WAITING_BYTES / total.max(1)).clamp(LEAST_BYTES, MOST_BYTES);
        let settings = &self.shared.settings;
        let budget = RetryBudget::new(max_poll_interval(settings), settings.processing_timeout);
        for element in &elements {
            let (topic, partition): (Arc<str>, _) = (element.topic().into(), element.partition());
            let handle = Arc::new(PartitionHandle::new(
                (Arc::clone(&topic), partition),
                Arc::clone(&self.group.name),
                budget,
                max_bytes,
                self.order_sender.clone(),
            ));
            self.group.partitions().insert((Arc::clone(&topic), partition), Arc::clone(&handle));
            self.assigned.entry(topic).or_default().insert(partition, Arc::clone(&handle));
            self.shared.metrics.assigned.inc();
            self.shared.metrics.show_topic(element.topic());
            self.spawn_worker(&handle).await?;
        }
        info!(self.shared.log, "kafka partitions assigned"; "group" => &*self.group.name, "partitions" => total);
        take_over(&*self.consumer, list).map_err(|error| format!("the assignment failed ({error})"))?;
        // A pause of an earlier assignment may have survived; a partition that is not paused stays as it is.
        let _ = self.consumer.resume(list);
        // The group has met: it takes commits again.
        self.release_commits();
        Ok(())
    }

    async fn spawn_worker(&self, handle: &Arc<PartitionHandle>) -> Result<(), String> {
        let ConsumerPlace { tree, path, at, needs } = &self.place;
        let spec = ChildSpec::new().mailbox(1).needs(needs.iter());
        let (shared, for_worker) = (Arc::clone(&self.shared), Arc::clone(handle));
        let factory = move |_| {
            let worker = PartitionWorker { shared: Arc::clone(&shared), handle: Arc::clone(&for_worker) };
            std::future::ready(Ok(worker))
        };
        let path = format!("{path}/{}", handle.node_name());
        let spawned = tree.spawn(&path, spec, at.clone(), factory).await;
        spawned.map(drop).map_err(|error| format!("a worker was not started ({error})"))
    }

    fn find(&self, keys: impl Iterator<Item = (String, i32)>) -> Vec<Arc<PartitionHandle>> {
        let handles =
            keys.filter_map(|(topic, partition)| self.assigned.get(topic.as_str())?.get(&partition));
        handles.cloned().collect()
    }

    /// Takes partitions out of the assignment.
    fn forget(&mut self, handles: &[Arc<PartitionHandle>]) {
        for handle in handles {
            if let Some(partitions) = self.assigned.get_mut(&handle.topic) {
                partitions.remove(&handle.partition);
            }
        }
        forget_partitions(&self.group, handles, &self.shared.metrics);
    }

    /// Ends the workers of partitions, with at most `limit` for the records in progress, and commits what is
    /// done, once the commit on its way is answered.
    async fn give_up_partitions(
        &mut self,
        handles: &[Arc<PartitionHandle>],
        limit: Duration,
        commit: LastCommit,
    ) {
        end_workers(&self.group, handles, limit, &self.shared.log).await;
        if commit != LastCommit::Skipped {
            self.settle_commit().await;
        }
        self.commit_last(handles, commit).await;
        retire_workers(&self.place, handles).await;
    }

    fn handle_order(&mut self, order: ConsumerOrder) {
        let (ConsumerOrder::SeekBack(handle, _)
        | ConsumerOrder::Resume(handle)
        | ConsumerOrder::Commit(handle)) = &order;
        if !is_assigned(&self.assigned, handle) {
            // It was given up meanwhile, and committed then.
            return;
        }
        let result = match &order {
            ConsumerOrder::Commit(handle) => {
                self.commits.push(Arc::clone(handle));
                self.commit();
                return;
            }
            ConsumerOrder::Resume(handle) => self.resume(handle),
            ConsumerOrder::SeekBack(handle, offset) => {
                self.seek(handle, *offset).inspect(|()| handle.end_seek())
            }
        };
        if let Err(error) = result {
            debug!(self.shared.log, "an order to the kafka client failed"; "order" => ?order, "error" => %error);
            self.delayed.push((Instant::now() + AGAIN, order));
        }
    }

    /// Fetches a paused partition again. The thread of the client that fetches looks for that once a second, but
    /// at once after a seek: to the offset that is next anyway.
    fn resume(&self, handle: &PartitionHandle) -> KafkaResult<()> {
        self.consumer.resume(&list_of([(handle, None)]))?;
        handle.next_fetch().map_or(Ok(()), |offset| self.seek(handle, offset))
    }

    /// Orders the client to fetch a partition from an offset on. Does not wait.
    fn seek(&self, handle: &PartitionHandle, offset: i64) -> KafkaResult<()> {
        self.consumer.seek(&handle.topic, handle.partition, Offset::Offset(offset), Duration::ZERO)
    }

    fn handle_delayed(&mut self) {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.delayed).into_iter().partition(|(at, _)| *at <= now);
        self.delayed = later;
        let due: Vec<_> = due;
        for (_, order) in due {
            self.handle_order(order);
        }
    }

    /// Gives up every partition and leaves the group. Records in progress have `limit` to end.
    async fn close(mut self, limit: Duration) {
        let handles: Vec<_> = self.assigned.values().flat_map(HashMap::values).cloned().collect();
        self.give_up_partitions(&handles, limit, LastCommit::BeforeLeaving).await;
        self.forget(&handles);
        let Self { shared, group, events, consumer, client_end, .. } = self;
        // Nobody takes events any more: the client ends by itself, with the last of those that use it. It waits for
        // its group, so not on this thread.
        drop(events);
        let leave = thread::Builder::new().name("kafka-leave".to_owned()).spawn(move || drop(consumer));
        if leave.is_err() || timeout(LEAVING, client_end).await.is_err() {
            debug!(shared.log, "a consumer leaves its group later"; "group" => &*group.name);
        }
    }
}

/// Returns `true` unless a partition was given up. It may have been assigned anew since, with another handle.
pub(super) fn is_assigned(assigned: &Assignment, handle: &Arc<PartitionHandle>) -> bool {
    let current = assigned.get(&handle.topic).and_then(|partitions| partitions.get(&handle.partition));
    current.is_some_and(|current| Arc::ptr_eq(current, handle))
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn wait_for_change<T>(values: &mut watch::Receiver<T>) {
    if values.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Returns a random part of `most`.
fn jitter(most: Duration) -> Duration {
    let share = RandomState::new().build_hasher().finish() % 1000;
    most * u32::try_from(share).unwrap_or_default() / 1000
}
