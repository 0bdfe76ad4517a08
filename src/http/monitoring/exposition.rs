//! The two formats of the metrics: OpenMetrics text, which the client library writes, and the Prometheus text format
//! 0.0.4, which is made from it.
//!
//! The formats differ in four places: 0.0.4 names a counter's `HELP` and `TYPE` with the `_total` its samples carry, and
//! knows no `UNIT`, no end mark and no exemplars.

use std::collections::HashMap;
use std::fmt::Write;

use svc_channels::{ChannelMetrics, DurationExemplar};
use svc_model::DURATION_BUCKETS;

/// The buckets that have exemplars.
const EXEMPLAR_BUCKETS: &str = "svc_message_duration_seconds_bucket{";

/// The format of an exposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpositionFormat {
    /// The Prometheus text format 0.0.4.
    PrometheusText,
    /// OpenMetrics text 1.0.0, with exemplars.
    OpenMetrics,
}

impl ExpositionFormat {
    /// Chooses the format for these values of `Accept`: OpenMetrics for those who name it and prefer nothing to it. A
    /// range such as `*/*` does not name it.
    pub(crate) fn negotiate<'a>(accept: impl Iterator<Item = &'a str>) -> Self {
        let (mut openmetrics, mut text) = (0.0_f32, 0.0_f32);
        for range in accept.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
            let (mut quality, mut version) = (1.0, None);
            for (name, value) in parts.filter_map(|part| part.split_once('=')) {
                match name.trim().to_ascii_lowercase().as_str() {
                    "q" => quality = value.trim().parse().unwrap_or(0.0),
                    "version" => version = Some(value.trim().trim_matches('"')),
                    _ => {}
                }
            }
            match (media_type.as_str(), version) {
                ("application/openmetrics-text", None | Some("1.0.0")) => {
                    openmetrics = openmetrics.max(quality);
                }
                ("text/plain", None | Some("0.0.4")) => text = text.max(quality),
                _ => {}
            }
        }
        if openmetrics > 0.0 && openmetrics >= text { Self::OpenMetrics } else { Self::PrometheusText }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::PrometheusText => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Adds the exemplars of channels to the buckets of their durations. The client library has none for a histogram whose
/// buckets can be read.
pub(crate) fn add_exemplars(openmetrics: String, channels: &ChannelMetrics) -> String {
    let mut exemplars = HashMap::new();
    channels.visit_exemplars(|channel, buckets| {
        exemplars.insert(escape_label(channel), buckets.to_vec());
    });
    if exemplars.is_empty() {
        return openmetrics;
    }
    let mut text = String::with_capacity(openmetrics.len().saturating_mul(2));
    for line in openmetrics.lines() {
        match find_exemplar(line, &exemplars) {
            Some(exemplar) => push(&mut text, format_args!("{line} # {}", describe_exemplar(exemplar))),
            None => push(&mut text, format_args!("{line}")),
        }
    }
    text
}

/// Returns the exemplar of the bucket that a line shows.
fn find_exemplar<'e>(
    line: &str,
    exemplars: &'e HashMap<String, Vec<Option<DurationExemplar>>>,
) -> Option<&'e DurationExemplar> {
    let labels = line.strip_prefix(EXEMPLAR_BUCKETS)?;
    // The bound and the channel are the last labels, in this order.
    let (_, labels) = labels.rsplit_once("le=\"")?;
    let (bound, labels) = labels.split_once("\",channel=\"")?;
    let (channel, _) = labels.rsplit_once("\"}")?;
    let bucket = match bound.parse::<f64>().ok()? {
        bound if bound.is_finite() => DURATION_BUCKETS.iter().position(|known| *known >= bound)?,
        _ => DURATION_BUCKETS.len(),
    };
    exemplars.get(channel)?.get(bucket)?.as_ref()
}

/// Returns an exemplar as text. `trace_id` is a distributed trace, `svc_trace_id` a stored one.
fn describe_exemplar(exemplar: &DurationExemplar) -> String {
    let exported = exemplar.trace.exported.map(u128::from_be_bytes);
    let exported = exported.map(|id| format!("trace_id=\"{id:032x}\""));
    let stored = exemplar.trace.stored.map(|id| format!("svc_trace_id=\"{id}\""));
    let labels: Vec<_> = exported.into_iter().chain(stored).collect();
    let at = exemplar.at.naive().and_utc().timestamp_millis();
    format!("{{{}}} {} {}.{:03}", labels.join(","), exemplar.seconds, at / 1000, at % 1000)
}

