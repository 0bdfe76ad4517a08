//! The groups whose `finally` a run owes.

use std::sync::Arc;

use super::Run;
use crate::workflow::program::Program;

/// The groups of a run that have begun, and whose `finally` has not.
#[derive(Default)]
pub(super) struct OpenGroups<'e> {
    /// Their `finally`, that of the innermost group last.
    pub(super) finally: Vec<Arc<Program>>,
    /// Views of steps that were dropped, with open groups of their own. They are inside all of the groups.
    pub(super) views: Vec<CutView<'e>>,
}

/// A view that was cut short.
pub(super) struct CutView<'e> {
    pub(super) run: Run<'e>,
    /// The index of its element; `None` for a member of a parallel group.
    pub(super) index: Option<usize>,
}
