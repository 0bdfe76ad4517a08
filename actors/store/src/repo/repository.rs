//! Operations on definitions: those that every kind has, and those of kinds with versions.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

use svc_model::id::new_entity_id;
use svc_model::{Channel, EntityKind, LifecycleStatus, Page, Precondition, ServiceError, lifecycle};
use svc_secrets::EnvelopeKeys;

use crate::conn::Conn;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::definitions::{
    Definition, ImportAction, ImportOutcome, Merge, OnConflict, Versioned, queries, rows,
};
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::repo::references::{References, refuse_deletion};
use crate::repo::status_changes::StatusChanges;
use crate::repo::{EntityFilter, key};

/// The stored definitions of a kind.
pub struct Repository<V> {
    pub(super) database: Database,
    /// The keys of the secrets in definitions.
    pub(super) keys: Arc<EnvelopeKeys>,
    /// Changes of status that this process makes and has made recently.
    pub(super) status_changes: Arc<StatusChanges>,
    kind: PhantomData<fn() -> V>,
}

impl<D: Definition> Repository<D> {
    pub(crate) fn new(
        database: Database,
        keys: Arc<EnvelopeKeys>,
        status_changes: Arc<StatusChanges>,
    ) -> Self {
        Self { database, keys, status_changes, kind: PhantomData }
    }

    /// Returns a page of the latest versions that match the filter, one per id, and the number of all
    /// matches.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn list(&self, filter: EntityFilter, page: Page) -> Result<(Vec<D>, i64), StoreError> {
        if filter.is_impossible() {
            return Ok((Vec::new(), 0));
        }
        let keys = Arc::clone(&self.keys);
        self.database
            .read(operation::<D>("list"), move |conn| {
                Box::pin(async move { queries::list(conn, &filter, Some(page), &keys).await })
            })
            .await
    }

    /// Lists the active definitions that refer to an entity, as texts for a message.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn users(&self, id: &str, references: Arc<dyn References>) -> Result<Vec<String>, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        self.database
            .read(operation::<D>("users"), move |conn| {
                Box::pin(async move { D::users(conn, &id, &*references, &keys).await })
            })
            .await
    }

    /// Deletes every version and its dependent rows.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 412 if the precondition does not hold; the other variants if
    /// the database fails.
    pub async fn delete(&self, id: &str, mutation: Mutation) -> Result<(), StoreError> {
        self.remove(id, None, mutation).await
    }

    /// Deletes every version and its dependent rows, if no active definition refers to the entity.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 naming the definitions that refer to it; otherwise the errors of
    /// [`delete`](Self::delete).
    pub async fn delete_unused(
        &self,
        id: &str,
        references: Arc<dyn References>,
        mutation: Mutation,
    ) -> Result<(), StoreError> {
        self.remove(id, Some(references), mutation).await
    }

    async fn remove(
        &self,
        id: &str,
        references: Option<Arc<dyn References>>,
        mutation: Mutation,
    ) -> Result<(), StoreError> {
        let (id, keys, precondition) = (key(id), Arc::clone(&self.keys), mutation.precondition.clone());
        mutate(&self.database, operation::<D>("delete"), mutation, move |conn| {
            Box::pin(async move {
                let latest = find_checked::<D>(conn, &id, &precondition, &keys).await?;
                if let Some(references) = references {
                    refuse_deletion(D::KIND, &id, &D::users(conn, &id, &*references, &keys).await?)?;
                }
                if rows::delete(conn, D::KIND, &id).await? == 0 {
                    return Err(absent(D::KIND, &id));
                }
                let facts = ChangeFacts::of_content(D::content_hash(latest.content()), None);
                let facts = facts.with_version(latest.version());
                D::delete_dependents(conn, latest).await?;
                Ok(MutationResult::new((), &id).with_facts(facts))
            })
        })
        .await
    }
}

