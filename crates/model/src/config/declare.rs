//! The declaration of an authored block: each key once, with its type, default, example and text.
//!
//! [`block!`] makes of it the struct, the reader and the reference, from which come the manual, the schemas and the
//! mask; [`choice!`] does so for a set of words. They are to definitions as `section!` is to the settings.

use serde_json::{Map, Value};

use super::block::ConfigBlock;
use super::key_reference::{KeyReference, key};
use super::secret::SecretText;
use crate::field::FieldError;

/// Reads the value of a key; `None` if the key is absent.
type Reader<T> = fn(&mut ConfigBlock<'_>, &'static str) -> Result<Option<T>, FieldError>;

/// A type that the value of a key can have.
pub(in crate::config) trait KeyValue: Sized {
    /// The JSON type, in words.
    const KIND: &'static str;
    /// Reads the value of a key; `None` if the key is absent.
    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Self>, FieldError>;
}

/// The field of a block: a value, which is required unless it has a default, or an optional one.
pub(in crate::config) trait Field: Sized {
    /// The value if there is one.
    type Value: KeyValue;
    /// True if the key must be present.
    const REQUIRED: bool;
    /// Makes the field of a value that was read.
    fn settle(
        value: Option<Self::Value>,
        block: &ConfigBlock<'_>,
        name: &'static str,
    ) -> Result<Self, FieldError>;
    /// Returns the field in the place of a value that could not be read.
    fn stand_in() -> Option<Self>;
}

impl<T: KeyValue> Field for T {
    type Value = T;
    const REQUIRED: bool = true;

    fn settle(value: Option<T>, block: &ConfigBlock<'_>, name: &'static str) -> Result<T, FieldError> {
        value.ok_or_else(|| block.missing(name))
    }

    fn stand_in() -> Option<T> {
        None
    }
}

impl<T: KeyValue> Field for Option<T> {
    type Value = T;
    const REQUIRED: bool = false;

    fn settle(value: Self, _: &ConfigBlock<'_>, _: &'static str) -> Result<Self, FieldError> {
        Ok(value)
    }

    fn stand_in() -> Option<Self> {
        Some(None)
    }
}

/// A type with defaults that a declaration writes as literals.
pub(in crate::config) trait Literal {
    /// The literal.
    type Written;
    /// Makes the value of a literal.
    fn from_literal(written: Self::Written) -> Self;
}

/// A value that is written as one of a set of words.
pub(in crate::config) trait Choice: Copy + PartialEq + 'static {
    /// The words with their values.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns the word.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| *word)
    }
}

/// The declaration of one key.
pub(in crate::config) struct Key<T: 'static> {
    /// The description of the key.
    pub(in crate::config) reference: KeyReference,
    reader: Reader<T>,
}

impl<T: KeyValue> Key<T> {
    /// Declares a key of a field; `text` begins with the blank of its doc comment.
    pub(in crate::config) const fn new<F: Field<Value = T>>(
        name: &'static str,
        text: &'static str,
        example: &'static str,
    ) -> Self {
        let mut reference = key(name, T::KIND, example, text.split_at(1).1);
        reference.required = F::REQUIRED;
        Self { reference, reader: T::read }
    }

    /// Sets the default value, as JSON; empty if it depends on other keys.
    pub(in crate::config) const fn default(mut self, default: &'static str) -> Self {
        self.reference.default = default;
        self.reference.required = false;
        self
    }

    /// Lists the key as required.
    pub(in crate::config) const fn required(mut self) -> Self {
        self.reference.required = true;
        self
    }

    /// Names the keys that can take its place, separated by blanks.
    pub(in crate::config) const fn or(mut self, alternative: &'static str) -> Self {
        self.reference.alternative = alternative;
        self
    }

    /// Describes the values in other words than their type does.
    pub(in crate::config) const fn kind(mut self, kind: &'static str) -> Self {
        self.reference.kind = kind;
        self
    }

    /// Hides the value on reads.
    pub(in crate::config) const fn secret(mut self) -> Self {
        self.reference.is_secret = true;
        self
    }

    /// Replaces the reader of the type, for example by one that checks more.
    pub(in crate::config) const fn by(mut self, reader: Reader<T>) -> Self {
        self.reader = reader;
        self
    }

    /// Reads the field of the key.
    pub(in crate::config) fn read<F: Field<Value = T>>(
        &self,
        block: &mut ConfigBlock<'_>,
    ) -> Result<F, FieldError> {
        let value = (self.reader)(block, self.reference.name)?;
        F::settle(value, block, self.reference.name)
    }

    /// Reads the field of a key with a default value.
    pub(in crate::config) fn read_or(
        &self,
        block: &mut ConfigBlock<'_>,
        default: impl FnOnce() -> T,
    ) -> Result<T, FieldError> {
        Ok((self.reader)(block, self.reference.name)?.unwrap_or_else(default))
    }
}

