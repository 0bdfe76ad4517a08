//! The registry as schedules see it: it finds a worker to run a channel on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_supervision::CallErrorKind;
use svc_channels::{Definition, Fire, FireEnd, Fired, Firing};
use svc_traces::{FailureReport, PreparedReport};
use uuid::Uuid;

use crate::handle::{OFFERS, Registry};
use crate::snapshot::Entry;

impl Registry {
    /// Prepares the report of a scheduled run that failed, where its channel names somebody who is told.
    pub fn prepare_report(
        &self,
        definition: &Definition,
        trace_id: Uuid,
        error: &str,
    ) -> Option<PreparedReport> {
        let (traces, target) = (self.shared.tools.traces.as_ref()?, definition.on_failure()?);
        let report = FailureReport {
            target: Arc::clone(target),
            trace_id,
            channel: definition.name().into(),
            data: definition.cron()?.payload.clone(),
        };
        traces.prepare_report(report, error)
    }

    /// Runs a channel of a schedule on the next worker. Dropping the future drops the run.
    ///
    /// Where nothing ran because the channel has no room for it now, or its actors are on their way out, the answer is
    /// [`FireEnd::Busy`].
    pub async fn fire(&self, entry: &Arc<Entry>, firing: Firing) -> Fired {
        let metrics = &self.shared.tools.metrics;
        let turn = self.jobs.fetch_add(1, Ordering::Relaxed);
        let mut entry = Arc::clone(entry);
        let mut message = Fire(firing);
        for offer in 0..OFFERS {
            if let Some(quarantine) = entry.quarantine() {
                metrics.error("channel_quarantined");
                return unavailable(&quarantine.reason);
            }
            let Ok(actor) = entry.actor_after(None, turn.wrapping_add(offer)) else { return busy() };
            let error = match actor.ask(message).await {
                Ok(fired) => return fired,
                Err(error) => error,
            };
            match (error.kind, error.message) {
                (CallErrorKind::Draining | CallErrorKind::Stopped, Some(again)) => message = again,
                (CallErrorKind::Quarantined { reason }, _) => {
                    metrics.error("channel_quarantined");
                    return unavailable(&reason);
                }
                (_, Some(_)) => return busy(),
                (_, None) => {
                    metrics.error("panic");
                    return failed("the run ended unexpectedly".to_owned());
                }
            }
            match self.snapshot().by_id(entry.id()) {
                Some(newer) => entry = Arc::clone(newer),
                None => return unavailable("it is no longer active"),
            }
        }
        busy()
    }
}

fn unavailable(reason: &str) -> Fired {
    failed(format!("channel_unavailable: {reason}"))
}

fn failed(message: String) -> Fired {
    ended(FireEnd::Failed { message })
}

fn busy() -> Fired {
    ended(FireEnd::Busy)
}

fn ended(ended: FireEnd) -> Fired {
    ended.alone()
}
