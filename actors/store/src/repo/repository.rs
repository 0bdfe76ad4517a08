//! The life of what has versions, the same for every kind.

use std::marker::PhantomData;

use svc_model::id::new_entity_id;
use svc_model::lifecycle::{self, Transition};
use svc_model::{Channel, Kind, Page, ServiceError, Status, Validation, Workflow};

use crate::conn::Conn;
use crate::error::StoreError;
use crate::metrics::Operation;
use crate::repo::gates::Objection;
use crate::repo::mutation::{Mutation, Written, mutate};
use crate::repo::versioned::{ImportAction, Imported, Merge, OnConflict, Plan, Versioned};
use crate::repo::{Filter, channel_rows, key};
use crate::store::Store;

/// The stored entities of a kind.
pub struct Repository<V> {
    store: Store,
    kind: PhantomData<fn() -> V>,
}

impl<V: Versioned> Repository<V> {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, kind: PhantomData }
    }

    /// The latest version of an id, whatever its status.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn latest(&self, id: &str) -> Result<Option<V>, StoreError> {
        let id = key(id);
        self.store
            .read(operation::<V>("latest"), move |conn| {
                Box::pin(async move { V::find(conn, &id, None).await })
            })
            .await
    }

    /// The latest version of each id that passes the filter: a page of them, and how many there are in all.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn list(&self, filter: Filter, page: Page) -> Result<(Vec<V>, i64), StoreError> {
        if filter.is_impossible() {
            return Ok((Vec::new(), 0));
        }
        self.store
            .read(operation::<V>("list"), move |conn| {
                Box::pin(async move { V::list(conn, &filter, Some(page)).await })
            })
            .await
    }

    /// As [`list`](Self::list), all of them, as of one instant.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn export(&self, filter: Filter) -> Result<Vec<V>, StoreError> {
        if filter.is_impossible() {
            return Ok(Vec::new());
        }
        let all = self.store.read(operation::<V>("export"), move |conn| {
            Box::pin(async move { V::list(conn, &filter, None).await })
        });
        Ok(all.await?.0)
    }

    /// A page of the versions of an id, newest first, and how many there are in all.
    ///
    /// # Errors
    /// 404 when there is none.
    pub async fn versions(&self, id: &str, page: Page) -> Result<(Vec<V>, i64), StoreError> {
        let id = key(id);
        self.store
            .read(operation::<V>("versions"), move |conn| {
                Box::pin(async move {
                    let states = V::states(conn, &id).await?;
                    if states.is_empty() {
                        return Err(absent(V::KIND, &id));
                    }
                    let total = i64::try_from(states.len()).unwrap_or(i64::MAX);
                    Ok((V::versions(conn, &id, page).await?, total))
                })
            })
            .await
    }

    /// Every active version, newest first within an id.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn active(&self) -> Result<Vec<V>, StoreError> {
        self.store.read(operation::<V>("active"), |conn| Box::pin(V::active(conn, None))).await
    }

    /// The active versions of these ids, newest first within an id.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn active_of(&self, ids: &[String]) -> Result<Vec<V>, StoreError> {
        let ids = ids.to_vec();
        self.store
            .read(operation::<V>("active_of"), move |conn| {
                Box::pin(async move { V::active(conn, Some(&ids)).await })
            })
            .await
    }

    /// Adds a first version, a draft. Without an id one is generated.
    ///
    /// # Errors
    /// 409 when the id, or the name of a channel, is taken.
    pub async fn create(
        &self,
        id: Option<String>,
        content: V::Content,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        let id = id.unwrap_or_else(new_entity_id);
        mutate(&self.store, operation::<V>("create"), mutation, move |conn| {
            Box::pin(async move {
                if !V::states(conn, &id).await?.is_empty() {
                    return Err(taken(V::KIND, &id));
                }
                V::check_content(conn, &id, &content).await?;
                V::insert(conn, &id, 1, &content).await?;
                written::<V>(conn, &id, None).await
            })
        })
        .await
    }

    /// Changes the draft: `merge` makes the new content of the stored one.
    ///
    /// # Errors
    /// 404 without a draft, 400 with what `merge` found, 409 when the name of a channel is taken.
    pub async fn update(
        &self,
        id: &str,
        merge: Merge<V::Content>,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        let id = key(id);
        mutate(&self.store, operation::<V>("update"), mutation, move |conn| {
            Box::pin(async move {
                let latest = V::find(conn, &id, None).await?;
                let draft = latest
                    .filter(|entity| entity.state().status == Status::Draft)
                    .ok_or_else(|| no_draft(V::KIND, &id))?;
                let content = merge(draft.content()).map_err(ServiceError::invalid)?;
                V::check_content(conn, &id, &content).await?;
                let version = draft.state().version;
                V::replace(conn, &id, version, &content).await?;
                written::<V>(conn, &id, Some(version)).await
            })
        })
        .await
    }

    /// Removes every version and what hangs on them.
    ///
    /// # Errors
    /// 404 when there is none.
    pub async fn delete(&self, id: &str, mutation: Mutation) -> Result<(), StoreError> {
        let id = key(id);
        mutate(&self.store, operation::<V>("delete"), mutation, move |conn| {
            Box::pin(async move {
                match V::delete(conn, &id).await? {
                    0 => Err(absent(V::KIND, &id)),
                    _ => Ok(Written::new((), &id)),
                }
            })
        })
        .await
    }

    /// Copies the latest version into a new draft.
    ///
    /// # Errors
    /// 404 when there is none, 409 when it is a draft.
    pub async fn new_version(&self, id: &str, mutation: Mutation) -> Result<V, StoreError> {
        let id = key(id);
        mutate(&self.store, operation::<V>("new_version"), mutation, move |conn| {
            Box::pin(async move {
                let latest = V::find(conn, &id, None).await?.ok_or_else(|| absent(V::KIND, &id))?;
                let (kind, state) = (V::KIND, latest.state());
                if state.status == Status::Draft {
                    let message = format!("{kind} '{id}' has a draft, version {}", state.version);
                    return Err(ServiceError::conflict(message).into());
                }
                V::insert(conn, &id, state.version + 1, latest.content()).await?;
                written::<V>(conn, &id, None).await
            })
        })
        .await
    }

    /// Adds or updates one item of an import. Without a key a new id is generated.
    ///
    /// # Errors
    /// 409 when the key is taken and [`OnConflict::Fail`] was asked for, or the name is another channel's.
    pub async fn import_item(
        &self,
        key: Option<String>,
        content: V::Content,
        on_conflict: OnConflict,
        mutation: Mutation,
    ) -> Result<Imported, StoreError> {
        let id = key.unwrap_or_else(new_entity_id);
        mutate(&self.store, operation::<V>("import_item"), mutation, move |conn| {
            Box::pin(async move {
                let action = import_one::<V>(conn, &id, &content, on_conflict).await?;
                let id_written = action.writes().then(|| id.clone());
                Ok(Written { value: Imported { id, action }, id: id_written })
            })
        })
        .await
    }

    /// Activates the draft, a workflow's at a share of the traffic (100 when `None`), or archives what is active.
    ///
    /// The gates run twice: before the change queues, where a refusal is the caller's mistake, and inside the
    /// transaction, where it can only mean that somebody else was faster, which is a conflict.
    ///
    /// # Errors
    /// 404 without a draft (or an active version), 400 from a gate, 409 when the name belongs to another active
    /// channel or another change came first.
    pub async fn set_status(
        &self,
        id: &str,
        target: Status,
        rollout: Option<i64>,
        gates: V::Gates,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        let (id, first) = (key(id), gates.clone());
        let asked = id.clone();
        let allowed = self.store.read(operation::<V>("check_status"), move |conn| {
            Box::pin(
                async move { V::plan(conn, &asked, target, rollout, &first).await?.permitted().map(drop) },
            )
        });
        allowed.await?;
        mutate(&self.store, operation::<V>("set_status"), mutation, move |conn| {
            Box::pin(async move {
                let plan = V::plan(conn, &id, target, rollout, &gates).await?;
                let transition = plan.permitted().map_err(overtaken)?;
                apply::<V>(conn, &id, transition).await
            })
        })
        .await
    }

    /// What [`set_status`](Self::set_status) would be refused for, every gate's objection; writes nothing.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn check_status(
        &self,
        id: &str,
        target: Status,
        rollout: Option<i64>,
        gates: V::Gates,
    ) -> Result<Validation, StoreError> {
        let id = key(id);
        let plan = self.store.read(operation::<V>("check_status"), move |conn| {
            Box::pin(async move { V::plan(conn, &id, target, rollout, &gates).await })
        });
        let plan = plan.await?;
        Ok(Validation {
            errors: plan.objections.into_iter().flat_map(Objection::into_issues).collect(),
            warnings: plan.transition.map(|transition| transition.warnings).unwrap_or_default(),
        })
    }
}

