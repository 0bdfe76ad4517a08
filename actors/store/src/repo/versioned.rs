//! Entities with versions: the tables of a kind and the operations on them.

use std::future::Future;

use chrono::NaiveDateTime;
use svc_model::lifecycle::{Rollout, Transition, VersionState};
use svc_model::{EntityKind, EntityTag, FieldError, LifecycleStatus, Page};

use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::EntityFilter;
use crate::repo::gates::Objection;
use crate::repo::references::References;

/// The handling of an imported item whose key is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Refuse the item.
    #[default]
    Fail,
    /// Leave what is stored.
    Skip,
    /// Replace the draft, or make a new version of what is no draft.
    NewVersion,
}

/// The action taken on an imported item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportAction {
    /// A first version.
    Created,
    /// The draft was replaced.
    UpdatedDraft,
    /// An entity without versions was replaced in place.
    Updated,
    /// A further version, as draft.
    NewVersion,
    /// The same content was there.
    Unchanged,
    /// The key was taken and the item left out.
    Skipped,
}

impl ImportAction {
    /// The name in reports.
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

    /// True for the actions that write.
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Unchanged | Self::Skipped)
    }
}

/// The action taken on an imported item, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOutcome {
    /// The id, generated where the item had none.
    pub id: String,
    /// The action.
    pub action: ImportAction,
}

/// Makes the new content of a draft out of the stored one, or says what is wrong with it, all problems at once.
pub type Merge<C> = Box<dyn FnOnce(&C) -> Result<C, Vec<FieldError>> + Send>;

/// The plan of a change of status.
#[derive(Debug)]
pub struct StatusChangePlan {
    /// Rows that would be written; `None` when there is nothing to change.
    pub(super) transition: Option<Transition>,
    /// Why it must not be, in the order of the gates.
    pub(super) objections: Vec<Objection>,
}

/// A kind of entity with drafts, versions and a status: its tables. Implemented here alone, for workflows and channels.
///
/// Every function runs inside the caller's transaction.
pub trait Versioned: Sized + Send + 'static {
    /// The content that an author writes.
    type Content: Clone + PartialEq + Send + Sync + 'static;
    /// The inputs of the gates of its activation.
    type Gates: Clone + Send + Sync + 'static;
    /// The kind of the entity.
    const KIND: EntityKind;
    /// Name of its repository in metrics.
    const REPOSITORY: &'static str;

    /// Returns the content that the author wrote.
    fn content(&self) -> &Self::Content;
    /// Returns the version number, status and rollout of this version.
    fn state(&self) -> VersionState;
    /// The tag of this version as it is stored.
    fn entity_tag(&self) -> EntityTag;

    /// The latest version of each id that passes the filter, and how many there are without a page.
    fn list(
        conn: &mut Conn,
        filter: &EntityFilter,
        page: Option<Page>,
    ) -> impl Future<Output = Result<(Vec<Self>, i64), StoreError>> + Send;
    /// Active versions, of everything or of some ids, newest first within an id.
    fn active(
        conn: &mut Conn,
        ids: Option<&[String]>,
    ) -> impl Future<Output = Result<Vec<Self>, StoreError>> + Send;

    /// One version, or the latest.
    fn find(
        conn: &mut Conn,
        id: &str,
        version: Option<i64>,
    ) -> impl Future<Output = Result<Option<Self>, StoreError>> + Send;
    /// Every version, newest first.
    fn states(
        conn: &mut Conn,
        id: &str,
    ) -> impl Future<Output = Result<Vec<VersionState>, StoreError>> + Send;
    /// A page of versions, newest first.
    fn versions(
        conn: &mut Conn,
        id: &str,
        page: Page,
    ) -> impl Future<Output = Result<Vec<Self>, StoreError>> + Send;
    /// The archived version that was active last, of those below a version.
    fn last_archived(
        conn: &mut Conn,
        id: &str,
        below: i64,
    ) -> impl Future<Output = Result<Option<i64>, StoreError>> + Send;
    /// Returns true where a version of the id, or without one of any id, became active since an instant and still is.
    fn is_activated_since(
        conn: &mut Conn,
        id: Option<&str>,
        since: NaiveDateTime,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;
    /// Lists the active definitions that need this one, as a message tells them.
    fn users(
        conn: &mut Conn,
        id: &str,
        references: &dyn References,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;
    /// Adds a draft.
    fn insert(
        conn: &mut Conn,
        id: &str,
        version: i64,
        content: &Self::Content,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Replaces the content of a draft.
    fn replace(
        conn: &mut Conn,
        id: &str,
        version: i64,
        content: &Self::Content,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Writes the status and the rollout of a version.
    fn set_state(
        conn: &mut Conn,
        id: &str,
        state: VersionState,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Stops what hangs on an id of which a change has left nothing to serve.
    fn withdrawn(conn: &mut Conn, id: &str) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = (conn, id);
        std::future::ready(Ok(()))
    }
    /// Removes every version and what hangs on them; how many there were.
    fn delete(conn: &mut Conn, id: &str) -> impl Future<Output = Result<usize, StoreError>> + Send;
    /// Refuses content that collides with another id.
    fn check_content(
        conn: &mut Conn,
        id: &str,
        content: &Self::Content,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Plans a change of status, gates included.
    fn plan(
        conn: &mut Conn,
        id: &str,
        target: LifecycleStatus,
        rollout: Rollout,
        gates: &Self::Gates,
    ) -> impl Future<Output = Result<StatusChangePlan, StoreError>> + Send;
}
