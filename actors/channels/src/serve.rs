//! The handling of one message from its arrival to its response.

use std::sync::Arc;

use svc_model::{Cancellation, ChannelPause, Code, ServiceError, Timestamp};
use svc_spans::TraceContext;
use tokio::time::Instant;

use crate::answer::error_body;
use crate::answer::rate_headers::RateReport;
use crate::answer::response::{ChannelResponse, TraceIdField};
use crate::compiled_channel::CompiledChannel;
use crate::guards::{
    AdmittedBatch, AdmittedMessage, AdmittedRequest, GuardRefusal, PAUSE, PAUSED, RefusalKind,
    find_additions, strip_additions,
};
use crate::metrics::{ChannelMeters, MessageOutcome, TraceIds};
use crate::request::{DataRequest, Delivery, Ingress};
use crate::run::{AnsweredRun, ReplayedDelivery, RunOrigin};

/// The header that sets or removes a cookie.
const SET_COOKIE: &str = "set-cookie";

/// The header that says who may store an answer.
const CACHE_CONTROL: &str = "cache-control";

impl CompiledChannel {
    /// Passes a message through the guards, runs or queues it, and counts its outcome.
    ///
    /// An `async fn` would hold the request twice, and the future is moved for every message.
    pub(crate) fn serve(
        self: Arc<Self>,
        mut request: Box<DataRequest>,
    ) -> impl Future<Output = Result<ChannelResponse, ServiceError>> {
        let request_id = request.request_id.clone();
        let trace_context = std::mem::take(&mut request.trace_context);
        if self.accepts() && request.ingress == Ingress::Http {
            request.delivery = Delivery::Async;
        }
        let delivery = request.delivery;
        let held_until_answered = request.reservation.take();
        let crash_trace = request.crash_trace.take();
        let pause = request.pause.clone();
        async move {
            let _held = held_until_answered;
            let mut recorder = OutcomeRecorder::start(&self.meters);
            if request.has_event_batch() {
                let origin = (request_id.as_str(), &trace_context);
                return Box::pin(self.accept_batch(request, origin, &mut recorder)).await;
            }
            let rates;
            let mut admitted = match self.admit_request(request).await {
                Ok(AdmittedRequest { answer: Some(answer), rates, .. }) => {
                    recorder.outcome = Some(kept_outcome(&answer));
                    return report_rates(Ok(answer), rates);
                }
                Ok(AdmittedRequest { message, rates: met, .. }) => {
                    rates = met;
                    message
                }
                Err(refusal) => return self.answer_refusal(refusal, &mut recorder, &request_id),
            };
            if let (Delivery::Sync, Some(pause)) = (delivery, &pause) {
                return report_rates(Box::pin(self.refuse_paused(admitted, pause, &request_id)).await, rates);
            }
            let kept = admitted.replay_claim().cloned();
            let answer = match (delivery, kept) {
                // Large, and not for others: the future of every message would be larger.
                (delivery, Some(claim)) => {
                    let origin = RunOrigin { request_id: &request_id, trace_context, crash_trace };
                    let to = ReplayedDelivery { delivery, is_paused: pause.is_some() };
                    Box::pin(self.answer_once(claim, admitted, origin, to, &mut recorder)).await
                }
                (Delivery::Sync, None) => {
                    let claim = admitted.claim.take().filter(|_| self.guards.accept_repeats());
                    let exported = trace_context.exported_trace_id();
                    let origin = RunOrigin { request_id: &request_id, trace_context, crash_trace };
                    let ran = self.run(admitted, origin, recorder.started).await;
                    recorder.note_run(exported, &ran);
                    let answer = ran.map(|ran| ran.answer);
                    if let Some(claim) = claim.filter(|_| !is_success(&answer)) {
                        claim.release(&self.services).await;
                    }
                    answer
                }
                (Delivery::Async, None) => {
                    let origin = (request_id.as_str(), &trace_context);
                    // As above: synchronous runs have smaller futures without it.
                    let accepted = Box::pin(self.enqueue(admitted, origin, pause.is_some())).await;
                    // What was accepted is counted when it has run.
                    recorder.outcome = refused_outcome(&accepted);
                    accepted
                }
            };
            report_rates(answer.or_else(|error| self.error_response(error, &request_id)), rates)
        }
    }

