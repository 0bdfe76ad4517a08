//! The decision to export a trace.

use opentelemetry::trace::{Link, SpanKind, TraceContextExt, TraceId, TraceState};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, SamplingResult, ShouldSample};

/// Follows the decision of the parent, or else of the first link, so that accepted work is exported together with
/// its submission. A trace with neither is drawn by its id.
#[derive(Clone, Debug)]
pub(crate) struct CauseSampler {
    roots: Sampler,
}

impl CauseSampler {
    pub(crate) fn new(rate: f64) -> Self {
        Self { roots: Sampler::TraceIdRatioBased(rate) }
    }
}

impl ShouldSample for CauseSampler {
    fn should_sample(
        &self,
        parent_context: Option<&Context>,
        trace_id: TraceId,
        name: &str,
        span_kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        let parent = parent_context.map(|context| context.span().span_context().clone());
        let parent = parent.filter(opentelemetry::trace::SpanContext::is_valid);
        let (is_sampled, trace_state) = match (parent, links.first()) {
            (Some(parent), _) => (parent.is_sampled(), parent.trace_state().clone()),
            (None, Some(link)) => (link.span_context.is_sampled(), TraceState::default()),
            (None, None) => {
                return self.roots.should_sample(
                    parent_context,
                    trace_id,
                    name,
                    span_kind,
                    attributes,
                    links,
                );
            }
        };
        let decision = if is_sampled { SamplingDecision::RecordAndSample } else { SamplingDecision::Drop };
        SamplingResult { decision, attributes: Vec::new(), trace_state }
    }
}
