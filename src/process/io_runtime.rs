//! The runtime that drives connections, and the actor threads, over it or with a runtime of their own.

use std::io;
use std::sync::Arc;

use actix_rt::{Arbiter, System};
use actix_supervision::Placement;
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::ServiceStartError;

/// One multi-thread runtime, and actor threads. A connection's driver task ends with the runtime that opened
/// it, so every actor that owns one runs on one of these threads.
#[derive(Debug)]
pub(crate) struct IoRuntime {
    handle: Handle,
    /// `Some` until dropped.
    runtime: Option<Arc<Runtime>>,
    arbiters: Mutex<Vec<Arbiter>>,
}

impl IoRuntime {
    pub(crate) fn start() -> Result<Self, ServiceStartError> {
        let runtime = Builder::new_multi_thread()
            .thread_name("svc-io")
            .enable_all()
            .build()
            .map_err(ServiceStartError::system("cannot start the i/o runtime"))?;
        let handle = runtime.handle().clone();
        Ok(Self { handle, runtime: Some(Arc::new(runtime)), arbiters: Mutex::default() })
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Starts an actor thread over the shared runtime.
    pub(crate) fn start_arbiter(&self) -> Result<Placement, ServiceStartError> {
        let runtime = self.runtime.clone();
        self.place_arbiter(|| {
            Arbiter::try_with_tokio_rt(move || runtime.ok_or_else(|| io::Error::other("it has ended")))
        })
    }

    /// Starts an actor thread that drives the connections of its actors itself. A response of a peer wakes
    /// that thread and then the caller; over the shared runtime it would wake a thread of the runtime first.
    pub(crate) fn start_driving_arbiter(&self) -> Result<Placement, ServiceStartError> {
        self.place_arbiter(Arbiter::try_new)
    }

    fn place_arbiter(
        &self,
        arbiter: impl FnOnce() -> io::Result<Arbiter>,
    ) -> Result<Placement, ServiceStartError> {
        if System::try_current().is_none() {
            return Err(ServiceStartError::Tree(
                "the service must be started within an actix system".to_owned(),
            ));
        }
        let arbiter = arbiter().map_err(ServiceStartError::system("cannot start an actor thread"))?;
        let handle = arbiter.handle();
        self.lock().push(arbiter);
        Ok(Placement::On(handle))
    }

    /// Ends the actor threads.
    pub(crate) fn stop(&self) {
        for arbiter in self.lock().drain(..) {
            arbiter.stop();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arbiter>> {
        self.arbiters.lock()
    }
}

impl Drop for IoRuntime {
    /// Waits for nothing: a service is usually dropped in code that must not block. While an actor thread
    /// still runs, the runtime ends with that thread, which may block.
    fn drop(&mut self) {
        self.stop();
        if let Some(runtime) = self.runtime.take().and_then(Arc::into_inner) {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_runtime_drops_inside_an_async_context() {
        System::new().block_on(async {
            for threads in [0, 1, 2].into_iter().cycle().take(60) {
                let io = IoRuntime::start().unwrap();
                for _ in 0..threads {
                    io.start_arbiter().unwrap();
                }
                io.stop();
                drop(io);
            }
        });
    }
}
