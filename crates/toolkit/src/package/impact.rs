//! The reach of an apply: the channels that the changes of its items would touch, with their traffic.

use std::io::{self, Write};

use svc_api::{ChannelTraffic, DefinitionImpact, TouchedChannel};

use super::error::PackageError;
use super::plugins::PartKind;
use super::progress;
use super::remote::PackageServer;

/// Asks a server for the reach of the change of each definition. What it does not have yet touches nothing.
pub(super) async fn find_impacts(
    server: &PackageServer,
    changed: &[(PartKind, &str)],
) -> Result<Vec<DefinitionImpact>, PackageError> {
    let progress = progress();
    let mut impacts = Vec::with_capacity(changed.len());
    for (index, (kind, key)) in changed.iter().enumerate() {
        progress.advance("asking what changes touch", index + 1, changed.len());
        impacts.extend(server.impact(*kind, key).await?);
    }
    progress.finish(format_args!("asked what {} change(s) touch", changed.len()));
    Ok(impacts)
}

/// Writes the reach of a change, a line for each channel.
pub(super) fn write_impact(impact: &DefinitionImpact, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "a change of {} '{}' touches:", impact.kind, impact.name)?;
    for channel in &impact.channels {
        writeln!(out, "  channel '{}', {}", channel.name, describe(channel))?;
    }
    if impact.left_out > 0 {
        writeln!(out, "  {} further channel(s)", impact.left_out)?;
    }
    if impact.channels.is_empty() {
        writeln!(out, "  no channel that serves")?;
    }
    for (title, names) in [("calls channels", &impact.calls), ("uses connectors", &impact.connectors)] {
        if !names.is_empty() {
            writeln!(out, "  {title}: {}", names.join(", "))?;
        }
    }
    if !impact.dynamic_callers.is_empty() {
        writeln!(out, "  perhaps called by: {}", impact.dynamic_callers.join(", "))?;
    }
    Ok(())
}

/// Describes the way to a channel, its ingress, its quota and its runs.
fn describe(channel: &TouchedChannel) -> String {
    let mut parts = Vec::new();
    if let Some(through) = &channel.through {
        parts.push(format!("{} {through}", channel.how.replace('_', " ")));
    }
    if let Some(route) = &channel.route_pattern {
        let methods = channel.methods.as_ref().map_or_else(|| "any method".to_owned(), |all| all.join("|"));
        parts.push(format!("{methods} {route}"));
    }
    parts.extend(channel.topic.as_ref().map(|topic| format!("topic {topic}")));
    parts.extend(channel.schedule.as_ref().map(|schedule| format!("schedule {schedule}")));
    parts.extend(channel.quota.as_ref().map(|quota| format!("quota {} per {}", quota.limit, quota.per)));
    parts.push(describe_traffic(&channel.traffic));
    parts.join(", ")
}

/// Describes the runs of a channel.
fn describe_traffic(traffic: &ChannelTraffic) -> String {
    let ChannelTraffic { runs, failed, capped, p95_ms } = traffic;
    let least = if *capped { "at least " } else { "" };
    if *runs == 0 {
        return "no run in 24 h".to_owned();
    }
    let duration = p95_ms.map(|p95| format!(", p95 {p95:.1} ms")).unwrap_or_default();
    format!("{least}{runs} run(s), {least}{failed} failed{duration}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_names_ingress_quota_and_runs() {
        let channel: TouchedChannel = serde_json::from_value(serde_json::json!({
            "channel_id": "orders", "name": "orders", "how": "on_failure", "through": "channel alarm",
            "protocol": "rest", "methods": ["POST", "PUT"], "route_pattern": "/orders/{id}",
            "quota": {"limit": 100, "per": "hour"},
            "traffic": {"runs": 1200, "failed": 3, "capped": false, "p95_ms": 45.31}
        }))
        .unwrap();
        let expected = "on failure channel alarm, POST|PUT /orders/{id}, quota 100 per hour, \
                        1200 run(s), 3 failed, p95 45.3 ms";
        assert_eq!(describe(&channel), expected);
        let none = ChannelTraffic { runs: 0, failed: 0, capped: false, p95_ms: None };
        assert_eq!(describe_traffic(&none), "no run in 24 h");
        let many = ChannelTraffic { runs: 20_000, failed: 0, capped: true, p95_ms: Some(1.0) };
        assert_eq!(describe_traffic(&many), "at least 20000 run(s), at least 0 failed, p95 1.0 ms");
    }
}
