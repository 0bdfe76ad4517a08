//! The engine of wasmtime and its pool of instances.

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::limits::PluginLimits;

/// Core instances of one component: an interpreter with its libraries has dozens.
const CORE_INSTANCES: u32 = 128;
/// Memories and tables of one component.
const MEMORIES: u32 = 4;
const TABLES: u32 = 16;
/// Elements of a table: the functions that an interpreter calls by their number.
const TABLE_ELEMENTS: usize = 1 << 17;
/// Bytes of the state of a core instance or of a component.
const INSTANCE_BYTES: usize = 4 << 20;
/// Bytes of a memory, of a table and of a stack that stay with their slot: a call that touches no more than these needs
/// no page of the system.
const MEMORY_KEPT: usize = 1 << 20;
const TABLE_KEPT: usize = 64 << 10;
/// Bytes of the stack of compiled code, and of the whole stack of a call.
const WASM_STACK: usize = 1 << 20;
const CALL_STACK: usize = 2 << 20;

/// Starts the engine with a pool of instances, or without one if the address space for it cannot be reserved.
pub(super) fn start_engine(limits: &PluginLimits) -> wasmtime::Result<Engine> {
    let pooled = InstanceAllocationStrategy::Pooling(pool(limits));
    Engine::new(&config(pooled)).or_else(|_| Engine::new(&config(InstanceAllocationStrategy::OnDemand)))
}

fn config(allocation: InstanceAllocationStrategy) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(CALL_STACK)
        // The same input has the same result on every machine.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .allocation_strategy(allocation);
    config
}

fn pool(limits: &PluginLimits) -> PoolingAllocationConfig {
    let instances = limits.max_instances;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_stacks(instances)
        .total_core_instances(instances.saturating_mul(CORE_INSTANCES))
        .total_memories(instances.saturating_mul(2))
        .total_tables(instances.saturating_mul(4))
        .max_component_instance_size(INSTANCE_BYTES)
        .max_core_instance_size(INSTANCE_BYTES)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(MEMORY_KEPT)
        .table_keep_resident(TABLE_KEPT);
    pool
}
