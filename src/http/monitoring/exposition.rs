//! From OpenMetrics text, which the client library writes, to the Prometheus text format 0.0.4.
//!
//! The formats differ in three places: 0.0.4 names a counter's `HELP` and `TYPE` with the `_total` its
//! samples carry, knows no `UNIT`, and has no end mark.

use std::fmt::Write;

/// The content type of the converted text.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Converts a whole exposition.
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
}