impl Repository<Workflow> {
    /// Moves the split between the two active versions; the newer one answers.
    ///
    /// # Errors
    /// 400 outside 1..100, without an active version, or when a single one would serve only a part.
    pub async fn set_rollout(
        &self,
        id: &str,
        percentage: i64,
        mutation: Mutation,
    ) -> Result<Workflow, StoreError> {
        let id = key(id);
        mutate(&self.store, operation::<Workflow>("set_rollout"), mutation, move |conn| {
            Box::pin(async move {
                let states = Workflow::states(conn, &id).await?;
                let transition = lifecycle::rollout(&id, &states, percentage)?;
                apply::<Workflow>(conn, &id, transition).await
            })
        })
        .await
    }
}

impl Repository<Channel> {
    /// The active channels that run one of these workflows.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn active_using(&self, workflows: &[String]) -> Result<Vec<Channel>, StoreError> {
        let ids = workflows.to_vec();
        self.store
            .read(operation::<Channel>("active_using"), move |conn| {
                Box::pin(async move { channel_rows::active_using(conn, &ids).await })
            })
            .await
    }
}

fn operation<V: Versioned>(method: &'static str) -> Operation {
    Operation::new(V::REPOSITORY, method)
}

/// Writes what a transition changes. Rows that stop serving go first: an index allows one draft, not an order.
async fn apply<V: Versioned>(
    conn: &mut Conn,
    id: &str,
    transition: Transition,
) -> Result<Written<V>, StoreError> {
    let serves = transition.changes.iter().any(|state| state.status == Status::Active);
    for state in transition.changes {
        V::set_state(conn, id, state).await?;
    }
    if !serves {
        V::withdrawn(conn, id).await?;
    }
    written::<V>(conn, id, Some(transition.answer)).await
}

