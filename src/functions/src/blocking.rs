//! Work that takes a processor for long, away from the threads that serve.

use std::sync::Arc;
use std::thread;

use svc_engine::{ErrorCode, TaskError};
use tokio::sync::Semaphore;

/// Runs long computations on the blocking threads of the current runtime: half as many at a time as there are processors,
/// so that serving goes on beside them. The bound is one for all threads of the service.
///
/// A run that is cancelled while it waits for its turn computes nothing. One that has its turn is computed to its end, which
/// the bounds of what is computed keep near.
#[derive(Clone)]
pub(crate) struct BlockingPool(Arc<Semaphore>);

impl BlockingPool {
    pub(crate) fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new(processors.div_ceil(2))))
    }

    /// The result of `work`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TaskError> {
        let lost = || TaskError::new(ErrorCode::Function, "the computation was lost");
        let turn = Arc::clone(&self.0).acquire_owned().await.map_err(|_| lost())?;
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| lost())
    }
}
