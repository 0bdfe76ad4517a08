//! The table of what runs in the process: every node of the supervision tree and every task outside it.
//!
//! [`NODES`] has a row for each kind of node: its place, its thread, its needs, the time it gets to drain, and the event
//! that ends it. [`Assembly`](super::parts::Assembly) takes the paths and needs of the nodes that it starts from these
//! rows; crates specify the nodes inside of their groups themselves. [`TASKS`] has a row for each kind of thread or task
//! that is no node. Tests compare every node of a running service with its row, and the tasks with the source. What ends
//! a node or a task is for readers only.
//!
//! An essential actor that exhausts its restart budget ends the tree, and with it the process: without the
//! store, the lease or the registry the service can keep no promise. A channel that exhausts its budget is
//! quarantined: its requests are refused with the reason until it changes, the configuration is reloaded, or
//! an operator orders a restart. If a schedule exhausts its budget, its channel is quarantined.
//!
//! A node is drained before the nodes it needs. The shutdown of the process therefore has this order: the
//! edge waits for its requests while the workers finish their jobs, schedules claim nothing more and consumers
//! leave their groups; the channels end; the recorder writes its queues; the store closes. One deadline bounds all of it
//! (`shutdown.rs`).

use std::time::Duration;

use actix_supervision::{ChildSpec, NodeKind};

#[cfg(test)]
mod tests;

/// The thread of an actor, or the place of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RunsOn {
    /// A group: it runs nothing itself.
    Nowhere,
    /// The actor thread over the shared i/o runtime that is for everything but schedules.
    SharedThread,
    /// The actor thread over the shared i/o runtime that is for schedules.
    ScheduleThread,
    /// The actor thread over the shared i/o runtime that is for Kafka ingress.
    KafkaThread,
    /// The actor thread of the connectors, whose own runtime drives their connections.
    ConnectorThread,
    /// The worker threads of the HTTP server, one actor each.
    HttpWorkers,
    /// The thread that the host application chooses.
    HostThread,
    /// The threads of the shared i/o runtime.
    IoRuntime,
    /// The blocking pool of the runtime that starts it.
    BlockingPool,
    /// A thread of its own.
    OwnThread,
}

/// The time that an actor gets to finish its work when it is replaced, retired or shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainBudget {
    /// The ten seconds of `actix-supervision`.
    Default,
    /// A time of its own.
    Fixed(Duration),
    /// `trace_queue.shutdown_timeout_secs` and five seconds.
    TraceQueueShutdown,
    /// `cron.shutdown_timeout_secs` and five seconds.
    CronShutdown,
}

/// The event that ends a node or a task for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// The shutdown of the tree, in the reverse order of needs.
    TreeShutdown,
    /// The retirement of the channels, once no request is being answered.
    ChannelRetirement,
    /// `Traces::stop`: begins no job any more and waits for those that run.
    TracesStop,
    /// `Cron::stop`: claims nothing any more and waits for the attempts that run.
    CronStop,
    /// `KafkaHandle::stop`: fetches nothing any more, waits for the records that run, and commits what is done.
    KafkaStop,
    /// The caller that waits for it, or a time limit of its own.
    Caller,
    /// The drop of the value that it works for.
    OwnerDrop,
    /// The end of the listener that it serves.
    ListenerStop,
    /// The end of the process.
    ProcessExit,
}

/// A kind of node of the supervision tree.
#[derive(Debug)]
pub(crate) struct TreeRow {
    /// Path in the tree. A part in braces matches the names of several nodes.
    pub(crate) path: &'static str,
    pub(crate) kind: NodeKind,
    #[cfg_attr(not(test), expect(dead_code, reason = "compared with a running service"))]
    pub(crate) runs_on: RunsOn,
    /// Ends the tree when its restart budget is exhausted.
    pub(crate) essential: bool,
    /// Nodes that run before it starts, and are drained after it.
    pub(crate) needs: &'static [&'static TreeRow],
    pub(crate) drain: DrainBudget,
    #[cfg_attr(not(test), expect(dead_code, reason = "tells readers how a node ends"))]
    pub(crate) ended_by: EndedBy,
}

