//! The rows on disk when a caller has its response: traces of runs, and messages accepted for later.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::Tree;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use svc_channels::{
    BatchProgress, CrashTrace, DataRequest, Delivery, PanicFlag, RecordBatch, RecordRun, RecordSettlement,
    RunJob, RunRecords, Settings, TRACE_ID_HEADER, TopicRecord,
};
use svc_store::{Store, TraceQuery, TraceRecord};
use svc_testkit::state::eventually;
use svc_testworld::TestWorld;
use svc_testworld::actors::{build_tree, supervise_traces, trace_settings};
use svc_testworld::metrics::metric_value;
use svc_traces::{Job, JobOutcome, JobResult, Runner, TraceMetrics, Traces};

use crate::kit::{Kit, body, copy, empty_workflow, http, task};
use crate::sign_in::{self, Hub};

/// A kit whose channels leave traces in an SQLite file.
struct World {
    kit: Kit,
    tree: Tree,
    store: Store,
    traces: Traces,
    metrics: TraceMetrics,
}

const SECOND: Duration = Duration::from_secs(1);

fn settings(buffer_size: usize) -> svc_traces::Settings {
    let mut settings = trace_settings();
    settings.recorder.max_pending = 10;
    settings.recorder.batch_flush_interval = SECOND;
    settings.queue.buffer_size = buffer_size;
    settings.dead_letters.max_retries = 1;
    settings.dead_letters.poll_interval = 60 * SECOND;
    settings
}

fn run<T>(channels: Settings, buffer_size: usize, test: impl AsyncFnOnce(&mut World) -> T) -> T {
    TestWorld::over_file().run(60 * SECOND, async |database| {
        let tree = build_tree(Vec::new());
        let (store, metrics) = (database.store(&tree).await, TraceMetrics::default());
        let traces = supervise_traces(&tree, &store, true, settings(buffer_size), metrics.clone()).await;
        let mut kit = Kit::new(channels);
        kit.services.traces = Some(traces.clone());
        let mut world = World { kit, tree: tree.clone(), store, traces, metrics };
        let outcome = test(&mut world).await;
        tree.shutdown(5 * SECOND).await;
        outcome
    })
}

impl World {
    async fn trace(&self, id: &Value) -> Option<TraceRecord> {
        self.store.traces().get(id.as_str().unwrap()).await.unwrap()
    }

    /// The one trace of a failed run.
    async fn only_failed(&self) -> TraceRecord {
        let query = TraceQuery { status: Some("failed".into()), ..TraceQuery::default() };
        let rows = self.store.traces().list(query).await.unwrap().rows;
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        self.trace(&json!(row.id)).await.unwrap()
    }

    /// Returns the number of runs that left no trace for this reason.
    fn dropped(&self, reason: &str) -> usize {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        metric_value(&registry, &format!("trace_dropped_total{{reason=\"{reason}\"}}")) as usize
    }

    async fn count(&self) -> usize {
        self.store.traces().list(TraceQuery::default()).await.unwrap().rows.len()
    }
}

fn record_run(offset: i64) -> RecordRun {
    let (topic, value) = ("orders".into(), Some(b"1".to_vec()));
    let record = TopicRecord { topic, partition: 0, offset, key: None, value, headers: Vec::new() };
    RecordRun {
        record: Arc::new(record),
        limit: SECOND,
        is_failure_traced: false,
        trace_context: Default::default(),
    }
}

fn parse(text: Option<String>) -> Value {
    serde_json::from_str(&text.unwrap()).unwrap()
}

#[test]
fn run_that_panics_leaves_a_failed_trace() {
    run(Settings::default(), 10, async |world| {
        let config = json!({"tracing": {"errors_only": true}});
        let orders = world.kit.serve(&world.tree, config, &json!([task("crash", json!({}))])).await;
        let crash_trace = CrashTrace::default();
        let request = DataRequest { crash_trace: Some(crash_trace.clone()), ..http(json!({"n": 1}), &[]) };
        let refused = orders.submit(request).await.unwrap_err();
        let failed = world.only_failed().await;
        assert_eq!((&*failed.row.mode, &*failed.row.channel), ("sync", "orders"), "{refused:?}");
        assert_eq!(crash_trace.id().map(|id| id.to_string()), Some(failed.row.id.clone()));
        let message = failed.row.error_message.clone().unwrap();
        assert!(message.contains("panicked") && !message.contains("hostile payload"), "{message}");
        assert!(failed.row.started_at <= failed.row.completed_at && failed.row.duration_ms.is_some());
    });
}

