//! CPU-bound work on blocking threads, away from the threads that serve requests.

use std::sync::Arc;
use std::thread;

use svc_engine::{ErrorCode, TaskError};
use tokio::sync::Semaphore;

/// Runs long computations on the blocking threads of the current runtime. At most half as many run at a time
/// as there are processors, so that serving continues. All threads of the service share this limit.
///
/// A run that is cancelled while it waits for a permit computes nothing. A started computation runs to its
/// end, which the limits of its inputs keep short.
#[derive(Clone)]
pub(crate) struct BlockingPool(Arc<Semaphore>);

impl BlockingPool {
    pub(crate) fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new(processors.div_ceil(2))))
    }

    /// Runs `work` and returns its result.
    ///
    /// # Errors
    /// [`ErrorCode::Function`] if `work` panics or the runtime shuts down.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TaskError> {
        let lost_error = || TaskError::new(ErrorCode::Function, "the computation was lost");
        let turn = Arc::clone(&self.0).acquire_owned().await.map_err(|_| lost_error())?;
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| lost_error())
    }
}