impl TreeRow {
    const fn group(path: &'static str) -> Self {
        Self::new(path, NodeKind::Group, RunsOn::Nowhere)
    }

    const fn actor(path: &'static str, runs_on: RunsOn) -> Self {
        Self::new(path, NodeKind::Actor, runs_on)
    }

    const fn new(path: &'static str, kind: NodeKind, runs_on: RunsOn) -> Self {
        Self {
            path,
            kind,
            runs_on,
            essential: false,
            needs: &[],
            drain: DrainBudget::Default,
            ended_by: EndedBy::TreeShutdown,
        }
    }

    const fn essential(self) -> Self {
        Self { essential: true, ..self }
    }

    const fn needs(self, needs: &'static [&'static Self]) -> Self {
        Self { needs, ..self }
    }

    const fn drain(self, drain: DrainBudget) -> Self {
        Self { drain, ..self }
    }

    const fn drain_secs(self, secs: u64) -> Self {
        self.drain(DrainBudget::Fixed(Duration::from_secs(secs)))
    }

    const fn ended_by(self, ended_by: EndedBy) -> Self {
        Self { ended_by, ..self }
    }

    /// Returns the path from the root. Users name channels and schedules, perhaps like a node of the service,
    /// so that a relative path could mean theirs.
    pub(crate) fn absolute_path(&self) -> String {
        format!("/{}", self.path)
    }

    /// Returns the absolute paths of the needed nodes.
    pub(crate) fn need_paths(&self) -> Vec<String> {
        self.needs.iter().map(|need| need.absolute_path()).collect()
    }

    /// Returns the specification of an actor that the service places itself.
    pub(crate) fn spec(&self) -> ChildSpec {
        debug_assert!(self.kind == NodeKind::Actor, "{} is a group", self.path);
        let mut spec = ChildSpec::new().needs(self.need_paths());
        if let DrainBudget::Fixed(limit) = self.drain {
            spec = spec.drain_deadline(limit);
        }
        if self.essential { spec.essential() } else { spec }
    }
}

/// The group of the database.
pub(crate) static STORE: TreeRow = TreeRow::group("store");
/// The writer with its group commit.
static STORE_WRITER: TreeRow = TreeRow::actor("store/writer", RunsOn::SharedThread).essential();
/// The check that the database answers.
static STORE_PROBE: TreeRow = TreeRow::actor("store/probe", RunsOn::SharedThread);

/// The key sets of token issuers; one fetch at a time for each issuer.
pub(crate) static KEY_SETS: TreeRow = TreeRow::actor("keysets", RunsOn::SharedThread);
/// The OAuth2 tokens of connectors; one fetch at a time for each connector.
pub(crate) static TOKENS: TreeRow =
    TreeRow::actor("tokens", RunsOn::SharedThread).needs(&[&STORE]).drain_secs(20);
/// The lease of this process, which it renews.
pub(crate) static NODE_LEASE: TreeRow =
    TreeRow::actor("nodes", RunsOn::SharedThread).essential().needs(&[&STORE]);

/// The group of traces, accepted work and dead letters.
pub(crate) static TRACES: TreeRow = TreeRow::group("traces");
/// The recorder, which writes traces behind the response.
pub(crate) static TRACE_RECORDER: TreeRow = TreeRow::actor("traces/recorder", RunsOn::SharedThread)
    .needs(&[&STORE, &NODE_LEASE])
    .drain(DrainBudget::TraceQueueShutdown);