async fn import_one<V: Versioned>(
    conn: &mut Conn,
    id: &str,
    content: &V::Content,
    on_conflict: OnConflict,
) -> Result<ImportAction, StoreError> {
    let latest = V::find(conn, id, None).await?;
    let Some(latest) = latest else {
        V::check_content(conn, id, content).await?;
        V::insert(conn, id, 1, content).await?;
        return Ok(ImportAction::Created);
    };
    match on_conflict {
        OnConflict::Fail => return Err(taken(V::KIND, id)),
        OnConflict::Skip => return Ok(ImportAction::Skipped),
        OnConflict::NewVersion => {}
    }
    let state = latest.state();
    let same = latest.content() == content;
    if same && state.status != Status::Archived {
        return Ok(ImportAction::Unchanged);
    }
    V::check_content(conn, id, content).await?;
    if state.status == Status::Draft {
        V::replace(conn, id, state.version, content).await?;
        Ok(ImportAction::UpdatedDraft)
    } else {
        V::insert(conn, id, state.version + 1, content).await?;
        Ok(ImportAction::NewVersion)
    }
}

/// The row as the database now has it.
async fn written<V: Versioned>(
    conn: &mut Conn,
    id: &str,
    version: Option<i64>,
) -> Result<Written<V>, StoreError> {
    let row = V::find(conn, id, version).await?;
    row.map(|row| Written::new(row, id))
        .ok_or_else(|| StoreError::Database("a row just written is gone".into()))
}

impl Plan {
    fn permitted(self) -> Result<Transition, StoreError> {
        match (self.objections.into_iter().next(), self.transition) {
            (Some(objection), _) => Err(objection.error.into()),
            (None, Some(transition)) => Ok(transition),
            (None, None) => Err(StoreError::Database("a change of status without an outcome".into())),
        }
    }
}

fn overtaken(error: StoreError) -> StoreError {
    match error {
        StoreError::Refused(error) => {
            ServiceError::conflict(format!("another change came first: {}", error.message())).into()
        }
        other => other,
    }
}

fn absent(kind: Kind, id: &str) -> StoreError {
    ServiceError::not_found(format!("{kind} '{id}' does not exist")).into()
}

fn no_draft(kind: Kind, id: &str) -> StoreError {
    ServiceError::not_found(format!("{kind} '{id}' has no draft version")).into()
}

fn taken(kind: Kind, id: &str) -> StoreError {
    ServiceError::conflict(format!("{kind} '{id}' exists already")).into()
}
