//! Processes that start and stop over one SQLite file, and a runner that follows the `do` of a payload.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use actix_supervision::Tree;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use serde_json::{Map, Value, json};
use svc_model::{Page, WorkflowVersion, id::new_ordered_id};
use svc_store::{DeadLetterFilter, DeadLetterRow, Store, TraceQuery, TraceRecord};
use svc_testkit::state::{eventually, wait_until};
use svc_testworld::TestWorld;
use svc_testworld::actors::{build_tree, supervise_traces, trace_settings};
use svc_testworld::metrics::metric_value;
use svc_traces::{
    Callback, Job, JobFailure, JobHold, JobKey, JobOutcome, JobResult, JobTerms, JobThread, NewRunRecording,
    QueueShares, Runner, Settings, TraceMetrics, Traces,
};
use tokio::sync::Semaphore;
use uuid::Uuid;

/// Time limit of a test.
const LIMIT: Duration = Duration::from_secs(180);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A database over which processes of the service start and stop.
pub(crate) struct TracesFixture(TestWorld);

/// Runs a case on a new file.
pub(crate) fn run(case: impl AsyncFnOnce(TracesFixture)) {
    run_in(TestWorld::over_file(), case);
}

/// Runs a case that locks the file, of which the store reports after half a second.
pub(crate) fn run_impatient(case: impl AsyncFnOnce(TracesFixture)) {
    run_in(TestWorld::over_file().impatient(), case);
}

/// Runs a case on the server at a URL.
pub(crate) fn run_on_server(url: &str, case: impl AsyncFnOnce(TracesFixture)) {
    run_in(TestWorld::over_server(url), case);
}

fn run_in(world: TestWorld, case: impl AsyncFnOnce(TracesFixture)) {
    world.run(LIMIT, async |world| case(TracesFixture(world)).await);
}

impl Deref for TracesFixture {
    type Target = TestWorld;

    fn deref(&self) -> &TestWorld {
        &self.0
    }
}

/// One process of the service.
pub(crate) struct Process {
    pub(crate) tree: Tree,
    pub(crate) store: Store,
    pub(crate) traces: Traces,
    pub(crate) runner: Arc<Script>,
    words: Arc<Mutex<Vec<&'static str>>>,
    registry: Registry,
}

impl TracesFixture {
    /// Starts a process that does not accept submissions yet.
    pub(crate) async fn boot(&self, change: impl FnOnce(&mut Settings)) -> Process {
        self.boot_in(build_tree(Vec::new()), change).await
    }

    pub(crate) async fn boot_in(&self, tree: Tree, change: impl FnOnce(&mut Settings)) -> Process {
        let store = self.store(&tree).await;
        let words: Arc<Mutex<Vec<&'static str>>> = Arc::default();
        let told = Arc::clone(&words);
        let mut settings = settings();
        settings.errors = Callback::new(move |word: svc_model::ErrorReason| told.lock().push(word.as_str()));
        change(&mut settings);
        let (metrics, mut registry) = (TraceMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        let traces = supervise_traces(&tree, &store, true, settings, metrics).await;
        tree.wait_until_running("traces").await.unwrap();
        Process { tree, store, traces, runner: Arc::default(), words, registry }
    }

    /// Starts a process that accepts and runs jobs.
    pub(crate) async fn start(&self, change: impl FnOnce(&mut Settings)) -> Process {
        let process = self.boot(change).await;
        process.begin().await;
        process
    }
}

/// Two workers of each kind, and retries that are due soon.
fn settings() -> Settings {
    let mut settings = trace_settings();
    settings.recorder.async_workers = 2;
    settings.recorder.batch_workers = 2;
    settings.queue.workers = 2;
    settings.queue.buffer_size = 100;
    settings.queue.shutdown_timeout = Duration::from_secs(20);
    settings.dead_letters.retry_enabled = true;
    settings.dead_letters.max_retries = 5;
    settings.dead_letters.poll_interval = Duration::from_millis(50);
    settings.dead_letters.batch_size = 20;
    settings.needs.push("nodes".to_owned());
    settings
}

impl Process {
    pub(crate) async fn begin(&self) {
        self.traces.start(self.runner.clone(), &[]).await.unwrap();
        self.tree.wait_until_running("traces").await.unwrap();
    }