/// The workers of accepted work, `trace_queue.workers` of them.
pub(crate) static TRACE_WORKER: TreeRow = TreeRow::actor("traces/worker-{number}", RunsOn::SharedThread)
    .needs(&[&STORE, &NODE_LEASE, &REGISTRY, &CHANNELS])
    .drain(DrainBudget::TraceQueueShutdown)
    .ended_by(EndedBy::TracesStop);
/// The queue of accepted work.
static TRACE_QUEUE: TreeRow = TreeRow::actor("traces/queue", RunsOn::SharedThread)
    .needs(&[&STORE, &NODE_LEASE, &TRACE_WORKER])
    .drain(DrainBudget::TraceQueueShutdown)
    .ended_by(EndedBy::TracesStop);
/// The retries of dead letters.
static DEAD_LETTERS: TreeRow = TreeRow::actor("traces/dead-letters", RunsOn::SharedThread)
    .needs(&[&STORE, &NODE_LEASE, &TRACE_QUEUE])
    .drain(DrainBudget::TraceQueueShutdown)
    .ended_by(EndedBy::TracesStop);

/// The group of the outbound systems.
pub(crate) static CONNECTORS: TreeRow = TreeRow::group("connectors");
/// The actor that makes the connectors match what is stored.
pub(crate) static CONNECTOR_RECONCILER: TreeRow =
    TreeRow::actor("connectors/reconciler", RunsOn::ConnectorThread).needs(&[&STORE]);
/// One outbound system.
static CONNECTOR: TreeRow = TreeRow::actor("connectors/{id}", RunsOn::ConnectorThread).drain_secs(60);

/// The group of Kafka; absent unless `kafka.enabled`.
pub(crate) static KAFKA: TreeRow = TreeRow::group("kafka");
/// The check of the Kafka brokers of the settings.
pub(crate) static KAFKA_BROKERS: TreeRow = TreeRow::actor("kafka/brokers", RunsOn::SharedThread);
/// The actor that makes the consumers match the topic map.
pub(crate) static KAFKA_RECONCILER: TreeRow =
    TreeRow::actor("kafka/reconciler", RunsOn::KafkaThread).needs(&[&STORE, &REGISTRY, &CHANNELS]);
/// The group of consumer groups.
static KAFKA_GROUPS: TreeRow = TreeRow::group("kafka/groups");
/// One consumer group.
static KAFKA_GROUP: TreeRow = TreeRow::group("kafka/groups/{group}");
/// Its consumer, which owns the client.
static KAFKA_CONSUMER: TreeRow = TreeRow::actor("kafka/groups/{group}/consumer", RunsOn::KafkaThread)
    .needs(&[&STORE, &REGISTRY, &CHANNELS])
    .drain_secs(16)
    .ended_by(EndedBy::KafkaStop);
/// The worker of an assigned partition.
static KAFKA_PARTITION: TreeRow = TreeRow::actor("kafka/groups/{group}/{partition}", RunsOn::KafkaThread)
    .needs(&[&STORE, &REGISTRY, &CHANNELS])
    .ended_by(EndedBy::KafkaStop);

/// The registry, which prepares and commits snapshots.
pub(crate) static REGISTRY: TreeRow = TreeRow::actor("registry", RunsOn::SharedThread).essential().needs(&[
    &STORE,
    &CONNECTORS,
    &TOKENS,
    &KEY_SETS,
    &TRACE_RECORDER,
]);

/// The group of all channels.
pub(crate) static CHANNELS: TreeRow = TreeRow::group("channels").ended_by(EndedBy::ChannelRetirement);
/// The group of one channel, which has the restart budget.
static CHANNEL: TreeRow = TreeRow::group("channels/{id}").ended_by(EndedBy::ChannelRetirement);
/// The actor of a channel on one worker thread.
pub(crate) static CHANNEL_ACTOR: TreeRow = TreeRow::actor("channels/{id}/{worker}", RunsOn::HttpWorkers)
    .needs(&[&STORE, &CONNECTORS, &TOKENS, &KEY_SETS, &TRACE_RECORDER])
    .drain_secs(30)
    .ended_by(EndedBy::ChannelRetirement);

