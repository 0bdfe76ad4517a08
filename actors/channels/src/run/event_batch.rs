//! A batch of events: accepted whole, a job for each event, or refused whole.

use serde::Serialize;
use svc_model::{Code, ServiceError};
use svc_spans::TraceContext;
use svc_traces::{AcceptedJob, BatchedJob, SubmitError};

use super::job::PreparedJob;
use crate::answer::response::ChannelResponse;
use crate::compiled_channel::CompiledChannel;
use crate::guards::AdmittedMessage;
use crate::request::{DataRequest, Delivery};

impl CompiledChannel {
    /// Returns the refusal of a batch on a channel that cannot accept it.
    pub(crate) fn batch_refusal(&self, request: &DataRequest) -> Option<ServiceError> {
        let why = if request.delivery != Delivery::Async {
            "A batch of events is taken by a channel with request.mode accept, and below /async; send the events one \
             by one"
        } else if self.guards.replays_answers() {
            "The channel keeps the answer to each event (deduplication.on_duplicate replay); send the events one by one"
        } else {
            return None;
        };
        Some(ServiceError::validation(why))
    }

    /// Hands the events of a batch to the queue. They are stored in one transaction, and their idempotency keys are
    /// given back as that of a single message.
    pub(crate) async fn enqueue_batch(
        &self,
        messages: Vec<Option<AdmittedMessage>>,
        (request_id, trace_context): (&str, &TraceContext),
        is_paused: bool,
    ) -> Result<ChannelResponse, ServiceError> {
        let (mut jobs, mut claims, mut are_new) = (Vec::new(), Vec::new(), Vec::new());
        for message in messages {
            are_new.push(message.is_some());
            let Some(message) = message else { continue };
            let PreparedJob { job, terms, claim } = self.prepare_job(message, trace_context, is_paused);
            jobs.push(BatchedJob { job, terms });
            claims.extend(claim);
        }
        let request_id = Some(request_id).filter(|id| !id.is_empty());
        let accepted = match &self.services.traces {
            Some(traces) => traces.submit_batch(jobs, request_id).await,
            None => {
                let what = "This service accepts no asynchronous submissions";
                Err(SubmitError::Shed(ServiceError::unavailable(what)))
            }
        };
        if accepted.as_ref().err().is_some_and(|error| self.gives_key_back(error)) {
            for claim in claims {
                claim.release(&self.services).await;
            }
        }
        let mut accepted = accepted?.into_iter();
        let events = are_new.into_iter().map(|is_new| {
            let accepted = if is_new { accepted.next() } else { None };
            accepted.map_or(EventAnswer::Duplicate { status: "duplicate" }, EventAnswer::from)
        });
        let body = serde_json::to_string(&BatchAnswer { events: events.collect() });
        let body =
            body.map_err(|error| ServiceError::from_code(Code::SerializationError).with_internal(error))?;
        Ok(ChannelResponse::json(ACCEPTED, body))
    }
}

/// The status of an accepted batch.
const ACCEPTED: u16 = 202;

/// The body of the 202 of a batch, its events in their order.
#[derive(Serialize)]
struct BatchAnswer {
    events: Vec<EventAnswer>,
}

/// The part of an event.
#[derive(Serialize)]
#[serde(untagged)]
enum EventAnswer {
    Accepted { trace_id: String, trace_token: String },
    Duplicate { status: &'static str },
}

impl From<AcceptedJob> for EventAnswer {
    fn from(AcceptedJob { trace_id, trace_token }: AcceptedJob) -> Self {
        Self::Accepted { trace_id: trace_id.to_string(), trace_token }
    }
}
