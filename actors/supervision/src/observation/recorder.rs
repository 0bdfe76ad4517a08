//! The flight recorder: the last lifecycle events of a tree.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use tokio::sync::broadcast;

use crate::clock;
use crate::decide::Exit;
use crate::instances::panic;
use crate::path::NodePath;

/// Number of events kept.
const CAPACITY: usize = 512;

/// A lifecycle event of a node.
#[derive(Debug, Clone, Serialize)]
pub struct LifecycleEvent {
    /// Sequence number; counts from 1 within a tree.
    pub seq: u64,
    /// Wall-clock time of the event; serialised as RFC 3339.
    #[serde(serialize_with = "rfc3339")]
    pub at: SystemTime,
    /// The path of the node.
    pub path: NodePath,
    /// Generation of the instance concerned; 0 for a group.
    pub generation: u64,
    /// The kind of the event.
    #[serde(flatten)]
    pub kind: EventKind,
    /// On an exit, the type names of the last messages the instance handled, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<&'static str>,
}

/// The kind of a lifecycle event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// An instance runs.
    Started,
    /// An instance ended, or could not be started.
    Exited {
        /// The end of the instance.
        exit: Exit,
    },
    /// The node will be started again.
    RestartScheduled {
        /// After this delay, in milliseconds.
        after_ms: u64,
    },
    /// The node admits no message any more.
    Quarantined {
        /// Reason, for people.
        reason: String,
    },
    /// The node left quarantine.
    Released,
    /// The node finishes what it admitted and then ends.
    Draining,
    /// The node ended for good, or until a command starts it.
    Stopped,
    /// A new generation took over; the old one drains.
    Replaced,
    /// The failure was escalated to the parent group.
    Escalated {
        /// Reason, for people.
        reason: String,
    },
}

/// Receives every event on the supervisor's thread. An observer must not block.
pub trait Observer: Send + Sync {
    /// Called once per event, in order.
    fn on_event(&self, event: &LifecycleEvent);
}

pub(crate) struct FlightRecorder {
    ring: Mutex<Ring>,
    subscribers: broadcast::Sender<LifecycleEvent>,
    observers: Vec<Arc<dyn Observer>>,
    log: slog::Logger,
}

#[derive(Default)]
struct Ring {
    last: u64,
    events: VecDeque<LifecycleEvent>,
}

impl FlightRecorder {
    pub(crate) fn new(observers: Vec<Arc<dyn Observer>>, log: slog::Logger) -> Self {
        Self { ring: Mutex::default(), subscribers: broadcast::Sender::new(CAPACITY), observers, log }
    }

    pub(crate) fn record(
        &self,
        path: &NodePath,
        generation: u64,
        kind: EventKind,
        recent: Vec<&'static str>,
    ) {
        // The supervisor outlives a log that cannot be written.
        let _ = panic::catch_panic(|| self.write_log(path, generation, &kind));
        let mut ring = self.ring.lock();
        ring.last += 1;
        let event = LifecycleEvent {
            seq: ring.last,
            at: clock::wall(),
            path: path.clone(),
            generation,
            kind,
            recent,
        };
        if ring.events.len() == CAPACITY {
            ring.events.pop_front();
        }
        ring.events.push_back(event.clone());
        drop(ring);
        for observer in &self.observers {
            // The supervisor outlives a faulty observer.
            let _ = panic::catch_panic(|| observer.on_event(&event));
        }
        // No subscriber is no error.
        let _ = self.subscribers.send(event);
    }

    pub(crate) fn history(&self) -> Vec<LifecycleEvent> {
        self.ring.lock().events.iter().cloned().collect()
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<LifecycleEvent> {
        self.subscribers.subscribe()
    }

    fn write_log(&self, path: &NodePath, generation: u64, kind: &EventKind) {
        let (path, log) = (path.as_str(), &self.log);
        match kind {
            EventKind::Started => {
                slog::debug!(log, "actor started"; "actor" => path, "generation" => generation);
            }
            EventKind::Exited { exit: exit @ (Exit::Normal | Exit::Ordered) } => {
                slog::debug!(log, "actor ended"; "actor" => path, "generation" => generation, "exit" => %exit);
            }
            EventKind::Exited { exit } => {
                slog::error!(log, "actor failed"; "actor" => path, "generation" => generation, "exit" => %exit);
            }
            EventKind::RestartScheduled { after_ms } => {
                slog::warn!(log, "actor restarts"; "actor" => path, "after_ms" => after_ms);
            }
            EventKind::Quarantined { reason } => {
                slog::error!(log, "node quarantined"; "actor" => path, "reason" => reason);
            }
            EventKind::Released => slog::info!(log, "node left quarantine"; "actor" => path),
            EventKind::Draining => slog::debug!(log, "actor drains"; "actor" => path),
            EventKind::Stopped => slog::debug!(log, "actor stopped"; "actor" => path),
            EventKind::Replaced => {
                slog::info!(log, "actor replaced"; "actor" => path, "generation" => generation);
            }
            EventKind::Escalated { reason } => {
                slog::error!(log, "failure escalated"; "actor" => path, "reason" => reason);
            }
        }
    }
}

fn rfc3339<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let at = DateTime::<Utc>::from(*at);
    serializer.serialize_str(&at.to_rfc3339_opts(SecondsFormat::Millis, true))
}
