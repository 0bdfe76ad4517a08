//! `matches` and `capture`: regular expressions, in a time that grows with the text and not faster.
//!
//! A pattern is a literal. It is compiled with its expression, and forgotten with it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue};
use parking_lot::RwLock;

use super::arguments::{kind_of, refuse};
use super::compiled_pattern::CompiledPattern;

/// The operators that take a pattern as their second operand.
pub(crate) const PATTERN_OPERATORS: [&str; 2] = ["matches", "capture"];

/// Groups whose places are kept in the time of one step of a program.
const GROUPS_OF_STEP: usize = 4;
/// Steps that a match may take: some tens of milliseconds.
const MAX_STEPS: usize = 1 << 25;

/// The patterns of the expressions that exist, by their texts.
#[derive(Debug, Default)]
pub(crate) struct PatternPool {
    compiled: RwLock<HashMap<String, Weak<CompiledPattern>>>,
}

impl PatternPool {
    /// Returns a pattern, which is known as long as it is kept.
    ///
    /// # Errors
    /// A text for the author.
    pub(crate) fn compile(&self, source: &str) -> Result<Arc<CompiledPattern>, String> {
        if let Some(known) = self.find(source) {
            return Ok(known);
        }
        let pattern = Arc::new(CompiledPattern::compile(source)?);
        let mut compiled = self.compiled.write();
        // Another thread may have compiled it meanwhile. What is known stays known as long as anybody keeps it.
        if let Some(known) = compiled.get(source).and_then(Weak::upgrade) {
            return Ok(known);
        }
        if compiled.len() == compiled.capacity() {
            compiled.retain(|_, pattern| pattern.strong_count() > 0);
        }
        compiled.insert(source.to_owned(), Arc::downgrade(&pattern));
        Ok(pattern)
    }

    fn find(&self, source: &str) -> Option<Arc<CompiledPattern>> {
        self.compiled.read().get(source)?.upgrade()
    }

    /// Returns the pattern of a call. Its expression has compiled it.
    fn find_compiled(&self, source: &str) -> datalogic_rs::Result<Arc<CompiledPattern>> {
        self.find(source).ok_or_else(|| refuse("a pattern is a literal text"))
    }
}

/// `[text, pattern]`: true if the pattern matches a part of the text; false for null.
pub(super) struct MatchesOperator(pub(super) Arc<PatternPool>);

impl CustomOperator for MatchesOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let Some((text, pattern)) = operands("matches", args)? else { return Ok(arena.bool(false)) };
        let pattern = self.0.find_compiled(pattern)?;
        pattern.spend("matches", text, 1, MAX_STEPS)?;
        Ok(arena.bool(pattern.regex().is_match(text)))
    }
}

/// `[text, pattern]`: the parts of the first match: an object of the named groups, or else a list of the match and its
/// groups; null without a match, and for null.
pub(super) struct CaptureOperator(pub(super) Arc<PatternPool>);

impl CustomOperator for CaptureOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let Some((text, pattern)) = operands("capture", args)? else { return Ok(arena.null()) };
        let pattern = self.0.find_compiled(pattern)?;
        let regex = pattern.regex();
        pattern.spend("capture", text, regex.captures_len().div_ceil(GROUPS_OF_STEP), MAX_STEPS)?;
        let Some(parts) = regex.captures(text) else { return Ok(arena.null()) };
        let part = |part: Option<regex::Match<'a>>| {
            part.map_or(DataValue::Null, |part| DataValue::String(part.as_str()))
        };
        let members: Vec<(&'a str, DataValue<'a>)> = regex
            .capture_names()
            .flatten()
            .map(|name| (&*arena.alloc_str(name), part(parts.name(name))))
            .collect();
        if members.is_empty() {
            let items: Vec<_> = parts.iter().map(part).collect();
            return Ok(arena.array(&items));
        }
        Ok(arena.object(&members))
    }
}

/// Returns the text and the pattern of a call; `None` for the text null.
fn operands<'a>(
    operator: &str,
    args: &[&'a DataValue<'a>],
) -> datalogic_rs::Result<Option<(&'a str, &'a str)>> {
    match args {
        [DataValue::String(text), DataValue::String(pattern)] => Ok(Some((*text, *pattern))),
        [DataValue::Null, DataValue::String(_)] => Ok(None),
        [other, DataValue::String(_)] => {
            Err(refuse(format!("{operator} takes a text, not {}", kind_of(other))))
        }
        _ => Err(refuse(format!("{operator} takes a text and a pattern"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_known_as_long_as_kept() {
        let pool = PatternPool::default();
        let kept = pool.compile("a+").unwrap();
        drop(pool.compile("b+").unwrap());
        assert!(Arc::ptr_eq(&kept, &pool.compile("a+").unwrap()));
        assert!(pool.find_compiled("a+").is_ok() && pool.find_compiled("b+").is_err());
        for n in 0..1000 {
            drop(pool.compile(&format!("c{n}")).unwrap());
        }
        assert!(pool.compiled.read().len() < 100, "{}", pool.compiled.read().len());
        assert!(pool.find_compiled("a+").is_ok());
    }

    #[test]
    fn threads_share_what_they_compile_at_once() {
        // Large enough that all threads compile it before the first one is done.
        let source = "(?:x{50}){100}";
        let pool = PatternPool::default();
        let begin = std::sync::Barrier::new(8);
        let patterns: Vec<_> = std::thread::scope(|scope| {
            let compile = || {
                begin.wait();
                pool.compile(source).unwrap()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(compile)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (kept, others) = patterns.split_first().unwrap();
        assert!(others.iter().all(|pattern| Arc::ptr_eq(kept, pattern)));
        let kept = Arc::clone(kept);
        drop(patterns);
        assert!(Arc::ptr_eq(&kept, &pool.find_compiled(source).unwrap()));
    }
}