impl<V: Versioned> Repository<V> {
    /// Returns the latest version of an id, whatever its status.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn latest(&self, id: &str) -> Result<Option<V>, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        self.database
            .read(operation::<V>("latest"), move |conn| {
                Box::pin(async move { queries::find::<V>(conn, &id, None, &keys).await })
            })
            .await
    }

    /// Returns one version of an id, whatever its status.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn version(&self, id: &str, version: i64) -> Result<Option<V>, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        self.database
            .read(operation::<V>("version"), move |conn| {
                Box::pin(async move { queries::find(conn, &id, Some(version), &keys).await })
            })
            .await
    }

    /// Returns the status of every version of an id, none for an id that does not exist.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn statuses(&self, id: &str) -> Result<Vec<LifecycleStatus>, StoreError> {
        let id = key(id);
        let states = self.database.read(operation::<V>("statuses"), move |conn| {
            Box::pin(async move { queries::states(conn, V::KIND, &id).await })
        });
        Ok(states.await?.into_iter().map(|state| state.status).collect())
    }

    /// Returns the version that serves of each id that has one; of several the one with the largest share of the
    /// traffic, the newest of those.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn serving_versions(&self, ids: Vec<String>) -> Result<HashMap<String, i64>, StoreError> {
        let ids: Vec<String> = ids.iter().map(|id| key(id)).collect();
        let mut states = self
            .database
            .read(operation::<V>("serving_versions"), move |conn| {
                Box::pin(async move { queries::serving(conn, V::KIND, &ids).await })
            })
            .await?;
        states.sort_by_key(|(_, state)| (state.rollout_percentage, state.version));
        Ok(states.into_iter().map(|(id, state)| (id, state.version)).collect())
    }

    /// Returns all matches of [`list`](Self::list), as of one instant.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn export(&self, filter: EntityFilter) -> Result<Vec<V>, StoreError> {
        if filter.is_impossible() {
            return Ok(Vec::new());
        }
        let keys = Arc::clone(&self.keys);
        let all = self.database.read(operation::<V>("export"), move |conn| {
            Box::pin(async move { queries::list(conn, &filter, None, &keys).await })
        });
        Ok(all.await?.0)
    }

    /// Returns a page of the versions of an id, newest first, and the number of all versions.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none; the other variants if the database fails.
    pub async fn versions(&self, id: &str, page: Page) -> Result<(Vec<V>, i64), StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        self.database
            .read(operation::<V>("versions"), move |conn| {
                Box::pin(async move {
                    let states = queries::states(conn, V::KIND, &id).await?;
                    if states.is_empty() {
                        return Err(absent(V::KIND, &id));
                    }
                    let total = i64::try_from(states.len()).unwrap_or(i64::MAX);
                    Ok((queries::versions(conn, &id, page, &keys).await?, total))
                })
            })
            .await
    }

    /// Returns every active version, newest first within an id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn active(&self) -> Result<Vec<V>, StoreError> {
        let keys = Arc::clone(&self.keys);
        self.database
            .read(operation::<V>("active"), move |conn| {
                Box::pin(async move { queries::active(conn, None, &keys).await })
            })
            .await
    }

    /// Returns the active versions of these ids, newest first within an id.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn active_of(&self, ids: &[String]) -> Result<Vec<V>, StoreError> {
        let (ids, keys) = (ids.to_vec(), Arc::clone(&self.keys));
        self.database
            .read(operation::<V>("active_of"), move |conn| {
                Box::pin(async move { queries::active(conn, Some(&ids), &keys).await })
            })
            .await
    }

    /// Creates the first version, a draft. Generates an id if none is given.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if the id, or the name of a channel, is taken; the other variants if the database
    /// fails.
    pub async fn create(
        &self,
        id: Option<String>,
        content: V::Content,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        let (id, keys) = (id.unwrap_or_else(new_entity_id), Arc::clone(&self.keys));
        mutate(&self.database, operation::<V>("create"), mutation, move |conn| {
            Box::pin(async move {
                if !queries::states(conn, V::KIND, &id).await?.is_empty() {
                    return Err(id_taken(V::KIND, &id));
                }
                V::check_content(conn, &id, &content).await?;
                rows::insert::<V>(conn, &id, 1, &content, &keys).await?;
                read_written::<V>(conn, &id, None, &keys, None).await
            })
        })
        .await
    }

    /// Updates the draft: `merge` makes the new content from the stored one.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 without a draft, 400 with the problems that `merge` found, 412 if the precondition
    /// does not hold, 409 if the name of a channel is taken; the other variants if the database fails.
    pub async fn update(
        &self,
        id: &str,
        merge: Merge<V::Content>,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        let (id, keys, precondition) = (key(id), Arc::clone(&self.keys), mutation.precondition.clone());
        mutate(&self.database, operation::<V>("update"), mutation, move |conn| {
            Box::pin(async move {
                let draft =
                    queries::find::<V>(conn, &id, None, &keys).await?.ok_or_else(|| absent(V::KIND, &id))?;
                if draft.state().status != LifecycleStatus::Draft {
                    return Err(lifecycle::no_draft(V::KIND, &id).into());
                }
                // The precondition guards a change that could be made; any other is refused for what it is.
                let content = merge(draft.content()).map_err(ServiceError::invalid)?;
                check_tag(&draft, &id, &precondition)?;
                V::check_content(conn, &id, &content).await?;
                let (version, before) = (draft.state().version, V::content_hash(draft.content()));
                rows::replace::<V>(conn, &id, version, &content, &keys).await?;
                read_written::<V>(conn, &id, Some(version), &keys, before).await
            })
        })
        .await
    }

    /// Copies the latest version into a new draft.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 if it is a draft; the other variants if the database fails.
    pub async fn new_version(&self, id: &str, mutation: Mutation) -> Result<V, StoreError> {
        self.copy_version(id, None, mutation).await
    }

    /// Copies a version, by default the latest, into a new draft.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if the version does not exist, 409 if there is a draft, 412 if the precondition
    /// does not hold; the other variants if the database fails.
    pub async fn copy_version(
        &self,
        id: &str,
        from_version: Option<i64>,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        let (id, keys, precondition) = (key(id), Arc::clone(&self.keys), mutation.precondition.clone());
        mutate(&self.database, operation::<V>("new_version"), mutation, move |conn| {
            Box::pin(async move {
                let latest = find_checked::<V>(conn, &id, &precondition, &keys).await?;
                let (kind, state, before) = (V::KIND, latest.state(), V::content_hash(latest.content()));
                if state.status == LifecycleStatus::Draft {
                    let message = format!("{kind} '{id}' has a draft, version {}", state.version);
                    return Err(ServiceError::conflict(message).into());
                }
                let source = match from_version {
                    None => latest,
                    Some(version) => {
                        queries::find::<V>(conn, &id, Some(version), &keys).await?.ok_or_else(|| {
                            ServiceError::not_found(format!("{kind} '{id}' has no version {version}"))
                        })?
                    }
                };
                V::check_content(conn, &id, source.content()).await?;
                rows::insert::<V>(conn, &id, state.version + 1, source.content(), &keys).await?;
                read_written::<V>(conn, &id, None, &keys, before).await
            })
        })
        .await
    }

    /// Creates or updates one item of an import. Without a key a new id is generated.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if the key is taken and [`OnConflict::Fail`] was requested, or the name belongs
    /// to another channel; the other variants if the database fails.
    pub async fn import_item(
        &self,
        key: Option<String>,
        content: V::Content,
        on_conflict: OnConflict,
        mutation: Mutation,
    ) -> Result<ImportOutcome, StoreError> {
        let (id, keys) = (key.unwrap_or_else(new_entity_id), Arc::clone(&self.keys));
        mutate(&self.database, operation::<V>("import_item"), mutation, move |conn| {
            Box::pin(async move {
                let (action, facts) = import_one::<V>(conn, &id, &content, on_conflict, &keys).await?;
                let id_written = action.writes().then(|| id.clone());
                Ok(MutationResult { value: ImportOutcome { id, action }, id: id_written, facts })
            })
        })
        .await
    }
}

