//! Tests of spans from their beginning to the exporter.

use std::future::pending;

use futures_util::future::Either;
use opentelemetry::Value;
use opentelemetry::trace::{SpanKind, Status};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::SpanData;
use slog::{Discard, o};

use super::*;
use crate::draft::SpanDraft;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[derive(Clone, Copy, Debug)]
enum Collector {
    Takes,
    Refuses,
    Hangs,
}

#[derive(Clone, Debug)]
struct TestExporter {
    collector: Arc<Mutex<Collector>>,
    spans: Arc<Mutex<Vec<SpanData>>>,
    batches: watch::Sender<usize>,
}

impl TestExporter {
    fn new(collector: Collector) -> Self {
        let batches = watch::Sender::new(0);
        Self { collector: Arc::new(Mutex::new(collector)), spans: Arc::default(), batches }
    }

    fn start(&self, sample_rate: f64) -> (Spans, SpanMetrics) {
        let metrics = SpanMetrics::default();
        let settings = SpanSettings {
            service_name: "orders".to_owned(),
            version: "1".to_owned(),
            instance_id: "a".to_owned(),
            sample_rate,
        };
        let log = Logger::root(Discard, o!());
        (Spans::start(self.clone(), settings, metrics.clone(), &Handle::current(), log), metrics)
    }

    fn span(&self, name: &str) -> SpanData {
        let spans = self.spans.lock();
        spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name}: {spans:#?}")).clone()
    }

    async fn wait_for_batches(&self, batches: usize) {
        self.batches.subscribe().wait_for(|count| *count >= batches).await.unwrap();
    }
}

impl SpanExporter for TestExporter {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        let collector = *self.collector.lock();
        self.batches.send_modify(|count| *count += 1);
        let result = match collector {
            Collector::Hangs => return Either::Left(pending()),
            Collector::Refuses => Err(OTelSdkError::InternalFailure("it is away".to_owned())),
            Collector::Takes => {
                self.spans.lock().extend(batch);
                Ok(())
            }
        };
        Either::Right(std::future::ready(result))
    }
}

fn request() -> SpanDraft {
    SpanDraft::request("GET", "r")
}

fn task(function: &str, connector: Option<&Arc<str>>) -> SpanDraft {
    SpanDraft::task(&"w".into(), &"t".into(), function, connector)
}

fn extract(spans: &Spans, parent: &str) -> TraceContext {
    spans.extract([("traceparent", parent.as_bytes())].into_iter())
}

fn attribute(span: &SpanData, key: &str) -> Option<Value> {
    span.attributes.iter().find(|pair| pair.key.as_str() == key).map(|pair| pair.value.clone())
}

#[tokio::test]
async fn spans_of_a_message_share_one_trace() {
    let exporter = TestExporter::new(Collector::Takes);
    let (spans, metrics) = exporter.start(0.0);
    let mut server = extract(&spans, PARENT).begin(request);
    server.set_route("GET", "/orders/{id}", "orders");
    server.set_response(503, 500);
    let task_span = server.context().begin_local(|| task("http_call", Some(&"shop".into())));
    let client = || SpanDraft::outbound_request("POST", (Some("shop.example"), Some(443)), "shop", 1);
    let mut client = task_span.context().begin(client);
    client.set_response(404, 400);
    let sent = client.context().headers();
    assert!(sent[0].1.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && sent[0].1.ends_with("-01"));
    drop((client, task_span, server));
    spans.shutdown(Duration::from_secs(5)).await;
    let [server, task, client] =
        ["GET /orders/{id}", "task http_call", "POST"].map(|name| exporter.span(name));
    assert_eq!(server.parent_span_id.to_string(), "00f067aa0ba902b7");
    assert!(server.parent_span_is_remote && !task.parent_span_is_remote);
    assert_eq!(task.parent_span_id, server.span_context.span_id());
    assert_eq!(client.parent_span_id, task.span_context.span_id());
    assert!(sent[0].1.contains(&client.span_context.span_id().to_string()));
    assert_eq!(
        (&server.span_kind, &task.span_kind, &client.span_kind),
        (&SpanKind::Server, &SpanKind::Internal, &SpanKind::Client)
    );
    assert_eq!(attribute(&server, "http.route"), Some("/orders/{id}".into()));
    assert_eq!(attribute(&server, "error.type"), Some("503".into()));
    assert_eq!(attribute(&client, "http.request.resend_count"), Some(Value::I64(1)));
    assert_eq!(attribute(&client, "http.response.status_code"), Some(Value::I64(404)));
    assert!(matches!(client.status, Status::Error { .. }));
    assert_eq!(metrics.counts(), (3, [0, 0, 0]));
}

