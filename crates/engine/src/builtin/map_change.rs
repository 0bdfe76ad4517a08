//! The mappings of `map` that append to an array, extend it, remove a path, or make something of null.

use serde_json::Value;

use super::context::BuiltinCx;
use super::input::BuiltinInput;
use super::map::{MODES, MappingRefusal, MappingStep, ON_NULL};
use crate::expression::{Expression, SecretPolicy};
use crate::path::{Path, Root};

/// A mapping that may change what is at its path.
#[derive(Debug)]
pub(crate) struct MappingChange {
    path: Path,
    action: Action,
}

#[derive(Debug)]
enum Action {
    /// Removes the path.
    Unset,
    /// Uses the result of an expression.
    Write { logic: Expression, mode: Mode, on_null: OnNull },
}

/// The use of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Replace,
    Append,
    Extend,
}

/// The use of a null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnNull {
    Skip,
    Unset,
    Set,
}

impl MappingChange {
    pub(super) fn compile(mapping: &mut BuiltinInput<'_, '_>) -> Option<Self> {
        let path = mapping.required_target("path");
        let action = match mapping.bool_or("unset", false)? {
            true => compile_unset(mapping),
            false => compile_write(mapping),
        };
        let (path, action) = (path?, action?);
        let is_bare =
            path.segments().is_empty() && matches!(path.root(), Root::Data | Root::Metadata | Root::TempData);
        if let Some(refused) = action.refusal_of_root(path.root()).filter(|_| is_bare) {
            mapping.invalid("path", format!("{path} itself {refused}; name a path below it"));
            return None;
        }
        Some(Self { path, action })
    }
}

impl Action {
    /// Returns the reason why a root itself cannot be changed like that.
    fn refusal_of_root(&self, root: &Root) -> Option<&'static str> {
        match self {
            Self::Unset | Self::Write { on_null: OnNull::Unset, .. } => Some("cannot be removed"),
            Self::Write { mode: Mode::Append | Mode::Extend, .. } if *root == Root::Metadata => {
                Some("is never an array")
            }
            Self::Write { mode: Mode::Replace, on_null: OnNull::Set, .. } => Some("cannot be null"),
            Self::Write { .. } => None,
        }
    }
}

fn compile_unset(mapping: &mut BuiltinInput<'_, '_>) -> Option<Action> {
    let surplus = ["logic", "mode", "on_null"].into_iter().find(|key| mapping.get(key).is_some());
    if let Some(key) = surplus {
        mapping.invalid(key, "a mapping with \"unset\": true has a path and nothing else");
        return None;
    }
    Some(Action::Unset)
}

fn compile_write(mapping: &mut BuiltinInput<'_, '_>) -> Option<Action> {
    let logic = mapping.required_logic("logic", SecretPolicy::Refused("a mapping"));
    let mode = match mapping.get("mode") {
        None | Some(Value::Null) => Some(Mode::Replace),
        Some(_) => mapping.one_of("mode", &MODES).map(|mode| match mode {
            "append" => Mode::Append,
            _ => Mode::Extend,
        }),
    };
    let on_null = mapping.one_of("on_null", &ON_NULL).map(|on_null| match on_null {
        "unset" => OnNull::Unset,
        "set" => OnNull::Set,
        _ => OnNull::Skip,
    });
    let (logic, mode, on_null) = (logic?, mode?, on_null?);
    let is_single =
        matches!(mapping.get("logic"), Some(Value::Bool(_) | Value::Number(_) | Value::String(_)));
    if mode == Mode::Extend && is_single {
        mapping.invalid("logic", "extend takes an array; append adds a single value");
        return None;
    }
    if mode == Mode::Extend && on_null == OnNull::Set {
        mapping.invalid("on_null", "extend adds the elements of an array; use append to add a null");
        return None;
    }
    Some(Action::Write { logic, mode, on_null })
}

impl MappingStep for MappingChange {
    fn path(&self) -> &Path {
        &self.path
    }

    fn apply<'r>(&'r self, cx: &mut BuiltinCx<'_, 'r>) -> Result<(), MappingRefusal> {
        let Action::Write { logic, mode, on_null } = &self.action else {
            cx.work.remove(cx.scope, &self.path);
            return Ok(());
        };
        let value = match logic.copies() {
            Some(source) => cx.work.get(cx.scope, source),
            None => cx.evaluate(logic, |value| value.to_serde_value())?,
        };
        if value.is_null() {
            match on_null {
                OnNull::Skip => return Ok(()),
                OnNull::Unset => {
                    cx.work.remove(cx.scope, &self.path);
                    return Ok(());
                }
                OnNull::Set => {}
            }
        }
        let items = match (mode, value) {
            (Mode::Replace, value) => {
                return Ok(cx.work.merge(cx.scope, &self.path, value)?);
            }
            (Mode::Append, value) => vec![value],
            (Mode::Extend, Value::Array(items)) => items,
            (Mode::Extend, _) => {
                return Err("extend takes an array; append adds a single value".to_owned().into());
            }
        };
        Ok(cx.work.extend(cx.scope, &self.path, items)?)
    }
}
