//! Tests of the jobs in virtual time, except the test of the schedule itself, which reads the wall clock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_rt::System;
use actix_supervision::universe::Universe;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use slog::{Discard, o};
use tokio::sync::Semaphore;
use tokio::time::{interval, timeout};

use super::job::Due;
use super::spec::JobError;
use super::*;

fn log() -> Logger {
    Logger::root(Discard, o!())
}

fn spec(
    every: u64,
    work: impl Fn() -> BoxFuture<'static, Result<JobPass, JobError>> + Send + Sync + 'static,
) -> JobSpec {
    JobSpec { name: "trace_cleanup", every: Duration::from_secs(every), work: Arc::new(work) }
}

async fn job(tree: &Tree, spec: JobSpec, metrics: &JobMetrics) -> Address<RecurringJob> {
    tree.add_group("housekeeping", GroupSpec::new()).await.unwrap();
    let job = spawn(tree, "housekeeping", Placement::Here, spec, metrics.clone(), log()).await.unwrap();
    tree.wait_until_running("housekeeping/trace_cleanup").await.unwrap();
    job
}

async fn wait_until(mut reached: impl FnMut() -> bool) {
    let wait = async {
        let mut looks = interval(Duration::from_millis(10));
        while !reached() {
            looks.tick().await;
        }
    };
    timeout(Duration::from_secs(60), wait).await.expect("the state is reached");
}

#[test]
fn job_runs_at_start_and_never_twice_concurrently() {
    Universe::new(1).run(async |tree| {
        let (runs, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (counted, closed) = (Arc::clone(&runs), Arc::clone(&gate));
        let work = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            let gate = Arc::clone(&closed);
            async move {
                gate.acquire().await?.forget();
                Ok(JobPass::Done)
            }
            .boxed()
        };
        let metrics = JobMetrics::default();
        let job = job(&tree, spec(3600, work), &metrics).await;
        wait_until(|| runs.load(Ordering::SeqCst) == 1).await;
        job.call(Due).await.unwrap();
        job.call(Due).await.unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 1, "the first one goes on");
        assert_eq!(metrics.values("trace_cleanup"), (0, 0));
        gate.add_permits(1);
        wait_until(|| metrics.values("trace_cleanup").0 > 0).await;
        job.call(Due).await.unwrap();
        wait_until(|| runs.load(Ordering::SeqCst) == 2).await;
    });
}

#[test]
fn failed_or_panicked_job_is_counted_and_rerun() {
    Universe::new(2).run(async |tree| {
        let outcomes = Mutex::new(vec!["well", "panic", "fail"]);
        let work = move || {
            let outcome = outcomes.lock().pop();
            async move {
                match outcome {
                    Some("fail") => Err("no".into()),
                    Some("panic") => panic!("planned"),
                    _ => Ok(JobPass::Done),
                }
            }
            .boxed()
        };
        let metrics = JobMetrics::default();
        let job = job(&tree, spec(3600, work), &metrics).await;
        wait_until(|| metrics.values("trace_cleanup") == (0, 1)).await;
        job.call(Due).await.unwrap();
        wait_until(|| metrics.values("trace_cleanup") == (0, 2)).await;
        job.call(Due).await.unwrap();
        wait_until(|| metrics.values("trace_cleanup").0 > 0).await;
        assert_eq!(job.vitals().restarts, 0);
    });
}

#[test]
fn run_that_another_process_does_is_no_success() {
    Universe::new(4).run(async |tree| {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let work = move || {
            let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            async move { Ok(if first { JobPass::Skipped } else { JobPass::Done }) }.boxed()
        };
        let metrics = JobMetrics::default();
        let job = job(&tree, spec(3600, work), &metrics).await;
        wait_until(|| runs.load(Ordering::SeqCst) == 1).await;
        assert_eq!(metrics.values("trace_cleanup"), (0, 0));
        job.call(Due).await.unwrap();
        wait_until(|| metrics.values("trace_cleanup").0 > 0).await;
    });
}

#[test]
fn a_schedule_that_falls_silent_is_started_again() {
    // In virtual time the wall clock stands still, and with it the library.
    Universe::new(3).run(async |tree| {
        let jobs = vec![spec(1, || async { Ok(JobPass::Done) }.boxed())];
        supervise(&tree, "housekeeping", Placement::Here, jobs, JobMetrics::default(), log()).await.unwrap();
        let restarts = || {
            let nodes = tree.snapshot().nodes;
            nodes.into_iter().find(|node| node.path == "housekeeping/scheduler").map(|node| node.restarts)
        };
        wait_until(|| restarts() > Some(0)).await;
    });
}

#[test]
fn the_schedule_tells_a_job_at_its_interval() {
    System::new().block_on(async {
        let tree = Tree::builder("test").build();
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let work = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(JobPass::Done) }.boxed()
        };
        supervise(&tree, "housekeeping", Placement::Here, vec![spec(1, work)], JobMetrics::default(), log())
            .await
            .unwrap();
        wait_until(|| runs.load(Ordering::SeqCst) >= 3).await;
        tree.shutdown(Duration::from_secs(10)).await;
    });
}
