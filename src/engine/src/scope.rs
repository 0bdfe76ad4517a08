//! The message as expressions see it: arena copies of its roots, built on first use and kept up to date by writes.
//!
//! Copying the whole message into the arena for every expression would cost more than evaluating it. A scope copies
//! a root once, when the first expression that can read it runs; a write then replaces only the containers along
//! its path. A scope owns nothing: it borrows the arena and is rebuilt after a reset.

use std::cell::RefCell;

use datalogic_rs::DataValue;
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::bumpalo::collections::Vec as BumpVec;
use serde_json::{Map, Value};

use crate::message::Message;
use crate::path::{Path, Root, Segment};

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
#[derive(Default)]
pub(crate) struct Arena {
    bump: Bump,
}

impl Arena {
    /// Takes an arena from the pool of this thread.
    pub(crate) fn lease() -> Self {
        Self { bump: ARENAS.with_borrow_mut(Vec::pop).unwrap_or_default() }
    }

    pub(crate) fn bump(&self) -> &Bump {
        &self.bump
    }

    /// Starts over with an empty arena.
    pub(crate) fn renew(&mut self) {
        self.bump = Bump::new();
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

/// The roots an expression can read. Over-approximated: reading too many costs time, too few would be wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    pub(crate) data: bool,
    pub(crate) metadata: bool,
    pub(crate) temp_data: bool,
    pub(crate) payload: bool,
}

impl Reads {
    /// Every root.
    pub(crate) const ALL: Self = Self { data: true, metadata: true, temp_data: true, payload: true };

    /// Marks a root by its name; other names are always visible.
    pub(crate) fn mark(&mut self, root: &str) {
        match root {
            "data" => self.data = true,
            "metadata" => self.metadata = true,
            "temp_data" => self.temp_data = true,
            "payload" => self.payload = true,
            _ => {}
        }
    }

    pub(crate) fn mark_root(&mut self, root: &Root) {
        match root {
            Root::Data => self.data = true,
            Root::Metadata => self.metadata = true,
            Root::TempData => self.temp_data = true,
            Root::Payload => self.payload = true,
            Root::Other(_) => {}
        }
    }

    pub(crate) fn includes(self, root: &str) -> bool {
        match root {
            "data" => self.data,
            "metadata" => self.metadata,
            "temp_data" => self.temp_data,
            "payload" => self.payload,
            _ => true,
        }
    }
}

/// Arena copies of the message's roots. Cheap to copy; `None` = not read since it was last invalidated.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'r> {
    bump: &'r Bump,
    data: Option<DataValue<'r>>,
    metadata: Option<DataValue<'r>>,
    temp_data: Option<DataValue<'r>>,
    payload: Option<DataValue<'r>>,
}

impl<'r> Scope<'r> {
    pub(crate) fn new(bump: &'r Bump) -> Self {
        Self { bump, data: None, metadata: None, temp_data: None, payload: None }
    }