    /// Ends the process like a crash: nothing finishes.
    pub(crate) async fn crash(self) {
        self.tree.shutdown(Duration::ZERO).await;
    }

    /// Lets every channel name `alerts` for its failures.
    pub(crate) fn report_failures(&self) {
        self.runner.tells.store(true, Ordering::Release);
    }

    pub(crate) async fn submit(&self, payload: Value) -> Result<Uuid, svc_model::ServiceError> {
        Ok(self.traces.submit(job(payload), None).await?.trace_id)
    }

    /// Submits a job that waits on these terms.
    pub(crate) async fn submit_waiting(
        &self,
        payload: Value,
        terms: JobTerms,
    ) -> Result<Uuid, svc_model::ServiceError> {
        self.submit_waiting_job(job(payload), terms).await
    }

    /// Does the same for a job of the channel `elsewhere`.
    pub(crate) async fn submit_elsewhere(&self, payload: Value, terms: JobTerms) -> Uuid {
        let channel: Arc<str> = "elsewhere".into();
        let job = Job { channel_id: Some(Arc::clone(&channel)), channel, ..job(payload) };
        self.submit_waiting_job(job, terms).await.unwrap()
    }

    async fn submit_waiting_job(&self, job: Job, terms: JobTerms) -> Result<Uuid, svc_model::ServiceError> {
        let job = Job { hold: None, ..job };
        Ok(self.traces.submit_waiting(job, terms, None).await?.trace_id)
    }

    pub(crate) async fn trace(&self, id: Uuid) -> TraceRecord {
        self.store.traces().get(&id.to_string()).await.unwrap().expect("there is a trace")
    }

    pub(crate) async fn ends(&self, id: Uuid, status: &str) -> TraceRecord {
        wait_until(async || self.trace(id).await.row.status == status).await;
        self.trace(id).await
    }

    /// Waits until no attempt at the job waits in the queue or runs.
    pub(crate) async fn rests(&self, id: Uuid) {
        wait_until(async || !["pending", "running"].contains(&&*self.trace(id).await.row.status)).await;
    }

    pub(crate) async fn letters(&self) -> Vec<DeadLetterRow> {
        self.store.dead_letters().list(DeadLetterFilter::default(), Page::default()).await.unwrap().0
    }

    /// Counts the traces with this status; an empty status counts all.
    pub(crate) async fn count(&self, status: &str) -> i64 {
        let status = Some(status).filter(|status| !status.is_empty()).map(Into::into);
        let query = TraceQuery { status, include_total: true, ..TraceQuery::default() };
        self.store.traces().list(query).await.unwrap().total.unwrap()
    }

    /// Returns how many times the error was counted.
    pub(crate) fn error_count(&self, word: &str) -> usize {
        self.words.lock().iter().filter(|told| **told == word).count()
    }

    /// Returns the value of a series; 0 before its first sample.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        metric_value(&self.registry, series)
    }

    /// Waits until a series has this value: a row is seen a moment before its worker goes on to count it.
    pub(crate) async fn comes_to(&self, series: &str, value: f64) {
        eventually(series, async || self.metric(series) == value).await;
    }
}

/// Returns a recording of a run of the channel `orders`.
pub(crate) fn recording(text: &str) -> NewRunRecording {
    NewRunRecording {
        id: new_ordered_id().to_string(),
        run_id: "run".to_owned(),
        run_key: "key".to_owned(),
        channel_id: "orders-id".into(),
        channel: "orders".into(),
        workflow: None,
        source: "sync",
        outcome: "completed",
        recording: text.to_owned(),
    }
}

