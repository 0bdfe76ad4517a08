//! A synchronous run: the workflow, the response, the trace.

use std::any::Any;
use std::convert::Infallible;
use std::mem;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, TryFutureExt};
use serde_json::Value;
use svc_engine::Redaction;
use svc_model::{RunEnd, ServiceError, Timestamp};
use svc_spans::TraceContext;
use svc_traces::{Record, TraceMode, TracePolicy, Traces, write_run_input};
use tokio::time::Instant;
use uuid::Uuid;

use super::failure;
use super::report::RunReport;
use super::{CallingRun, Recording, Run, to_hexadecimal};
use crate::answer::response::{ChannelResponse, RenderedResponse, ResponseRenderer};
use crate::compiled_channel::CompiledChannel;
use crate::ended_runs::RunSource;
use crate::guards::AdmittedMessage;
use crate::metadata;
use crate::metrics::MessageOutcome;
use crate::profile::Profile;
use crate::request::CrashTrace;

/// The request that a run belongs to, as its traces and its caller need it.
pub(crate) struct RunOrigin<'r> {
    pub(crate) request_id: &'r str,
    pub(crate) trace_context: TraceContext,
    pub(crate) crash_trace: Option<CrashTrace>,
}

/// A run that was answered.
pub(crate) struct AnsweredRun {
    pub(crate) answer: ChannelResponse,
    pub(crate) outcome: MessageOutcome,
    /// Id of its trace, if one is stored.
    pub(crate) stored_trace: Option<Uuid>,
}

/// A run that begins, and the recorder of its trace.
struct BegunRun<'t> {
    id: Uuid,
    request_id: &'t str,
    /// The key of the run, if it is not the id of the message.
    run_key: Option<String>,
    traced: Option<(&'t Traces, &'t TracePolicy)>,
    started_at: Option<Timestamp>,
    started: Instant,
    /// The input, if the trace keeps it.
    input: Option<String>,
    /// The id of the distributed trace, if its spans are exported.
    distributed_trace: Option<[u8; 16]>,
    /// The redaction of the tokens of a sign-in; boxed, because most runs are of none.
    grant: Option<Box<Redaction>>,
}

/// A run that ended well: its answer, and what is still to be done for it.
struct RenderedRun<S> {
    rendered: RenderedResponse,
    /// Stores its trace.
    storing: Option<S>,
    is_clean: bool,
    end: RunEnd,
    /// The whole run, if its caller asked for a profile.
    profiled: Option<RunReport>,
}

/// A rendered run, whose trace `S` stores, or a run without an answer.
type RenderResult<S> = Result<RenderedRun<Pin<Box<S>>>, Box<FailedAnswer>>;

/// The end of a run without an answer.
struct FailedAnswer {
    report: RunReport,
    error: ServiceError,
    /// The text for operators.
    text: String,
}

impl BegunRun<'_> {
    /// Returns the result of a sign-in without its tokens: a workflow may have written them to its answer.
    fn mask_tokens(&self, result: String) -> String {
        let Some(grant) = self.grant.as_deref().filter(|grant| !grant.is_empty()) else { return result };
        match serde_json::from_str::<Value>(&result) {
            Ok(mut value) => {
                grant.mask(&mut value);
                value.to_string()
            }
            Err(_) => grant.mask_text(result),
        }
    }
}