impl Repository<Channel> {
    /// Returns the version changed last among those with this name, whatever its status.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn latest_named(&self, name: &str) -> Result<Option<Channel>, StoreError> {
        let (name, keys) = (key(name), Arc::clone(&self.keys));
        self.database
            .read(operation::<Channel>("latest_named"), move |conn| {
                Box::pin(async move { queries::find_named(conn, &name, &keys).await })
            })
            .await
    }

    /// Returns the active channels that run one of these workflows.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses the
    /// query.
    pub async fn active_using(&self, workflows: &[String]) -> Result<Vec<Channel>, StoreError> {
        let (ids, keys) = (workflows.to_vec(), Arc::clone(&self.keys));
        self.database
            .read(operation::<Channel>("active_using"), move |conn| {
                Box::pin(async move { queries::active_using(conn, &ids, &keys).await })
            })
            .await
    }
}

pub(super) fn operation<D: Definition>(method: &'static str) -> QueryOperation {
    QueryOperation::new(D::REPOSITORY, method)
}

async fn import_one<V: Versioned>(
    conn: &mut Conn,
    id: &str,
    content: &V::Content,
    on_conflict: OnConflict,
    keys: &EnvelopeKeys,
) -> Result<(ImportAction, ChangeFacts), StoreError> {
    let after = || V::content_hash(content);
    let latest = queries::find::<V>(conn, id, None, keys).await?;
    let Some(latest) = latest else {
        V::check_content(conn, id, content).await?;
        rows::insert::<V>(conn, id, 1, content, keys).await?;
        return Ok((ImportAction::Created, ChangeFacts::of_content(None, after()).with_version(Some(1))));
    };
    match on_conflict {
        OnConflict::Fail => return Err(id_taken(V::KIND, id)),
        OnConflict::Skip => return Ok((ImportAction::Skipped, ChangeFacts::default())),
        OnConflict::NewVersion => {}
    }
    let state = latest.state();
    let same = latest.content() == content;
    if same && state.status != LifecycleStatus::Archived {
        return Ok((ImportAction::Unchanged, ChangeFacts::default()));
    }
    V::check_content(conn, id, content).await?;
    let facts = ChangeFacts::of_content(V::content_hash(latest.content()), after());
    if state.status == LifecycleStatus::Draft {
        rows::replace::<V>(conn, id, state.version, content, keys).await?;
        Ok((ImportAction::UpdatedDraft, facts.with_version(Some(state.version))))
    } else {
        rows::insert::<V>(conn, id, state.version + 1, content, keys).await?;
        Ok((ImportAction::NewVersion, facts.with_version(Some(state.version + 1))))
    }
}

