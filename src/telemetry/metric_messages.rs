//! Metrics as OTLP has them, read out of an exposition in OpenMetrics text.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

use super::log_messages::{attribute, scope};

/// The label of the bound of a bucket.
const BOUND: &str = "le";

/// The time that points are about, in nanoseconds of Unix time.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointTimes {
    /// The start of the process, from which counters count.
    pub(super) start: u64,
    pub(super) now: u64,
}

/// Returns the request that exports an exposition, and the number of its points.
pub(super) fn to_request(
    resource: Resource,
    exposition: &str,
    times: PointTimes,
) -> (ExportMetricsServiceRequest, u64) {
    let metrics = read_metrics(exposition, times);
    let points = metrics.iter().map(count_points).sum::<usize>() as u64;
    let scope_metrics = ScopeMetrics { scope: Some(scope()), metrics, schema_url: String::new() };
    let of_resource = ResourceMetrics {
        resource: Some(resource),
        scope_metrics: vec![scope_metrics],
        schema_url: String::new(),
    };
    (ExportMetricsServiceRequest { resource_metrics: vec![of_resource] }, points)
}

fn count_points(metric: &Metric) -> usize {
    match &metric.data {
        Some(Data::Sum(sum)) => sum.data_points.len(),
        Some(Data::Gauge(gauge)) => gauge.data_points.len(),
        Some(Data::Histogram(histogram)) => histogram.data_points.len(),
        _ => 0,
    }
}

/// Reads every family that has samples. A line that is none of the format is left out.
fn read_metrics(exposition: &str, times: PointTimes) -> Vec<Metric> {
    let (mut metrics, mut help) = (Vec::<Metric>::new(), None);
    for line in exposition.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let help = help.take().filter(|(documented, _)| *documented == name);
            metrics.extend(new_metric(name, kind, help.map(|(_, words)| words)));
        } else if let (Some(metric), Some(sample)) = (metrics.last_mut(), SampleLine::read(line)) {
            add_sample(metric, sample, times);
        }
    }
    metrics.retain(|metric| count_points(metric) > 0);
    metrics
}

fn new_metric(name: &str, kind: &str, help: Option<&str>) -> Option<Metric> {
    let aggregation_temporality = AggregationTemporality::Cumulative as i32;
    let data = match kind {
        "counter" => Data::Sum(Sum { data_points: Vec::new(), aggregation_temporality, is_monotonic: true }),
        "gauge" => Data::Gauge(Gauge { data_points: Vec::new() }),
        "histogram" => Data::Histogram(Histogram { data_points: Vec::new(), aggregation_temporality }),
        _ => return None,
    };
    let unit = match name {
        name if name.ends_with("_seconds") => "s",
        name if name.ends_with("_bytes") => "By",
        _ => "",
    };
    Some(Metric {
        name: name.to_owned(),
        description: help.unwrap_or_default().to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    })
}

fn add_sample(metric: &mut Metric, sample: SampleLine<'_>, times: PointTimes) {
    let Some(suffix) = sample.name.strip_prefix(metric.name.as_str()) else { return };
    match (&mut metric.data, suffix) {
        (Some(Data::Sum(sum)), "_total") => sum.data_points.extend(sample.into_point(times.start, times.now)),
        (Some(Data::Gauge(gauge)), "") => gauge.data_points.extend(sample.into_point(0, times.now)),
        (Some(Data::Histogram(histogram)), suffix) => {
            add_to_histogram(&mut histogram.data_points, sample, suffix, times);
        }
        _ => {}
    }
}

/// Adds a line to the point of its labels. The lines of a point follow one another, its buckets in ascending order, and
/// each counts those below it too.
fn add_to_histogram(
    points: &mut Vec<HistogramDataPoint>,
    sample: SampleLine<'_>,
    suffix: &str,
    times: PointTimes,
) {
    let bound = sample.labels.iter().find(|(name, _)| name == BOUND).map(|(_, bound)| bound.clone());
    let Ok(value) = sample.value.parse::<f64>() else { return };
    let attributes = sample.into_attributes();
    if points.last().is_none_or(|point| point.attributes != attributes) {
        points.push(HistogramDataPoint {
            attributes,
            start_time_unix_nano: times.start,
            time_unix_nano: times.now,
            ..HistogramDataPoint::default()
        });
    }
    let Some(point) = points.last_mut() else { return };
    match (suffix, bound) {
        ("_sum", _) => point.sum = Some(value),
        ("_count", _) => point.count = to_count(value),
        ("_bucket", Some(bound)) => {
            let below = point.bucket_counts.iter().sum::<u64>();
            point.bucket_counts.push(to_count(value).saturating_sub(below));
            point.explicit_bounds.extend(bound.parse::<f64>().ok().filter(|bound| bound.is_finite()));
        }
        _ => {}
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count is written as a whole number that is not negative"
)]
fn to_count(value: f64) -> u64 {
    value as u64
}

/// A line of an exposition.
#[derive(Debug)]
struct SampleLine<'l> {
    name: &'l str,
    labels: Vec<(String, String)>,
    value: &'l str,
}

