//! Changes of the active versions: activation, archiving, traffic split of a rollout, rollback.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use svc_model::gate::CanaryPlan;
use svc_model::lifecycle::{self, Rollout, Transition, VersionState};
use svc_model::{EntityKind, LifecycleStatus, Precondition, ServiceError, ValidationReport, Workflow};
use svc_secrets::EnvelopeKeys;

use crate::config::Backend;
use crate::conn::Conn;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::definitions::{Objection, StatusChangePlan, Versioned, queries, rows};
use crate::repo::key;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::repo::repository::{Repository, find_checked, operation, read_back};
use crate::repo::rollouts::{self, RolloutOrder};
use crate::repo::status_changes::{classify, overtaken_conflict};

/// The version that a rollback restores, and the state it was chosen from.
#[derive(Debug)]
pub struct RollbackSource<V> {
    /// The version, as stored.
    pub entity: V,
    to_version: Option<i64>,
    latest: i64,
}

impl<V: Versioned> Repository<V> {
    /// Activates the draft, a workflow's at a share of the traffic (100 if `None`), or archives the active
    /// version.
    ///
    /// The requirements are checked inside the transaction. On a server they are checked before the change is queued as well: a refusal
    /// that only the transaction meets comes from a change that was faster, maybe of another node. A refusal caused
    /// by a change after the request arrived is a conflict.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 without a draft (or an active version), 412 if the precondition does not hold,
    /// 400 for an unmet requirement, 409 if the name belongs to another active channel, a canary is active, or another
    /// change came first; the other variants if the database fails.
    pub async fn set_status(
        &self,
        id: &str,
        target: LifecycleStatus,
        rollout: Option<Rollout>,
        requirements: V::Requirements,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        self.set_status_with(id, target, rollout, requirements, None, mutation).await
    }

    /// Does the same, and begins the rollout of a plan with it.
    ///
    /// # Errors
    /// Those of [`set_status`](Self::set_status), and 400 for a plan without an older active version.
    pub async fn set_status_with(
        &self,
        id: &str,
        target: LifecycleStatus,
        rollout: Option<Rollout>,
        requirements: V::Requirements,
        canary: Option<CanaryPlan>,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        let (id, rollout, changes) = (key(id), rollout.unwrap_or_default(), Arc::clone(&self.status_changes));
        let (precondition, received_at) = (mutation.precondition.clone(), mutation.received_at);
        let keys = Arc::clone(&self.keys);
        let is_admitted = self.database.backend() == Backend::Postgres;
        if is_admitted {
            self.admit(&id, target, rollout, requirements.clone(), &mutation).await?;
        }
        self.change_status(operation::<V>("set_status"), mutation, move |conn| {
            Box::pin(async move {
                check_precondition::<V>(conn, &id, &precondition, &keys).await?;
                let plan = V::plan(conn, &id, target, rollout, &requirements, &keys).await?;
                let transition = match plan.into_permitted() {
                    Err(StoreError::Refused(refusal)) if is_admitted => {
                        return Err(overtaken_conflict(&refusal).into());
                    }
                    Err(StoreError::Refused(refusal)) => {
                        return Err(classify::<V>(conn, &changes, &id, received_at, refusal).await?.into());
                    }
                    outcome => outcome?,
                };
                let applied = apply::<V>(conn, &id, transition, &keys).await?;
                if let Some(canary) = canary {
                    rollouts::begin(conn, &id, &canary).await?;
                }
                Ok(applied)
            })
        })
        .await
    }

    /// Runs `work`, which changes the status of a version, as one mutation. Others are notified of the change from the
    /// moment when it is made.
    async fn change_status(
        &self,
        operation: QueryOperation,
        mutation: Mutation,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<MutationResult<V>, StoreError>>
        + Send
        + 'static,
    ) -> Result<V, StoreError> {
        let (changes, is_dry_run) = (Arc::clone(&self.status_changes), mutation.dry_run);
        let changed = mutate(&self.database, operation, mutation, move |conn| {
            Box::pin(async move {
                let MutationResult { value, id, facts } = work(conn).await?;
                let change = changes.begin(V::KIND, id.as_deref().unwrap_or_default());
                Ok(MutationResult { value: (value, change), id, facts })
            })
        });
        let (entity, change) = changed.await?;
        if !is_dry_run {
            change.commit();
        }
        Ok(entity)
    }

