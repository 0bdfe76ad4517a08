//! Definitions stored as documents: workflows, channels and connectors in one table.

mod channel;
mod connector;
pub(in crate::repo) mod queries;
pub(in crate::repo) mod rows;
pub(in crate::repo) mod secrets;
mod status_change;
mod workflow;

use std::future::Future;

use svc_model::lifecycle::{Rollout, VersionState};
use svc_model::{EntityKind, EntityTag, FieldError, LifecycleStatus};
use svc_secrets::EnvelopeKeys;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::references::References;

pub(super) use channel::stored_methods;
pub use connector::StoredConnector;
pub(super) use connector::name_taken;
pub(crate) use rows::{ContentColumns, DefinitionKey, DefinitionRow};
pub(super) use status_change::Objection;
pub(super) use status_change::StatusChangePlan;

/// The action of an import for an item whose key is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Refuses the item.
    #[default]
    Fail,
    /// Keeps the stored entity.
    Skip,
    /// Replaces the draft, or creates a new version if there is none.
    NewVersion,
}

/// The action taken for an imported item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportAction {
    /// A first version was created.
    Created,
    /// The draft was replaced.
    UpdatedDraft,
    /// An entity without versions was replaced in place.
    Updated,
    /// A further version was created, as a draft.
    NewVersion,
    /// The same content was already stored.
    Unchanged,
    /// The key was taken and the item was skipped.
    Skipped,
}

impl ImportAction {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::UpdatedDraft => "updated_draft",
            Self::Updated => "updated",
            Self::NewVersion => "new_version",
            Self::Unchanged => "unchanged",
            Self::Skipped => "skipped",
        }
    }

    /// Returns whether the action writes.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Unchanged | Self::Skipped)
    }
}

/// The result of importing an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOutcome {
    /// The id, generated if the item had none.
    pub id: String,
    /// The action taken.
    pub action: ImportAction,
}

/// Makes the new content of a draft from the stored content, or returns all problems at once.
pub type Merge<C> = Box<dyn FnOnce(&C) -> Result<C, Vec<FieldError>> + Send>;

/// A kind of definition. Implemented only here, for workflows, channels and connectors.
///
/// Every function runs inside the transaction of the caller. `keys` encrypt the secrets in a content.
pub trait Definition: Sized + Send + 'static {
    /// The content that an author writes.
    type Content: Clone + PartialEq + Send + Sync + 'static;
    /// The kind.
    const KIND: EntityKind;
    /// Name of its repository in metrics.
    const REPOSITORY: &'static str;
    /// The status of a new version; `None` for a kind without versions.
    const FIRST_STATUS: Option<LifecycleStatus>;

    /// Returns the id, which all versions share.
    fn id(&self) -> &str;
    /// Returns the version; `None` for a kind without versions.
    fn version(&self) -> Option<i64>;
    /// Returns the content.
    fn content(&self) -> &Self::Content;
    /// Returns the hash of a content; `None` if it cannot be decrypted.
    fn content_hash(content: &Self::Content) -> Option<String>;
    /// Returns the entity tag of this version as stored.
    fn entity_tag(&self) -> EntityTag;

    /// Returns the definition of a row. One whose content cannot be read is marked, so that it is reported as broken and
    /// never runs.
    fn open(row: DefinitionRow, keys: &EnvelopeKeys) -> Self;
    /// Returns the columns of a content. What is not readable of it is taken from `stored`, the document that it replaces.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 400 for a secret that is encrypted already. [`StoreError::Database`] without random
    /// numbers.
    fn seal(
        content: &Self::Content,
        key: DefinitionKey<'_>,
        keys: &EnvelopeKeys,
        stored: Option<&str>,
    ) -> Result<ContentColumns, StoreError>;
    /// Returns false if a part of the content could not be decrypted, and is to stay as it is stored.
    fn is_readable(content: &Self::Content) -> bool {
        let _ = content;
        true
    }

    /// Refuses content that collides with another id.
    fn check_content(
        conn: &mut Conn,
        id: &str,
        content: &Self::Content,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Lists the active definitions that refer to this one, as texts for a message.
    fn users(
        conn: &mut Conn,
        id: &str,
        references: &dyn References,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;
    /// Deletes the rows that depend on a deleted definition.
    fn delete_dependents(
        conn: &mut Conn,
        deleted: Self,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// A kind of definition with drafts, versions and a status: workflows and channels.
pub trait Versioned: Definition {
    /// The requirements of an activation.
    type Requirements: Clone + Send + Sync + 'static;

    /// Returns the state of this version.
    fn state(&self) -> VersionState;
    /// Stops the dependent work of an id that no longer has an active version.
    fn stop_dependents(conn: &mut Conn, id: &str) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = (conn, id);
        std::future::ready(Ok(()))
    }
    /// Plans a change of status and checks its requirements.
    fn plan(
        conn: &mut Conn,
        id: &str,
        target: LifecycleStatus,
        rollout: Rollout,
        requirements: &Self::Requirements,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<StatusChangePlan, StoreError>> + Send;
}
