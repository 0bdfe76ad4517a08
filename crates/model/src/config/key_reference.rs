//! The description of a key and of a block, from which the manual, the schemas and the masks are made.

/// A block of the config, or one form of it.
#[derive(Clone, Copy, Debug)]
pub struct BlockReference {
    /// Path below `config`; empty for the config itself. `*` stands for a key that the author chooses.
    pub path: &'static str,
    /// Key and value that select this form of the block, as JSON; empty if there is only one form.
    pub form: &'static str,
    /// The keys of the block.
    pub keys: &'static [KeyReference],
}

/// A key of a block.
#[derive(Clone, Copy, Debug)]
pub struct KeyReference {
    /// The key.
    pub name: &'static str,
    /// The JSON type, in words.
    pub kind: &'static str,
    /// The default value as JSON; empty if there is none.
    pub default: &'static str,
    /// True if the block requires the key.
    pub required: bool,
    /// Other keys, separated by blanks; the block requires one of them all. Empty if there is none.
    pub alternative: &'static str,
    /// A valid value as JSON.
    pub example: &'static str,
    /// A description in one line.
    pub description: &'static str,
    /// True if reads hide the value.
    pub is_secret: bool,
    /// Minimum length of a text.
    pub min_length: Option<usize>,
    /// Maximum length of a text.
    pub max_length: Option<usize>,
    /// The regular expression that a text matches.
    pub pattern: Option<&'static str>,
}

pub(crate) const fn key(
    name: &'static str,
    kind: &'static str,
    example: &'static str,
    description: &'static str,
) -> KeyReference {
    KeyReference {
        name,
        kind,
        default: "",
        required: false,
        alternative: "",
        example,
        description,
        is_secret: false,
        min_length: None,
        max_length: None,
        pattern: None,
    }
}

impl KeyReference {
    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// Names another key; the block requires one of the two.
    pub(crate) const fn or(self, alternative: &'static str) -> Self {
        Self { required: true, alternative, ..self }
    }

    pub(crate) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(crate) const fn at_most(self, max_length: usize) -> Self {
        Self { max_length: Some(max_length), ..self }
    }

    pub(crate) const fn not_empty(self) -> Self {
        Self { min_length: Some(1), ..self }
    }

    pub(crate) const fn matching(self, pattern: &'static str) -> Self {
        Self { pattern: Some(pattern), ..self }
    }
}

pub(crate) const TEXT: &str = "text";
pub(crate) const TEXTS: &str = "list of texts";
pub(crate) const NUMBER: &str = "integer";
pub(crate) const SWITCH: &str = "boolean";
pub(crate) const LOGIC: &str = "expression";

/// Returns the names of keys.
pub(crate) fn names(keys: &[KeyReference]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// Describes a block with one form.
pub(crate) const fn block(path: &'static str, keys: &'static [KeyReference]) -> BlockReference {
    BlockReference { path, form: "", keys }
}

/// Describes one form of a block.
pub(crate) const fn form(
    path: &'static str,
    form: &'static str,
    keys: &'static [KeyReference],
) -> BlockReference {
    BlockReference { path, form, keys }
}
