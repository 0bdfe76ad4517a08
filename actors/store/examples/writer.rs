//! Measures the traces per second that the writer accepts from callers that each wait for their commit.
//!
//! `cargo run --release --example writer -p svc-store -- [URL] [callers] [seconds]`
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::sync::Arc;
use std::time::Duration;

use actix_rt::System;
use actix_supervision::{Placement, Tree};
use futures_util::future::join_all;
use slog::{Discard, Logger, o};
use svc_store::{NewTrace, Store, StoreConfig, TraceEnd, TraceMode, TraceRepository, TraceStatus};
use tokio::runtime::Builder;
use tokio::time::Instant;
use uuid::Uuid;

/// Threads of the callers: as many as the service has for requests on a small machine.
const THREADS: usize = 2;

#[derive(Clone, Copy)]
enum Load {
    Insert,
    InsertAndFinish,
}

async fn caller(traces: TraceRepository, load: Load, until: Instant) -> Vec<Duration> {
    let (channel, id): (Arc<str>, Arc<str>) = ("orders".into(), "orders-id".into());
    let body = format!(r#"{{"data":{{"text":"{}"}},"metadata":{{}}}}"#, "x".repeat(300));
    let mut took = Vec::new();
    while Instant::now() < until {
        let started_at = Instant::now();
        let (mode, status) = match load {
            Load::Insert => (TraceMode::Sync, TraceStatus::Completed),
            Load::InsertAndFinish => (TraceMode::Async, TraceStatus::Pending),
        };
        let mut trace = NewTrace::new(Uuid::now_v7(), Arc::clone(&channel), mode, status);
        let id_of_trace = trace.id;
        trace.channel_id = Some(Arc::clone(&id));
        trace.input_json = Some(body.clone());
        trace.result_json = matches!(load, Load::Insert).then(|| body.clone());
        traces.insert(trace).await.unwrap();
        if let Load::InsertAndFinish = load {
            let end = TraceEnd {
                id: id_of_trace,
                status: TraceStatus::Completed,
                result_json: Some(body.clone()),
                error_message: None,
                error_code: None,
                error_group: None,
                duration_ms: Some(1.5),
                task_trace_json: None,
                workflow: None,
                ownership: None,
            };
            assert!(traces.finish(end).await.unwrap());
        }
        took.push(started_at.elapsed());
    }
    took
}

/// Returns the processor time of this process so far, if the system reports it.
fn cpu() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

async fn measure(name: &str, store: &Store, load: Load, callers: usize, seconds: u64) {
    let (begun, spent) = (Instant::now(), cpu());
    let until = begun + Duration::from_secs(seconds);
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let traces = store.traces();
            let (done, ended) = tokio::sync::oneshot::channel();
            std::thread::spawn(move || {
                let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                let callers = (0..callers / THREADS).map(|_| caller(traces.clone(), load, until));
                // Each caller is a task of its own, so that waking one does not poll the others.
                let took = tokio::task::LocalSet::new()
                    .block_on(&runtime, async { join_all(callers.map(tokio::task::spawn_local)).await });
                done.send(took.into_iter().flat_map(Result::unwrap).collect::<Vec<_>>()).unwrap();
            });
            ended
        })
        .collect();
    let mut took: Vec<Duration> = join_all(threads).await.into_iter().flat_map(Result::unwrap).collect();
    let elapsed = begun.elapsed().as_secs_f64();
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    let busy = cpu().zip(spent).map_or(f64::NAN, |(now, then)| (now - then) / elapsed);
    println!(
        "{name}: {:.0}/s, p50 {:?}, p99 {:?}, max {:?}, {busy:.2} cores",
        took.len() as f64 / elapsed,
        at(0.5),
        at(0.99),
        at(1.0),
    );
}

fn main() {
    let mut args = std::env::args().skip(1);
    let directory = tempfile::tempdir().unwrap();
    let url = args.next().unwrap_or_else(|| format!("sqlite:{}", directory.path().join("svc.db").display()));
    let callers = args.next().map_or(50, |text| text.parse().unwrap());
    let seconds = args.next().map_or(5, |text| text.parse().unwrap());
    let io = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    System::new().block_on(async {
        let config = StoreConfig { url, ..StoreConfig::default() };
        let log = Logger::root(Discard, o!());
        let opened = Store::open(&config, io.handle().clone(), log).await.unwrap();
        let tree = Tree::builder("bench").build();
        let store = Store::supervise(opened, &tree, "store", Placement::Here).await.unwrap();
        measure("insert", &store, Load::Insert, callers, seconds).await;
        measure("insert and finish", &store, Load::InsertAndFinish, callers, seconds).await;
    });
}