    /// Checks the precondition and the requirements before a change of status is queued.
    async fn admit(
        &self,
        id: &str,
        target: LifecycleStatus,
        rollout: Rollout,
        requirements: V::Requirements,
        mutation: &Mutation,
    ) -> Result<(), StoreError> {
        let (id, changes) = (id.to_owned(), Arc::clone(&self.status_changes));
        let (precondition, received_at) = (mutation.precondition.clone(), mutation.received_at);
        let keys = Arc::clone(&self.keys);
        self.database
            .read(operation::<V>("check_status"), move |conn| {
                Box::pin(async move {
                    check_precondition::<V>(conn, &id, &precondition, &keys).await?;
                    match V::plan(conn, &id, target, rollout, &requirements, &keys).await?.into_permitted() {
                        Ok(_) => Ok(()),
                        Err(StoreError::Refused(refusal)) => {
                            Err(classify::<V>(conn, &changes, &id, received_at, refusal).await?.into())
                        }
                        Err(error) => Err(error),
                    }
                })
            })
            .await
    }

    /// Lists the unmet requirements of [`set_status`](Self::set_status). Writes nothing.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 412 if the precondition does not hold; the other variants if the database fails.
    pub async fn check_status(
        &self,
        id: &str,
        target: LifecycleStatus,
        rollout: Option<Rollout>,
        requirements: V::Requirements,
        precondition: Precondition,
    ) -> Result<ValidationReport, StoreError> {
        let (id, keys, rollout) = (key(id), Arc::clone(&self.keys), rollout.unwrap_or_default());
        let plan = self.database.read(operation::<V>("check_status"), move |conn| {
            Box::pin(async move {
                check_precondition::<V>(conn, &id, &precondition, &keys).await?;
                V::plan(conn, &id, target, rollout, &requirements, &keys).await
            })
        });
        let plan = plan.await?;
        Ok(ValidationReport {
            errors: plan.objections.into_iter().flat_map(Objection::into_issues).collect(),
            warnings: plan.transition.map(|transition| transition.warnings).unwrap_or_default(),
        })
    }

    /// Returns the version that a rollback restores: the given one, or the one that was active before.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 404 if there is none, 409 while there is a draft or if the version is not archived;
    /// the other variants if the database fails.
    pub async fn rollback_source(
        &self,
        id: &str,
        to_version: Option<i64>,
    ) -> Result<RollbackSource<V>, StoreError> {
        let (id, keys) = (key(id), Arc::clone(&self.keys));
        self.database
            .read(operation::<V>("rollback_source"), move |conn| {
                Box::pin(async move { find_source(conn, &id, to_version, &keys).await })
            })
            .await
    }

    /// Creates a new version from an archived one and activates it, in one transaction.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 409 if another change came first or the name now belongs to another channel, 412 if
    /// the precondition does not hold, 400 for an unmet requirement; the other variants if the database fails.
    pub async fn rollback(
        &self,
        id: &str,
        source: RollbackSource<V>,
        requirements: V::Requirements,
        mutation: Mutation,
    ) -> Result<V, StoreError> {
        let (id, keys, precondition) = (key(id), Arc::clone(&self.keys), mutation.precondition.clone());
        self.change_status(operation::<V>("rollback"), mutation, move |conn| {
            Box::pin(async move {
                find_checked::<V>(conn, &id, &precondition, &keys).await?;
                let RollbackSource { entity: chosen, to_version, latest } = source;
                let current = find_source::<V>(conn, &id, to_version, &keys).await?;
                if (current.latest, current.entity.state().version) != (latest, chosen.state().version) {
                    let message = format!("another change of {} '{id}' came first", V::KIND);
                    return Err(ServiceError::conflict(message).into());
                }
                V::check_content(conn, &id, chosen.content()).await?;
                rows::insert::<V>(conn, &id, latest + 1, chosen.content(), &keys).await?;
                let plan =
                    V::plan(conn, &id, LifecycleStatus::Active, Rollout::default(), &requirements, &keys)
                        .await?;
                apply::<V>(conn, &id, plan.into_permitted()?, &keys).await
            })
        })
        .await
    }
}