/// Escapes the value of a label.
pub(crate) fn escape_label(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

/// Converts a whole exposition to the Prometheus text format.
pub(crate) fn to_prometheus_text(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    let mut help: Option<(&str, &str)> = None;
    for line in openmetrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let suffix = if kind == "counter" { "_total" } else { "" };
            if let Some((_, words)) = help.take().filter(|(documented, _)| *documented == name) {
                push(&mut text, format_args!("# HELP {name}{suffix} {words}"));
            }
            push(&mut text, format_args!("# TYPE {name}{suffix} {kind}"));
        } else if !line.starts_with("# UNIT ") && line != "# EOF" {
            push(&mut text, format_args!("{line}"));
        }
    }
    text
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use svc_channels::TraceIds;
    use svc_model::Timestamp;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn counters_end_in_total_without_end_mark() {
        let converted = to_prometheus_text(
            "# HELP svc_hits Hits.\n# TYPE svc_hits counter\nsvc_hits_total{a=\"x # y\"} 3\n\
             # HELP svc_wait_seconds Wait.\n# TYPE svc_wait_seconds histogram\n# UNIT svc_wait_seconds seconds\n\
             svc_wait_seconds_sum 0.5\n# EOF\n",
        );
        assert_eq!(
            converted,
            "# HELP svc_hits_total Hits.\n# TYPE svc_hits_total counter\nsvc_hits_total{a=\"x # y\"} 3\n\
             # HELP svc_wait_seconds Wait.\n# TYPE svc_wait_seconds histogram\nsvc_wait_seconds_sum 0.5\n"
        );
    }

    #[test]
    fn format_is_chosen_by_accept() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;\
                          q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for accept in [
            prometheus,
            "application/openmetrics-text",
            "Application/OpenMetrics-Text; version=\"1.0.0\"; charset=utf-8",
            "text/plain;q=0.5, application/openmetrics-text;q=0.5",
        ] {
            let format = ExpositionFormat::negotiate([accept].into_iter());
            assert_eq!(format, ExpositionFormat::OpenMetrics, "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "application/*",
            "text/plain",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;version=1.0.0;q=0",
            "application/openmetrics-text;q=x",
            "application/openmetrics-text;q=0.4,text/plain;version=0.0.4",
        ] {
            let format = ExpositionFormat::negotiate([accept].into_iter());
            assert_eq!(format, ExpositionFormat::PrometheusText, "{accept}");
        }
        let several = ["text/html", "application/openmetrics-text"];
        assert_eq!(ExpositionFormat::negotiate(several.into_iter()), ExpositionFormat::OpenMetrics);
    }

    #[test]
    fn exemplar_follows_the_bucket_of_its_channel() {
        let trace = TraceIds { exported: Some([0xab; 16]), stored: Some(Uuid::nil()) };
        let at = Timestamp::from_naive(DateTime::from_timestamp_millis(1_500).unwrap().naive_utc());
        let mut buckets = vec![None; DURATION_BUCKETS.len() + 1];
        buckets[9] = Some(DurationExemplar { trace, seconds: 0.4, at });
        buckets[15] =
            Some(DurationExemplar { trace: TraceIds { exported: None, ..trace }, seconds: 31.0, at });
        let exemplars = HashMap::from([(escape_label("a \"b\""), buckets)]);
        let found = |le: &str, channel: &str| {
            let line = format!("{EXEMPLAR_BUCKETS}node=\"n\",le=\"{le}\",channel=\"{channel}\"}} 7");
            find_exemplar(&line, &exemplars).map(describe_exemplar)
        };
        let expected = "{trace_id=\"abababababababababababababababab\",\
                        svc_trace_id=\"00000000-0000-0000-0000-000000000000\"} 0.4 1.500";
        assert_eq!(found("0.5", r#"a \"b\""#).as_deref(), Some(expected));
        let expected = "{svc_trace_id=\"00000000-0000-0000-0000-000000000000\"} 31 1.500";
        assert_eq!(found("+Inf", r#"a \"b\""#).as_deref(), Some(expected));
        assert_eq!((found("0.25", r#"a \"b\""#), found("0.5", "b")), (None, None));
        assert_eq!(find_exemplar("svc_message_duration_seconds_count{channel=\"b\"} 7", &exemplars), None);
    }
}