impl CompiledChannel {
    /// Runs an admitted message, renders its response, and judges the run: one that went on after an error which its
    /// workflow does not tolerate is answered and counts as an error, as at every other ingress. In trace mode `sync`
    /// the response proves that its trace is stored.
    ///
    /// An `async fn` would hold the message twice, and the future is moved for every message.
    pub(crate) fn run<'r>(
        &'r self,
        mut admitted: AdmittedMessage,
        RunOrigin { request_id, trace_context, crash_trace }: RunOrigin<'r>,
        arrived: Instant,
    ) -> impl Future<Output = Result<AnsweredRun, ServiceError>> + 'r {
        let (run, begun) = self.prepare_run(&mut admitted, request_id, trace_context);
        let executed = AssertUnwindSafe(self.execute(run)).catch_unwind();
        async move {
            // What follows a run that failed is rare and large, so that it has futures of its own.
            let crashed = |panic| Box::pin(self.record_crash(&begun, crash_trace, panic));
            let Ok(report) = executed.or_else(crashed).await;
            let took = begun.started.elapsed();
            let RenderedRun { mut rendered, storing, is_clean, end, profiled } =
                match self.render_run(&begun, took, report, admitted.profile) {
                    Ok(rendered) => rendered,
                    Err(failed) => return Err(Box::pin(self.record_failure(&begun, took, failed)).await),
                };
            let (mut trace_store, mut is_stored) = (None, false);
            if let Some(storing) = storing {
                let since = Instant::now();
                is_stored = storing.await?;
                trace_store = Some(since.elapsed());
            }
            let has_profile = profiled.is_some();
            if let Some(report) = profiled {
                let timings = &report.outcome.timings;
                let workflow = timings.workflow_id.as_ref().and_then(|id| self.flow.version(id));
                let profile = Profile::new(workflow, timings, arrived.elapsed(), trace_store);
                self.renderer(&begun).add_profile(&mut rendered, &report.outcome, &profile)?;
            }
            // The cache may be slow, and the run is over.
            drop(admitted.permit);
            let is_miss = admitted.cache_key.is_some();
            if let Some(key) = admitted.cache_key.filter(|_| is_clean && !has_profile) {
                let (answer, services) = (&rendered.answer, &self.services);
                self.guards.store_response(&self.name, key, admitted.cache_counters, answer, services).await;
            }
            drop(admitted.flight);
            // These headers are of this run: what a cache hands out later is another answer.
            if is_miss {
                rendered.answer.note_miss();
            }
            let stored_trace = is_stored.then_some(begun.id);
            if let Some(id) = stored_trace {
                rendered.answer.set_trace_id(id);
            }
            Ok(AnsweredRun { answer: rendered.answer, outcome: end.into(), stored_trace })
        }
    }

    /// Takes the message, and decides what its trace has.
    fn prepare_run<'t>(
        &'t self,
        admitted: &mut AdmittedMessage,
        request_id: &'t str,
        trace_context: TraceContext,
    ) -> (Run, BegunRun<'t>) {
        let (payload, mut metadata) = (mem::take(&mut admitted.payload), mem::take(&mut admitted.metadata));
        let (bucket, run_key) = (admitted.bucket, admitted.run_key.take());
        let traced = self.sampled_trace();
        let id = Uuid::now_v7();
        if self.reads_metadata {
            metadata::set_run_key(&mut metadata, run_key.clone().unwrap_or_else(|| id.to_string()));
        }
        // A recorded run can be run again, as one whose input its channel keeps.
        let keeps_input = traced.is_some_and(|(_, policy)| {
            policy.keep_input
                || self.recorder.as_deref().is_some_and(|recorder| recorder.draws_run(&metadata))
        });
        // The tokens of a sign-in are secrets, as those that a caller hands on.
        let grant = self.guards.sign_in().map(|_| Box::new(metadata::redact_grant(&metadata)));
        let input = keeps_input.then(|| match &grant {
            None => write_run_input(&payload, &metadata, bucket),
            Some(_) => write_run_input(&payload, &metadata::mask_grant(&metadata), bucket),
        });
        let distributed_trace = traced.and_then(|_| trace_context.exported_trace_id());
        let recording = Recording { steps: traced.is_some() && self.records_steps(), ..Recording::default() };
        let caller = grant.as_deref().map(|redaction| CallingRun {
            chain: Arc::clone(&self.chain),
            redaction: redaction.clone(),
            until: None,
        });
        let run = Run {
            id,
            source: RunSource::Sync,
            payload,
            metadata,
            bucket,
            limit: self.timeout,
            trace_context,
            recording,
            caller,
            pinned: None,
            cancellation: None,
        };
        let begun = BegunRun {
            id,
            request_id,
            run_key,
            traced,
            started_at: traced.map(|_| Timestamp::now()),
            started: Instant::now(),
            input: input.flatten(),
            distributed_trace,
            grant,
        };
        (run, begun)
    }

    /// Returns the renderer of the answer to a run.
    fn renderer<'r>(&'r self, begun: &BegunRun<'r>) -> ResponseRenderer<'r> {
        ResponseRenderer {
            request_id: begun.request_id,
            settings: &self.services.settings,
            shaper: self.shaper.as_ref(),
            traced: begun.traced.is_some(),
        }
    }

    /// Renders the answer to a run, and makes its trace. Nothing else is kept of the run but what a profile needs: the
    /// future of the run is moved for every message.
    fn render_run<'t>(
        &self,
        begun: &BegunRun<'t>,
        took: Duration,
        mut report: RunReport,
        has_profile: bool,
    ) -> RenderResult<impl Future<Output = Result<bool, ServiceError>> + use<'t>> {
        let mut rendered = match self.render_answer(begun, &mut report) {
            Ok(rendered) => rendered,
            Err((error, text)) => return Err(Box::new(FailedAnswer { report, error, text })),
        };
        let storing = self.build_record(begun, took).map(|(traces, policy, mut record)| {
            let result = begun.mask_tokens(rendered.result.take().unwrap_or_default());
            self.record_end(&mut record, &mut report, None, |_| Some(result));
            Box::pin(traces.record(policy, record))
        });
        let (is_clean, end) = (report.is_clean(), report.end());
        let profiled = has_profile.then_some(report);
        Ok(RenderedRun { rendered, storing, is_clean, end, profiled })
    }

    /// Renders the answer to a run that ended well.
    ///
    /// # Errors
    /// The error for the caller, and the text for operators.
    fn render_answer(
        &self,
        begun: &BegunRun<'_>,
        report: &mut RunReport,
    ) -> Result<RenderedResponse, (ServiceError, String)> {
        if let Some(failure) = &report.outcome.failure {
            let error = failure.to_service_error(self.services.settings.verbose_errors);
            return Err((error, failure::describe_failure(&report.outcome)));
        }
        let rendered = self.renderer(begun).render(&mut report.outcome).map_err(|error| {
            self.count_error(error.code());
            let text = error.message().to_owned();
            (error, text)
        })?;
        for dropped in &rendered.dropped {
            slog::warn!(self.services.log, "part of a shaped answer left out";
                "channel" => &*self.name, "part" => ?dropped);
        }
        Ok(rendered)
    }

    /// Builds the trace of a traced run, without its end.
    fn build_record<'t>(
        &self,
        begun: &BegunRun<'t>,
        took: Duration,
    ) -> Option<(&'t Traces, &'t TracePolicy, Record)> {
        let (traces, policy) = begun.traced?;
        let mut record = self.new_record(TraceMode::Sync, begun.id, begun.started_at?, took);
        record.input.clone_from(&begun.input);
        record.request_id = Some(begun.request_id).filter(|id| !id.is_empty()).map(str::to_owned);
        record.run_key.clone_from(&begun.run_key);
        record.distributed_trace_id = begun.distributed_trace.map(to_hexadecimal);
        Some((traces, policy, record))
    }

    /// Stores the trace of a run that failed, with the text for operators. Returns the error for the caller, which names
    /// the trace; it is the error of the run even if the trace is not stored, which is counted.
    async fn record_failure(
        &self,
        begun: &BegunRun<'_>,
        took: Duration,
        failed: Box<FailedAnswer>,
    ) -> ServiceError {
        let FailedAnswer { mut report, error, text } = *failed;
        let Some((traces, policy, mut record)) = self.build_record(begun, took) else {
            return error;
        };
        self.record_end(&mut record, &mut report, Some(text), |_| None);
        match self.store_failure(traces, policy, record).await {
            true => error.with_trace_id(begun.id),
            false => error,
        }
    }

    /// Stores the trace of a run that panicked, and lets the panic go on: supervision counts the crash, and the dispatcher
    /// answers the caller, with the id in `crash_trace`. Nothing is left of the run but that; the panic itself is in the
    /// log only.
    async fn record_crash(
        &self,
        begun: &BegunRun<'_>,
        crash_trace: Option<CrashTrace>,
        panic: Box<dyn Any + Send>,
    ) -> Result<RunReport, Infallible> {
        if let Some((traces, policy, mut record)) = self.build_record(begun, begun.started.elapsed()) {
            record.error = Some(failure::CRASHED.to_owned());
            record.error_group = Some(self.message_group(failure::CRASHED));
            if self.store_failure(traces, policy, record).await {
                if let Some(crash_trace) = crash_trace {
                    crash_trace.set(begun.id);
                }
                slog::error!(self.services.log, "run crashed"; "channel" => &*self.name,
                    "request_id" => begun.request_id, "trace_id" => %begun.id);
            }
        }
        resume_unwind(panic)
    }

    /// Stores the trace of a failure. Returns `true` if it is, or will be, there to be read.
    async fn store_failure(&self, traces: &Traces, policy: &TracePolicy, record: Record) -> bool {
        traces.record(policy, record).await.unwrap_or_else(|error| {
            slog::warn!(self.services.log, "the trace of a failed run was not stored";
                "channel" => &*self.name, "error" => error.internal().unwrap_or_default());
            false
        })
    }

    /// Returns the recorder and the policy if this run is sampled.
    fn sampled_trace(&self) -> Option<(&Traces, &TracePolicy)> {
        let (traces, policy) = (self.services.traces.as_ref()?, self.tracing.as_ref()?);
        traces.draw(policy).then_some((traces, policy))
    }
}
