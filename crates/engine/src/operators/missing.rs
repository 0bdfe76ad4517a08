//! `missing` and `missing_some` of paths that only the message knows, or of many. Not operators for authors,
//! who write the names of the library underneath: that one goes through every member of an object for every
//! path.

use std::collections::HashMap;

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::bumpalo::collections::Vec as BumpVec;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue};

use super::guard::{spend, text_units};

/// `[context, paths…]`: the paths, each a text or an array of them, that lead nowhere in the context.
pub(crate) const MISSING: &str = "#missing";
/// `[context, count, paths]`: those that lead nowhere, unless so many lead somewhere.
pub(crate) const MISSING_SOME: &str = "#missing_some";

/// Members of an object from which on it is read through a table.
const WIDE: usize = 32;

pub(super) struct Missing;
pub(super) struct MissingSome;

impl CustomOperator for Missing {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [context, paths @ ..] = args else { return Err(super::arguments::refuse("Invalid Arguments")) };
        let (mut reader, mut missing) = (Reader::default(), BumpVec::new_in(arena));
        for paths in paths {
            let paths = match paths {
                DataValue::Array(paths) => paths,
                one => std::slice::from_ref(*one),
            };
            for path in paths {
                if let DataValue::String(text) = path
                    && !reader.leads_somewhere(context, text)?
                {
                    missing.push(*path);
                }
            }
        }
        Ok(arena.alloc(DataValue::Array(missing.into_bump_slice())))
    }
}

impl CustomOperator for MissingSome {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let [context, count, paths] = args else { return Err(super::arguments::refuse("Invalid Arguments")) };
        let needed = usize::try_from(count.as_i64().unwrap_or(1)).unwrap_or(0);
        let (mut reader, mut missing) = (Reader::default(), BumpVec::new_in(arena));
        let mut present = 0;
        let paths: &[_] = match paths {
            DataValue::Array(paths) if needed > 0 => paths,
            _ => &[],
        };
        for path in paths {
            let DataValue::String(text) = path else { continue };
            if !reader.leads_somewhere(context, text)? {
                missing.push(*path);
                continue;
            }
            present += 1;
            if present >= needed {
                missing.clear();
                break;
            }
        }
        Ok(arena.alloc(DataValue::Array(missing.into_bump_slice())))
    }
}

/// Reads many paths of one context.
#[derive(Default)]
struct Reader<'a> {
    /// The members of wide objects, by the address of their first.
    tables: HashMap<usize, HashMap<&'a str, &'a DataValue<'a>>>,
}

impl<'a> Reader<'a> {
    fn leads_somewhere(&mut self, context: &'a DataValue<'a>, path: &str) -> datalogic_rs::Result<bool> {
        spend(text_units(path))?;
        if path.is_empty() {
            return Ok(true);
        }
        let mut value = context;
        for segment in path.split('.') {
            match self.step(value, segment)? {
                Some(next) => value = next,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn step(
        &mut self,
        value: &'a DataValue<'a>,
        segment: &str,
    ) -> datalogic_rs::Result<Option<&'a DataValue<'a>>> {
        spend(1)?;
        Ok(match value {
            DataValue::Object(members) if members.len() < WIDE => {
                members.iter().find(|(name, _)| *name == segment).map(|(_, value)| value)
            }
            DataValue::Object(members) => {
                let place = members.as_ptr().addr();
                if let Some(table) = self.tables.get(&place) {
                    return Ok(table.get(segment).copied());
                }
                let mut table = HashMap::with_capacity(members.len());
                for (name, value) in *members {
                    spend(text_units(name))?;
                    table.entry(*name).or_insert(value);
                }
                self.tables.entry(place).or_insert(table).get(segment).copied()
            }
            DataValue::Array(items) => segment.parse().ok().and_then(|index: usize| items.get(index)),
            _ => None,
        })
    }
}