impl Repository<Workflow> {
    /// Changes the traffic split between the two active versions, by order of an operator. Returns the newer version, or
    /// at 0 the older one, which remains.
    ///
    /// # Errors
    /// Those of [`order_rollout`](Self::order_rollout).
    pub async fn set_rollout(
        &self,
        id: &str,
        percentage: i64,
        mutation: Mutation,
    ) -> Result<Workflow, StoreError> {
        self.order_rollout(id, RolloutOrder::Share { percentage, overrides: false }, mutation).await
    }
}

async fn find_source<V: Versioned>(
    conn: &mut Conn,
    id: &str,
    to_version: Option<i64>,
    keys: &EnvelopeKeys,
) -> Result<RollbackSource<V>, StoreError> {
    let states = queries::states(conn, V::KIND, id).await?;
    let active =
        states.iter().filter(|state| state.status == LifecycleStatus::Active).map(|state| state.version);
    let before = queries::last_archived(conn, V::KIND, id, active.min().unwrap_or(i64::MAX)).await?;
    let version = lifecycle::rollback(V::KIND, id, &states, to_version, before)?;
    let entity = queries::find::<V>(conn, id, Some(version), keys).await?;
    let entity = entity.ok_or_else(|| StoreError::Database("a version just listed is gone".into()))?;
    let latest = states.iter().map(|state: &VersionState| state.version).max().unwrap_or(version);
    Ok(RollbackSource { entity, to_version, latest })
}

/// Checks the precondition of a change of status. The check of the requirements refuses an id that does not exist.
async fn check_precondition<V: Versioned>(
    conn: &mut Conn,
    id: &str,
    precondition: &Precondition,
    keys: &EnvelopeKeys,
) -> Result<(), StoreError> {
    if precondition.is_none() {
        return Ok(());
    }
    match queries::find::<V>(conn, id, None, keys).await? {
        Some(latest) => Ok(precondition.check(V::KIND, id, &latest.entity_tag())?),
        None => Ok(()),
    }
}

/// Writes the changes of a transition, whose facts are about the newest version that serves. Rows that stop
/// serving come first, because a unique index allows one draft at any time. A rollout that moves by itself ends.
pub(super) async fn apply<V: Versioned>(
    conn: &mut Conn,
    id: &str,
    transition: Transition,
    keys: &EnvelopeKeys,
) -> Result<MutationResult<V>, StoreError> {
    let before = queries::active::<V>(conn, Some(&[id.to_owned()]), keys).await?;
    let serves = transition.changes.iter().any(|state| state.status == LifecycleStatus::Active);
    for state in transition.changes {
        rows::set_state(conn, V::KIND, id, state).await?;
    }
    if !serves {
        V::stop_dependents(conn, id).await?;
    }
    if V::KIND == EntityKind::Workflow {
        rollouts::end_open(conn, id).await?;
    }
    let row = read_back::<V>(conn, id, Some(transition.answer), keys).await?;
    let (state, hash) = (row.state(), |entity: &V| V::content_hash(entity.content()));
    let is_active = state.status == LifecycleStatus::Active;
    let facts =
        ChangeFacts::of_content(before.first().and_then(hash), is_active.then(|| hash(&row)).flatten());
    let share = (is_active && V::KIND == EntityKind::Workflow).then_some(state.rollout_percentage);
    let facts = facts.with_version(Some(state.version)).with_rollout(share);
    Ok(MutationResult::new(row, id).with_facts(facts))
}

impl StatusChangePlan {
    fn into_permitted(self) -> Result<Transition, StoreError> {
        match (self.objections.into_iter().next(), self.transition) {
            (Some(objection), _) => Err(objection.error.into()),
            (None, Some(transition)) => Ok(transition),
            (None, None) => Err(StoreError::Database("a change of status without an outcome".into())),
        }
    }
}