#[test]
fn answered_run_and_failed_run_each_leave_a_trace() {
    run(Settings::default(), 10, async |world| {
        let mut fail = task("fail", json!({}));
        fail["condition"] = json!({"var": "payload.fail"});
        let tasks = json!([copy("payload.n", "data.n"), fail]);
        let orders = world.kit.serve(&world.tree, json!({}), &tasks).await;
        let answer = body(orders.post(json!({"n": 1})).await);
        let trace = world.trace(&answer["id"]).await.unwrap();
        assert_eq!(
            (&*trace.row.mode, &*trace.row.status, &*trace.row.channel),
            ("sync", "completed", "orders")
        );
        assert_eq!(trace.row.channel_id.as_deref(), Some("orders"));
        assert_eq!(parse(trace.result_json), answer);
        assert_eq!(trace.task_trace_json, None);
        assert!(trace.row.started_at <= trace.row.completed_at && trace.row.duration_ms.is_some());
        assert_eq!((trace.row.workflow_id.as_deref(), trace.row.workflow_version), (Some("flow"), Some(1)));
        assert!(orders.post(json!({"n": 2, "fail": true})).await.is_err());
        let failed = world.only_failed().await;
        assert_eq!((&*failed.row.mode, failed.row.workflow_version), ("sync", Some(1)));
        let message = failed.row.error_message.clone().unwrap();
        assert!(message.starts_with("fail: FUNCTION_ERROR "), "{message}");
        assert!(failed.row.started_at <= failed.row.completed_at && failed.row.duration_ms.is_some());
        let errors = parse(failed.result_json);
        assert_eq!(
            (&errors["errors"][0]["task_id"], &errors["errors"][1]["code"]),
            (&json!("fail"), &json!("WORKFLOW_ERROR"))
        );
        let steps = parse(failed.task_trace_json);
        assert_eq!(
            (&steps["steps"][0]["result"], &steps["steps"][1]["result"]),
            (&json!("executed"), &json!("failed"))
        );
        assert_eq!(world.count().await, 2);
    });
}

#[test]
fn errors_only_records_failed_runs_only() {
    run(Settings::default(), 10, async |world| {
        let mut fail = task("fail", json!({}));
        fail["condition"] = json!({"var": "payload.fail"});
        let config = json!({"tracing": {"errors_only": true, "task_details": true}});
        let orders = world.kit.serve(&world.tree, config, &json!([copy("payload.n", "data.n"), fail])).await;
        body(orders.post(json!({"n": 1})).await);
        assert!(orders.post(json!({"n": 2, "fail": true})).await.is_err());
        assert_eq!(world.count().await, 1);
        let steps = parse(world.only_failed().await.task_trace_json);
        assert_eq!(
            steps["steps"][0]["message"]["data"],
            json!({"n": 2}),
            "with what the channel keeps of steps"
        );
    });
}

#[test]
fn answer_that_is_too_large_leaves_trace() {
    let small = Settings { max_result_bytes: Some(40), ..Settings::default() };
    run(small, 10, async |world| {
        let orders = world.kit.serve(&world.tree, json!({}), &json!([copy("payload", "data.n")])).await;
        let refused = orders.post(json!({"x": "y".repeat(100)})).await.unwrap_err();
        assert_eq!(refused.code().name(), "RESPONSE_TOO_LARGE");
        let failed = world.only_failed().await;
        assert_eq!(failed.row.error_message.as_deref(), Some(refused.message()));
    });
}

#[test]
fn trace_has_real_errors_of_continued_run() {
    run(Settings::default(), 10, async |world| {
        let mut fail = task("fail", json!({}));
        fail["continue_on_error"] = json!(true);
        let orders = world.kit.serve(&world.tree, json!({}), &json!([fail])).await;
        let answer = body(orders.post(json!({})).await);
        assert!(!answer.to_string().contains("db.internal"), "{answer}");
        let stored = parse(world.trace(&answer["id"]).await.unwrap().result_json);
        assert_eq!((&stored["id"], &stored["request_id"]), (&answer["id"], &json!("req-1")));
        assert_eq!(stored["errors"][0]["message"], "the host db.internal refused");
    });
}

