//! A real collector of OpenTelemetry, installed on demand, and the spans, metrics and messages it took.

use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::peer;
use crate::process::ChildProcess;
use crate::server::{free_port, wait_until};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/rotel");

/// Longest wait for the collector to listen.
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running collector; it ends when dropped.
#[derive(Debug)]
pub struct Collector {
    process: ChildProcess,
    port: u16,
    http_port: u16,
}

/// A span as the collector took it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectedSpan {
    /// The name of the service.
    pub service: String,
    /// The trace id, in hexadecimal digits.
    pub trace_id: String,
    /// The span id.
    pub id: String,
    /// The span id of the parent; empty for a root.
    pub parent_id: String,
    pub name: String,
    /// The kind: `SERVER`, `CLIENT`, `PRODUCER`, `CONSUMER` or `INTERNAL`.
    pub kind: String,
    /// True if the status is an error.
    pub is_error: bool,
    /// The attributes with their values as text.
    pub attributes: Vec<(String, String)>,
    /// Trace id and span id of each link.
    pub links: Vec<(String, String)>,
}

impl CollectedSpan {
    /// Returns the value of an attribute.
    pub fn attribute(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

impl Collector {
    /// Starts a collector on a free port. Reports a missing one with [`peer::report_missing`].
    pub fn start() -> Option<Self> {
        let started = free_port().map_err(|error| error.to_string()).and_then(Self::start_on);
        started.map_err(|why| peer::report_missing("rotel", &why)).ok()
    }

    /// Starts a collector on this port of 127.0.0.1.
    ///
    /// # Errors
    /// It cannot be installed, or does not listen in time.
    pub fn start_on(port: u16) -> Result<Self, String> {
        let ensured = Command::new(SCRIPT).arg("ensure").output().map_err(|error| error.to_string())?;
        if !ensured.status.success() {
            return Err(String::from_utf8_lossy(&ensured.stderr).trim().to_owned());
        }
        let http_port = free_port().map_err(|error| error.to_string())?;
        let mut command = Command::new(SCRIPT);
        let process = ChildProcess::start(command.args([port.to_string(), http_port.to_string()]))?;
        let listens = wait_until(START_LIMIT, || Ok(TcpStream::connect(("127.0.0.1", port)).is_ok()));
        match listens {
            Ok(true) => Ok(Self { process, port, http_port }),
            _ => Err(format!("it does not listen: {:?}", process.lines())),
        }
    }

    /// Returns the address for `tracing.otlp_endpoint`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the address for `telemetry.endpoint` under `http/protobuf`.
    pub fn http_endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.http_port)
    }

    /// Waits until the collector has printed these lines in this order, with others between them.
    ///
    /// # Panics
    /// They do not come in time.
    #[expect(clippy::panic, reason = "the test's verdict")]
    pub fn wait_for_lines(&self, expected: &[&str]) {
        let has_all = |lines: &[String]| {
            let mut printed = lines.iter().map(|line| line.trim());
            expected.iter().all(|line| printed.any(|other| other == *line)).then_some(())
        };
        self.process.wait_for(has_all).unwrap_or_else(|said| panic!("no {expected:?}: {said}"));
    }

    /// Returns the spans so far.
    pub fn spans(&self) -> Vec<CollectedSpan> {
        read_spans(&self.process.lines())
    }

    /// Waits for a span of this name with an attribute, and returns it. The collector prints a span line by line: what
    /// comes after the attribute may be missing.
    ///
    /// # Panics
    /// None comes in time.
    pub fn span(&self, name: &str, attribute: &str) -> CollectedSpan {
        self.find(name, |span| span.attribute(attribute).is_some())
    }

    /// Waits for a span of this name for which `is_wanted` holds, and returns it.
    ///
    /// # Panics
    /// None comes in time.
    #[expect(clippy::panic, reason = "the test's verdict")]
    pub fn find(&self, name: &str, is_wanted: impl Fn(&CollectedSpan) -> bool) -> CollectedSpan {
        let own = |lines: &[String]| {
            let mut spans = read_spans(lines).into_iter();
            spans.find(|span| span.name == name && is_wanted(span))
        };
        self.process.wait_for(own).unwrap_or_else(|said| panic!("no span {name}: {said}"))
    }
}

/// The list that a line of the collector's log belongs to.
#[derive(Clone, Copy)]
enum Section {
    Resource,
    Span,
    Attributes,
    Links,
    Other,
}

/// Reads the spans off the collector's log. The last one may be incomplete.
fn read_spans(lines: &[String]) -> Vec<CollectedSpan> {
    let (mut spans, mut service, mut section) = (Vec::<CollectedSpan>::new(), String::new(), Section::Other);
    let mut is_span = false;
    for line in lines {
        let text = line.trim();
        if ["ResourceSpans #", "ResourceMetrics #", "ResourceLog #"].iter().any(|head| text.starts_with(head))
        {
            is_span = text.starts_with("ResourceSpans #");
        }
        if !is_span {
            continue;
        }
        let (key, value) = text.split_once(':').map_or((text, ""), |(key, value)| (key.trim(), value.trim()));
        match key {
            "Resource attributes" => section = Section::Resource,
            "Attributes" if !matches!(section, Section::Links) => section = Section::Attributes,
            "Links" => section = Section::Links,
            "Events" => section = Section::Other,
            _ if text.starts_with("ResourceSpans #") => section = Section::Other,
            _ if text.starts_with("Span #") => {
                section = Section::Span;
                spans.push(CollectedSpan { service: service.clone(), ..CollectedSpan::default() });
            }
            _ => match (section, spans.last_mut()) {
                (Section::Resource, _) if key == "-> service.name" => service = unwrap_value(value),
                (Section::Attributes, Some(span)) => {
                    if let Some(name) = key.strip_prefix("-> ") {
                        span.attributes.push((name.to_owned(), unwrap_value(value)));
                    }
                }
                (Section::Span, Some(span)) => match key {
                    "Trace ID" => span.trace_id = value.to_owned(),
                    "Parent ID" => span.parent_id = value.to_owned(),
                    "ID" => span.id = value.to_owned(),
                    "Name" => span.name = value.to_owned(),
                    "Kind" => span.kind = value.trim_start_matches("SPAN_KIND_").to_owned(),
                    "Status code" => span.is_error = value == "STATUS_CODE_ERROR",
                    _ => {}
                },
                (Section::Links, Some(span)) => match key.trim_start_matches("-> ") {
                    "Trace ID" => span.links.push((value.to_owned(), String::new())),
                    "ID" | "Span ID" => {
                        if let Some(link) = span.links.last_mut() {
                            link.1 = value.to_owned();
                        }
                    }
                    _ => {}
                },
                _ => {}
            },
        }
    }
    spans
}

/// Removes the type around a value: `Str(text)`.
fn unwrap_value(value: &str) -> String {
    let inner = value.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(value).to_owned()
}