impl<'l> SampleLine<'l> {
    /// Reads a line; what follows the value, a timestamp or an exemplar, is left out.
    fn read(line: &'l str) -> Option<Self> {
        if line.starts_with('#') {
            return None;
        }
        let end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at_checked(end)?;
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(listed) => read_labels(listed)?,
            None => (Vec::new(), rest),
        };
        Some(Self { name, labels, value: rest.split_whitespace().next()? })
    }

    /// Returns the labels but the bound of a bucket.
    fn into_attributes(self) -> Vec<KeyValue> {
        let labels = self.labels.into_iter().filter(|(name, _)| name != BOUND);
        labels.map(|(name, value)| attribute(&name, Value::StringValue(value))).collect()
    }

    fn into_point(self, start: u64, now: u64) -> Option<NumberDataPoint> {
        let value = match self.value.parse::<i64>() {
            Ok(whole) => number_data_point::Value::AsInt(whole),
            Err(_) => number_data_point::Value::AsDouble(self.value.parse().ok()?),
        };
        Some(NumberDataPoint {
            attributes: self.into_attributes(),
            start_time_unix_nano: start,
            time_unix_nano: now,
            value: Some(value),
            ..NumberDataPoint::default()
        })
    }
}

/// Reads labels up to the closing brace; returns them and what follows it.
fn read_labels(mut text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, rest) = text.split_once("=\"")?;
        let (value, rest) = read_quoted(rest)?;
        labels.push((name.trim_start_matches(',').to_owned(), value));
        text = rest;
    }
}

/// Reads a text up to the closing quote; returns it without escapes, and what follows the quote.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut rest) = (String::new(), text.chars());
    loop {
        match rest.next()? {
            '"' => return Some((value, rest.as_str())),
            '\\' => match rest.next()? {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::log_messages::resource;
    use super::*;

    const EXPOSITION: &str = concat!(
        "# HELP svc_hits Hits.\n# TYPE svc_hits counter\n",
        "svc_hits_total{path=\"/a\\\"b\\\\c\\nd\",status=\"200\"} 3\nsvc_hits_total{path=\"x # {y}\",status=\"500\"} 1\n",
        "# HELP svc_depth Depth.\n# TYPE svc_depth gauge\nsvc_depth 0.5\n",
        "# HELP svc_none None.\n# TYPE svc_none gauge\n",
        "# HELP svc_wait_seconds Wait.\n# TYPE svc_wait_seconds histogram\n",
        "svc_wait_seconds_sum{channel=\"a\"} 1.5\nsvc_wait_seconds_count{channel=\"a\"} 3\n",
        "svc_wait_seconds_bucket{le=\"0.5\",channel=\"a\"} 1\n",
        "svc_wait_seconds_bucket{le=\"+Inf\",channel=\"a\"} 3 # {trace_id=\"ab\"} 0.7 1.500\n",
        "svc_wait_seconds_sum{channel=\"b\"} 0.0\nsvc_wait_seconds_count{channel=\"b\"} 0\n# EOF\n",
    );

    fn metrics() -> Vec<Metric> {
        let times = PointTimes { start: 1, now: 2 };
        let (request, points) = to_request(resource("svc", "n1"), EXPOSITION, times);
        assert_eq!(points, 5);
        request.resource_metrics[0].scope_metrics[0].metrics.clone()
    }

    fn text(key: &str, value: &str) -> KeyValue {
        attribute(key, Value::StringValue(value.to_owned()))
    }

    #[test]
    fn counters_and_gauges_become_numbers() {
        let metrics = metrics();
        let names: Vec<_> =
            metrics.iter().map(|metric| (metric.name.as_str(), metric.unit.as_str())).collect();
        assert_eq!(names, [("svc_hits", ""), ("svc_depth", ""), ("svc_wait_seconds", "s")]);
        let Some(Data::Sum(sum)) = &metrics[0].data else { panic!("{:?}", metrics[0]) };
        assert!(sum.is_monotonic);
        let [first, second] = sum.data_points.as_slice() else { panic!("{sum:?}") };
        assert_eq!(first.attributes, [text("path", "/a\"b\\c\nd"), text("status", "200")]);
        assert_eq!(first.value, Some(number_data_point::Value::AsInt(3)));
        assert_eq!((first.start_time_unix_nano, first.time_unix_nano), (1, 2));
        assert_eq!(second.attributes[0], text("path", "x # {y}"));
        let Some(Data::Gauge(gauge)) = &metrics[1].data else { panic!("{:?}", metrics[1]) };
        assert_eq!(gauge.data_points[0].value, Some(number_data_point::Value::AsDouble(0.5)));
    }

    #[test]
    fn cumulative_buckets_become_counts_of_each() {
        let metrics = metrics();
        let Some(Data::Histogram(histogram)) = &metrics[2].data else { panic!("{:?}", metrics[2]) };
        let [a, b] = histogram.data_points.as_slice() else { panic!("{histogram:?}") };
        assert_eq!((a.count, a.sum, a.attributes.as_slice()), (3, Some(1.5), &[text("channel", "a")][..]));
        assert_eq!((a.bucket_counts.as_slice(), a.explicit_bounds.as_slice()), (&[1, 2][..], &[0.5][..]));
        assert_eq!((b.count, b.bucket_counts.len()), (0, 0));
    }
}