/// Declares a block.
///
/// A key is `/// text  field: Type = default => example, option(…);`. The type decides on the reader; a type other than
/// `Option` without a default makes the key required. `field as "key"` names a key that differs from its field. A
/// default of `_` is that of the type, and not listed; an example of `_` is none. The options are the methods of
/// [`Key`].
///
/// The reader stops at the first problem; with `reports all;` in front, it adds each problem to those of the
/// block. `form "mode" = "jwt", "text";` in front declares the keys of one form of a block, whose key `mode` the caller
/// has read. `struct Name: Default` has the value of an absent block.
macro_rules! block {
    (reports all; form $key:literal = $word:literal, $text:literal; $($declaration:tt)+) => {
        $crate::config::declare::block!(@declare all [$key $word $text] $($declaration)+);
    };
    (reports all; $($declaration:tt)+) => { $crate::config::declare::block!(@declare all [] $($declaration)+); };
    (form $key:literal = $word:literal, $text:literal; $($declaration:tt)+) => {
        $crate::config::declare::block!(@declare first [$key $word $text] $($declaration)+);
    };
    (@declare $mode:ident [$($selector:literal $word:literal $meaning:literal)?]
        $(#[$about:meta])*
        $visibility:vis struct $name:ident $(: $derived:ident)? { $(
            $(#[doc = $text:literal])+
            $seen:vis $field:ident $(as $key:literal)?: $type:ty $(= $default:tt)? => $example:tt
            $(, $option:ident($($argument:tt)*))*;
        )+ }
    ) => {
        $(#[$about])*
        $visibility struct $name { $( $(#[doc = $text])+ $seen $field: $type, )+ }

        impl $name {
            $(
                /// The key and the value that select this form of the block, as JSON.
                pub(crate) const FORM: &'static str = concat!("{\"", $selector, "\": \"", $word, "\"}");
            )?

            /// The keys in the order of the manual.
            pub(crate) const KEYS: &'static [$crate::config::key_reference::KeyReference] = &[ $(
                $crate::config::key_reference::key(
                    $selector, concat!("`", $word, "`"), concat!("\"", $word, "\""), $meaning,
                ).required(),
            )? $(
                $crate::config::declare::block!(@key $field [$($key)?] $type, [$($default)?] $example
                    [$($text),+] [$(.$option($($argument)*))*]).reference,
            )+ ];
        }

        $crate::config::declare::block!(@reader $mode $name { $(
            $field: $type, [$($default)?] ($crate::config::declare::block!(@key $field [$($key)?] $type,
                [$($default)?] $example [$($text),+] [$(.$option($($argument)*))*]))
        )+ });
        $crate::config::declare::block!(@default [$($derived)?] $name { $( $field [$($default)?] )+ });
    };
    (@key $field:ident [$($key:literal)?] $type:ty, [$($default:tt)?] $example:tt [$($text:literal),+]
        [$($options:tt)*]
    ) => {
        const {
            $crate::config::declare::Key::<<$type as $crate::config::declare::Field>::Value>::new::<$type>(
                $crate::config::declare::block!(@name $field $($key)?),
                concat!($($text),+),
                $crate::config::declare::block!(@json $example),
            )
            $(.default($crate::config::declare::block!(@json $default)))?
            $($options)*
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@json _) => { "" };
    (@json $value:tt) => { stringify!($value) };
    (@value []) => { None };
    (@value [_]) => { Default::default() };
    (@value [$default:literal]) => { $crate::config::declare::Literal::from_literal($default) };
    (@read $block:ident $key:tt $type:ty, []) => { $key.read::<$type>($block) };
    (@read $block:ident $key:tt $type:ty, [$default:tt]) => {
        $key.read_or($block, || $crate::config::declare::block!(@value [$default]))
    };
    (@kept $block:ident $read:ident $type:ty, []) => {
        $block.keep($read).or_else(<$type as $crate::config::declare::Field>::stand_in)
    };
    (@kept $block:ident $read:ident $type:ty, $default:tt) => {
        Some($block.keep($read).unwrap_or_else(|| $crate::config::declare::block!(@value $default)))
    };
    (@reader first $name:ident { $($field:ident: $type:ty, $default:tt $key:tt)+ }) => {
        impl $name {
            /// Reads the block and stops at its first problem.
            pub(in $crate::config) fn read(
                block: &mut $crate::config::block::ConfigBlock<'_>,
            ) -> Result<Self, $crate::field::FieldError> {
                Ok(Self { $( $field: $crate::config::declare::block!(@read block $key $type, $default)?, )+ })
            }
        }

        impl $crate::config::declare::KeyValue for $name {
            const KIND: &'static str = "block";

            fn read(
                block: &mut $crate::config::block::ConfigBlock<'_>,
                name: &'static str,
            ) -> Result<Option<Self>, $crate::field::FieldError> {
                block.block(name, Self::read)
            }
        }
    };
    (@reader all $name:ident { $($field:ident: $type:ty, $default:tt $key:tt)+ }) => {
        impl $name {
            /// Reads the block and adds each problem to those of the block; `None` without a required key.
            pub(in $crate::config) fn read(
                block: &mut $crate::config::block::ConfigBlock<'_>,
            ) -> Option<Self> {
                $( let $field = $crate::config::declare::block!(@read block $key $type, $default);
                let $field = $crate::config::declare::block!(@kept block $field $type, $default); )+
                Some(Self { $( $field: $field?, )+ })
            }
        }

        impl $crate::config::declare::KeyValue for $name {
            const KIND: &'static str = "block";

            fn read(
                block: &mut $crate::config::block::ConfigBlock<'_>,
                name: &'static str,
            ) -> Result<Option<Self>, $crate::field::FieldError> {
                Ok(block.block(name, |block| Ok(Self::read(block)))?.flatten())
            }
        }
    };
    (@default [] $($rest:tt)*) => {};
    (@default [Default] $name:ident { $($field:ident $default:tt)+ }) => {
        impl Default for $name {
            /// Returns the value of an absent block.
            fn default() -> Self {
                Self { $( $field: $crate::config::declare::block!(@value $default), )+ }
            }
        }
    };
    ($($declaration:tt)+) => { $crate::config::declare::block!(@declare first [] $($declaration)+); };
}

/// Declares a set of words and the value of each.
macro_rules! choice {
    (
        $(#[$about:meta])*
        $visibility:vis enum $name:ident {
            $(#[doc = $first_text:literal])+ $first:ident = $first_word:literal,
            $( $(#[doc = $text:literal])+ $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $name {
            $(#[doc = $first_text])+ $first,
            $( $(#[doc = $text])+ $variant, )*
        }

        impl $crate::config::declare::Choice for $name {
            const WORDS: &'static [(&'static str, Self)] =
                &[($first_word, Self::$first), $( ($word, Self::$variant), )*];
        }

        impl $crate::config::declare::KeyValue for $name {
            const KIND: &'static str = concat!("`", $first_word, "`" $(, ", `", $word, "`")*);

            fn read(
                block: &mut $crate::config::block::ConfigBlock<'_>,
                name: &'static str,
            ) -> Result<Option<Self>, $crate::field::FieldError> {
                block.choice(name, <Self as $crate::config::declare::Choice>::WORDS)
            }
        }

        impl $crate::config::declare::Literal for $name {
            type Written = &'static str;

            fn from_literal(written: &'static str) -> Self {
                let words = <Self as $crate::config::declare::Choice>::WORDS;
                let found = words.iter().find(|(word, _)| *word == written);
                found.map_or(Self::$first, |(_, value)| *value)
            }
        }
    };
}

pub(in crate::config) use {block, choice};

/// Makes types the values of keys: `type = "kind", method of the block`.
macro_rules! key_values {
    ($($type:ty = $kind:literal, $read:expr;)+) => { $(
        impl KeyValue for $type {
            const KIND: &'static str = $kind;

            fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Self>, FieldError> {
                let read: Reader<Self> = $read;
                read(block, name)
            }
        }
    )+ };
}

key_values! {
    bool = "boolean", |block, name| block.boolean(name);
    u64 = "integer", |block, name| block.unsigned(name);
    i64 = "integer", |block, name| block.signed(name);
    u32 = "integer", |block, name| block.integer_up_to(name, u32::MAX);
    f64 = "number", |block, name| block.number(name);
    String = "text", |block, name| block.string(name);
    SecretText = "text", |block, name| Ok(block.string(name)?.map(SecretText::new));
    Vec<String> = "list of texts", |block, name| block.strings(name);
    Vec<SecretText> = "list of texts", |block, name| {
        Ok(block.strings(name)?.map(|texts| texts.into_iter().map(SecretText::new).collect()))
    };
    Map<String, Value> = "object", |block, name| Ok(block.map(name)?.cloned());
    Value = "expression", |block, name| Ok(block.any(name));
}

/// Makes types literals of themselves.
macro_rules! literals {
    ($($type:ty),+) => { $(
        impl Literal for $type {
            type Written = Self;

            fn from_literal(written: Self) -> Self {
                written
            }
        }
    )+ };
}

literals!(bool, u16, u32, u64);

impl Literal for String {
    type Written = &'static str;

    fn from_literal(written: &'static str) -> Self {
        written.to_owned()
    }
}

/// Reads an integer that is at least 1.
pub(in crate::config) fn positive(
    block: &mut ConfigBlock<'_>,
    name: &'static str,
) -> Result<Option<u64>, FieldError> {
    block.positive(name)
}
