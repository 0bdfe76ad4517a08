//! A task that does what its payload says, and reports its input.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{CompileCx, CompiledTask, ErrorCode, Function, TaskCx, TaskError, TaskOutcome};
use tokio::sync::Semaphore;

/// The reports of runs, and the means to release them.
#[derive(Clone)]
pub(crate) struct Witness {
    told: Arc<Mutex<Vec<Value>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

impl Witness {
    pub(crate) fn new() -> Self {
        Self {
            told: Arc::default(),
            running: Arc::default(),
            most: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
        }
    }

    /// Returns the metadata of every run that began, in order.
    pub(crate) fn reported_runs(&self) -> Vec<Value> {
        self.told.lock().clone()
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// Returns the largest number of runs at the same time.
    pub(crate) fn max_concurrent(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// Lets so many runs go that hold.
    pub(crate) fn release(&self, runs: usize) {
        self.gate.add_permits(runs);
    }
}

/// A run that is under way; it is over, or was dropped, when this is dropped.
struct Present(Arc<AtomicUsize>);

impl Drop for Present {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The task: does what the payload says under `do`.
pub(crate) struct WitnessFunction(pub(crate) Witness);

impl Function for WitnessFunction {
    fn entry(&self) -> &'static FunctionEntry {
        static ENTRY: FunctionEntry = FunctionEntry::plugin("act", "Does as the payload says");
        &ENTRY
    }

    fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(Self(self.0.clone())))
    }
}

impl CompiledTask for WitnessFunction {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let witness = &self.0;
            let running = witness.running.fetch_add(1, Ordering::SeqCst) + 1;
            witness.most.fetch_max(running, Ordering::SeqCst);
            let _present = Present(Arc::clone(&witness.running));
            witness.told.lock().push(Value::Object(cx.message().metadata.clone()));
            match cx.message().payload["do"].as_str() {
                Some("hold") => witness.gate.acquire().await.unwrap().forget(),
                Some("hold, then fail") => {
                    witness.gate.acquire().await.unwrap().forget();
                    return Err(TaskError::new(ErrorCode::Function, "it was told to fail"));
                }
                Some("fail") => return Err(TaskError::new(ErrorCode::Function, "it was told to fail")),
                Some("panic") => panic!("it was told to panic"),
                _ => {}
            }
            Ok(TaskOutcome::Success)
        })
    }
}
