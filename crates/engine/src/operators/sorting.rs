//! `sort`, which looks at the clock while it goes on. Not operators for authors, who write the name of the
//! library underneath.

use std::cmp::Ordering;

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};

use super::guard::{spend, text_units};
use super::numbers;

/// `[array, ascending]`: the elements in order.
pub(crate) const SORT: &str = "#sort";
/// `[pairs, ascending]`: of arrays of an element and its key, the elements in the order of their keys. One
/// without a key goes before all others.
pub(crate) const SORT_BY: &str = "#sort_by";

/// Elements that are sorted between two counts of the work.
const RUN: usize = 32;

pub(super) struct SortOperator;
pub(super) struct SortByOperator;

impl CustomOperator for SortOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let Some(items) = array(args)? else { return Ok(arena.null()) };
        sort_values(items.iter().map(|item| (item, Some(item))), is_ascending(args), arena)
    }
}

impl CustomOperator for SortByOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let Some(pairs) = array(args)? else { return Ok(arena.null()) };
        let keyed = pairs.iter().filter_map(|pair| match pair {
            DataValue::Array([item, key @ ..]) => Some((item, key.first())),
            _ => None,
        });
        sort_values(keyed, is_ascending(args), arena)
    }
}

fn array<'a>(args: &[&'a DataValue<'a>]) -> datalogic_rs::Result<Option<&'a [DataValue<'a>]>> {
    match args.first() {
        Some(DataValue::Array(items)) => Ok(Some(items)),
        Some(DataValue::Null) => Ok(None),
        _ => Err(super::arguments::refuse("Invalid Arguments")),
    }
}

/// Returns the direction; anything but `false` is ascending.
fn is_ascending(args: &[&DataValue<'_>]) -> bool {
    !matches!(args.get(1), Some(DataValue::Bool(false)))
}

type Keyed<'a> = (&'a DataValue<'a>, Option<&'a DataValue<'a>>);

fn sort_values<'a>(
    keyed: impl Iterator<Item = Keyed<'a>>,
    ascending: bool,
    arena: &'a Bump,
) -> datalogic_rs::Result<&'a DataValue<'a>> {
    let mut work = 0;
    let mut compare = |one: &Keyed<'a>, other: &Keyed<'a>| {
        let order = match (one.1, other.1) {
            (Some(one), Some(other)) => order(one, other, &mut work),
            (one, other) => one.is_some().cmp(&other.is_some()),
        };
        let units = std::mem::take(&mut work) + 1;
        (if ascending { order } else { order.reverse() }, units)
    };
    let mut items: Vec<_> = keyed.collect();
    merge_sort(&mut items, &mut compare)?;
    let items = items.iter().map(|(item, _)| **item);
    Ok(arena.alloc(DataValue::Array(arena.alloc_slice_fill_iter(items))))
}

/// Sorts stably, and counts the units of work that `compare` reports.
fn merge_sort<T: Copy>(
    items: &mut Vec<T>,
    compare: &mut impl FnMut(&T, &T) -> (Ordering, usize),
) -> datalogic_rs::Result<()> {
    for run in items.chunks_mut(RUN) {
        let mut units = 0;
        run.sort_by(|one, other| {
            let (order, work) = compare(one, other);
            units += work;
            order
        });
        spend(units)?;
    }
    let mut width = RUN;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for pair in items.chunks(width * 2) {
            let (one, other) = pair.split_at(width.min(pair.len()));
            merge(one, other, &mut merged, compare)?;
        }
        *items = merged;
        width *= 2;
    }
    Ok(())
}

fn merge<T: Copy>(
    mut one: &[T],
    mut other: &[T],
    merged: &mut Vec<T>,
    compare: &mut impl FnMut(&T, &T) -> (Ordering, usize),
) -> datalogic_rs::Result<()> {
    while let ([first, rest @ ..], [other_first, other_rest @ ..]) = (one, other) {
        let (order, units) = compare(first, other_first);
        spend(units)?;
        if order.is_gt() {
            merged.push(*other_first);
            other = other_rest;
        } else {
            merged.push(*first);
            one = rest;
        }
    }
    merged.extend_from_slice(one);
    merged.extend_from_slice(other);
    Ok(())
}

/// The order of the library: null, booleans, numbers, texts, arrays, objects; arrays among themselves are
/// equal, and objects.
fn order(one: &DataValue<'_>, other: &DataValue<'_>, work: &mut usize) -> Ordering {
    match (one, other) {
        (DataValue::Bool(one), DataValue::Bool(other)) => one.cmp(other),
        (DataValue::Number(one), DataValue::Number(other)) => numbers::order(*one, *other),
        (DataValue::String(one), DataValue::String(other)) => {
            *work += text_units(if one.len() < other.len() { one } else { other });
            one.cmp(other)
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

fn rank(value: &DataValue<'_>) -> u8 {
    match value {
        DataValue::Null => 0,
        DataValue::Bool(_) => 1,
        DataValue::Number(_) => 2,
        DataValue::Array(_) => 4,
        DataValue::Object(_) => 5,
        _ => 3,
    }
}
