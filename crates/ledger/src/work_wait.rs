//! The wait of accepted work: the reason for which it does not run yet.
//!
//! The facts are read in one transaction. [`WorkFacts::explain`] decides over them alone.

use chrono::NaiveDateTime;
use svc_model::ChannelPause;

use crate::instant_explanation::show;

/// The state of accepted work that has not ended, as its row shows it. Instants are UTC of the database clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkState {
    /// A node has it in its queue.
    Queued {
        /// The node, with the end of its lease; `None` for a row that belongs to no node.
        owner: Option<WorkOwner>,
        /// Number of rows in the queue before it.
        before: i64,
    },
    /// A node runs it.
    Running {
        /// The node, with the end of its lease.
        owner: Option<WorkOwner>,
    },
    /// It is due later.
    Scheduled {
        /// The instant.
        until: NaiveDateTime,
    },
    /// It waits in the database because its channel, or one that it called, was paused.
    Paused {
        /// Number of rows that wait longer for the same channel.
        before: i64,
        /// The paused channel that it called.
        called: Option<PausedCallee>,
    },
    /// It waits in the line of its key.
    InLine {
        /// The key; empty for the line of the channel alone.
        key: String,
        /// Number of rows of the line before it.
        before: i64,
        /// Trace of the oldest work that has a share: of its key, else of any.
        holder: Option<String>,
        /// True if that work is of its key.
        is_of_key: bool,
    },
    /// Its channel had no permit for it.
    Refused {
        /// The instant at which it is claimed again.
        until: NaiveDateTime,
    },
    /// An attempt failed, and another one follows.
    Retrying {
        /// The instant at which it is due.
        until: Option<NaiveDateTime>,
    },
}

/// A paused channel that work called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausedCallee {
    /// Its name.
    pub channel: String,
    pub pause: ChannelPause,
}

/// The node that work belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkOwner {
    /// Its id.
    pub node: String,
    /// End of its lease; `None` if it is not registered any more.
    pub lease_until: Option<NaiveDateTime>,
}

/// The facts about accepted work that has not ended. Instants are UTC of the database clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkFacts {
    /// Name of the channel.
    pub channel: String,
    /// The current instant.
    pub now: NaiveDateTime,
    /// The instant since which its row is as it is.
    pub since: NaiveDateTime,
    /// The state of its row.
    pub state: WorkState,
    /// The pause of the channel.
    pub pause: Option<ChannelPause>,
    /// Reason of the quarantine of the channel.
    pub quarantine: Option<String>,
}

/// The reason for a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkWaitReason {
    /// Other work of its node is before it.
    Queue,
    /// It is due later.
    Scheduled,
    /// Its next attempt is due later.
    Retry,
    /// Its channel is paused.
    Paused,
    /// Its channel is quarantined.
    Quarantined,
    /// As much of its key, or of its channel, runs as may run at once.
    Share,
    /// Its channel has no permit for it.
    Permit,
    /// The lease of its node has ended.
    Lease,
}

impl WorkWaitReason {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::Queue,
        Self::Scheduled,
        Self::Retry,
        Self::Paused,
        Self::Quarantined,
        Self::Share,
        Self::Permit,
        Self::Lease,
    ];

    /// Returns the name in responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Scheduled => "scheduled",
            Self::Retry => "retry",
            Self::Paused => "paused",
            Self::Quarantined => "quarantined",
            Self::Share => "share",
            Self::Permit => "permit",
            Self::Lease => "lease",
        }
    }
}

/// The wait of accepted work. Instants are UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkWait {
    pub reason: WorkWaitReason,
    /// The reason in one sentence.
    pub sentence: String,
    /// The instant since which it waits for this reason.
    pub since: NaiveDateTime,
    /// The instant until which it waits, if one is known.
    pub until: Option<NaiveDateTime>,
    /// Its place among the work that waits for the same, from 1.
    pub position: Option<i64>,
    /// The node that has it, or the trace of the work that it waits for.
    pub holder: Option<String>,
}

impl WorkFacts {
    /// Returns the wait; `None` for work that runs.
    pub fn explain(&self) -> Option<WorkWait> {
        Some(match &self.state {
            WorkState::Running { owner } => self.wait_for_lease(owner.as_ref()?)?,
            WorkState::Queued { owner, before } => self.wait_in_queue(owner.as_ref(), *before),
            WorkState::Paused { before, called } => match (self.wait_for_resume(), called) {
                (Some(wait), _) => WorkWait { position: Some(before + 1), ..wait },
                (None, Some(PausedCallee { channel, pause })) => {
                    self.wait_for_resume_of(pause, &format!("channel '{channel}', which it calls,"))
                }
                (None, None) => self.wait(
                    WorkWaitReason::Paused,
                    "waits to be taken again: its channel, or one that it calls, was paused",
                ),
            },
            WorkState::InLine { key, before, holder, is_of_key } => {
                let of_key = Some(key.as_str()).filter(|key| !key.is_empty());
                self.wait_for_share(of_key, *is_of_key, *before, holder.as_ref())
            }
            WorkState::Scheduled { until } if *until > self.now => {
                let wait = self.wait(WorkWaitReason::Scheduled, &format!("is due at {}", show(*until)));
                WorkWait { until: Some(*until), ..wait }
            }
            WorkState::Scheduled { until } => self.wait_for_resume().unwrap_or_else(|| {
                let due = format!("was due at {} and waits for a node to take it", show(*until));
                WorkWait { since: *until, ..self.wait(WorkWaitReason::Queue, &due) }
            }),
            WorkState::Refused { until } => self.wait_for_resume().unwrap_or_else(|| {
                let wait =
                    self.wait(WorkWaitReason::Permit, "waits for a permit of its channel (backpressure)");
                WorkWait { until: Some(*until), ..wait }
            }),
            WorkState::Retrying { until } => self.wait_for_retry(*until),
        })
    }