#[test]
fn a_channel_says_what_is_recorded_of_it() {
    for (tracing, kept) in [
        (json!({"mode": "off"}), false),
        (json!({"sample_rate": 0.0}), false),
        (json!({"errors_only": true}), false),
        (json!({"task_details": true}), true),
    ] {
        run(Settings::default(), 10, async |world| {
            let tasks = json!([copy("payload.n", "data.n")]);
            let orders = world.kit.serve(&world.tree, json!({"tracing": tracing}), &tasks).await;
            let answer = body(orders.post(json!({"n": 1})).await);
            let trace = world.trace(&answer["id"]).await;
            assert_eq!(trace.is_some(), kept, "{tracing}");
            if let Some(trace) = trace {
                let steps = parse(trace.task_trace_json)["steps"].clone();
                assert_eq!(
                    (&steps[0]["task_id"], &steps[0]["result"]),
                    (&json!("data.n"), &json!("executed"))
                );
                assert_eq!(steps[0]["message"]["data"], json!({"n": 1}));
            }
        });
    }
}

#[test]
fn record_attempts_are_sampled_alike_and_counted_once() {
    const RECORDS: i64 = 40;
    run(Settings::default(), 10, async |world| {
        let config = json!({"tracing": {"sample_rate": 0.5}});
        let orders = world.kit.serve(&world.tree, config, &empty_workflow()).await;
        let attempt = async || {
            let mut settlements = Vec::new();
            for offset in 0..RECORDS {
                let progress = Arc::new(BatchProgress::default());
                let batch = RecordBatch::new([record_run(offset)], Arc::clone(&progress));
                orders.0.ask(RunRecords(batch)).await.unwrap();
                settlements
                    .extend(progress.take_results().into_iter().filter_map(|result| result.settlement));
            }
            settlements
        };
        let sampled = |settlements: &[RecordSettlement]| {
            let traced = settlements.iter().map(|settlement| settlement.trace_bytes().is_some());
            traced.collect::<Vec<_>>()
        };
        let (first, second) = (attempt().await, attempt().await);
        assert_eq!((sampled(&first), i64::try_from(first.len())), (sampled(&second), Ok(RECORDS)));
        let untraced = sampled(&first).iter().filter(|is_traced| !**is_traced).count();
        assert!((1..first.len()).contains(&untraced), "{untraced}");
        assert_eq!(world.dropped("sampled_out"), 0, "an attempt counts nothing");
        second.iter().for_each(RecordSettlement::count);
        assert_eq!(world.dropped("sampled_out"), untraced);
    });
}

/// The trace that an answer names.
fn named_trace(answer: &svc_channels::ChannelResponse) -> Option<&str> {
    answer.headers.iter().find(|(name, _)| name == TRACE_ID_HEADER).map(|(_, id)| &**id)
}

#[test]
fn answer_names_stored_trace_and_row_names_request() {
    for (tracing, clean_is_stored) in
        [(json!({}), true), (json!({"errors_only": true}), false), (json!({"mode": "batch"}), true)]
    {
        run(Settings::default(), 10, async |world| {
            let mut fail = task("fail", json!({}));
            fail["condition"] = json!({"var": "payload.fail"});
            let config = json!({"tracing": tracing, "response": {"error_bodies": {"500": {"body": "{{}}"}}}});
            let orders = world.kit.serve(&world.tree, config, &json!([fail])).await;
            let answer = orders.post(json!({})).await.unwrap();
            let id: Value = serde_json::from_slice::<Value>(&answer.body).unwrap()["id"].clone();
            assert_eq!(named_trace(&answer), id.as_str().filter(|_| clean_is_stored), "{tracing}");
            let failed = orders.post(json!({"fail": true})).await.unwrap();
            assert_eq!((failed.status, &failed.body[..]), (500, &b"{}"[..]));
            let id = json!(named_trace(&failed).unwrap());
            eventually("the trace is stored", async || world.trace(&id).await.is_some()).await;
            let row = world.trace(&id).await.unwrap().row;
            assert_eq!((&*row.status, row.request_id.as_deref()), ("failed", Some("req-1")));
        });
    }
}