pub(crate) fn job(payload: Value) -> Job {
    Job {
        trace_id: new_ordered_id(),
        channel_id: Some("orders-id".into()),
        channel: "orders".into(),
        payload,
        metadata: Map::from_iter([("ip".to_owned(), json!("192.0.2.1"))]),
        bucket: Some(7),
        hold: Some(JobHold::new(())),
        attempt: None,
        trace_headers: Default::default(),
    }
}

/// A runner that follows the `do` of a payload and records its runs.
pub(crate) struct Script {
    pub(crate) runs: Mutex<Vec<Job>>,
    /// Gate of the payloads that say `wait`: one permit each.
    pub(crate) gate: Arc<Semaphore>,
    /// True while every channel is quarantined.
    pub(crate) quarantined: AtomicBool,
    /// True if every channel names `alerts` for its failures.
    pub(crate) tells: AtomicBool,
    /// True while every channel is paused.
    pub(crate) paused: AtomicBool,
    /// True while another process serves the channel `elsewhere`.
    pub(crate) serves_less: AtomicBool,
    /// Number of jobs that may begin.
    pub(crate) permits: AtomicUsize,
    /// The runs that failed for good, as they were reported.
    pub(crate) failures: Mutex<Vec<Uuid>>,
    /// Most jobs of one key that may run at once, and most of all.
    pub(crate) shares: Mutex<(Option<u64>, Option<u64>)>,
    /// The threads that run channels, the next one first.
    pub(crate) threads: Mutex<VecDeque<JobThread>>,
    /// The id that each run got, and the thread that it began on.
    pub(crate) places: Mutex<Vec<(Option<usize>, ThreadId)>>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            runs: Mutex::default(),
            gate: Arc::new(Semaphore::new(0)),
            quarantined: AtomicBool::new(false),
            tells: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            serves_less: AtomicBool::new(false),
            permits: AtomicUsize::new(usize::MAX),
            failures: Mutex::default(),
            shares: Mutex::default(),
            threads: Mutex::default(),
            places: Mutex::default(),
        }
    }
}

impl Script {
    pub(crate) fn runs_of(&self, id: Uuid) -> usize {
        self.runs.lock().iter().filter(|job| job.trace_id == id).count()
    }

    pub(crate) fn count(&self) -> usize {
        self.runs.lock().len()
    }

    pub(crate) fn open(&self) {
        self.gate.add_permits(100_000);
    }
}

impl Runner for Script {
    fn is_available(&self, channel: &str) -> bool {
        !self.quarantined.load(Ordering::Acquire) && self.serves(None, channel)
    }

    fn is_paused(&self, _: Option<&str>, _: &str) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    fn find_id(&self, channel: &str) -> Option<Arc<str>> {
        Some(format!("{channel}-id").into())
    }

    fn serves(&self, channel_id: Option<&str>, channel: &str) -> bool {
        let is_elsewhere = channel_id == Some("elsewhere") || channel == "elsewhere";
        !is_elsewhere || !self.serves_less.load(Ordering::Acquire)
    }

    fn serves_every_channel(&self) -> bool {
        !self.serves_less.load(Ordering::Acquire)
    }

