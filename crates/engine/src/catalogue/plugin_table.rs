//! The functions of plugins: replaced as a whole while the engine serves.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::entry::FunctionEntry;
use crate::function::Function;

/// The functions of plugins by name, shared by all engines that were made of one.
#[derive(Clone, Default)]
pub(crate) struct PluginTable(Arc<ArcSwap<BTreeMap<&'static str, Arc<dyn Function>>>>);

impl PluginTable {
    /// Puts these functions in the place of the earlier ones.
    pub(crate) fn replace(&self, functions: impl IntoIterator<Item = Arc<dyn Function>>) {
        let functions = functions.into_iter().map(|function| (function.entry().name, function));
        self.0.store(Arc::new(functions.collect()));
    }

    /// Returns the function of a name.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<dyn Function>> {
        self.0.load().get(name).cloned()
    }

    /// Lists the entries of now, sorted by name.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &'static FunctionEntry> + use<> {
        let entries: Vec<_> = self.0.load().values().map(|function| function.entry()).collect();
        entries.into_iter()
    }
}

impl fmt::Debug for PluginTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries().map(|entry| entry.name)).finish()
    }
}
