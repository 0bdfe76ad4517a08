//! The public face of a node: its gate and its vital signs.
//!
//! Written by the node's runner and by the keeper, read by anyone at any time without a message. The locks guard a
//! few words each and are never held across a call into an actor, so a reader never waits for one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::clock::{self, Epoch};
use crate::gate::{Gate, NodeState, lock};
use crate::path::NodePath;
use crate::view::{NodeKind, NodeView, short_name};

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) path: NodePath,
    pub(crate) kind: NodeKind,
    pub(crate) gate: Gate,
    pub(crate) needs: Vec<NodePath>,
    pub(crate) drain_deadline: Duration,
    /// Generation of the current or last instance.
    pub(crate) generation: AtomicU64,
    /// The last generation number given out.
    issued: AtomicU64,
    pub(crate) restarts: AtomicU64,
    pub(crate) handled: AtomicU64,
    /// Whether it had to be ended by force.
    pub(crate) forced: AtomicBool,
    turn: Mutex<Turn>,
    thread: Mutex<Option<Arc<str>>>,
    facts: Mutex<Facts>,
    epoch: Epoch,
}

#[derive(Debug, Default, Clone, Copy)]
struct Turn {
    handling: Option<&'static str>,
    since: Option<Instant>,
}

/// What changes with the lifecycle only.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) last_exit: Option<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) started_at: Option<Duration>,
}

impl Node {
    pub(crate) fn new(
        path: NodePath,
        kind: NodeKind,
        needs: Vec<NodePath>,
        (bound, drain_deadline): (usize, Duration),
        epoch: Epoch,
    ) -> Self {
        Self {
            path,
            kind,
            gate: Gate::new(bound, epoch),
            needs,
            drain_deadline,
            generation: AtomicU64::new(0),
            issued: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            forced: AtomicBool::new(false),
            turn: Mutex::default(),
            thread: Mutex::default(),
            facts: Mutex::default(),
            epoch,
        }
    }

    /// A generation number never given out before.
    pub(crate) fn issue_generation(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Notes that work on `handling` begins.
    pub(crate) fn begin(&self, handling: Option<&'static str>) {
        *lock(&self.turn) = Turn { handling, since: Some(clock::now()) };
    }

    /// Notes that the node is idle.
    pub(crate) fn end(&self) {
        *lock(&self.turn) = Turn::default();
    }

    /// Notes the thread it runs on.
    pub(crate) fn on_this_thread(&self) {
        let thread = std::thread::current();
        let name = thread.name().map_or_else(|| format!("{:?}", thread.id()).into(), Arc::from);
        *lock(&self.thread) = Some(name);
    }

    pub(crate) fn change_facts(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut lock(&self.facts));
    }

    pub(crate) fn view(&self) -> NodeView {
        let Turn { handling, since } = *lock(&self.turn);
        let state = self.gate.state();
        let facts = lock(&self.facts);
        let uptime = facts.started_at.map(|at| self.epoch.elapsed().saturating_sub(at));
        NodeView {
            path: self.path.clone(),
            kind: self.kind,
            state,
            generation: self.generation.load(Ordering::Acquire),
            restarts: self.restarts.load(Ordering::Acquire),
            mailbox_depth: self.gate.in_flight(),
            mailbox_bound: self.gate.bound(),
            mailbox_high_water: self.gate.high_water(),
            handled: self.handled.load(Ordering::Acquire),
            thread: lock(&self.thread).as_deref().map(str::to_owned),
            handling: handling.map(short_name),
            busy_ms: since.map(|since| millis(clock::now().saturating_duration_since(since))),
            last_exit: facts.last_exit.clone(),
            quarantine_reason: match state {
                NodeState::Quarantined => self.gate.reason().map(|reason| reason.to_string()),
                _ => None,
            },
            retry_in_ms: self.gate.retry_after().map(millis),
            needs: self.needs.clone(),
            fingerprint: facts.fingerprint.clone(),
            uptime_ms: uptime.map_or(0, millis),
        }
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
