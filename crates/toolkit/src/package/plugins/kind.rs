//! The kinds of the parts of a package.

use std::fmt;

use serde::{Serialize, Serializer};
use svc_model::EntityKind;

/// The kind of a part of a package: a definition, or a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::package) enum PartKind {
    /// A connector, workflow or channel.
    Entity(EntityKind),
    /// A plugin.
    Plugin,
}

impl PartKind {
    /// Returns the singular.
    pub(in crate::package) const fn name(self) -> &'static str {
        match self {
            Self::Entity(kind) => kind.name(),
            Self::Plugin => "plugin",
        }
    }

    /// Returns the plural, which is in paths.
    pub(in crate::package) const fn plural(self) -> &'static str {
        match self {
            Self::Entity(kind) => kind.plural(),
            Self::Plugin => "plugins",
        }
    }
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for PartKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
