//! The vital signs of a node: its admission state and its counters.
//!
//! Written by the runner of the node and by the supervisor, read by anyone at any time without a message.
//! Each lock guards a few words and is never held across a call into an actor, so a reader never waits for an
//! actor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::clock::{self, TreeClock};
use crate::mailbox::admission::AdmissionControl;
use crate::mailbox::names::short_name;
use crate::observation::view::{NodeGauges, NodeKind, NodeView};
use crate::path::NodePath;
use crate::state::NodeState;

#[derive(Debug)]
pub(crate) struct NodeVitals {
    pub(crate) path: NodePath,
    pub(crate) kind: NodeKind,
    pub(crate) admission: AdmissionControl,
    pub(crate) needs: Box<[NodePath]>,
    pub(crate) drain_deadline: Duration,
    pub(crate) essential: bool,
    /// Generation of the current or last instance.
    pub(crate) generation: AtomicU64,
    /// The last generation number issued.
    issued: AtomicU64,
    pub(crate) restarts: AtomicU64,
    pub(crate) handled: AtomicU64,
    /// Set when the node had to be ended by force.
    pub(crate) forced: AtomicBool,
    activity: Mutex<Activity>,
    thread: Mutex<Option<Arc<str>>>,
    status: Mutex<LifecycleInfo>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Activity {
    handling: Option<&'static str>,
    since: Option<Instant>,
}

/// The values that only change with the lifecycle.
#[derive(Debug, Default)]
pub(crate) struct LifecycleInfo {
    pub(crate) last_exit: Option<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) started_at: Option<Duration>,
}

thread_local! {
    /// The name of this thread, shared by the nodes that run on it.
    static THREAD_NAME: Arc<str> = {
        let thread = std::thread::current();
        thread.name().map_or_else(|| format!("{:?}", thread.id()).into(), Arc::from)
    };
}

impl NodeVitals {
    pub(crate) fn new(
        path: NodePath,
        kind: NodeKind,
        needs: Box<[NodePath]>,
        (bound, drain_deadline): (usize, Duration),
        tree_clock: TreeClock,
    ) -> Self {
        Self {
            path,
            kind,
            admission: AdmissionControl::new(bound, tree_clock),
            needs,
            drain_deadline,
            essential: false,
            generation: AtomicU64::new(0),
            issued: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            forced: AtomicBool::new(false),
            activity: Mutex::default(),
            thread: Mutex::default(),
            status: Mutex::default(),
        }
    }

    /// Returns a new generation number.
    pub(crate) fn issue_generation(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Records that work on `handling` starts now.
    pub(crate) fn begin(&self, handling: Option<&'static str>) {
        *self.activity.lock() = Activity { handling, since: Some(clock::now()) };
    }

    /// Records that the node is idle.
    pub(crate) fn end(&self) {
        *self.activity.lock() = Activity::default();
    }

    /// Records the current thread as that of the node.
    pub(crate) fn record_thread(&self) {
        *self.thread.lock() = Some(THREAD_NAME.with(Arc::clone));
    }

    pub(crate) fn update_status(&self, change: impl FnOnce(&mut LifecycleInfo)) {
        change(&mut self.status.lock());
    }

    pub(crate) fn gauges(&self) -> NodeGauges<'_> {
        NodeGauges {
            path: &self.path,
            kind: self.kind,
            state: self.admission.state(),
            generation: self.generation.load(Ordering::Acquire),
            restarts: self.restarts.load(Ordering::Acquire),
            mailbox_depth: self.admission.in_flight(),
            mailbox_bound: self.admission.bound(),
        }
    }

    pub(crate) fn view(&self) -> NodeView {
        let Activity { handling, since } = *self.activity.lock();
        let state = self.admission.state();
        let status = self.status.lock();
        let uptime = status.started_at.map(|at| self.admission.tree_clock.elapsed().saturating_sub(at));
        NodeView {
            path: self.path.clone(),
            kind: self.kind,
            state,
            generation: self.generation.load(Ordering::Acquire),
            restarts: self.restarts.load(Ordering::Acquire),
            mailbox_depth: self.admission.in_flight(),
            mailbox_bound: self.admission.bound(),
            mailbox_high_water: self.admission.high_water(),
            handled: self.handled.load(Ordering::Acquire),
            essential: self.essential,
            drain_deadline: self.drain_deadline,
            thread: self.thread.lock().as_deref().map(str::to_owned),
            handling: handling.map(short_name),
            busy_ms: since.map(|since| millis(clock::now().saturating_duration_since(since))),
            last_exit: status.last_exit.clone(),
            quarantine_reason: match state {
                NodeState::Quarantined => self.admission.reason().map(|reason| reason.to_string()),
                _ => None,
            },
            retry_in_ms: self.admission.retry_after().map(millis),
            needs: self.needs.to_vec(),
            fingerprint: status.fingerprint.clone(),
            uptime_ms: uptime.map_or(0, millis),
        }
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
