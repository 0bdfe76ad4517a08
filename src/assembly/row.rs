//! The rows of the table of what runs: a kind of node of the supervision tree, a kind of task outside it, and what the
//! parts of the service hand to the table.

use std::time::Duration;

use actix_supervision::{ChildSpec, NodeKind};

/// The thread of an actor, or the place of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RunsOn {
    /// A group: it runs nothing itself.
    Nowhere,
    /// The actor thread over the shared i/o runtime that is for everything but schedules and Kafka ingress.
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
    pub(crate) runs_on: RunsOn,
    /// Ends the tree when its restart budget is exhausted.
    pub(crate) essential: bool,
    /// Paths of the rows whose nodes run before it starts, and are drained after it.
    pub(crate) needs: &'static [&'static str],
    pub(crate) drain: DrainBudget,
    #[cfg_attr(not(test), expect(dead_code, reason = "tells readers how a node ends"))]
    pub(crate) ended_by: EndedBy,
}

impl TreeRow {
    pub(super) const fn group(path: &'static str) -> Self {
        Self::new(path, NodeKind::Group, RunsOn::Nowhere)
    }

    pub(super) const fn actor(path: &'static str, runs_on: RunsOn) -> Self {
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

    pub(super) const fn essential(self) -> Self {
        Self { essential: true, ..self }
    }

    pub(super) const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    pub(super) const fn drain(self, drain: DrainBudget) -> Self {
        Self { drain, ..self }
    }

    pub(super) const fn drain_secs(self, secs: u64) -> Self {
        self.drain(DrainBudget::Fixed(Duration::from_secs(secs)))
    }

    pub(super) const fn ended_by(self, ended_by: EndedBy) -> Self {
        Self { ended_by, ..self }
    }

    /// Returns the path from the root. Users name channels and schedules, perhaps like a node of the service,
    /// so that a relative path could mean theirs.
    pub(crate) fn absolute_path(&self) -> String {
        absolute(self.path)
    }

    /// Returns the absolute paths of the needed nodes.
    pub(crate) fn need_paths(&self) -> Vec<String> {
        self.needs.iter().map(|path| absolute(path)).collect()
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

fn absolute(path: &str) -> String {
    format!("/{path}")
}

/// A kind of thread or task outside the tree.
#[cfg_attr(not(test), expect(dead_code, reason = "compared with the source"))]
#[derive(Debug)]
pub(crate) struct TaskRow {
    /// The work.
    pub(crate) name: &'static str,
    /// The directory of the crate that starts it; `src` is the program.
    pub(crate) directory: &'static str,
    /// Number of places in the code of that crate that start it.
    pub(crate) places: usize,
    pub(crate) runs_on: RunsOn,
    pub(crate) ended_by: EndedBy,
}

/// Makes the row of a task.
pub(super) const fn task(
    name: &'static str,
    directory: &'static str,
    places: usize,
    runs_on: RunsOn,
    ended_by: EndedBy,
) -> TaskRow {
    TaskRow { name, directory, places, runs_on, ended_by }
}

/// The rows of one actor crate, or of the host application.
#[cfg_attr(not(test), expect(dead_code, reason = "compared with a running service and with the source"))]
pub(crate) struct ServicePart {
    /// The kinds of its nodes. If two paths match a node, the first one counts.
    pub(crate) nodes: &'static [&'static TreeRow],
    /// The kinds of threads and tasks that it starts outside the tree. Futures of an actor's own context are not
    /// listed: they end with it.
    pub(crate) tasks: &'static [TaskRow],
}
