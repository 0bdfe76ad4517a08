//! `secret`: reads a declared secret by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{ArenaExt as _, CustomOperator, DataValue, Error};
use serde_json::Value;

use crate::path;

/// The declared secrets, by name. Never printable.
#[derive(Default, Clone)]
pub struct DeclaredSecrets(BTreeMap<String, Value>);

impl fmt::Debug for DeclaredSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl<N: Into<String>> FromIterator<(N, Value)> for DeclaredSecrets {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(entries: I) -> Self {
        Self(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

impl DeclaredSecrets {
    /// Returns the value declared under a name, or below it: `db.password` is a secret of that name, or the
    /// field `password` of the secret `db`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        if let Some(value) = self.0.get(name) {
            return Some(value);
        }
        let (first, rest) = name.split_once('.')?;
        path::read(self.0.get(first)?, &path::segments(rest).ok()?)
    }

    /// Returns every declared value, in the order of their names.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.values()
    }

    /// Returns every declared value with its name.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns `true` if a name leads to a value.
    pub fn declares(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// The declared secrets that serve now; a reload may replace them while expressions read them.
pub(crate) type SharedSecrets = Arc<ArcSwap<DeclaredSecrets>>;

pub(super) struct SecretOperator(pub(super) SharedSecrets);

impl CustomOperator for SecretOperator {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        arena: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        let name = super::arguments::text_argument("secret", args)?;
        match self.0.load().get(name) {
            Some(Value::String(value)) => Ok(arena.string(value)),
            Some(value) => Ok(arena.alloc(DataValue::from_serde_value_in(value, arena))),
            None => Err(Error::custom_message("the secret is not declared")),
        }
    }
}
