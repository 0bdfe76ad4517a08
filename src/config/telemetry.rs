//! Telemetry of the running service: `[logging]`, `[metrics]`, `[tracing]`, `[telemetry]`.

use std::net::{IpAddr, Ipv6Addr};

use super::edge::ServerSection;
use super::problem::Diagnostics;
use super::setting::{choice, section};

choice! {
    /// The least important message that is logged.
    pub enum LogLevel {
        /// Everything.
        Trace = "trace",
        /// Messages for fault finding.
        Debug = "debug",
        /// Normal events.
        Info = "info",
        /// Problems that the service handles.
        Warn = "warn",
        /// Failures.
        Error = "error",
    }
}

choice! {
    /// The format of a message.
    pub enum LogFormat {
        /// One coloured line for people.
        Pretty = "pretty",
        /// One JSON object per line.
        Json = "json",
    }
}

choice! {
    /// The receiver of messages.
    pub enum LogTarget {
        /// Standard error.
        Stderr = "stderr",
        /// The journal of systemd.
        Journald = "journald",
    }
}

choice! {
    /// The protocol under which a collector takes OTLP.
    pub enum OtlpProtocol {
        /// gRPC, mostly on port 4317.
        Grpc = "grpc",
        /// Requests over HTTP with bodies of protocol buffers, mostly on port 4318.
        HttpProtobuf = "http/protobuf",
    }
}

section! {
    /// The log. The variable `RUST_LOG` goes before `level`, which a reload then leaves.
    pub struct LoggingSection {
        /// The least important message that is logged.
        pub level: LogLevel = LogLevel::Info,
        /// The receiver of messages: `stderr`, or `journald` for the journal of systemd, each message with its priority and
        /// its fields. Without a journal the messages go to standard error.
        pub target: LogTarget = LogTarget::Stderr,
        /// The format of messages on standard error. Unset: pretty on a terminal, json otherwise. With `json` each line is an object, also
        /// the error of a start that failed and a panic; only a configuration that is refused is reported as text.
        pub format: Option<LogFormat> = None,
        /// Share of the requests that leave a line at level info, from 0 to 1: method, path, status, duration, address of
        /// the client. At level debug every request leaves one, and requests of the admin API always do.
        pub access_sample: f64 = 0.0,
    }
}

section! {
    /// Prometheus metrics.
    pub struct MetricsSection {
        /// Serves `/metrics`.
        pub enabled: bool = false,
        /// `host:port` of a listener of its own for metrics and health, plain HTTP without authentication.
        /// Unset: none.
        pub bind_addr: Option<String> = None,
        /// Speaks TLS on that listener, with the certificate of `server.tls`, instead of plain HTTP.
        pub tls_enabled: bool = false,
    }
}

section! {
    /// Export of spans over OTLP, and profiling.
    pub struct TracingSection {
        /// Exports spans, and passes W3C trace context on.
        pub enabled: bool = false,
        /// The address of the collector, which takes OTLP over gRPC: `http://` or `https://`, host and port.
        pub otlp_endpoint: String = "http://localhost:4317".into(),
        /// Name of this service in the spans.
        pub service_name: String = "svc".into(),
        /// Share of the traces begun here that are exported, from 0 to 1. A trace that a caller began keeps the
        /// decision of the caller.
        pub sample_rate: f64 = 1.0,
        /// The address of a distributed trace in the user interface of the collector, with `{trace_id}` in the place of
        /// its id: `http://` or `https://`, without credentials. The console links runs to it. Unset: no link.
        pub ui_url: Option<String> = None,
        /// Allows a request to ask for its own profile.
        pub debug_profile_enabled: bool = false,
    }
}

section! {
    /// Export of metrics and of the log over OTLP. That of spans is `[tracing]`, which also has the name of the service.
    pub struct TelemetrySection {
        /// The address of the collector: `http://` or `https://`, host and port. Under `http/protobuf` it may have a path,
        /// to which `/v1/metrics` and `/v1/logs` are added.
        pub endpoint: String = "http://localhost:4317".into(),
        /// The protocol of the collector.
        pub protocol: OtlpProtocol = OtlpProtocol::Grpc,
        /// Exports the metrics that `/metrics` shows.
        pub metrics: bool = false,
        /// Seconds between two exports of metrics, from 1 on.
        pub metrics_interval_secs: u64 = 60,
        /// Exports the messages of the log, in addition to writing them.
        pub logs: bool = false,
    }
}

