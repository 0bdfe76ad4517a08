//! The handle of one schedule: its command and its next instant. Outlives the actor that follows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use svc_channels::CompiledChannel;
use svc_ledger::{Cursor, Misfire, Singleton};
use svc_registry::LoadedChannel;
use svc_schedule::Schedule;
use svc_store::ChannelFacts;
use tokio::sync::watch;

/// The schedule of a channel: expression, misfire policy and concurrency key.
#[derive(Clone, Debug)]
pub(crate) struct ScheduleSpec {
    pub(crate) channel: ChannelFacts,
    pub(crate) schedule: Schedule,
    pub(crate) misfire: Misfire,
    pub(crate) singleton: Option<Singleton>,
    pub(crate) hash: String,
}

impl ScheduleSpec {
    /// Returns the spec of a cron channel; `None` for another one.
    pub(crate) fn from_entry(
        entry: &LoadedChannel,
        definition: &CompiledChannel,
        max_catch_up: u32,
    ) -> Option<Self> {
        let cron = definition.cron()?;
        Some(Self {
            channel: ChannelFacts {
                channel_id: entry.id().to_owned(),
                channel_name: entry.name().to_owned(),
                channel_version: definition.version(),
                workflow_id: entry.row.content.workflow_id.clone(),
            },
            schedule: cron.schedule.clone(),
            misfire: match cron.misfire {
                Misfire::CatchUp(most) => Misfire::CatchUp(most.min(max_catch_up)),
                other => other,
            },
            singleton: cron.singleton.clone(),
            hash: cron.hash.clone(),
        })
    }
}

/// The command of a schedule.
#[derive(Clone, Debug)]
pub(crate) enum ScheduleCommand {
    /// Follow it.
    Follow(Arc<ScheduleSpec>),
    /// Suspend it: its channel is quarantined. It begins at now afterwards.
    Rest,
    /// Do not move its cursor: its channel is paused. The instants that pass meanwhile are planned afterwards.
    Hold,
}

/// The state of one schedule that outlives its actor.
#[derive(Debug)]
pub(crate) struct ScheduleHandle {
    pub(crate) id: Arc<str>,
    pub(crate) orders: watch::Sender<ScheduleCommand>,
    /// Definition from which the current command was made.
    pub(crate) definition: Mutex<Arc<CompiledChannel>>,
    /// The cursor as it was read with those of all schedules, which saves a query for each.
    known: Mutex<Option<Cursor>>,
    next: Mutex<Option<DateTime<Utc>>>,
    /// True if its channel was quarantined since it last followed its cursor.
    rested: AtomicBool,
}

impl ScheduleHandle {
    pub(crate) fn new(
        id: Arc<str>,
        order: ScheduleCommand,
        definition: Arc<CompiledChannel>,
        known: Option<Cursor>,
        rested: bool,
    ) -> Self {
        Self {
            id,
            orders: watch::Sender::new(order),
            definition: Mutex::new(definition),
            known: Mutex::new(known),
            next: Mutex::default(),
            rested: AtomicBool::new(rested),
        }
    }

    /// Sends another command.
    pub(crate) fn send(&self, order: ScheduleCommand) {
        if matches!(order, ScheduleCommand::Rest) {
            self.set_rested(true);
        }
        self.orders.send_replace(order);
    }

    /// Returns true if the schedule has rested: it begins at now and makes up for nothing.
    pub(crate) fn has_rested(&self) -> bool {
        self.rested.load(Ordering::Acquire)
    }

    pub(crate) fn set_rested(&self, rested: bool) {
        self.rested.store(rested, Ordering::Release);
    }

    /// Returns true if it follows a cursor that is before `instant`.
    pub(crate) fn is_behind(&self, instant: DateTime<Utc>) -> bool {
        matches!(*self.orders.borrow(), ScheduleCommand::Follow(_))
            && self.next_due().is_some_and(|next| next < instant)
    }

    /// Takes the cursor that was read together with those of all schedules. Only the first call has it.
    pub(crate) fn take_preloaded(&self) -> Option<Cursor> {
        self.known.lock().take()
    }

    /// Reports the next due instant.
    pub(crate) fn set_next_due(&self, next: Option<DateTime<Utc>>) {
        *self.next.lock() = next;
    }

    /// Returns the next due instant, as last reported.
    pub(crate) fn next_due(&self) -> Option<DateTime<Utc>> {
        *self.next.lock()
    }
}
