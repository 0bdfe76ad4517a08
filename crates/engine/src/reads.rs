//! The parts of a message that an expression can read, computed when it is compiled.
//!
//! Over-approximated: reading too much costs time, too little would be wrong.

use std::cmp::Ordering;

use crate::path::MAX_SEGMENTS;

/// Members read of one value by their names; of a value that more is read of the whole is taken.
const MAX_MEMBERS: usize = 256;

/// The parts of a message that are read; roots of other names are always visible.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    pub(crate) data: ReadExtent,
    pub(crate) metadata: ReadExtent,
    pub(crate) temp_data: ReadExtent,
    pub(crate) payload: ReadExtent,
}

/// The extent to which a value is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ReadExtent {
    #[default]
    Nothing,
    Some(Members),
    Whole,
}

/// The members that are read of a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Members {
    /// In the order of [`by_length`].
    list: Vec<Member>,
    /// True if the number of its elements is read.
    length: bool,
}

/// The reads of one member of an object, or of one element of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) key: Box<str>,
    /// The index of the element, if the container is an array.
    pub(crate) index: Option<usize>,
    pub(crate) part: ReadExtent,
}

impl Reads {
    /// Returns a value that reads everything.
    pub(crate) fn all() -> Self {
        Self {
            data: ReadExtent::Whole,
            metadata: ReadExtent::Whole,
            temp_data: ReadExtent::Whole,
            payload: ReadExtent::Whole,
        }
    }

    /// Marks the value at a dotted path.
    pub(crate) fn mark(&mut self, path: &str) {
        let mut keys = path.split('.');
        if let Some(part) = keys.next().and_then(|root| self.root_mut(root)) {
            // A forced key is not read by the rules of a plain path.
            let keys: Vec<_> = keys.take_while(|key| !key.starts_with('#')).take(MAX_SEGMENTS).collect();
            part.mark(&keys, ReadExtent::Whole);
        }
    }

    /// Marks the number of elements at a dotted path.
    pub(crate) fn mark_length(&mut self, path: &str) {
        let mut keys = path.split('.');
        if path.contains('#') || keys.clone().count() > MAX_SEGMENTS {
            return self.mark(path);
        }
        if let Some(part) = keys.next().and_then(|root| self.root_mut(root)) {
            part.mark(
                &keys.collect::<Vec<_>>(),
                ReadExtent::Some(Members { list: Vec::new(), length: true }),
            );
        }
    }

    /// Adds what something else reads.
    pub(crate) fn merge(&mut self, other: Self) {
        self.data.merge(other.data);
        self.metadata.merge(other.metadata);
        self.temp_data.merge(other.temp_data);
        self.payload.merge(other.payload);
    }

    fn root_mut(&mut self, name: &str) -> Option<&mut ReadExtent> {
        match name {
            "data" => Some(&mut self.data),
            "metadata" => Some(&mut self.metadata),
            "temp_data" => Some(&mut self.temp_data),
            "payload" => Some(&mut self.payload),
            _ => None,
        }
    }

    /// Returns the reads of a root; `None` for one of another name, which is always visible.
    pub(crate) fn root(&self, name: &str) -> Option<&ReadExtent> {
        match name {
            "data" => Some(&self.data),
            "metadata" => Some(&self.metadata),
            "temp_data" => Some(&self.temp_data),
            "payload" => Some(&self.payload),
            _ => None,
        }
    }
}

impl ReadExtent {
    /// Marks what is read at a path below this value.
    fn mark(&mut self, path: &[&str], leaf: Self) {
        match path.split_first() {
            Some((key, rest)) => match self.entry(key) {
                Some(member) => member.mark(rest, leaf),
                None => *self = Self::Whole,
            },
            None => self.merge(leaf),
        }
    }

    fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Whole, _) | (_, Self::Nothing) => {}
            (Self::Nothing, other) => *self = other,
            (_, Self::Whole) => *self = Self::Whole,
            (Self::Some(own), Self::Some(members)) => {
                own.length |= members.length;
                for member in members.list {
                    match self.entry(&member.key) {
                        Some(own) => own.merge(member.part),
                        None => *self = Self::Whole,
                    }
                }
            }
        }
    }

    /// Returns the reads of a member, to be extended; `None` if the whole value is read from now on.
    fn entry(&mut self, key: &str) -> Option<&mut Self> {
        if self.is_nothing() {
            *self = Self::Some(Members::default());
        }
        let Self::Some(Members { list, .. }) = self else { return None };
        let at = match list.binary_search_by(|member| by_length(&member.key, key)) {
            Ok(at) => at,
            Err(at) => {
                let index = key.parse().ok();
                // `0` and `00` are one element of an array and two members of an object.
                let ambiguous = index.is_some() && list.iter().any(|member| member.index == index);
                if ambiguous || list.len() == MAX_MEMBERS {
                    return None;
                }
                list.insert(at, Member { key: key.into(), index, part: Self::Nothing });
                at
            }
        };
        list.get_mut(at).map(|member| &mut member.part)
    }

    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Returns the reads of a member of an object.
    pub(crate) fn member(&self, key: &str) -> &Self {
        match self {
            Self::Nothing => &Self::Nothing,
            Self::Some(members) => members.get(key).map_or(&Self::Nothing, |member| &member.part),
            Self::Whole => &Self::Whole,
        }
    }

    /// Returns the reads of an element of an array.
    pub(crate) fn element(&self, index: usize) -> &Self {
        match self {
            Self::Nothing => &Self::Nothing,
            Self::Some(members) => {
                let member = members.iter().find(|member| member.index == Some(index));
                member.map_or(&Self::Nothing, |member| &member.part)
            }
            Self::Whole => &Self::Whole,
        }
    }

    /// As many elements of an array of `length` as can be distinguished from none.
    pub(crate) fn reach(&self, length: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Some(members) if !members.length => {
                let last = members.iter().filter_map(|member| member.index).max();
                last.map_or(0, |last| length.min(last.saturating_add(1)))
            }
            Self::Some(_) | Self::Whole => length,
        }
    }
}

impl Members {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Member> {
        self.list.iter()
    }

    fn get(&self, key: &str) -> Option<&Member> {
        let at = self.list.binary_search_by(|member| by_length(&member.key, key)).ok()?;
        self.list.get(at)
    }
}

/// Compares keys by length first, so that most comparisons are cheap.
fn by_length(one: &str, other: &str) -> Ordering {
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(paths: &[&str]) -> ReadExtent {
        let mut reads = Reads::default();
        paths.iter().for_each(|path| reads.mark(path));
        reads.data
    }

    #[test]
    fn a_path_reads_only_what_stands_there() {
        let read = data(&["data.long.b", "data.long.c", "data.7"]);
        let seen = |path: &[&str]| path.iter().fold(read.clone(), |part, key| part.member(key).clone());
        for path in [&["long", "b"][..], &["long", "c"], &["7"], &["7", "deeper"]] {
            assert_eq!(seen(path), ReadExtent::Whole, "{path:?}");
        }
        for path in [&["none"][..], &["long", "a"], &["none", "b"]] {
            assert_eq!(seen(path), ReadExtent::Nothing, "{path:?}");
        }
        assert_eq!([read.element(7), read.element(0)], [&ReadExtent::Whole, &ReadExtent::Nothing]);
        assert_eq!([read.reach(3), read.reach(100)], [3, 8]);
    }

    #[test]
    fn the_whole_takes_what_is_read_of_it() {
        for paths in [["data.a", "data"], ["data", "data.a"], ["data.#a", "data.b"]] {
            assert_eq!(data(&paths), ReadExtent::Whole, "{paths:?}");
        }
    }

    #[test]
    fn two_names_of_one_element_read_the_whole() {
        assert_eq!(data(&["data.0.a", "data.00.b"]), ReadExtent::Whole);
    }

    #[test]
    fn reads_are_bounded_in_depth_and_number() {
        let deep = format!("data{}", ".a".repeat(100_000));
        assert_eq!(format!("{:?}", data(&[&deep])).matches("Some(Members").count(), MAX_SEGMENTS);
        let many: Vec<_> = (0..=MAX_MEMBERS).map(|n| format!("data.k{n}")).collect();
        assert_eq!(data(&many.iter().map(String::as_str).collect::<Vec<_>>()), ReadExtent::Whole);
    }

    #[test]
    fn a_length_reads_no_element() {
        let part = |length: &str, other: Option<&str>| {
            let mut reads = Reads::default();
            reads.mark_length(length);
            other.into_iter().for_each(|path| reads.mark(path));
            reads.data
        };
        for other in [None, Some("data.3")] {
            let part = part("data", other);
            assert_eq!((part.reach(9), part.element(0)), (9, &ReadExtent::Nothing));
        }
        assert_eq!(part("data", Some("data")), ReadExtent::Whole);
        assert_eq!(part("data.#x", None), ReadExtent::Whole);
    }
}
