//! The message as expressions see it: arena copies of what they read, kept up to date by writes.
//!
//! Copying the message into the arena for every expression would cost more than evaluating it. A scope copies
//! once what the expressions of a workflow can read of a root, when the first of them runs; a write then
//! replaces only the containers along its path. A scope owns nothing: it borrows the arena and is rebuilt
//! after a reset.

mod copy;
mod large_integers;

use std::cell::RefCell;

use datalogic_rs::DataValue;
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::bumpalo::collections::Vec as BumpVec;
use serde_json::Value;

pub(crate) use self::copy::{copy, copy_part};
use self::copy::{object, replace_part};
pub(crate) use self::large_integers::LargeIntegers;
use crate::message::Message;
use crate::path::{Path, Root};
use crate::reads::Reads;

/// An arena larger than this is replaced between two tasks, so that a long loop does not grow without end.
const FULL_BYTES: usize = 32 << 20;
/// An arena larger than this is given back to the allocator instead of being kept for the next run.
const KEEP_BYTES: usize = 1 << 20;
/// Arenas kept per thread; more runs than this at once allocate their own.
const KEEP_ARENAS: usize = 16;

thread_local! {
    static ARENAS: RefCell<Vec<Bump>> = const { RefCell::new(Vec::new()) };
}

/// An arena taken from this thread's pool; it goes back, emptied, when dropped.
pub(crate) struct Arena {
    bump: Bump,
    large: LargeIntegers,
    /// The size from which on it counts as full.
    full_bytes: usize,
}

impl Arena {
    /// Takes an arena from the pool of this thread.
    pub(crate) fn lease() -> Self {
        Self::lease_share(1)
    }

    /// Takes one of `count` arenas that are in use at once, and are full as early as one alone.
    pub(crate) fn lease_share(count: usize) -> Self {
        let bump = ARENAS.with_borrow_mut(Vec::pop).unwrap_or_default();
        Self { bump, large: LargeIntegers::default(), full_bytes: FULL_BYTES / count.max(1) }
    }

    fn is_full(&self) -> bool {
        self.bump.allocated_bytes() > self.full_bytes
    }

    pub(crate) fn bump(&self) -> &Bump {
        &self.bump
    }

    /// Returns the whole numbers that its values hold as the nearest doubles.
    pub(crate) fn large_integers(&self) -> &LargeIntegers {
        &self.large
    }

    /// Starts over with an empty arena.
    pub(crate) fn renew(&mut self) {
        self.bump = Bump::new();
        self.large = LargeIntegers::default();
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let mut bump = std::mem::take(&mut self.bump);
        if bump.allocated_bytes() <= KEEP_BYTES {
            bump.reset();
            ARENAS.with_borrow_mut(|pool| {
                if pool.len() < KEEP_ARENAS {
                    pool.push(bump);
                }
            });
        }
    }
}

/// Roots of a message that tasks write.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WrittenRoots {
    data: bool,
    metadata: bool,
    temp_data: bool,
}

impl WrittenRoots {
    /// Every root that tasks write.
    pub(crate) const ALL: Self = Self { data: true, metadata: true, temp_data: true };

    pub(crate) fn mark(&mut self, root: &Root) {
        match root {
            Root::Data => self.data = true,
            Root::Metadata => self.metadata = true,
            Root::TempData => self.temp_data = true,
            Root::Payload | Root::Other(_) => {}
        }
    }
}

/// Arena copies of the message's roots. Cheap to copy; `None` = not read since it was last invalidated.
#[derive(Clone, Copy)]
pub(crate) struct EvaluationScope<'r> {
    arena: &'r Arena,
    /// The parts that are copied: the union of what all expressions can read.
    reads: &'r Reads,
    data: Option<DataValue<'r>>,
    metadata: Option<DataValue<'r>>,
    temp_data: Option<DataValue<'r>>,
    payload: Option<DataValue<'r>>,
}

impl<'r> EvaluationScope<'r> {
    /// Creates a scope of expressions that read no more than `reads`.
    pub(crate) fn new(arena: &'r Arena, reads: &'r Reads) -> Self {
        Self { arena, reads, data: None, metadata: None, temp_data: None, payload: None }
    }

    pub(crate) fn arena(&self) -> &'r Arena {
        self.arena
    }

    /// Returns `true` if the arena has grown so large that it should be replaced.
    pub(crate) fn is_full(&self) -> bool {
        self.arena.is_full()
    }

    /// Forgets the copies of roots that were written behind the scope's back.
    pub(crate) fn forget(&mut self, written: WrittenRoots) {
        for (slot, stale) in [
            (&mut self.data, written.data),
            (&mut self.metadata, written.metadata),
            (&mut self.temp_data, written.temp_data),
        ] {
            if stale {
                *slot = None;
            }
        }
    }

    /// Returns the object an expression is evaluated against: the roots it reads.
    pub(crate) fn context(&mut self, message: &Message, own: &Reads) -> &'r DataValue<'r> {
        let (arena, reads) = (self.arena, self.reads);
        let bump = &arena.bump;
        let mut pairs = BumpVec::with_capacity_in(4 + message.others.len(), bump);
        if !own.data.is_nothing() {
            let root = self.data.get_or_insert_with(|| copy_part(arena, &reads.data, &message.data));
            pairs.push(("data", *root));
        }
        if !own.metadata.is_nothing() {
            let root = self.metadata.get_or_insert_with(|| object(arena, &reads.metadata, &message.metadata));
            pairs.push(("metadata", *root));
        }
        if !own.temp_data.is_nothing() {
            let root =
                self.temp_data.get_or_insert_with(|| copy_part(arena, &reads.temp_data, &message.temp_data));
            pairs.push(("temp_data", *root));
        }
        if !own.payload.is_nothing() {
            let root = self.payload.get_or_insert_with(|| copy_part(arena, &reads.payload, &message.payload));
            pairs.push(("payload", *root));
        }
        for (name, value) in &message.others {
            pairs.push((&*bump.alloc_str(name), copy(arena, value)));
        }
        bump.alloc(DataValue::Object(pairs.into_bump_slice()))
    }

    /// Follows a write of the message: `new` is now at `path`. A full scope forgets the root instead.
    pub(crate) fn follow(&mut self, path: &Path, new: &Value) {
        let (slot, part) = match path.root() {
            Root::Data => (&mut self.data, &self.reads.data),
            Root::Metadata if path.segments().is_empty() && !new.is_object() => return,
            Root::Metadata => (&mut self.metadata, &self.reads.metadata),
            Root::TempData => (&mut self.temp_data, &self.reads.temp_data),
            Root::Payload | Root::Other(_) => return,
        };
        if let Some(root) = slot {
            let full = self.arena.is_full();
            *slot = (!full).then(|| replace_part(self.arena, part, *root, path.segments(), new));
        }
    }
}

#[cfg(test)]
mod tests;
