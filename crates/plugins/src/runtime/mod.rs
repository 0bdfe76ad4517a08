//! Compiles components and calls them.
//!
//! A component is compiled once, on a thread of the caller's choice; it takes seconds. A call runs on the thread of its
//! run, in a store of its own that is dropped with it. It yields at every tick of one millisecond, so that the other
//! runs of the thread go on, and calls that compute for long take turns ([`turns`]).
//!
//! There is no bound of instructions: the tick bounds the time, which is what neighbours notice, and counting would
//! slow every call down.

mod call;
mod component;
mod limits;
mod memory_bound;
mod pool;
mod ticker;
mod turns;

pub use call::{PluginCallError, PluginCallObserver, plugin_functions};
pub use component::{CompiledComponent, ComponentError, ComponentSlot};
pub use limits::PluginLimits;

use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::Engine;

use self::call::Unobserved;
use self::ticker::Ticker;
use self::turns::Turns;

/// The runtime could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the runtime of plugins cannot start: {0}")]
pub struct PluginRuntimeError(String);

/// The runtime of all plugins of a process.
#[derive(Clone)]
pub struct PluginRuntime {
    shared: Arc<RuntimeShared>,
}

/// The parts that all calls share.
pub(crate) struct RuntimeShared {
    pub(crate) engine: Engine,
    pub(crate) limits: PluginLimits,
    pub(crate) ticker: Ticker,
    pub(crate) turns: Turns,
    /// One permit for each instance that may live at once.
    pub(crate) instances: Semaphore,
    pub(crate) observer: Arc<dyn PluginCallObserver>,
}

impl PluginRuntime {
    /// Starts the runtime, with a thread that ticks while calls run.
    ///
    /// # Errors
    /// [`PluginRuntimeError`] if this machine cannot run compiled code, or has no thread left.
    pub fn start(limits: PluginLimits) -> Result<Self, PluginRuntimeError> {
        Self::start_observed(limits, Arc::new(Unobserved))
    }

    /// Starts the runtime with an observer of its calls.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_observed(
        limits: PluginLimits,
        observer: Arc<dyn PluginCallObserver>,
    ) -> Result<Self, PluginRuntimeError> {
        let engine = pool::start_engine(&limits).map_err(|error| PluginRuntimeError(format!("{error:#}")))?;
        let ticker = Ticker::start(engine.clone()).map_err(|error| PluginRuntimeError(error.to_string()))?;
        let instances = Semaphore::new(limits.max_instances as usize);
        let shared = RuntimeShared { engine, limits, ticker, turns: Turns::new(), instances, observer };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the bounds of all plugins.
    pub fn limits(&self) -> &PluginLimits {
        &self.shared.limits
    }

    /// Compiles a component and tries an instance of it. Blocks for seconds.
    ///
    /// # Errors
    /// [`ComponentError`] for bytes that are no component of the world, or one that is over a bound.
    pub fn compile(&self, component: &[u8]) -> Result<CompiledComponent, ComponentError> {
        CompiledComponent::compile(&self.shared, component)
    }
}