#[tokio::test]
async fn sender_decides_its_trace_rate_decides_new_ones() {
    for rate in [0.0, 1.0] {
        let exporter = TestExporter::new(Collector::Takes);
        let (spans, metrics) = exporter.start(rate);
        let unsampled = PARENT.replace("-01", "-00");
        let kept_out = extract(&spans, &unsampled).begin(request);
        let local = kept_out.context().begin_local(|| task("map", None));
        assert_eq!(local.context().headers(), kept_out.context().headers());
        let passed_on = kept_out.context().headers()[0].1.clone();
        assert!(passed_on.starts_with(&unsampled[..36]) && passed_on.ends_with("-00"), "{passed_on}");
        assert!(!kept_out.is_recording());
        let taken = extract(&spans, PARENT).begin(|| SpanDraft::submission("taken"));
        let fresh = extract(&spans, "00-no").begin(|| SpanDraft::submission("fresh"));
        let is_fresh_exported = fresh.is_recording();
        assert_eq!(is_fresh_exported, rate == 1.0);
        assert_eq!(fresh.context().headers()[0].1.ends_with("-01"), is_fresh_exported);
        drop((kept_out, local, taken, fresh));
        spans.shutdown(Duration::from_secs(5)).await;
        assert_eq!(metrics.counts().0, if rate == 1.0 { 2 } else { 1 });
        assert!(!exporter.span("submit taken").parent_span_id.to_string().starts_with("0000"));
    }
}

#[tokio::test]
async fn linked_span_follows_sampling_of_its_cause() {
    for (parent, is_exported) in [(PARENT.to_owned(), true), (PARENT.replace("-01", "-00"), false)] {
        let exporter = TestExporter::new(Collector::Takes);
        let (spans, _) = exporter.start(if is_exported { 0.0 } else { 1.0 });
        let cause = extract(&spans, &parent);
        let run = spans.new_trace().begin_linked(&cause, || SpanDraft::job("orders", "id"));
        assert_eq!(run.is_recording(), is_exported);
        drop(run);
        spans.shutdown(Duration::from_secs(5)).await;
        if is_exported {
            let run = exporter.span("run orders");
            assert_eq!(run.links[0].span_context.span_id().to_string(), "00f067aa0ba902b7");
            assert_ne!(run.span_context.trace_id(), run.links[0].span_context.trace_id());
            assert_eq!(run.parent_span_id.to_string(), "0000000000000000");
        }
    }
}

#[tokio::test]
async fn spans_that_are_off_read_and_write_nothing() {
    let spans = Spans::default();
    let place = spans.extract(std::iter::from_fn(|| panic!("a header was read")));
    let mut span = place.begin(|| panic!("a span was drafted"));
    span.fail("x");
    assert!(!span.is_recording());
    assert_eq!(span.context().headers(), []);
    assert_eq!(spans.new_trace().begin_local(|| panic!("a span was drafted")).context().headers(), []);
    spans.shutdown(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn failed_export_drops_only_its_own_batch() {
    let exporter = TestExporter::new(Collector::Refuses);
    let (spans, metrics) = exporter.start(1.0);
    drop(spans.new_trace().begin(request));
    exporter.wait_for_batches(1).await;
    *exporter.collector.lock() = Collector::Takes;
    drop(spans.new_trace().begin(|| SpanDraft::submission("orders")));
    exporter.wait_for_batches(2).await;
    spans.shutdown(Duration::from_secs(5)).await;
    exporter.span("submit orders");
    assert_eq!(metrics.counts(), (1, [0, 1, 0]));
}

#[tokio::test(start_paused = true)]
async fn full_queue_drops_spans_shutdown_is_limited() {
    let exporter = TestExporter::new(Collector::Hangs);
    let (spans, metrics) = exporter.start(1.0);
    drop(spans.new_trace().begin(request));
    exporter.wait_for_batches(1).await;
    for _ in 0..QUEUE + 3 {
        drop(spans.new_trace().begin(request));
    }
    assert_eq!(metrics.counts(), (0, [3, 0, 0]));
    let started = tokio::time::Instant::now();
    spans.shutdown(Duration::from_millis(200)).await;
    assert_eq!(started.elapsed(), Duration::from_millis(200));
    assert_eq!(metrics.counts(), (0, [3, 0, QUEUE as u64 + 1]));
}

#[tokio::test]
async fn resource_names_service_version_and_instance() {
    let seen: Arc<Mutex<Option<Resource>>> = Arc::default();
    #[derive(Debug)]
    struct ResourceExporter(Arc<Mutex<Option<Resource>>>);
    impl SpanExporter for ResourceExporter {
        fn export(&self, _: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
            std::future::ready(Ok(()))
        }

        fn set_resource(&mut self, resource: &Resource) {
            *self.0.lock() = Some(resource.clone());
        }
    }
    let settings = SpanSettings {
        service_name: "orders".to_owned(),
        version: "1.2".to_owned(),
        instance_id: "a".to_owned(),
        sample_rate: 1.0,
    };
    let log = Logger::root(Discard, o!());
    let exporter = ResourceExporter(Arc::clone(&seen));
    let _spans = Spans::start(exporter, settings, SpanMetrics::default(), &Handle::current(), log);
    let resource = seen.lock().clone().unwrap();
    for (key, value) in [("service.name", "orders"), ("service.version", "1.2"), ("service.instance.id", "a")]
    {
        assert_eq!(resource.get(&key.into()), Some(value.into()), "{key}");
    }
}
