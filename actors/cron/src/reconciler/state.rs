//! The effect of a new snapshot on a schedule: pure, no clock, no I/O.

use std::sync::Arc;

use svc_channels::CompiledChannel;
use svc_registry::LoadedChannel;

use crate::schedule_handle::{ScheduleCommand, ScheduleHandle, ScheduleSpec};

/// The action for one channel.
#[derive(Debug)]
pub(crate) enum ReconcileAction {
    /// Nothing.
    None,
    /// A schedule begins.
    Begin(ScheduleCommand, Arc<CompiledChannel>),
    /// The schedule there is has new orders.
    Tell(ScheduleCommand, Arc<CompiledChannel>),
    /// The schedule there is ends.
    End,
}

/// Compares a schedule with its channel as it now is; `None` for one that is gone.
pub(crate) fn decide(
    handle: Option<&ScheduleHandle>,
    entry: Option<&LoadedChannel>,
    max_catch_up: u32,
) -> ReconcileAction {
    let desired = entry.and_then(|entry| {
        let definition = entry.compiled_channel()?;
        let spec = ScheduleSpec::from_entry(entry, definition, max_catch_up)?;
        let order = match entry.quarantine() {
            None if entry.pause().is_some() => ScheduleCommand::Hold,
            None => ScheduleCommand::Follow(Arc::new(spec)),
            Some(_) => ScheduleCommand::Rest,
        };
        Some((order, Arc::clone(definition)))
    });
    match (handle, desired) {
        (None, None) => ReconcileAction::None,
        (Some(_), None) => ReconcileAction::End,
        (None, Some((order, definition))) => ReconcileAction::Begin(order, definition),
        (Some(handle), Some((order, definition))) => {
            let current = handle.definition.lock();
            let kind = |order: &ScheduleCommand| std::mem::discriminant(order);
            let same = Arc::ptr_eq(&current, &definition) && kind(&handle.orders.borrow()) == kind(&order);
            if same { ReconcileAction::None } else { ReconcileAction::Tell(order, definition) }
        }
    }
}