/// The watcher of the configuration epoch, which loads what other processes changed.
pub(crate) static EPOCH: TreeRow =
    TreeRow::actor("epoch", RunsOn::SharedThread).needs(&[&STORE, &NODE_LEASE, &CONNECTORS, &REGISTRY]);

/// The group of schedules and their runs; absent unless `cron.enabled`.
pub(crate) static CRON: TreeRow = TreeRow::group("cron");
/// The group of schedules.
pub(crate) static SCHEDULES: TreeRow = TreeRow::group("cron/schedules");
/// One schedule, which puts due instants on record.
pub(crate) static SCHEDULE: TreeRow =
    TreeRow::actor("cron/schedules/{id}", RunsOn::ScheduleThread).needs(&[&STORE, &REGISTRY, &CHANNELS]);
/// The claimer of due occurrences.
static CLAIMER: TreeRow = TreeRow::actor("cron/claimer", RunsOn::ScheduleThread)
    .needs(&[&STORE, &REGISTRY, &CHANNELS])
    .drain(DrainBudget::CronShutdown)
    .ended_by(EndedBy::CronStop);
/// The actor that pauses cursors that no node moves, and measures the backlog.
static REAPER: TreeRow =
    TreeRow::actor("cron/reaper", RunsOn::ScheduleThread).needs(&[&STORE, &REGISTRY, &CHANNELS]);
/// The actor that makes the schedules match the snapshot.
static SCHEDULE_RECONCILER: TreeRow =
    TreeRow::actor("cron/reconciler", RunsOn::ScheduleThread).needs(&[&STORE, &REGISTRY, &CHANNELS]);

/// The group of the recurring jobs of the service.
pub(crate) static HOUSEKEEPING: TreeRow = TreeRow::group("housekeeping");
/// One job.
static JOB: TreeRow = TreeRow::actor("housekeeping/{job}", RunsOn::SharedThread);
/// The timer of the jobs.
static JOB_SCHEDULER: TreeRow = TreeRow::actor("housekeeping/scheduler", RunsOn::SharedThread).needs(&[&JOB]);

/// The group of the actors of an embedding application.
pub(crate) static HOST: TreeRow = TreeRow::group("host");
/// One actor of the application, which may submit to channels.
pub(crate) static HOST_ACTOR: TreeRow =
    TreeRow::actor("host/{name}", RunsOn::HostThread).needs(&[&STORE, &REGISTRY, &CHANNELS]);

/// Every kind of node. If two paths match a node, the first one counts.
#[cfg_attr(not(test), expect(dead_code, reason = "compared with a running service"))]
pub(crate) static NODES: [&TreeRow; 37] = [
    &STORE,
    &STORE_WRITER,
    &STORE_PROBE,
    &KEY_SETS,
    &TOKENS,
    &NODE_LEASE,
    &TRACES,
    &TRACE_RECORDER,
    &TRACE_WORKER,
    &TRACE_QUEUE,
    &DEAD_LETTERS,
    &CONNECTORS,
    &CONNECTOR_RECONCILER,
    &CONNECTOR,
    &KAFKA,
    &KAFKA_BROKERS,
    &KAFKA_RECONCILER,
    &KAFKA_GROUPS,
    &KAFKA_GROUP,
    &KAFKA_CONSUMER,
    &KAFKA_PARTITION,
    &REGISTRY,
    &CHANNELS,
    &CHANNEL,
    &CHANNEL_ACTOR,
    &EPOCH,
    &CRON,
    &SCHEDULES,
    &SCHEDULE,
    &CLAIMER,
    &REAPER,
    &SCHEDULE_RECONCILER,
    &HOUSEKEEPING,
    &JOB_SCHEDULER,
    &JOB,
    &HOST,
    &HOST_ACTOR,
];