/// Returns the latest version if it satisfies the precondition of a change.
pub(super) async fn find_checked<D: Definition>(
    conn: &mut Conn,
    id: &str,
    precondition: &Precondition,
    keys: &EnvelopeKeys,
) -> Result<D, StoreError> {
    let latest = queries::find::<D>(conn, id, None, keys).await?.ok_or_else(|| absent(D::KIND, id))?;
    check_tag(&latest, id, precondition)?;
    Ok(latest)
}

/// Checks the precondition of a change against the latest version. Without one, no tag is computed.
pub(super) fn check_tag<D: Definition>(
    latest: &D,
    id: &str,
    precondition: &Precondition,
) -> Result<(), StoreError> {
    if precondition.is_none() {
        return Ok(());
    }
    Ok(precondition.check(D::KIND, id, &latest.entity_tag())?)
}

/// Reads a definition back as the database now has it. `before` is the content hash that it follows.
pub(super) async fn read_written<D: Definition>(
    conn: &mut Conn,
    id: &str,
    version: Option<i64>,
    keys: &EnvelopeKeys,
    before: Option<String>,
) -> Result<MutationResult<D>, StoreError> {
    let row = read_back::<D>(conn, id, version, keys).await?;
    let facts = ChangeFacts::of_content(before, D::content_hash(row.content()));
    let facts = facts.with_version(row.version());
    Ok(MutationResult::new(row, id).with_facts(facts))
}

/// Returns a version just written as the database now has it; without a version, the latest.
pub(super) async fn read_back<D: Definition>(
    conn: &mut Conn,
    id: &str,
    version: Option<i64>,
    keys: &EnvelopeKeys,
) -> Result<D, StoreError> {
    let row = queries::find::<D>(conn, id, version, keys).await?;
    row.ok_or_else(|| StoreError::Database("a row just written is gone".into()))
}

pub(super) fn absent(kind: EntityKind, id: &str) -> StoreError {
    lifecycle::absent(kind, id).into()
}

pub(super) fn id_taken(kind: EntityKind, id: &str) -> StoreError {
    ServiceError::conflict(format!("{kind} '{id}' exists already")).into()
}
