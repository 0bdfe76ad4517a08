//! The tables of a versioned kind, and the changes of their status.

use std::future::Future;

use chrono::NaiveDateTime;
use svc_model::lifecycle::{Rollout, Transition, VersionState};
use svc_model::{EntityKind, EntityTag, FieldError, LifecycleStatus, Page};
use svc_secrets::EnvelopeKeys;

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::EntityFilter;
use crate::repo::references::References;
use crate::repo::requirements::Objection;

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

/// The plan of a change of status.
#[derive(Debug)]
pub struct StatusChangePlan {
    /// The change to write; `None` if there is nothing to change.
    pub(super) transition: Option<Transition>,
    /// The objections, in the order of the requirements.
    pub(super) objections: Vec<Objection>,
}

/// A kind of entity with drafts, versions and a status, and its tables. Implemented only here, for workflows
/// and channels.
///
/// Every function runs inside the transaction of the caller. `keys` encrypt the credentials in a content.
pub trait Versioned: Sized + Send + 'static {
    /// The content that an author writes.
    type Content: Clone + PartialEq + Send + Sync + 'static;
    /// The requirements of an activation.
    type Requirements: Clone + Send + Sync + 'static;
    /// The kind.
    const KIND: EntityKind;
    /// Name of its repository in metrics.
    const REPOSITORY: &'static str;

    /// Returns the id, which all versions share.
    fn id(&self) -> &str;
    /// Returns the content.
    fn content(&self) -> &Self::Content;
    /// Returns the hash of a content.
    fn content_hash(content: &Self::Content) -> String;
    /// Returns the state of this version.
    fn state(&self) -> VersionState;
    /// Returns the entity tag of this version as stored.
    fn entity_tag(&self) -> EntityTag;

    /// Returns a page of the latest versions that match the filter, and the number of all matches.
    fn list(
        conn: &mut Conn,
        filter: &EntityFilter,
        page: Option<Page>,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<(Vec<Self>, i64), StoreError>> + Send;
    /// Returns the active versions, of all or of some ids, newest first within an id.
    fn active(
        conn: &mut Conn,
        ids: Option<&[String]>,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<Vec<Self>, StoreError>> + Send;

    /// Returns the states of the active versions of some ids.
    fn serving(
        conn: &mut Conn,
        ids: &[String],
    ) -> impl Future<Output = Result<Vec<(String, VersionState)>, StoreError>> + Send;
    /// Returns one version, or the latest.
    fn find(
        conn: &mut Conn,
        id: &str,
        version: Option<i64>,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<Option<Self>, StoreError>> + Send;
    /// Returns the states of every version, newest first.
    fn states(
        conn: &mut Conn,
        id: &str,
    ) -> impl Future<Output = Result<Vec<VersionState>, StoreError>> + Send;
    /// Returns a page of versions, newest first.
    fn versions(
        conn: &mut Conn,
        id: &str,
        page: Page,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<Vec<Self>, StoreError>> + Send;
    /// Returns the version below `below` that was active last and is archived.
    fn last_archived(
        conn: &mut Conn,
        id: &str,
        below: i64,
    ) -> impl Future<Output = Result<Option<i64>, StoreError>> + Send;
    /// Returns whether a version of the id (of any id without one) became active since an instant and still
    /// is.
    fn is_activated_since(
        conn: &mut Conn,
        id: Option<&str>,
        since: NaiveDateTime,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;
    /// Lists the active definitions that refer to this one, as texts for a message.
    fn users(
        conn: &mut Conn,
        id: &str,
        references: &dyn References,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;
    /// Inserts a draft.
    fn insert(
        conn: &mut Conn,
        id: &str,
        version: i64,
        content: &Self::Content,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Replaces the content of a draft.
    fn replace(
        conn: &mut Conn,
        id: &str,
        version: i64,
        content: &Self::Content,
        keys: &EnvelopeKeys,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Writes the status and the rollout of a version.
    fn set_state(
        conn: &mut Conn,
        id: &str,
        state: VersionState,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Stops the dependent work of an id that no longer has an active version.
    fn stop_dependents(conn: &mut Conn, id: &str) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = (conn, id);
        std::future::ready(Ok(()))
    }
    /// Deletes every version and its dependent rows. Returns the number of versions.
    fn delete(conn: &mut Conn, id: &str) -> impl Future<Output = Result<usize, StoreError>> + Send;
    /// Refuses content that collides with another id.
    fn check_content(
        conn: &mut Conn,
        id: &str,
        content: &Self::Content,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
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

/// Parses a stored status. An unknown one reads as archived, so that the version does not serve.
pub(super) fn stored_status(name: &str) -> LifecycleStatus {
    LifecycleStatus::parse(name).unwrap_or(LifecycleStatus::Archived)
}