    /// Returns `true` for a request of a sign-in whose answer is not that of the guards or of the workflow alone.
    pub(crate) fn ends_sign_in_leg(&self, request: &DataRequest) -> bool {
        self.guards.sign_in().is_some_and(|guard| {
            request.ingress == Ingress::Http && (request.is_callback || guard.runs_on_authorize())
        })
    }

    /// Serves a request of a sign-in: to its callback, or before the browser is sent to its provider, if the workflow runs
    /// then.
    pub(crate) async fn serve_sign_in(
        self: Arc<Self>,
        request: Box<DataRequest>,
    ) -> Result<ChannelResponse, ServiceError> {
        let begins = (!request.is_callback).then(|| request.clone());
        let answer = Box::pin(Arc::clone(&self).serve(request)).await;
        let Some(guard) = self.guards.sign_in() else { return answer };
        let Some(request) = begins else {
            let answer = answer.map(|mut answer| {
                strip_additions(&mut answer);
                answer
            });
            return clear_cookie(answer, guard.clearing_cookie());
        };
        let mut answer = answer?;
        let Some(additions) = find_additions(&answer) else {
            guard.count_stopped(&self.name, &request, &self.services);
            strip_additions(&mut answer);
            return Ok(answer);
        };
        let begun = guard.begin(&self.name, &request, &additions, &self.services).await;
        begun.or_else(|refusal| self.error_response(refusal.error, &request.request_id))
    }

    /// Accepts every event of a batch, or none.
    async fn accept_batch(
        &self,
        request: Box<DataRequest>,
        (request_id, trace_context): (&str, &TraceContext),
        recorder: &mut OutcomeRecorder<'_>,
    ) -> Result<ChannelResponse, ServiceError> {
        if let Some(refusal) = self.batch_refusal(&request) {
            self.record_refusal("body", "batch", &refusal);
            return self.error_response(refusal, request_id);
        }
        let is_paused = request.pause.is_some();
        let AdmittedBatch { messages, rates } = match self.admit_batch(request).await {
            Ok(admitted) => admitted,
            Err(refusal) => return self.answer_refusal(refusal, recorder, request_id),
        };
        let accepted = self.enqueue_batch(messages, (request_id, trace_context), is_paused).await;
        // What was accepted is counted when it has run.
        recorder.outcome = accepted.as_ref().err().map(error_outcome);
        report_rates(accepted.or_else(|error| self.error_response(error, request_id)), rates)
    }

    /// Answers a message that a guard refused.
    fn answer_refusal(
        &self,
        refusal: GuardRefusal,
        recorder: &mut OutcomeRecorder<'_>,
        request_id: &str,
    ) -> Result<ChannelResponse, ServiceError> {
        let GuardRefusal { kind, error, rates, .. } = refusal;
        recorder.outcome = Some(match error.code() {
            _ if kind == RefusalKind::Duplicate => MessageOutcome::Duplicate,
            Code::Unauthorized => MessageOutcome::Unauthorized,
            _ => MessageOutcome::Error,
        });
        let is_accepted = kind == RefusalKind::Duplicate && self.guards.accept_repeats();
        let answer = if is_accepted {
            Ok(ChannelResponse::duplicate())
        } else {
            self.error_response(error, request_id)
        };
        report_rates(answer, rates)
    }

    /// Refuses a message that every guard admitted, because the channel is paused. Its sender is asked to come again, so
    /// that it gets its idempotency key back.
    async fn refuse_paused(
        &self,
        admitted: AdmittedMessage,
        pause: &ChannelPause,
        request_id: &str,
    ) -> Result<ChannelResponse, ServiceError> {
        if let Some(claim) = admitted.claim {
            claim.release(&self.services).await;
        }
        let refusal = pause.refusal(Timestamp::now());
        self.record_refusal(PAUSE, PAUSED, &refusal);
        self.error_response(refusal, request_id)
    }

    /// Renders an error with the body that the channel defines for its status. The internal part is logged.
    ///
    /// # Errors
    /// The error itself, if the channel has no body for its status, or if the payload is too large: the edge refuses
    /// such a payload before it knows the channel.
    pub fn error_response(
        &self,
        error: ServiceError,
        request_id: &str,
    ) -> Result<ChannelResponse, ServiceError> {
        if error.code() == Code::PayloadTooLarge {
            return Err(error);
        }
        let answer = self.response.error_body(error.status()).and_then(|template| {
            error_body::render(&error, template, &self.name, request_id, Timestamp::now())
        });
        let Some(answer) = answer else { return Err(error) };
        if let Some(internal) = error.internal()
            && let Some(suppressed) = self.failure_lines.allow_failure(&error)
        {
            slog::error!(self.services.log, "request failed"; "code" => error.code().name(), "detail" => internal,
                "channel" => &*self.name, "request_id" => request_id, "suppressed" => suppressed,
                TraceIdField(error.trace_id()));
        }
        Ok(answer)
    }
}

