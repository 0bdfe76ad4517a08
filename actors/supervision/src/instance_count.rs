//! The number of instances and runners alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What of a tree is alive, for tests that must leave nothing behind.
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

    /// Instances and runners alive.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.instances.load(Ordering::Acquire), self.runners.load(Ordering::Acquire))
    }
}

/// One living thing.
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
