//! `distinct` and `group_by`, in the time of one walk. Not operators for authors, who write the names of the
//! library underneath: that one compares every element with all before it.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash as _, Hasher, RandomState};

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::bumpalo::collections::Vec as BumpVec;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue};

use super::equality::{Times, strictly_equal, times_equal};
use super::guard::{spend, text_units};

// The first three take a further argument where the values compared were made by an operator of dates: then they are
// compared as the instants and durations that they stand for.

/// `[array]`: the elements without those that equal an earlier one.
pub(crate) const DISTINCT: &str = "#distinct";
/// `[pairs]`: of pairs of an element and its key, the elements whose key no earlier one has.
pub(crate) const DISTINCT_BY: &str = "#distinct_by";
/// `[pairs]`: of pairs of an element and its key, `{key, items}` for every key in the order it is met.
pub(crate) const GROUP_BY: &str = "#group_by";
/// `[value]`: an array as it is, null as an empty one, nothing else.
pub(crate) const LISTED: &str = "#listed";

pub(super) struct Listed;
pub(super) struct Distinct;
pub(super) struct DistinctBy;
pub(super) struct GroupBy;

type Evaluated<'a> = datalogic_rs::Result<&'a DataValue<'a>>;

impl CustomOperator for Listed {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> Evaluated<'a> {
        list_argument(args).map(|items| &*arena.alloc(DataValue::Array(items)))
    }
}

impl CustomOperator for Distinct {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> Evaluated<'a> {
        let (items, keys) = compared(args)?;
        first_of_each(items.iter().map(|item| (item, item)), keys, arena)
    }
}

impl CustomOperator for DistinctBy {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> Evaluated<'a> {
        let (items, keys) = compared(args)?;
        first_of_each(pairs(items), keys, arena)
    }
}

impl CustomOperator for GroupBy {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> Evaluated<'a> {
        let (items, mut keys) = compared(args)?;
        let mut groups: Vec<BumpVec<'a, DataValue<'a>>> = Vec::new();
        for (item, key) in pairs(items) {
            let place = keys.place(key)?;
            match groups.get_mut(place) {
                Some(group) => group.push(*item),
                None => groups.push(datalogic_rs::bumpalo::vec![in arena; *item]),
            }
        }
        let rows = keys.met.iter().zip(groups).map(|(key, items)| {
            let members = [("key", **key), ("items", DataValue::Array(items.into_bump_slice()))];
            DataValue::Object(arena.alloc_slice_copy(&members))
        });
        Ok(arena.alloc(DataValue::Array(BumpVec::from_iter_in(rows, arena).into_bump_slice())))
    }
}

fn list_argument<'a>(args: &[&'a DataValue<'a>]) -> datalogic_rs::Result<&'a [DataValue<'a>]> {
    match args {
        [DataValue::Array(items)] => Ok(items),
        [DataValue::Null] => Ok(&[]),
        _ => Err(super::arguments::refuse("Invalid Arguments")),
    }
}

type Pair<'a> = (&'a DataValue<'a>, &'a DataValue<'a>);

/// Returns the elements of the first argument, and the keys that distinguish them.
fn compared<'a>(args: &[&'a DataValue<'a>]) -> datalogic_rs::Result<(&'a [DataValue<'a>], Keys<'a>)> {
    let (list, times) = args.split_at(args.len().min(1));
    Ok((list_argument(list)?, Keys { as_times: !times.is_empty(), ..Keys::default() }))
}

fn pairs<'a>(items: &'a [DataValue<'a>]) -> impl Iterator<Item = Pair<'a>> {
    items.iter().filter_map(|pair| match pair {
        DataValue::Array([item, key]) => Some((item, key)),
        _ => None,
    })
}

/// Returns the first item of each key.
fn first_of_each<'a>(
    pairs: impl Iterator<Item = Pair<'a>>,
    mut keys: Keys<'a>,
    arena: &'a Bump,
) -> Evaluated<'a> {
    let mut kept = BumpVec::new_in(arena);
    for (item, key) in pairs {
        if keys.place(key)? == kept.len() {
            kept.push(*item);
        }
    }
    Ok(arena.alloc(DataValue::Array(kept.into_bump_slice())))
}

/// The different keys in the order they were met.
#[derive(Default)]
struct Keys<'a> {
    /// Keys are compared as the times that they represent.
    as_times: bool,
    met: Vec<&'a DataValue<'a>>,
    by_hash: HashMap<u64, Vec<usize>>,
    hashing: RandomState,
}

impl<'a> Keys<'a> {
    /// Returns the position of a key among the distinct ones; a new key is added.
    fn place(&mut self, key: &'a DataValue<'a>) -> datalogic_rs::Result<usize> {
        spend(1)?;
        let times = if self.as_times { Times::from_value(key) } else { None };
        let hash = match times {
            Some(Times { instant: Some(instant), .. }) => self.hashing.hash_one(instant),
            Some(times) => self.hashing.hash_one(times.duration),
            None => self.hash(key)?,
        };
        let places = self.by_hash.entry(hash).or_default();
        for &place in &*places {
            spend(1)?;
            let times = self.as_times.then(|| times_equal(self.met[place], key)).flatten();
            if times.map_or_else(|| strictly_equal(self.met[place], key), Ok)? {
                return Ok(place);
            }
        }
        places.push(self.met.len());
        self.met.push(key);
        Ok(self.met.len() - 1)
    }

    /// Returns a hash of what equality looks at: numbers whatever their kind, members whatever their order.
    fn hash(&self, value: &DataValue<'_>) -> datalogic_rs::Result<u64> {
        spend(1)?;
        let mut hasher = self.hashing.build_hasher();
        match value {
            DataValue::Bool(flag) => flag.hash(&mut hasher),
            // Zero has two signs.
            DataValue::Number(number) => (number.as_f64() + 0.0).to_bits().hash(&mut hasher),
            DataValue::String(text) => {
                spend(text_units(text))?;
                text.hash(&mut hasher);
            }
            DataValue::Array(items) => {
                items.len().hash(&mut hasher);
                for item in *items {
                    hasher.write_u64(self.hash(item)?);
                }
            }
            DataValue::Object(members) => {
                let mut sum = 0_u64;
                for (name, member) in *members {
                    spend(text_units(name))?;
                    let member = self.hash(member)?;
                    sum = sum.wrapping_add(self.hashing.hash_one((name, member)));
                }
                hasher.write_u64(sum);
            }
            _ => {}
        }
        Ok(hasher.finish())
    }
}
