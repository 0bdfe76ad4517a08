//! The providers of an instance, whose keys lie under those that a channel writes.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

use super::SignInProvider;
use super::parse::name_problem;
use crate::config::block::ConfigBlock;
use crate::field::FieldError;

/// The block of a channel.
const BLOCK: &str = "oauth2_login";
/// The key by which a channel takes the providers of the instance.
pub(super) const FROM_INSTANCE: &str = "providers_from_instance";
/// The key of its own ones.
const PROVIDERS: &str = "providers";
/// The keys that every provider has in the end.
const REQUIRED: [&str; 2] = ["client_id", "client_secret"];
/// The value of a required key that the instance may give.
const STAND_IN: &str = "instance";

/// The providers of an instance by their names, each with some or all of its keys. They hold secrets, so that they
/// cannot be printed.
#[derive(Clone, Default, PartialEq)]
pub struct InstanceProviders(Map<String, Value>);

impl InstanceProviders {
    /// Creates the providers of an instance.
    pub fn new(providers: Map<String, Value>) -> Self {
        Self(providers)
    }

    /// Checks the name of a provider, and the keys that it has. Others may be those of a channel.
    ///
    /// # Errors
    /// The first problem, with its path.
    pub fn check(name: &str, keys: &Value) -> Result<(), FieldError> {
        let path = format!("{BLOCK}.{PROVIDERS}.{name}");
        match name_problem(name) {
            Some(why) => Err(FieldError::invalid(path, why)),
            None => read_partial(&path, keys).map(drop),
        }
    }

    /// Returns true if a channel with this config takes the providers of its instance.
    pub fn are_wanted(config: &Value) -> bool {
        config[BLOCK][FROM_INSTANCE] == true
    }

    /// Returns the config of a channel with all keys of its providers: those that it writes, over those of the
    /// instance.
    pub fn complete<'c>(&self, config: &'c Value) -> Cow<'c, Value> {
        if !Self::are_wanted(config) {
            return Cow::Borrowed(config);
        }
        let mut config = config.clone();
        if let Some(Value::Object(block)) = config.get_mut(BLOCK) {
            let mut all = Value::Object(self.0.clone());
            if let Some(own) = block.get(PROVIDERS).filter(|own| !own.is_null()) {
                lay_over(&mut all, own);
            }
            block.insert(PROVIDERS.to_owned(), all);
            block.insert(FROM_INSTANCE.to_owned(), false.into());
        }
        Cow::Owned(config)
    }
}

/// Shows nothing of them.
impl fmt::Debug for InstanceProviders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InstanceProviders({})", self.0.len())
    }
}

/// Puts a value over another one; of two objects, member by member.
fn lay_over(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                lay_over(under.entry(name.as_str()).or_insert(Value::Null), value);
            }
        }
        (under, over) => under.clone_from(over),
    }
}

/// Reads the keys of a provider whose others come from elsewhere. What they are together is checked when they are.
pub(super) fn read_partial(path: &str, keys: &Value) -> Result<SignInProvider, FieldError> {
    let mut filled = keys.clone();
    if let Value::Object(members) = &mut filled {
        for name in REQUIRED {
            let member = members.entry(name).or_insert(Value::Null);
            if member.is_null() {
                *member = STAND_IN.into();
            }
        }
    }
    ConfigBlock::read_separate(path, &filled, SignInProvider::read)
}