    /// Makes a wait since the last change of the row; `waits` is what the work does.
    fn wait(&self, reason: WorkWaitReason, waits: &str) -> WorkWait {
        let sentence = format!("Work of channel '{}' {}.", self.channel, waits.trim_end_matches('.'));
        WorkWait { reason, sentence, since: self.since, until: None, position: None, holder: None }
    }

    /// Returns the wait for the takeover of the work of a node whose lease has ended.
    fn wait_for_lease(&self, owner: &WorkOwner) -> Option<WorkWait> {
        let ended = owner.lease_until.filter(|until| *until < self.now);
        if ended.is_none() && owner.lease_until.is_some() {
            return None;
        }
        let at = ended.map(|at| format!(" at {}", show(at))).unwrap_or_default();
        let waits = format!("waits for another node: the lease of node '{}' ended{at}", owner.node);
        let wait = self.wait(WorkWaitReason::Lease, &waits);
        Some(WorkWait { since: ended.unwrap_or(self.since), holder: Some(owner.node.clone()), ..wait })
    }

    fn wait_in_queue(&self, owner: Option<&WorkOwner>, before: i64) -> WorkWait {
        if let Some(wait) = owner.and_then(|owner| self.wait_for_lease(owner)) {
            return wait;
        }
        let position = Some(before + 1);
        if let Some(wait) = self.wait_for_resume() {
            return WorkWait { position, ..wait };
        }
        let node = owner.map(|owner| format!(" of node '{}'", owner.node)).unwrap_or_default();
        let waits = match before {
            0 => format!("waits for a worker{node}, as the first of its queue"),
            before => format!("waits for a worker{node}, behind {before} others"),
        };
        let wait = self.wait(WorkWaitReason::Queue, &waits);
        WorkWait { position, holder: owner.map(|owner| owner.node.clone()), ..wait }
    }

    /// Returns the wait for the resume of the channel, if it is paused.
    fn wait_for_resume(&self) -> Option<WorkWait> {
        Some(self.wait_for_resume_of(self.pause.as_ref()?, "its channel"))
    }

    fn wait_for_resume_of(&self, pause: &ChannelPause, channel: &str) -> WorkWait {
        let (begin, until) = (pause.since.naive(), pause.until.map(|until| until.naive()));
        let end = until.map(|until| format!(" until {}", show(until))).unwrap_or_default();
        let waits = format!(
            "waits for a resume: {channel} is paused since {}{end} by {} ({})",
            show(begin),
            pause.by,
            pause.reason
        );
        let wait = self.wait(WorkWaitReason::Paused, &waits);
        WorkWait { since: begin.max(self.since), until, ..wait }
    }

    /// Returns the wait in the line of a key, if there is one; `is_taken` is true if a run of that key has a share.
    fn wait_for_share(
        &self,
        key: Option<&str>,
        is_taken: bool,
        before: i64,
        holder: Option<&String>,
    ) -> WorkWait {
        if let Some(wait) = self.wait_for_resume() {
            return wait;
        }
        let others = if before == 0 { String::new() } else { format!(", behind {before} others") };
        let waits = match (key, holder) {
            (None, None) => format!("waits for a share{others}"),
            (None, Some(holder)) => format!("waits for a share{others}; trace {holder} has one"),
            (Some(key), Some(holder)) if is_taken => {
                format!("waits for a share of key '{key}'{others}; trace {holder} has one")
            }
            // The key has room: its channel has none for any key, or no worker is free.
            (Some(_), Some(holder)) => {
                format!(
                    "waits for a share of its channel or a free worker{others}; trace {holder} has a share"
                )
            }
            (Some(_), None) => format!("waits for a free worker{others}"),
        };
        let wait = self.wait(WorkWaitReason::Share, &waits);
        WorkWait { position: Some(before + 1), holder: holder.cloned(), ..wait }
    }

    fn wait_for_retry(&self, until: Option<NaiveDateTime>) -> WorkWait {
        let outlasts = |pause: &ChannelPause| {
            let end = pause.until.map(|end| end.naive());
            end.zip(until).is_some_and(|(end, until)| until > end)
        };
        if !self.pause.as_ref().is_some_and(outlasts)
            && let Some(wait) = self.wait_for_resume()
        {
            return wait;
        }
        if let Some(reason) = &self.quarantine {
            let waits = format!("waits, because its channel is quarantined: {reason}");
            return WorkWait { until, ..self.wait(WorkWaitReason::Quarantined, &waits) };
        }
        let waits = match until {
            Some(until) if until > self.now => format!("is tried again at {}", show(until)),
            Some(until) => format!("was to be tried again at {} and waits for a node", show(until)),
            None => "waits for its next attempt".to_owned(),
        };
        WorkWait { until, ..self.wait(WorkWaitReason::Retry, &waits) }
    }
}

#[cfg(test)]
mod tests;
