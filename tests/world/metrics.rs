//! The text of metrics, and values of it.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// Returns the text of a registry.
pub fn metrics_text(registry: &Registry) -> String {
    let mut text = String::new();
    encode(&mut text, registry).unwrap();
    text
}

/// Returns the value of a series, with its labels; 0 before its first sample.
pub fn metric_value(registry: &Registry, series: &str) -> f64 {
    let text = metrics_text(registry);
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.parse().unwrap())
}

/// Returns the sum of all samples whose lines have these parts.
pub fn metric_sum(registry: &Registry, parts: &[&str]) -> f64 {
    let text = metrics_text(registry);
    let lines = text.lines().filter(|line| parts.iter().all(|part| line.contains(part)));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}
