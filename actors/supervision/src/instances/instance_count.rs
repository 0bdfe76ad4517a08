//! The number of instances and runners alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the instances and runners of a tree that are alive, for tests that must leave nothing behind.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstanceCount {
    instances: Arc<AtomicUsize>,
    runners: Arc<AtomicUsize>,
}

impl InstanceCount {
    pub(crate) fn instance(&self) -> InstanceCountGuard {
        InstanceCountGuard::new(&self.instances)
    }

    pub(crate) fn runner(&self) -> InstanceCountGuard {
        InstanceCountGuard::new(&self.runners)
    }

    /// Returns the number of instances and the number of runners alive.
    #[cfg(feature = "universe")]
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.instances.load(Ordering::Acquire), self.runners.load(Ordering::Acquire))
    }
}

/// Counts one instance or runner until it is dropped.
#[derive(Debug)]
pub(crate) struct InstanceCountGuard(Arc<AtomicUsize>);

impl InstanceCountGuard {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for InstanceCountGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
