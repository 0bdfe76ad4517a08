//! The patterns in an authored expression.

use std::sync::Arc;

use serde_json::Value;

use crate::operators::{CompiledPattern, PATTERN_OPERATORS, PatternPool, has_named_groups};

/// Compiles the patterns that texts are matched with, and checks those that texts are split by.
///
/// # Errors
/// A text for the author: a pattern is computed, or does not compile.
pub(super) fn compile_patterns(
    pool: &PatternPool,
    source: &Value,
) -> Result<Vec<Arc<CompiledPattern>>, String> {
    let mut patterns = Vec::new();
    collect(pool, source, &mut patterns)?;
    Ok(patterns)
}

fn collect(
    pool: &PatternPool,
    source: &Value,
    patterns: &mut Vec<Arc<CompiledPattern>>,
) -> Result<(), String> {
    match source {
        Value::Object(members) => {
            let call = members.iter().next().filter(|_| members.len() == 1);
            if let Some((operator, operands)) = call
                && let Some(operand) = operands.get(1)
            {
                patterns.extend(compile_operand(pool, operator, operand)?);
            }
            members.values().try_for_each(|member| collect(pool, member, patterns))
        }
        Value::Array(items) => items.iter().try_for_each(|item| collect(pool, item, patterns)),
        _ => Ok(()),
    }
}

/// Returns the pattern that the second operand of an operator is.
fn compile_operand(
    pool: &PatternPool,
    operator: &str,
    operand: &Value,
) -> Result<Option<Arc<CompiledPattern>>, String> {
    let is_pattern = PATTERN_OPERATORS.contains(&operator);
    match operand {
        Value::String(source) if is_pattern => {
            pool.compile(source).map(Some).map_err(|why| format!("{operator}: {why}"))
        }
        Value::String(source) if operator == "split" && has_named_groups(source) => {
            CompiledPattern::compile(source).map(|_| None).map_err(|why| format!("split: {why}"))
        }
        _ if is_pattern => Err(format!("{operator}: the pattern is a literal text")),
        _ => Ok(None),
    }
}