#[test]
fn oversized_execution_trace_is_dropped_and_counted() {
    let channels = Settings { max_result_bytes: Some(300), ..Settings::default() };
    run(channels, 10, async |world| {
        let tasks: Vec<_> = (0..9).map(|n| copy("payload.n", &format!("temp_data.t{n}"))).collect();
        let config = json!({"tracing": {"task_details": true}});
        let orders = world.kit.serve(&world.tree, config, &json!(tasks)).await;
        let answer = body(orders.post(json!({"n": 1})).await);
        let trace = world.trace(&answer["id"]).await.unwrap();
        assert_eq!((parse(trace.result_json), trace.task_trace_json), (answer, None));
        let page = world.kit.metrics_text();
        assert!(page.contains(r#"svc_errors_total{reason="task_trace_size_exceeded"} 1"#), "{page}");
    });
}

#[test]
fn the_trace_of_a_shaped_answer_is_its_envelope() {
    run(Settings::default(), 10, async |world| {
        let config = json!({"response": {"mode": "shaped"}});
        let tasks = json!([copy("payload.control", "data._svc.response"), copy("payload.n", "data.n")]);
        let orders = world.kit.serve(&world.tree, config, &tasks).await;
        let answer =
            orders.post(json!({"control": {"status": 201, "body_path": "n"}, "n": 7})).await.unwrap();
        assert_eq!((answer.status, &answer.body[..]), (201, &b"7"[..]));
        let row = world.store.traces().list(TraceQuery::default()).await.unwrap().rows.remove(0);
        let stored = parse(world.trace(&json!(row.id)).await.unwrap().result_json);
        assert_eq!(stored, json!({"id": row.id, "status": "ok", "data": {"n": 7}, "errors": []}));
    });
}

#[test]
fn errors_only_keeps_no_steps_of_clean_jobs() {
    run(Settings::default(), 10, async |world| {
        let mut fail = task("fail", json!({}));
        fail["condition"] = json!({"var": "payload.fail"});
        let config = json!({"tracing": {"errors_only": true, "task_details": true}});
        let orders = world.kit.serve(&world.tree, config, &json!([copy("payload.n", "data.n"), fail])).await;
        for (payload, kept) in [(json!({"n": 1}), false), (json!({"fail": true}), true)] {
            let job = Job {
                trace_id: uuid::Uuid::now_v7(),
                channel_id: None,
                channel: "orders".into(),
                payload,
                metadata: serde_json::Map::new(),
                bucket: None,
                hold: None,
                attempt: None,
                trace_headers: Default::default(),
            };
            let completed = orders
                .0
                .ask(RunJob { job, limit: SECOND, pinned: None, panicked: PanicFlag::default() })
                .await
                .unwrap();
            assert_eq!(completed.task_trace.is_some(), kept, "{completed:?}");
        }
    });
}

/// Takes jobs and keeps them.
#[derive(Default)]
struct Keeper(Mutex<Vec<Job>>);

impl Runner for Keeper {
    fn is_available(&self, _: &str) -> bool {
        true
    }

    fn run(&self, job: Job, _: Duration, _: Option<usize>) -> BoxFuture<'static, JobResult> {
        self.0.lock().push(job);
        let outcome = JobOutcome::Completed { result: None };
        Box::pin(std::future::ready(JobResult::bare(outcome, Duration::ZERO)))
    }
}

#[test]
fn mode_accept_queues_http_but_answers_embedded_calls() {
    run(Settings::default(), 10, async |world| {
        let keeper = Arc::new(Keeper::default());
        world.traces.start(Arc::clone(&keeper) as Arc<dyn Runner>, &[]).await.unwrap();
        world.tree.wait_until_running("traces/dead-letters").await.unwrap();
        let config = json!({"request": {"mode": "accept"}, "cache": {"enabled": true, "ttl_secs": 60}});
        let orders = world.kit.serve(&world.tree, config, &json!([copy("payload.n", "data.n")])).await;
        for _ in 0..2 {
            let answer = orders.post(json!({"n": 1})).await.unwrap();
            let accepted: Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!((answer.status, named_trace(&answer)), (202, accepted["trace_id"].as_str()));
            assert_eq!(&*world.trace(&accepted["trace_id"]).await.unwrap().row.mode, "async");
        }
        eventually("both jobs have run", async || keeper.0.lock().len() == 2).await;
        let answer = body(orders.submit(DataRequest::embedded(json!({"n": 2}))).await);
        assert_eq!(answer["data"], json!({"n": 2}));
    });
}

#[test]
fn accepted_message_is_stored_and_queued_with_metadata() {
    run(Settings::default(), 10, async |world| {
        let keeper = Arc::new(Keeper::default());
        world.traces.start(Arc::clone(&keeper) as Arc<dyn Runner>, &[]).await.unwrap();
        world.tree.wait_until_running("traces/dead-letters").await.unwrap();
        let config = json!({
            "tracing": {"mode": "off"},
            "request": {"cookies_to_metadata": ["theme"]},
            "backpressure": {"max_concurrent_per_node": 1},
        });
        let orders = world.kit.serve(&world.tree, config, &empty_workflow()).await;
        let message = json!({"data": {"n": 1}, "metadata": {"tenant": "t"}});
        let request = DataRequest { delivery: Delivery::Async, ..http(message, &[("cookie", "theme=dark")]) };
        let answer = orders.submit(request).await.unwrap();
        assert_eq!(answer.status, 202);
        let accepted: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(accepted["trace_token"].as_str().unwrap().len(), 32);
        assert_eq!(accepted.as_object().unwrap().len(), 2);
        let trace = world.trace(&accepted["trace_id"]).await.unwrap();
        assert_eq!((&*trace.row.mode, trace.row.channel_id.as_deref()), ("async", Some("orders")));
        eventually("the job has run", async || !keeper.0.lock().is_empty()).await;
        let job = keeper.0.lock().remove(0);
        assert_eq!(
            (job.trace_id.to_string(), &job.payload),
            (accepted["trace_id"].as_str().unwrap().into(), &json!({"n": 1}))
        );
        assert_eq!(
            (&job.metadata["cookies"], &job.metadata["tenant"]),
            (&json!({"theme": "dark"}), &json!("t"))
        );
        assert_eq!(orders.post(json!({})).await.unwrap_err().status(), 503, "the job holds the one permit");
        drop(job);
        eventually("the permit is free", async || orders.post(json!({})).await.is_ok()).await;
        let page = world.kit.metrics_text();
        assert!(page.contains(r#"svc_messages_total{channel="orders",status="ok"} 1"#), "{page}");
    });
}

#[test]
fn message_refused_by_the_queue_may_return() {
    run(Settings::default(), 10, async |world| {
        // Never started: the queue is closed.
        let config = json!({
            "deduplication": {"header": "idempotency-key"},
            "backpressure": {"max_concurrent_per_node": 1},
        });
        let orders = world.kit.serve(&world.tree, config, &empty_workflow()).await;
        let request = || http(json!({}), &[("idempotency-key", "k")]);
        let queued = DataRequest { delivery: Delivery::Async, ..request() };
        assert_eq!(orders.submit(queued).await.unwrap_err().status(), 503);
        assert!(orders.submit(request()).await.is_ok(), "neither its key nor its permit is kept");
    });
}

#[test]
fn trace_of_sign_in_shows_no_token() {
    run(Settings::default(), 10, async |world| {
        world.kit.services.identity_providers = Arc::new(Hub);
        let mut config = sign_in::config();
        config["tracing"] = json!({"task_details": true, "keep_input": true});
        let orders = world.kit.serve(&world.tree, config, &sign_in::tasks()).await;
        let (state, cookie) = sign_in::begin(&orders).await;
        let back = json!({"code": "the-code", "state": state});
        let data = sign_in::data(orders.submit_whole(sign_in::request(true, back, &cookie)).await);
        assert_eq!(data["oauth"]["grant"]["access_token"], "the-access-token");
        let rows = world.store.traces().list(TraceQuery::default()).await.unwrap().rows;
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        let trace = world.trace(&json!(row.id)).await.unwrap();
        let shown = format!("{trace:?}");
        assert!(!shown.contains("the-access-token") && !shown.contains("the-code"), "{shown}");
        let result = parse(trace.result_json);
        assert_eq!(result["data"]["identity"]["subject"], "42");
        assert_eq!(result["data"]["oauth"]["grant"]["access_token"], "******");
    });
}