    pub(crate) fn bump(&self) -> &'r Bump {
        self.bump
    }

    /// Whether the arena has grown so large that it should be replaced.
    pub(crate) fn is_full(&self) -> bool {
        self.bump.allocated_bytes() > FULL_BYTES
    }

    /// Forgets the copies of roots that were written behind the scope's back.
    pub(crate) fn forget(&mut self, written: Reads) {
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

    /// The object an expression is evaluated against.
    pub(crate) fn context(&mut self, message: &Message, reads: Reads) -> &'r DataValue<'r> {
        let bump = self.bump;
        let mut pairs = BumpVec::with_capacity_in(4 + message.others.len(), bump);
        if reads.data {
            let root = *self.data.get_or_insert_with(|| DataValue::from_serde_value_in(&message.data, bump));
            pairs.push(("data", root));
        }
        if reads.metadata {
            let root = *self.metadata.get_or_insert_with(|| object(&message.metadata, bump));
            pairs.push(("metadata", root));
        }
        if reads.temp_data {
            let root = *self
                .temp_data
                .get_or_insert_with(|| DataValue::from_serde_value_in(&message.temp_data, bump));
            pairs.push(("temp_data", root));
        }
        if reads.payload {
            let root =
                *self.payload.get_or_insert_with(|| DataValue::from_serde_value_in(&message.payload, bump));
            pairs.push(("payload", root));
        }
        for (name, value) in &message.others {
            pairs.push((&*bump.alloc_str(name), DataValue::from_serde_value_in(value, bump)));
        }
        bump.alloc(DataValue::Object(pairs.into_bump_slice()))
    }

    /// Follows a write of the message: `new` now stands at `path`. A full scope forgets the root instead.
    pub(crate) fn follow(&mut self, path: &Path, new: &Value) {
        let full = self.is_full();
        let bump = self.bump;
        let slot = match path.root() {
            Root::Data => &mut self.data,
            Root::Metadata if path.segments().is_empty() && !new.is_object() => return,
            Root::Metadata => &mut self.metadata,
            Root::TempData => &mut self.temp_data,
            Root::Payload | Root::Other(_) => return,
        };
        *slot = match *slot {
            Some(root) if !full => {
                let new = DataValue::from_serde_value_in(new, bump);
                Some(replaced(bump, root, path.segments(), new))
            }
            _ => None,
        };
    }
}

/// Copies a JSON object into the arena.
fn object<'r>(map: &Map<String, Value>, bump: &'r Bump) -> DataValue<'r> {
    let mut pairs = BumpVec::with_capacity_in(map.len(), bump);
    for (key, value) in map {
        pairs.push((&*bump.alloc_str(key), DataValue::from_serde_value_in(value, bump)));
    }
    DataValue::Object(pairs.into_bump_slice())
}

/// `value` with `new` at `path`, by the rules of [`crate::path::write`]. Only containers along the path are copied.
fn replaced<'r>(bump: &'r Bump, value: DataValue<'r>, path: &[Segment], new: DataValue<'r>) -> DataValue<'r> {
    let Some((first, rest)) = path.split_first() else { return new };
    match (value, first.index()) {
        (DataValue::Array(items), Some(index)) => put(bump, items, index, rest, new),
        (DataValue::Null, Some(index)) => put(bump, &[], index, rest, new),
        (DataValue::Object(pairs), _) => insert(bump, pairs, first.key(), rest, new),
        (DataValue::Null, None) => insert(bump, &[], first.key(), rest, new),
        (unchanged, _) => unchanged,
    }
}

fn put<'r>(
    bump: &'r Bump,
    items: &'r [DataValue<'r>],
    index: usize,
    rest: &[Segment],
    new: DataValue<'r>,
) -> DataValue<'r> {
    let mut copy = BumpVec::with_capacity_in(items.len().max(index + 1), bump);
    copy.extend_from_slice(items);
    copy.resize(items.len().max(index + 1), DataValue::Null);
    copy[index] = replaced(bump, copy[index], rest, new);
    DataValue::Array(copy.into_bump_slice())
}

/// Keys stay in the order they came in, as in the JSON map, so that iterating gives the same answer after a rebuild.
fn insert<'r>(
    bump: &'r Bump,
    pairs: &'r [(&'r str, DataValue<'r>)],
    key: &str,
    rest: &[Segment],
    new: DataValue<'r>,
) -> DataValue<'r> {
    let mut copy = BumpVec::with_capacity_in(pairs.len() + 1, bump);
    copy.extend_from_slice(pairs);
    match pairs.iter().position(|(name, _)| *name == key) {
        Some(found) => copy[found].1 = replaced(bump, copy[found].1, rest, new),
        None => copy.push((&*bump.alloc_str(key), replaced(bump, DataValue::Null, rest, new))),
    }
    DataValue::Object(copy.into_bump_slice())
}

#[cfg(test)]
mod tests;
