//! Trace context in the headers of a message: the recommendation "Trace Context" of the W3C.

use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::{SpanContext, TraceContextExt};
use opentelemetry_sdk::propagation::TraceContextPropagator;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Length of a `traceparent` of version 00.
const TRACEPARENT_LENGTH: usize = 55;
/// Longest `tracestate` that is passed on, in bytes: what the recommendation (3.3.1.5) asks for at least. It goes into
/// rows and records, so it has a bound.
const TRACESTATE_LENGTH: usize = 512;

/// Reads the trace context of a message. `None` if there is none or it is malformed, so that a new trace
/// begins. A malformed `tracestate` is left out alone.
pub(crate) fn read<'h>(headers: impl Iterator<Item = (&'h str, &'h [u8])>) -> Option<SpanContext> {
    let mut parent = None;
    let mut states: Vec<&str> = Vec::new();
    for (name, value) in headers {
        if name.eq_ignore_ascii_case(TRACEPARENT) {
            // Several of them are as good as none.
            if parent.replace(std::str::from_utf8(value).ok()?).is_some() {
                return None;
            }
        } else if name.eq_ignore_ascii_case(TRACESTATE) {
            states.extend(std::str::from_utf8(value));
        }
    }
    let parent = parent.map(str::trim).filter(|parent| is_well_formed(parent))?;
    let state = Some(states.join(",")).filter(|state| is_usable_state(state));
    let context = TraceContextPropagator::new()
        .extract_with_context(&Context::new(), &IncomingHeaders { parent, state });
    Some(context.span().span_context().clone()).filter(SpanContext::is_valid)
}

/// Returns the headers that pass a trace context on; none for one that is not valid.
pub(crate) fn write(context: &SpanContext) -> Vec<(&'static str, String)> {
    let mut headers = OutgoingHeaders(Vec::with_capacity(2));
    let context = Context::new().with_remote_span_context(context.clone());
    TraceContextPropagator::new().inject_context(&context, &mut headers);
    headers.0
}

/// Checks the bound of a `tracestate`, and that its members have keys, which the propagator does not.
fn is_usable_state(state: &str) -> bool {
    let has_key = |member: &str| member.trim().is_empty() || !member.trim().starts_with('=');
    !state.is_empty() && state.len() <= TRACESTATE_LENGTH && state.split(',').all(has_key)
}

/// Checks the form of a `traceparent`: the propagator takes numbers of any length. A later version may append fields.
fn is_well_formed(parent: &str) -> bool {
    let bytes = parent.as_bytes();
    let is_hex = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    let is_dash_place = |at: usize| matches!(at, 2 | 35 | 52);
    let has_fields = bytes
        .iter()
        .take(TRACEPARENT_LENGTH)
        .enumerate()
        .all(|(at, byte)| if is_dash_place(at) { *byte == b'-' } else { is_hex(byte) });
    let ends_well = match bytes.get(TRACEPARENT_LENGTH) {
        None => bytes.len() == TRACEPARENT_LENGTH,
        Some(next) => *next == b'-' && !parent.starts_with("00"),
    };
    has_fields && ends_well && !parent.starts_with("ff")
}

struct IncomingHeaders<'h> {
    parent: &'h str,
    state: Option<String>,
}

impl Extractor for IncomingHeaders<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            TRACEPARENT => Some(self.parent),
            TRACESTATE => self.state.as_deref(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT, TRACESTATE]
    }
}

struct OutgoingHeaders(Vec<(&'static str, String)>);

impl Injector for OutgoingHeaders {
    fn set(&mut self, key: &str, value: String) {
        let name = match key {
            TRACEPARENT => TRACEPARENT,
            TRACESTATE => TRACESTATE,
            _ => return,
        };
        if !value.is_empty() {
            self.0.push((name, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read_headers(headers: &[(&str, &str)]) -> Option<SpanContext> {
        read(headers.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    #[test]
    fn well_formed_context_is_read_and_written_alike() {
        let context = read_headers(&[("tracestate", "a=1,b=2"), ("traceparent", PARENT)]).unwrap();
        assert!(context.is_remote() && context.is_sampled());
        assert_eq!(context.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let written = write(&context);
        assert_eq!(written, [("traceparent", PARENT.to_owned()), ("tracestate", "a=1,b=2".to_owned())]);
        let unsampled = PARENT.replace("-01", "-00");
        let context = read_headers(&[("Traceparent", &unsampled)]).unwrap();
        assert!(!context.is_sampled());
        assert_eq!(write(&context), [("traceparent", unsampled)]);
    }

    #[test]
    fn states_of_several_headers_are_joined_in_their_order() {
        let headers = [("tracestate", "a=1"), ("traceparent", PARENT), ("tracestate", "b=2")];
        assert_eq!(read_headers(&headers).unwrap().trace_state().header(), "a=1,b=2");
    }

    #[test]
    fn malformed_or_too_long_state_is_left_out_alone() {
        let long = format!("a={}", "x".repeat(TRACESTATE_LENGTH));
        for state in ["=", "a", &*long] {
            let context = read_headers(&[("traceparent", PARENT), ("tracestate", state)]).unwrap();
            assert_eq!(context.trace_state().header(), "", "{state}");
        }
    }

    #[test]
    fn malformed_parent_is_ignored() {
        for parent in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-extra",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "+0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "00-4bf92f3577b34da6a3ce929d0e0é4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(read_headers(&[("traceparent", parent)]), None, "{parent}");
        }
        assert_eq!(read([("traceparent", &b"\xff"[..])].into_iter()), None);
        assert_eq!(read_headers(&[("traceparent", PARENT), ("traceparent", PARENT)]), None);
        assert_eq!(read_headers(&[("tracestate", "a=1")]), None);
    }

    #[test]
    fn later_version_may_have_more_fields() {
        let parent = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more";
        assert!(read_headers(&[("traceparent", parent)]).unwrap().is_sampled());
    }

    #[test]
    fn invalid_context_is_not_written() {
        assert_eq!(write(&SpanContext::empty_context()), []);
    }
}