impl LoggingSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_within("logging.access_sample", self.access_sample, 0.0..=1.0);
    }
}

impl MetricsSection {
    pub(crate) fn check(&self, server: &ServerSection, host: &str, diagnostics: &mut Diagnostics) {
        let port = server.port;
        if self.tls_enabled && !server.tls.enabled {
            diagnostics
                .refuse("metrics.tls_enabled", "uses the certificate of server.tls; set server.tls.enabled");
        }
        const KEY: &str = "metrics.bind_addr";
        let Some(address) = &self.bind_addr else { return };
        match host_and_port(address) {
            None => diagnostics.refuse(KEY, "must be host:port, like 127.0.0.1:9090"),
            Some((own_host, own_port)) if own_port == port && overlap(own_host, host) => {
                diagnostics
                    .refuse(KEY, format!("port {port} is taken by the main listener; choose another one"));
            }
            Some(_) => {}
        }
    }
}

impl TracingSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        if self.enabled {
            check_endpoint("tracing.otlp_endpoint", &self.otlp_endpoint, false, diagnostics);
            diagnostics.require_within("tracing.sample_rate", self.sample_rate, 0.0..=1.0);
        }
        if self.ui_url.as_deref().is_some_and(|text| !is_address_of_traces(text)) {
            let expected = "must be http:// or https:// with a host, without credentials, and name {trace_id}, like \
                            https://traces.example/trace/{trace_id}";
            diagnostics.refuse("tracing.ui_url", expected);
        }
    }

    /// Returns the address of a distributed trace; `None` without an id, or without a setting.
    pub(crate) fn link_to(&self, trace_id: Option<&str>) -> Option<String> {
        Some(self.ui_url.as_deref()?.replace(TRACE_ID, trace_id?))
    }
}

/// The place of the id in `tracing.ui_url`.
const TRACE_ID: &str = "{trace_id}";

/// Returns `true` for an address that a browser may follow, with a place for the id of a trace.
fn is_address_of_traces(text: &str) -> bool {
    let Ok(uri) = text.replace(TRACE_ID, "0").parse::<http::Uri>() else { return false };
    let has_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_host = uri
        .authority()
        .is_some_and(|authority| !authority.as_str().contains('@') && !authority.host().is_empty());
    has_scheme && has_host && text.contains(TRACE_ID)
}

impl TelemetrySection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        if self.metrics || self.logs {
            let may_have_path = self.protocol == OtlpProtocol::HttpProtobuf;
            check_endpoint("telemetry.endpoint", &self.endpoint, may_have_path, diagnostics);
            diagnostics.require_positive("telemetry.metrics_interval_secs", self.metrics_interval_secs);
        }
    }
}

fn check_endpoint(key: &'static str, text: &str, may_have_path: bool, diagnostics: &mut Diagnostics) {
    diagnostics.require_filled(key, text);
    if !text.is_empty() && !is_endpoint(text, may_have_path) {
        let expected = "must be http:// or https:// with a host and a port, like http://localhost:4317";
        diagnostics.refuse(key, expected);
    }
}

/// Returns `true` for the address of a collector: gRPC has no path, and credentials do not belong here.
fn is_endpoint(text: &str, may_have_path: bool) -> bool {
    let Ok(uri) = text.parse::<http::Uri>() else { return false };
    let has_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_port = uri.authority().is_some_and(|authority| {
        !authority.as_str().contains('@') && !authority.host().is_empty() && authority.port().is_some()
    });
    let is_path_taken =
        uri.path_and_query().is_none_or(|path| path == "/" || may_have_path && path.query().is_none());
    has_scheme && has_port && is_path_taken
}

/// `host:port`, an IPv6 address in brackets.
pub(crate) fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = match bare {
        Some(address) => address.parse::<Ipv6Addr>().is_ok().then_some(address)?,
        None => Some(host).filter(|host| !host.is_empty() && !host.contains([':', '/', '@', ' ']))?,
    };
    Some((host, port.parse().ok()?))
}

/// Returns `true` if two listeners on one port could conflict. A host name may mean any address.
fn overlap(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one == other || one.is_unspecified() || other.is_unspecified(),
        _ => true,
    }
}
