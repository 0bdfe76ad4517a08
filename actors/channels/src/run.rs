//! A synchronous run: the workflow, the answer, its trace.

use std::time::Duration;

use svc_engine::{ExecutionTrace, FailureKind, Message, RunOptions, RunOutcome, TraceOptions};
use svc_model::{Code, ServiceError, Timestamp};
use svc_traces::{Policy, Record, Traces};
use tokio::time::Instant;
use uuid::Uuid;

use crate::answer::{Answer, Rendering};
use crate::definition::Definition;
use crate::guards::Admitted;
use crate::metadata;
use crate::profile::Profile;

impl Definition {
    /// Runs an admitted message and answers it. Where its trace is stored before the answer, an answer says so.
    pub(crate) async fn run(
        &self,
        admitted: Admitted,
        request_id: &str,
        arrived: Instant,
    ) -> Result<Answer, ServiceError> {
        let Admitted { payload, mut metadata, bucket, profile, kept_at, permit, .. } = admitted;
        let traced = self.drawn();
        let details = traced.is_some_and(|(_, policy)| policy.task_details);
        let options = RunOptions {
            bucket,
            deadline: self.timeout,
            trace: self.details(details),
            chain: self.chain.clone(),
            ..RunOptions::default()
        };
        let id = Uuid::now_v7();
        let key = if request_id.is_empty() { id.to_string() } else { request_id.to_owned() };
        metadata::name_run(&mut metadata, key);
        let message = Message { id, ..Message::new(payload, metadata) };
        let (started_at, started) = (traced.map(|_| Timestamp::now()), Instant::now());
        let mut outcome = self.execute(message, options).await;
        let took = started.elapsed();
        if let Some(failure) = &outcome.failure {
            return Err(failure.to_service_error(self.tools.settings.verbose_errors));
        }
        let rendering = Rendering {
            request_id,
            settings: &self.tools.settings,
            shaper: self.shaper.as_ref(),
            traced: traced.is_some(),
        };
        let mut rendered =
            rendering.render(&mut outcome).inspect_err(|error| self.count_error(error.code()))?;
        for dropped in &rendered.dropped {
            slog::warn!(self.tools.log, "part of a shaped answer left out";
                "channel" => &*self.name, "part" => ?dropped);
        }
        let clean = outcome.errors.is_empty();
        let mut trace_store = None;
        if let (Some((traces, policy)), Some(started_at)) = (traced, started_at) {
            let record = Record {
                trace_id: outcome.message.id,
                channel: self.name.clone(),
                channel_id: self.id.clone(),
                result: rendered.result.take().unwrap_or_default(),
                clean,
                task_trace: self.task_trace(outcome.trace.take()),
                started_at: started_at.naive(),
                took,
            };
            let storing = Instant::now();
            traces.record(policy, record).await?;
            trace_store = Some(storing.elapsed());
        }
        if profile {
            let profile = Profile::new(&outcome.timings, arrived.elapsed(), trace_store);
            rendering.add_profile(&mut rendered, &outcome, &profile)?;
        }
        // Whoever keeps answers may be slow, and the run is over.
        drop(permit);
        if let Some(key) = kept_at.filter(|_| clean && !profile) {
            self.guards.keep(&self.name, key, &rendered.answer, &self.tools).await;
        }
        Ok(rendered.answer)
    }

    /// Runs a message and counts what it took and how it failed.
    pub(crate) async fn execute(&self, message: Message, options: RunOptions) -> RunOutcome {
        let outcome = self.tools.engine.run(&self.flow, message, options).await;
        self.flow_meters.count(&outcome.timings);
        match outcome.failure.as_ref().map(|failure| failure.kind) {
            Some(FailureKind::Timeout) => self.count_error(Code::Timeout),
            Some(FailureKind::Engine) => self.count_error(Code::EngineError),
            _ => {}
        }
        outcome
    }

    /// Where the trace of this run goes, if it leaves one.
    pub(crate) fn drawn(&self) -> Option<(&Traces, &Policy)> {
        let (traces, policy) = (self.tools.traces.as_ref()?, self.tracing.as_ref()?);
        traces.draw(policy).then_some((traces, policy))
    }

    /// How the steps of a run are recorded.
    pub(crate) fn details(&self, wanted: bool) -> Option<TraceOptions> {
        let snapshot_bytes = self.tools.settings.max_result_bytes.unwrap_or(usize::MAX);
        wanted.then_some(TraceOptions { snapshot_bytes })
    }

    /// The execution trace as it is stored; one that is too large is not.
    pub(crate) fn task_trace(&self, trace: Option<ExecutionTrace>) -> Option<String> {
        let text = serde_json::to_string(&trace?).ok()?;
        if self.tools.settings.max_result_bytes.is_some_and(|limit| text.len() > limit) {
            self.tools.metrics.error("task_trace_size_exceeded");
            return None;
        }
        Some(text)
    }

    pub(crate) fn count_error(&self, code: Code) {
        match code {
            Code::Timeout => self.tools.metrics.error("timeout"),
            Code::ResponseTooLarge => self.tools.metrics.error("result_size_exceeded"),
            Code::EngineError => self.tools.metrics.error("engine"),
            _ => {}
        }
    }

    /// The shorter of the channel's own deadline and `limit`.
    pub(crate) fn deadline(&self, limit: Duration) -> Duration {
        self.timeout.map_or(limit, |own| own.min(limit))
    }
}
