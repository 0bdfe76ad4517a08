//! The cancellation of one run of a job.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use svc_model::{Cancellation, InFlightCall};
use uuid::Uuid;

use crate::cancel::requests::CancelRequests;

/// The cancellation of one run of a job, as the run sees it.
pub(crate) struct JobCancellation {
    id: Uuid,
    requests: Arc<CancelRequests>,
    in_flight: Mutex<Vec<InFlightCall>>,
}

impl JobCancellation {
    pub(crate) fn new(id: Uuid, requests: Arc<CancelRequests>) -> Self {
        Self { id, requests, in_flight: Mutex::default() }
    }

    /// Returns the calls that had left, as JSON; `None` if there were none.
    pub(crate) fn in_flight_json(&self) -> Option<String> {
        let calls = self.in_flight.lock();
        if calls.is_empty() { None } else { serde_json::to_string(&*calls).ok() }
    }
}

impl Cancellation for JobCancellation {
    fn is_requested(&self) -> bool {
        self.requests.has(self.id)
    }

    fn record_in_flight(&self, call: InFlightCall) {
        self.in_flight.lock().push(call);
    }
}

impl fmt::Debug for JobCancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobCancellation").field("id", &self.id).finish_non_exhaustive()
    }
}