/// A kind of thread or task outside the tree.
#[cfg_attr(not(test), expect(dead_code, reason = "compared with the source"))]
#[derive(Debug)]
pub(crate) struct TaskRow {
    /// The work.
    pub(crate) name: &'static str,
    /// The directory of the crate that starts it (`src` is the program), and the number of places in its
    /// code that do.
    pub(crate) started_in: (&'static str, usize),
    pub(crate) runs_on: RunsOn,
    pub(crate) ended_by: EndedBy,
}

const fn task(
    name: &'static str,
    started_in: (&'static str, usize),
    runs_on: RunsOn,
    ended_by: EndedBy,
) -> TaskRow {
    TaskRow { name, started_in, runs_on, ended_by }
}

/// Every kind of thread or task outside the tree. Futures of an actor's own context are not listed: they end
/// with it.
#[cfg_attr(not(test), expect(dead_code, reason = "compared with the source"))]
pub(crate) static TASKS: [TaskRow; 49] = [
    // The process.
    task(
        "runner of each supervised actor",
        ("actors/supervision", 3),
        RunsOn::OwnThread,
        EndedBy::TreeShutdown,
    ),
    task("supervisor on an actor thread", ("actors/supervision", 1), RunsOn::OwnThread, EndedBy::ProcessExit),
    task("threads of the shared i/o runtime", ("src", 0), RunsOn::IoRuntime, EndedBy::OwnerDrop),
    task("writer of the log", ("src", 0), RunsOn::OwnThread, EndedBy::OwnerDrop),
    task("last write of the log before a forced exit", ("src", 1), RunsOn::OwnThread, EndedBy::ProcessExit),
    task("watch of file descriptors, each second", ("src", 1), RunsOn::IoRuntime, EndedBy::OwnerDrop),
    task("watch of the certificate files, each second", ("src", 1), RunsOn::IoRuntime, EndedBy::OwnerDrop),
    task("watchdog of the shutdown deadline", ("src", 1), RunsOn::OwnThread, EndedBy::ProcessExit),
    task("export of spans", ("crates/spans", 1), RunsOn::IoRuntime, EndedBy::OwnerDrop),
    // The listeners.
    task("HTTP server", ("src", 1), RunsOn::HttpWorkers, EndedBy::ListenerStop),
    task("enrolment of a worker thread in the registry", ("src", 1), RunsOn::HttpWorkers, EndedBy::Caller),
    task("reload on SIGHUP", ("src", 1), RunsOn::HttpWorkers, EndedBy::Caller),
    task("read of the configuration file", ("src", 1), RunsOn::BlockingPool, EndedBy::Caller),
    task("decoding of a large response", ("crates/outbound", 1), RunsOn::BlockingPool, EndedBy::Caller),
    task("operational listener", ("src", 1), RunsOn::OwnThread, EndedBy::ListenerStop),
    task("connections of the operational listener", ("src", 1), RunsOn::OwnThread, EndedBy::ListenerStop),
    // Accepted work and schedules.
    task(
        "attempt at an occurrence, with its lease",
        ("actors/cron", 1),
        RunsOn::IoRuntime,
        EndedBy::CronStop,
    ),
    task("job loop of a worker of the queue", ("actors/traces", 1), RunsOn::HttpWorkers, EndedBy::TracesStop),
    task("run of a job", ("actors/traces", 1), RunsOn::HttpWorkers, EndedBy::TracesStop),
    task(
        "outcomes of jobs whose thread has ended",
        ("actors/traces", 2),
        RunsOn::SharedThread,
        EndedBy::TracesStop,
    ),
    task(
        "takeover of work that dead nodes left",
        ("actors/traces", 1),
        RunsOn::IoRuntime,
        EndedBy::TracesStop,
    ),
    task("claim of work that waited", ("actors/traces", 1), RunsOn::IoRuntime, EndedBy::TracesStop),
    task("move of a dead letter into the queue", ("actors/traces", 1), RunsOn::IoRuntime, EndedBy::Caller),
    task("check of an unanswered commit", ("actors/traces", 1), RunsOn::IoRuntime, EndedBy::ProcessExit),
    // Kafka ingress.
    task("check of the Kafka settings", ("actors/kafka", 1), RunsOn::BlockingPool, EndedBy::Caller),
    task(
        "search for the record behind a batch that cannot be unpacked",
        ("actors/kafka", 1),
        RunsOn::BlockingPool,
        EndedBy::Caller,
    ),
    task("commit of offsets", ("actors/kafka", 2), RunsOn::BlockingPool, EndedBy::Caller),
    task("measurement of the lag", ("actors/kafka", 1), RunsOn::BlockingPool, EndedBy::Caller),
    task(
        "departure of a consumer from its group",
        ("actors/kafka", 1),
        RunsOn::OwnThread,
        EndedBy::OwnerDrop,
    ),
    // Computation.
    task("parse of a large body", ("actors/channels", 1), RunsOn::BlockingPool, EndedBy::Caller),
    // Guards.
    task(
        "removal of expired idempotency keys and cached responses",
        ("actors/channels", 1),
        RunsOn::BlockingPool,
        EndedBy::Caller,
    ),
    task("release of an unanswered claim", ("actors/channels", 1), RunsOn::HttpWorkers, EndedBy::ProcessExit),
    task("key derivation and signatures", ("crates/functions", 1), RunsOn::BlockingPool, EndedBy::Caller),
    // The database and the secret store.
    task("statements and migrations", ("actors/store", 10), RunsOn::IoRuntime, EndedBy::Caller),
    task("copy of a SQLite file", ("actors/store", 1), RunsOn::BlockingPool, EndedBy::Caller),
    task("batches of writes", ("actors/store", 2), RunsOn::IoRuntime, EndedBy::Caller),
    task("groups of calls of the ledger", ("actors/store", 2), RunsOn::IoRuntime, EndedBy::Caller),
    task(
        "driver of a connection to the database",
        ("actors/store", 1),
        RunsOn::IoRuntime,
        EndedBy::OwnerDrop,
    ),
    task("read of secrets", ("crates/vault", 1), RunsOn::IoRuntime, EndedBy::Caller),
    // The outbound systems.
    task(
        "driver of a PostgreSQL connection",
        ("actors/connectors", 1),
        RunsOn::ConnectorThread,
        EndedBy::OwnerDrop,
    ),
    task(
        "driver of a Redis connection, of a connector or the cluster",
        ("crates/redis", 1),
        RunsOn::IoRuntime,
        EndedBy::OwnerDrop,
    ),
    task(
        "opening of the cluster's Redis connection",
        ("crates/redis", 1),
        RunsOn::IoRuntime,
        EndedBy::Caller,
    ),
    task(
        "local proxy of a MongoDB client",
        ("actors/connectors", 1),
        RunsOn::ConnectorThread,
        EndedBy::OwnerDrop,
    ),
    task("connections of that proxy", ("actors/connectors", 1), RunsOn::ConnectorThread, EndedBy::OwnerDrop),
    task("cancellation of a statement", ("actors/connectors", 1), RunsOn::ConnectorThread, EndedBy::Caller),
    task(
        "rollback of an abandoned transaction",
        ("actors/connectors", 1),
        RunsOn::ConnectorThread,
        EndedBy::Caller,
    ),
    task("statements on a SQLite file", ("actors/connectors", 2), RunsOn::BlockingPool, EndedBy::Caller),
    task(
        "metadata request to Kafka brokers",
        ("actors/connectors", 1),
        RunsOn::BlockingPool,
        EndedBy::Caller,
    ),
    task("flush of a Kafka producer", ("actors/connectors", 1), RunsOn::OwnThread, EndedBy::OwnerDrop),
];
