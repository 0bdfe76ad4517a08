//! Components: compiled once, tried, and called many times.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use wasmtime::component::types::ComponentFunc;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, Type};
use wasmtime::{Store, Trap};

use super::memory_bound::{MemoryBound, OverMemory};
use super::{PluginRuntime, RuntimeShared};
use crate::component_digest;

/// The interface of the functions, as components name it.
const INTERFACE: &str = "svc:plugin/functions@1.0.0";
/// The function that is called.
const INVOKE: &str = "invoke";

/// The reason for which a component cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComponentError {
    /// It has more bytes than a component may have.
    #[error("the component has {0} bytes; at most {1} (`plugins.max_component_bytes`)")]
    TooLarge(u64, u64),
    /// The bytes are no component, or it uses what this runtime does not have.
    #[error("the component does not compile: {0}")]
    Malformed(String),
    /// The component needs something from outside.
    #[error(
        "the component imports \"{0}\"; a plugin imports nothing: build it without WASI (of JavaScript with all \
         features disabled, of Python with `--stub-wasi`)"
    )]
    Imports(String),
    /// The component does not export the interface.
    #[error("the component does not export \"{0}\"; build it for the world `plugin` of {world}", world = crate::ABI)]
    Missing(&'static str),
    /// The function has another type.
    #[error("`invoke` of the component has another type than in {world}", world = crate::ABI)]
    OtherType,
    /// An instance of the component needs too much, or its start fails.
    #[error("an instance of the component cannot be made: {0}")]
    NotInstantiable(String),
}

/// A component that is ready to be called.
#[derive(Clone)]
pub struct CompiledComponent {
    pub(crate) instance: InstancePre<CallState>,
    pub(crate) invoke: ComponentExportIndex,
    digest: Arc<str>,
}

/// The state of the store of one call.
pub(crate) struct CallState {
    pub(crate) memory: MemoryBound,
}

impl CompiledComponent {
    pub(super) fn compile(shared: &RuntimeShared, bytes: &[u8]) -> Result<Self, ComponentError> {
        let (length, limit) = (bytes.len() as u64, shared.limits.max_component_bytes);
        if length > limit {
            return Err(ComponentError::TooLarge(length, limit));
        }
        let malformed = |error: wasmtime::Error| ComponentError::Malformed(format!("{error:#}"));
        let component = Component::from_binary(&shared.engine, bytes).map_err(malformed)?;
        let component_type = component.component_type();
        if let Some((name, _)) = component_type.imports(&shared.engine).next() {
            return Err(ComponentError::Imports(name.to_owned()));
        }
        let interface =
            component.get_export_index(None, INTERFACE).ok_or(ComponentError::Missing(INTERFACE))?;
        let invoke = component.get_export_index(Some(&interface), INVOKE);
        let invoke = invoke.ok_or(ComponentError::Missing(INVOKE))?;
        let linker = Linker::new(&shared.engine);
        let instance = linker.instantiate_pre(&component).map_err(malformed)?;
        let component = Self { instance, invoke, digest: component_digest(bytes).into() };
        component.try_instance(shared)?;
        Ok(component)
    }

    /// Returns the digest of its bytes.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Makes an instance within the bounds of the service, and checks the type of the function.
    fn try_instance(&self, shared: &RuntimeShared) -> Result<(), ComponentError> {
        let mut store = self.store(shared, shared.limits.memory_bytes);
        let _ticked = shared.ticker.enter();
        let ticks = u64::try_from(shared.limits.timeout.as_millis()).unwrap_or(u64::MAX);
        store.set_epoch_deadline(ticks.max(1));
        let failed = |error: wasmtime::Error| {
            let over = error.downcast_ref::<OverMemory>().map(ToString::to_string);
            let trap = || error.downcast_ref::<Trap>().map(ToString::to_string);
            ComponentError::NotInstantiable(over.or_else(trap).unwrap_or_else(|| format!("{error:#}")))
        };
        let instance = self.instance.instantiate(&mut store).map_err(failed)?;
        let function = instance.get_func(&mut store, self.invoke).ok_or(ComponentError::OtherType)?;
        if is_invoke(&function.ty(&store)) { Ok(()) } else { Err(ComponentError::OtherType) }
    }

    /// Makes the store of a call that may have so many bytes of memory.
    pub(crate) fn store(&self, shared: &RuntimeShared, memory: u64) -> Store<CallState> {
        let mut store = Store::new(&shared.engine, CallState { memory: MemoryBound::new(memory) });
        store.limiter(|state| &mut state.memory);
        store
    }
}

/// Returns true for `func(string, string) -> result<string, error>`.
fn is_invoke(function: &ComponentFunc) -> bool {
    let mut parameters = function.params().map(|(_, parameter)| parameter);
    let takes_texts = function.params().len() == 2 && parameters.all(|parameter| parameter == Type::String);
    let mut results = function.results();
    let (Some(Type::Result(result)), None) = (results.next(), results.next()) else { return false };
    let Some(Type::Record(error)) = result.err() else { return false };
    let members = error.fields().map(|field| match field.ty {
        Type::String => (field.name, "string"),
        Type::Enum(_) => (field.name, "enum"),
        _ => (field.name, "other"),
    });
    let expected = [("code", "string"), ("class", "enum"), ("message", "string")];
    takes_texts && !function.async_() && result.ok() == Some(Type::String) && members.eq(expected)
}

/// The place of a component that is still being compiled, or that could not be.
#[derive(Default)]
pub struct ComponentSlot(OnceLock<Result<CompiledComponent, String>>);

impl ComponentSlot {
    /// Makes the slot of a component that is being compiled.
    pub fn compiling() -> Arc<Self> {
        Arc::default()
    }

    /// Makes the slot of a component that is ready.
    pub fn ready(component: CompiledComponent) -> Arc<Self> {
        let slot = Self::default();
        slot.fill(Ok(component));
        Arc::new(slot)
    }

    /// Puts in the component, or the reason for which there is none. The first outcome stays.
    pub fn fill(&self, outcome: Result<CompiledComponent, String>) {
        // A second compilation of the same bytes has the same outcome.
        let _ = self.0.set(outcome);
    }

    /// Compiles the component into the slot. Blocks for seconds.
    pub fn compile(&self, runtime: &PluginRuntime, component: &[u8]) {
        self.fill_by(|| runtime.compile(component).map_err(|error| error.to_string()));
    }

    /// Puts in what `compile` returns. A panic of it is an outcome too: without one the calls would wait for ever.
    pub fn fill_by(&self, compile: impl FnOnce() -> Result<CompiledComponent, String>) {
        let outcome = catch_unwind(AssertUnwindSafe(compile));
        self.fill(outcome.unwrap_or_else(|_| Err("the compiler of components panicked".to_owned())));
    }

    /// Returns the outcome; `None` while the component is being compiled.
    pub fn outcome(&self) -> Option<&Result<CompiledComponent, String>> {
        self.0.get()
    }
}
