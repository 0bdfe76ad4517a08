//! The metrics of the edge and the admin API, and the exposition of all metrics of the process.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use actix_web::http::Method;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use svc_channels::ChannelMetrics;
use svc_model::{AuditAction, AuditResource, DURATION_BUCKETS};

use super::exposition::{self, ExpositionFormat, escape_label};
use super::process;
use crate::http::plane::DATA_PATH;

/// Prefix of every name.
const PREFIX: &str = "svc";

/// The methods that labels name.
const METHODS: [&str; 9] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"];

/// The status of most answers of the data plane.
const SUCCESS: u16 = 200;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HttpLabels {
    method: &'static str,
    path: Cow<'static, str>,
    status: u16,
}

/// The samples of the answers with the same labels.
struct HttpSeries {
    requests: Counter,
    durations: Histogram,
}

impl HttpSeries {
    fn record(&self, took: Duration) {
        self.requests.inc();
        self.durations.observe(took.as_secs_f64());
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AuditLabels {
    action: &'static str,
    resource_type: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: &'static str,
    git_hash: &'static str,
    build_timestamp: &'static str,
}

/// The process's metrics. Parts register their own into [`registry_mut`](Self::registry_mut) while the
/// service is put together; afterwards the set of families is fixed. Label values never come from callers.
pub struct Metrics {
    /// The metrics of an embedding application, under their own names.
    host: Registry,
    registry: Registry,
    /// The channels whose durations have exemplars.
    channels: ChannelMetrics,
    /// The labels of every sample of the service.
    labels: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    /// The labels of the samples about the process, as text.
    process_labels: Option<String>,
    requests: Family<HttpLabels, Counter>,
    durations: Family<HttpLabels, Histogram, fn() -> Histogram>,
    /// The series of successful answers of the data plane by method, so that such an answer looks no labels up.
    successes: [OnceLock<HttpSeries>; METHODS.len()],
    auth_failures: Family<ReasonLabels, Counter>,
    audit_events: Family<AuditLabels, Counter>,
}

impl Metrics {
    /// Registers the families of the edge. Every sample of the service carries the labels `instance` and `node`, if a
    /// name is given: a Prometheus that scrapes sets `instance` itself. Those of `host` stay as they are.
    pub fn new(host: Registry, instance: Option<&str>) -> Self {
        let named = |name: &str| ["instance", "node"].map(|key| (key.into(), name.to_owned().into()));
        let labels: Vec<(Cow<'static, str>, Cow<'static, str>)> =
            instance.into_iter().flat_map(named).collect();
        let text: Vec<_> =
            labels.iter().map(|(key, name)| format!("{key}=\"{}\"", escape_label(name))).collect();
        let mut metrics = Self {
            host,
            registry: Registry::with_prefix_and_labels(PREFIX, labels.iter().cloned()),
            labels,
            channels: ChannelMetrics::default(),
            process_labels: instance.map(|_| format!("{{{}}}", text.join(","))),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            successes: Default::default(),
            auth_failures: Family::default(),
            audit_events: Family::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        let build = Family::<BuildLabels, Gauge>::default();
        build
            .get_or_create(&BuildLabels {
                version: crate::VERSION,
                git_hash: crate::GIT_HASH,
                build_timestamp: crate::BUILD_TIMESTAMP,
            })
            .set(1);
        registry.register("build_info", "What was built, always 1", build);
        registry.register("http_requests", "HTTP requests answered", self.requests.clone());
        registry.register(
            "http_request_duration_seconds",
            "Time from an HTTP request's head to its answer",
            self.durations.clone(),
        );
        registry.register(
            "admin_auth_failures",
            "Refused admin credentials by reason",
            self.auth_failures.clone(),
        );
        registry.register("admin_audit_events", "Audited admin mutations", self.audit_events.clone());
        Self::register_audit_queue(registry);
    }

    /// Registers the metrics of an audit queue for dashboards. There is no such queue here, so that they stay
    /// 0.
    fn register_audit_queue(registry: &mut Registry) {
        registry.register(
            "audit_queue_depth",
            "Audit rows that wait to be written; always 0, each is written in the transaction of its change",
            Gauge::<i64>::default(),
        );
        let dropped = Family::<ReasonLabels, Counter>::default();
        for reason in ["queue_full", "write_failed", "drain_timeout", "writer_stopped"] {
            drop(dropped.get_or_create(&ReasonLabels { reason }));
        }
        registry.register(
            "audit_events_dropped",
            "Audit rows that were lost; always 0, a change without its row is not committed",
            dropped,
        );
    }

    /// Returns the registry, in which parts of the service register their metrics; the `svc_` prefix is
    /// added.
    pub fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// Returns a registry of the same prefix and labels, for what is read at a scrape.
    pub(crate) fn empty_registry(&self) -> Registry {
        Registry::with_prefix_and_labels(PREFIX, self.labels.iter().cloned())
    }

    /// Returns the metrics of channels.
    pub(crate) fn channels(&self) -> &ChannelMetrics {
        &self.channels
    }

    /// Registers the metrics of channels, whose durations have exemplars.
    pub(crate) fn register_channels(&mut self, channels: &ChannelMetrics) {
        channels.register(&mut self.registry);
        self.channels = channels.clone();
    }

    pub(crate) fn record_http(
        &self,
        method: &'static str,
        path: Cow<'static, str>,
        status: u16,
        took: Duration,
    ) {
        let is_success = status == SUCCESS && path == DATA_PATH;
        let labels = HttpLabels { method, path, status };
        let slot = METHODS.iter().position(|known| *known == method).filter(|_| is_success);
        match slot.and_then(|at| self.successes.get(at)) {
            Some(series) => series.get_or_init(|| self.http_series(&labels)).record(took),
            None => self.http_series(&labels).record(took),
        }
    }

    fn http_series(&self, labels: &HttpLabels) -> HttpSeries {
        HttpSeries {
            requests: self.requests.get_or_create_owned(labels),
            durations: self.durations.get_or_create_owned(labels),
        }
    }

    pub(crate) fn record_auth_failure(&self, reason: &'static str) {
        self.auth_failures.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Counts one audited mutation.
    pub fn record_audit_event(&self, action: AuditAction, resource: impl Into<AuditResource>) {
        let labels = AuditLabels { action: action.name(), resource_type: resource.into().name() };
        self.audit_events.get_or_create(&labels).inc();
    }

    /// Returns all metrics in the Prometheus text format 0.0.4.
    ///
    /// # Errors
    /// A metric fails to write itself.
    pub fn render(&self) -> Result<String, fmt::Error> {
        self.render_as(ExpositionFormat::PrometheusText, &Registry::default())
    }

    /// Returns all metrics in a format, and those of a registry that was made for it.
    pub(crate) fn render_as(
        &self,
        format: ExpositionFormat,
        levels: &Registry,
    ) -> Result<String, fmt::Error> {
        let mut openmetrics = String::new();
        text::encode_registry(&mut openmetrics, &self.host)?;
        text::encode_registry(&mut openmetrics, &self.registry)?;
        text::encode_registry(&mut openmetrics, levels)?;
        openmetrics.push_str(&process::exposition(self.process_labels.as_deref().unwrap_or_default()));
        text::encode_eof(&mut openmetrics)?;
        Ok(match format {
            ExpositionFormat::PrometheusText => exposition::to_prometheus_text(&openmetrics),
            ExpositionFormat::OpenMetrics => exposition::add_exemplars(openmetrics, &self.channels),
        })
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(Registry::default(), None)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Returns a method as a label: a known name, never the text of a caller.
pub(crate) fn method_label(method: &Method) -> &'static str {
    METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("OTHER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposition_names_counters_total_without_end_mark() {
        let metrics = Metrics::new(Registry::default(), None);
        metrics.record_http("GET", "/health".into(), 200, Duration::from_millis(3));
        metrics.record_auth_failure("invalid_key");
        let text = metrics.render().unwrap();
        assert!(text.contains("# TYPE svc_http_requests_total counter\n"), "{text}");
        assert!(text.contains("svc_http_requests_total{method=\"GET\",path=\"/health\",status=\"200\"} 1\n"));
        assert!(
            text.contains("svc_http_request_duration_seconds_bucket{le=\"0.005\",method=\"GET\""),
            "{text}"
        );
        assert!(text.contains("svc_admin_auth_failures_total{reason=\"invalid_key\"} 1\n"));
        assert!(text.contains("svc_build_info{version=\""));
        assert!(!text.contains("# EOF"));
    }

    #[test]
    fn every_sample_names_node_in_two_labels() {
        let metrics = Metrics::new(Registry::default(), Some("node \"1\""));
        metrics.record_auth_failure("invalid_key");
        let text = metrics.render().unwrap();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        for sample in samples {
            assert!(sample.contains(r#"instance="node \"1\"""#), "{sample}");
            assert!(sample.contains(r#"node="node \"1\"""#), "{sample}");
        }
        assert!(text.contains("process_start_time_seconds{"), "{text}");
    }

    #[test]
    fn an_unknown_method_is_one_constant() {
        assert_eq!(method_label(&Method::from_bytes(b"BREW").unwrap()), "OTHER");
        assert_eq!(method_label(&Method::PATCH), "PATCH");
    }
}
