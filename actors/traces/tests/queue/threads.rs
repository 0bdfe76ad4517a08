//! The threads that jobs run on.

use std::thread::{self, ThreadId};
use std::time::Duration;

use actix_rt::Arbiter;
use actix_supervision::Placement;
use serde_json::json;
use svc_testkit::state::wait_until;
use svc_traces::JobThread;
use tokio::sync::oneshot;

use crate::kit::{Process, TracesFixture, run};

/// A thread that runs channels.
struct ChannelThread {
    arbiter: Arbiter,
    thread: ThreadId,
}

impl ChannelThread {
    #[expect(
        clippy::disallowed_methods,
        reason = "a thread that takes its tasks along when it stops is the case"
    )]
    async fn start() -> Self {
        let arbiter = Arbiter::new();
        let (sender, thread) = oneshot::channel();
        arbiter.spawn_fn(move || sender.send(thread::current().id()).unwrap());
        Self { arbiter, thread: thread.await.unwrap() }
    }

    fn end(self) {
        self.arbiter.stop();
        self.arbiter.join().unwrap();
    }
}

/// Starts a process with these threads, numbered from 0, and without retries of dead letters.
async fn start(world: &TracesFixture, threads: &[ChannelThread]) -> Process {
    let process = world.boot(|settings| settings.dead_letters.retry_enabled = false).await;
    let places = threads.iter().enumerate();
    process
        .runner
        .threads
        .lock()
        .extend(places.map(|(id, thread)| JobThread { id, at: Placement::On(thread.arbiter.handle()) }));
    process.begin().await;
    process
}

#[test]
fn each_worker_runs_jobs_on_one_channel_thread() {
    run(async |world| {
        let threads = [ChannelThread::start().await, ChannelThread::start().await];
        let process = start(&world, &threads).await;
        for n in 0..2 {
            process.submit(json!({ "do": "wait", "n": n })).await.unwrap();
        }
        wait_until(async || process.runner.count() == 2).await;
        process.runner.open();
        for n in 0..20 {
            process.submit(json!({ "n": n })).await.unwrap();
        }
        wait_until(async || process.count("completed").await == 22).await;
        let places = process.runner.places.lock().clone();
        assert_ne!(places[0], places[1], "the workers share no thread");
        assert!(places.iter().all(|(id, at)| id.is_some_and(|id| threads[id].thread == *at)), "{places:?}");
    });
}

#[test]
fn job_fails_with_its_thread_next_runs_elsewhere() {
    run(async |world| {
        let thread = ChannelThread::start().await;
        let ended = thread.thread;
        let process = start(&world, std::slice::from_ref(&thread)).await;
        let id = process.submit(json!({ "do": "hang" })).await.unwrap();
        wait_until(async || process.runner.count() == 1).await;
        process.runner.threads.lock().clear();
        thread.end();
        let row = process.ends(id, "failed").await;
        let message = row.row.error_message.unwrap();
        assert_eq!(message, "the run was cut off by the end of its thread");
        assert_eq!(process.letters().await.len(), 1);
        let id = process.submit(json!({})).await.unwrap();
        process.ends(id, "completed").await;
        let places = process.runner.places.lock().clone();
        assert_eq!((places[0], places[1].0), ((Some(0), ended), None));
        process.comes_to("trace_workers_active", 0.0).await;
    });
}

#[test]
fn outcome_of_ended_thread_is_written_elsewhere() {
    run(async |world| {
        let thread = ChannelThread::start().await;
        let process = start(&world, std::slice::from_ref(&thread)).await;
        let id = process.submit(json!({ "do": "wait" })).await.unwrap();
        process.ends(id, "running").await;
        let lock = world.lock();
        process.runner.open();
        wait_until(async || process.metric("trace_workers_active") == 0.0).await;
        process.runner.threads.lock().clear();
        thread.end();
        drop(lock);
        process.ends(id, "completed").await;
        assert_eq!((process.runner.count(), process.letters().await.len()), (1, 0));
    });
}

#[test]
fn paused_job_of_ended_thread_waits_in_database() {
    run(async |world| {
        let thread = ChannelThread::start().await;
        let process = start(&world, std::slice::from_ref(&thread)).await;
        let id = process.submit(json!({ "do": "wait, then be paused" })).await.unwrap();
        process.ends(id, "running").await;
        let lock = world.lock();
        process.runner.open();
        wait_until(async || process.metric("trace_workers_active") == 0.0).await;
        process.runner.threads.lock().clear();
        thread.end();
        drop(lock);
        process.ends(id, "waiting").await;
        assert!(process.letters().await.is_empty());
    });
}

#[test]
fn thread_without_channels_runs_no_further_job() {
    run(async |world| {
        let thread = ChannelThread::start().await;
        let process = start(&world, std::slice::from_ref(&thread)).await;
        let ids = [json!({ "do": "wait", "n": 0 }), json!({ "do": "wait", "n": 1 })];
        for order in ids {
            process.submit(order).await.unwrap();
        }
        wait_until(async || process.runner.count() == 2).await;
        process.runner.threads.lock().clear();
        process.runner.open();
        for n in 0..5 {
            let id = process.submit(json!({ "n": n })).await.unwrap();
            process.ends(id, "completed").await;
        }
        let places = process.runner.places.lock().clone();
        let ids: Vec<_> = places.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [Some(0), Some(0), None, None, None, None, None]);
    });
}

#[test]
fn job_cut_by_thread_shutdown_stays_in_table() {
    run(async |world| {
        let thread = ChannelThread::start().await;
        let process = start(&world, std::slice::from_ref(&thread)).await;
        let id = process.submit(json!({ "do": "hang" })).await.unwrap();
        process.ends(id, "running").await;
        process.traces.stop(Duration::from_millis(10)).await;
        assert_eq!(process.trace(id).await.row.status, "running");
        assert!(process.letters().await.is_empty());
        assert_eq!(process.metric("trace_workers_active"), 0.0, "no part of it runs any more");
    });
}
