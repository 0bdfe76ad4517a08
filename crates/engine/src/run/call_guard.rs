//! The record of the call that had left when a run was cancelled.

use std::sync::Arc;

use svc_model::{Cancellation, InFlightCall};

use crate::workflow::program::CompiledStep;

/// Names the call of a task that is dropped before its end because its run is cancelled.
pub(super) struct CallGuard<'r> {
    cancellation: Option<&'r dyn Cancellation>,
    step: &'r CompiledStep,
}

impl<'r> CallGuard<'r> {
    pub(super) const fn new(cancellation: Option<&'r dyn Cancellation>, step: &'r CompiledStep) -> Self {
        Self { cancellation, step }
    }

    /// Ends the guard: the call has its answer, or its time is up.
    pub(super) fn finish(mut self) {
        self.cancellation = None;
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        if let Some(cancellation) = self.cancellation.filter(|order| order.is_requested()) {
            cancellation.record_in_flight(InFlightCall {
                task_id: Arc::clone(&self.step.id),
                function: Arc::clone(&self.step.function),
                connector: self.step.connector.clone(),
            });
        }
    }
}