    fn begins_unserved(&self, _: Option<Arc<str>>, _: Arc<str>) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }

    fn free_permits(&self, _: Option<&str>, _: &str) -> usize {
        self.permits.load(Ordering::Acquire)
    }

    fn shares(&self, channel_id: &str) -> Option<QueueShares> {
        let (per_key, total) = *self.shares.lock();
        Some(QueueShares { channel_id: channel_id.to_owned(), per_key, total })
    }

    fn workflow_of(&self, job: JobKey<'_>) -> Option<WorkflowVersion> {
        Some(WorkflowVersion { id: job.channel.into(), version: 7 })
    }

    fn note_failure(&self, _: Option<Arc<str>>, _: Arc<str>, run: Uuid) -> BoxFuture<'_, ()> {
        self.failures.lock().push(run);
        Box::pin(std::future::ready(()))
    }

    /// `alerts` names itself.
    fn on_failure(&self, _: Option<Arc<str>>, channel: Arc<str>) -> BoxFuture<'_, Option<Arc<str>>> {
        let is_named = self.tells.load(Ordering::Acquire) || &*channel == "alerts";
        Box::pin(std::future::ready(is_named.then(|| "alerts".into())))
    }

    fn next_thread(&self) -> Option<JobThread> {
        let mut threads = self.threads.lock();
        let next = threads.pop_front()?;
        threads.push_back(next.clone());
        Some(next)
    }

    fn has_thread(&self, id: usize) -> bool {
        self.threads.lock().iter().any(|thread| thread.id == id)
    }

    fn run(&self, job: Job, _: Duration, thread: Option<usize>) -> BoxFuture<'static, JobResult> {
        self.places.lock().push((thread, thread::current().id()));
        let copy = Job {
            channel_id: job.channel_id.clone(),
            channel: job.channel.clone(),
            payload: job.payload.clone(),
            metadata: job.metadata.clone(),
            hold: None,
            attempt: None,
            trace_headers: job.trace_headers.clone(),
            ..job
        };
        let earlier = {
            let mut runs = self.runs.lock();
            let earlier = runs.iter().filter(|run| run.payload == copy.payload).count();
            runs.push(copy);
            earlier
        };
        let gate = Arc::clone(&self.gate);
        let order = match (self.quarantined.load(Ordering::Acquire), self.paused.load(Ordering::Acquire)) {
            (true, _) => "be unavailable".to_owned(),
            (false, true) => "be paused".to_owned(),
            (false, false) => {
                let order = job.payload["do"].as_str().or_else(|| job.payload["data"]["then"].as_str());
                order.unwrap_or("well").to_owned()
            }
        };
        assert!(order != "panic at once", "planned");
        Box::pin(async move {
            let well = || JobOutcome::Completed { result: Some(json!({ "ran": job.payload }).to_string()) };
            let failed = || JobOutcome::Failed(JobFailure::transient("it failed"));
            let outcome = match order.as_str() {
                "wait" => {
                    gate.acquire().await.unwrap().forget();
                    well()
                }
                "wait, then fail for good" => {
                    gate.acquire().await.unwrap().forget();
                    JobOutcome::Failed(JobFailure::permanent("it is wrong"))
                }
                "wait, then be paused" => {
                    gate.acquire().await.unwrap().forget();
                    JobOutcome::Paused {
                        message: "it calls a paused channel".to_owned(),
                        channel_id: "bank-id".into(),
                    }
                }
                "fail" => failed(),
                "fail for good" => JobOutcome::Failed(JobFailure::permanent("it is wrong")),
                "be paused" => JobOutcome::Paused {
                    message: "it is paused".to_owned(),
                    channel_id: job.channel_id.unwrap_or_else(|| format!("{}-id", job.channel).into()),
                },
                "be unavailable" => JobOutcome::Unavailable { message: "it is quarantined".to_owned() },
                "linger" => return lingers(job, gate).await,
                "fail once" if earlier == 0 => failed(),
                "be busy" if earlier < 3 => JobOutcome::Busy(Box::new(job)),
                "stay busy" => JobOutcome::Busy(Box::new(job)),
                "panic" => panic!("planned"),
                "hang" => std::future::pending().await,
                "grow" => JobOutcome::TooLarge { message: "too large".to_owned() },
                _ => well(),
            };
            JobResult::bare(outcome, Duration::from_millis(3))
        })
    }
}

/// A run that continues after its caller is gone, until the gate opens.
async fn lingers(job: Job, gate: Arc<Semaphore>) -> JobResult {
    #[expect(clippy::disallowed_methods, reason = "a run that its caller cannot drop")]
    tokio::spawn(async move {
        gate.acquire().await.unwrap().forget();
        drop(job);
    });
    std::future::pending().await
}
