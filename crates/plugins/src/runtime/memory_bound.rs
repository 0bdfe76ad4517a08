//! The bound of the memory of one call.

use wasmtime::ResourceLimiter;

/// Instances, memories and tables of one store, beyond what an interpreter needs.
const MAX_PARTS: usize = 1000;
/// Elements of all tables of a store.
const MAX_ELEMENTS: usize = 1 << 18;

/// The call needs more memory than it may have.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("needs more than its {0} bytes of memory")]
pub(crate) struct OverMemory(pub(crate) usize);

/// Counts the memory of one call over all memories of its component.
pub(crate) struct MemoryBound {
    limit: usize,
    bytes: usize,
    elements: usize,
}

impl MemoryBound {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit: usize::try_from(limit).unwrap_or(usize::MAX), bytes: 0, elements: 0 }
    }
}

impl ResourceLimiter for MemoryBound {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = self.bytes.saturating_add(desired.saturating_sub(current));
        if bytes > self.limit {
            return Err(wasmtime::Error::new(OverMemory(self.limit)));
        }
        self.bytes = bytes;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let elements = self.elements.saturating_add(desired.saturating_sub(current));
        if elements > MAX_ELEMENTS {
            return Err(wasmtime::Error::new(OverMemory(self.limit)));
        }
        self.elements = elements;
        Ok(true)
    }

    fn instances(&self) -> usize {
        MAX_PARTS
    }

    fn tables(&self) -> usize {
        MAX_PARTS
    }

    fn memories(&self) -> usize {
        MAX_PARTS
    }
}
