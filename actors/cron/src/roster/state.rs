//! What becomes of a schedule when the snapshot changed: pure, no clock, no I/O.

use std::sync::{Arc, PoisonError};

use svc_channels::CompiledChannel;
use svc_registry::LoadedChannel;

use crate::seat::{Order, Seat, Timetable};

/// What is to be done about one channel.
#[derive(Debug)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// A schedule begins.
    Begin(Order, Arc<CompiledChannel>),
    /// The schedule there is has new orders.
    Tell(Order, Arc<CompiledChannel>),
    /// The schedule there is ends.
    End,
}

/// Compares a schedule with its channel as it now is; `None` for one that is gone.
pub(crate) fn change(seat: Option<&Seat>, entry: Option<&LoadedChannel>, max_catch_up: u32) -> Change {
    let wanted = entry.and_then(|entry| {
        let definition = entry.compiled()?;
        let timetable = Timetable::of(entry, definition, max_catch_up)?;
        let order = match entry.quarantine() {
            None => Order::Follow(Arc::new(timetable)),
            Some(_) => Order::Rest,
        };
        Some((order, Arc::clone(definition)))
    });
    match (seat, wanted) {
        (None, None) => Change::None,
        (Some(_), None) => Change::End,
        (None, Some((order, definition))) => Change::Begin(order, definition),
        (Some(seat), Some((order, definition))) => {
            let known = seat.definition.lock().unwrap_or_else(PoisonError::into_inner);
            let rests = |order: &Order| matches!(order, Order::Rest);
            let same = Arc::ptr_eq(&known, &definition) && rests(&seat.orders.borrow()) == rests(&order);
            if same { Change::None } else { Change::Tell(order, definition) }
        }
    }
}
