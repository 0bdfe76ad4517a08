//! A message whose answer is kept for its repeats: run or queued once, under a claim of its idempotency key.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt;
use svc_model::ServiceError;

use super::synchronous_run::RunOrigin;
use crate::answer::response::ChannelResponse;
use crate::compiled_channel::CompiledChannel;
use crate::guards::{AdmittedMessage, ReplayClaim};
use crate::refusal;
use crate::request::Delivery;
use crate::serve::{OutcomeRecorder, refused_outcome};

/// The delivery of an answer that is kept.
#[derive(Clone, Copy)]
pub(crate) struct ReplayedDelivery {
    pub(crate) delivery: Delivery,
    /// The channel is paused: accepted work waits.
    pub(crate) is_paused: bool,
}

impl CompiledChannel {
    /// Runs or queues a message while its claim is renewed, and keeps its answer before the caller has it: a repeat that
    /// comes after the answer finds it. The answer of a run that panics is kept too.
    ///
    /// # Errors
    /// The error of the message, which repeats get as its body.
    pub(crate) async fn answer_once(
        &self,
        claim: ReplayClaim,
        admitted: AdmittedMessage,
        origin: RunOrigin<'_>,
        to: ReplayedDelivery,
        recorder: &mut OutcomeRecorder<'_>,
    ) -> Result<ChannelResponse, ServiceError> {
        let (request_id, crash_trace) = (origin.request_id, origin.crash_trace.clone());
        let running = AssertUnwindSafe(self.answer(admitted, origin, to, recorder)).catch_unwind();
        let (answer, panic) = match claim.hold(running).await {
            Ok(answer) => (answer, None),
            Err(panic) => {
                let mut crashed = refusal::crashed();
                if let Some(id) = crash_trace.and_then(|trace| trace.id()) {
                    crashed = crashed.with_trace_id(id);
                }
                (Err(crashed), Some(panic))
            }
        };
        let answer = answer.or_else(|error| self.error_response(error, request_id));
        match &answer {
            Ok(answer) => claim.keep(answer, &self.services).await,
            Err(error) => {
                claim.keep(&ChannelResponse::from_error(error, request_id), &self.services).await;
            }
        }
        match panic {
            None => answer,
            Some(panic) => resume_unwind(panic),
        }
    }

    async fn answer(
        &self,
        admitted: AdmittedMessage,
        origin: RunOrigin<'_>,
        to: ReplayedDelivery,
        recorder: &mut OutcomeRecorder<'_>,
    ) -> Result<ChannelResponse, ServiceError> {
        match to.delivery {
            Delivery::Sync => {
                let exported = origin.trace_context.exported_trace_id();
                let ran = self.run(admitted, origin, recorder.started).await;
                recorder.note_run(exported, &ran);
                ran.map(|ran| ran.answer)
            }
            Delivery::Async => {
                let RunOrigin { request_id, trace_context, .. } = origin;
                let accepted = self.enqueue(admitted, (request_id, &trace_context), to.is_paused).await;
                // What was accepted is counted when it has run.
                recorder.outcome = refused_outcome(&accepted);
                accepted
            }
        }
    }
}