/// Removes the cookie of a sign-in, whose state is used up, whatever became of it.
fn clear_cookie(
    answer: Result<ChannelResponse, ServiceError>,
    cookie: String,
) -> Result<ChannelResponse, ServiceError> {
    match answer {
        Ok(mut answer) => {
            // In addition to those of the workflow.
            answer.headers.push((SET_COOKIE.to_owned(), cookie));
            if answer.headers.iter().all(|(name, _)| name != CACHE_CONTROL) {
                // It is of one person.
                answer.headers.push((CACHE_CONTROL.to_owned(), "no-store".to_owned()));
            }
            Ok(answer)
        }
        Err(error) => Err(error.with_header(SET_COOKIE, cookie)),
    }
}

/// Returns the outcome of a message that an earlier answer serves.
fn kept_outcome(answer: &ChannelResponse) -> MessageOutcome {
    if answer.is_replayed() { MessageOutcome::Duplicate } else { MessageOutcome::Ok }
}

/// Adds what is left of the rates that the message met, if answers report it.
fn report_rates(
    answer: Result<ChannelResponse, ServiceError>,
    rates: Option<Box<RateReport>>,
) -> Result<ChannelResponse, ServiceError> {
    match rates {
        Some(rates) => rates.write(answer),
        None => answer,
    }
}

/// Returns `true` if the sender of the message need not send it again.
fn is_success(answer: &Result<ChannelResponse, ServiceError>) -> bool {
    answer.as_ref().is_ok_and(|answer| answer.status < 400)
}

/// Returns the outcome of a run, or of an attempt to queue one, that failed.
pub(crate) fn error_outcome(error: &ServiceError) -> MessageOutcome {
    match error.code() {
        Code::Timeout => MessageOutcome::Timeout,
        _ => MessageOutcome::Error,
    }
}

/// Returns the outcome of a message that was not queued; `None` for one that was, and for one that began although its row
/// was refused: they are counted when they have run.
pub(crate) fn refused_outcome(accepted: &Result<ChannelResponse, ServiceError>) -> Option<MessageOutcome> {
    let refused = accepted.as_ref().err().filter(|error| error.code() != Code::SubmissionUncertain);
    refused.map(error_outcome)
}

/// Counts a message when it is dropped: answered, crashed or abandoned.
pub(crate) struct OutcomeRecorder<'m> {
    meters: &'m ChannelMeters,
    pub(crate) started: Instant,
    /// `None` for a message that is counted later.
    pub(crate) outcome: Option<MessageOutcome>,
    /// The cancellation of the run of the message: one that ends by it is no error.
    pub(crate) cancellation: Option<Arc<dyn Cancellation>>,
    /// Set if the trace of the message can be looked up.
    pub(crate) trace: Option<TraceIds>,
}

impl<'m> OutcomeRecorder<'m> {
    /// Starts the time; the outcome is an error until it is set.
    pub(crate) fn start(meters: &'m ChannelMeters) -> Self {
        Self {
            meters,
            started: Instant::now(),
            outcome: Some(MessageOutcome::Error),
            cancellation: None,
            trace: None,
        }
    }

    /// Notes the end of a run for a caller, and its traces.
    pub(crate) fn note_run(&mut self, exported: Option<[u8; 16]>, ran: &Result<AnsweredRun, ServiceError>) {
        let stored = match ran {
            Ok(ran) => ran.stored_trace,
            Err(error) => error.trace_id(),
        };
        self.trace = TraceIds::new(exported, stored);
        self.outcome = Some(ran.as_ref().map_or_else(error_outcome, |ran| ran.outcome));
    }
}

impl Drop for OutcomeRecorder<'_> {
    fn drop(&mut self) {
        let is_cancelled = || self.cancellation.as_ref().is_some_and(|order| order.is_requested());
        let outcome = match self.outcome {
            Some(MessageOutcome::Error | MessageOutcome::Timeout) if is_cancelled() => {
                Some(MessageOutcome::Cancelled)
            }
            outcome => outcome,
        };
        if let Some(outcome) = outcome {
            self.meters.count(outcome, self.started.elapsed().as_secs_f64(), self.trace);
        }
    }
}
