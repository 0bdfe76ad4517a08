//! The consumers as callers write them and nodes load them.

use std::fmt;

use svc_model::config::QuotaTerms;
use svc_model::{Consumer, ConsumerKeyKind, Timestamp};
use svc_secrets::{EnvelopeError, Secret};

/// A consumer to be created, or the content of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerContent {
    /// Words by which channels accept it.
    pub tags: Vec<String>,
    /// The bounds of its requests.
    pub quota: Option<QuotaTerms>,
    /// Time from which on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// A change of a consumer. The members that are `None` stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsumerPatch {
    /// The new tags.
    pub tags: Option<Vec<String>>,
    /// The new quota, or none.
    pub quota: Option<Option<QuotaTerms>>,
    /// The new end, or none.
    pub expires_at: Option<Option<Timestamp>>,
}

/// A key to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewConsumerKey {
    /// The kind of the key.
    pub kind: ConsumerKeyKind,
    /// Time from which on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// A consumer with all that a node needs to know it by.
#[derive(Clone, Debug)]
pub struct ConsumerCredentials {
    pub consumer: Consumer,
    /// The secrets of its keys, in the order of the keys.
    pub secrets: Vec<ConsumerSecret>,
}

/// The stored part of a key that is compared with requests.
#[derive(Clone)]
pub enum ConsumerSecret {
    /// The SHA-256 of an API key.
    Digest([u8; 32]),
    /// The text of a key that signs.
    Text(Secret),
    /// A text that cannot be decrypted.
    Sealed(EnvelopeError),
    /// A row of another kind or form, such as one of a later release.
    Unknown,
}

/// Shows only the form.
impl fmt::Debug for ConsumerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digest(_) => "Digest",
            Self::Text(_) => "Text",
            Self::Sealed(_) => "Sealed",
            Self::Unknown => "Unknown",
        })
    }
}
