//! Changes of the traffic between two versions: orders of operators, and decisions over a rollout that moves by itself.

use std::sync::Arc;

use serde_json::Value;
use svc_model::gate::{CanaryPlan, CanaryState};
use svc_model::lifecycle::{self, VersionState};
use svc_model::{EntityKind, FieldError, LifecycleStatus, ServiceError, Workflow};
use svc_secrets::EnvelopeKeys;

use super::{CanaryRollout, rows};
use crate::clock;
use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::change_facts::ChangeFacts;
use crate::repo::definitions::queries;
use crate::repo::key;
use crate::repo::lifecycle::apply;
use crate::repo::mutation::{Mutation, MutationResult, mutate};
use crate::repo::repository::{Repository, find_checked, operation, read_back};
use crate::repo::traces::{NewTrace, TraceWrite};

/// An order of an operator about the traffic of two versions.
#[derive(Clone, Debug, PartialEq)]
pub enum RolloutOrder {
    /// The share of the newer version.
    Share {
        /// Its percentage.
        percentage: i64,
        /// True to end a rollout that moves by itself.
        overrides: bool,
    },
    /// A rollout that moves by itself begins.
    Begin {
        /// The plan.
        plan: CanaryPlan,
        /// True to end another one before.
        overrides: bool,
    },
    /// The rollout that moves by itself is paused, goes on, or ends.
    Steer(CanaryState),
}

/// A decision over a rollout.
#[derive(Clone, Debug)]
pub struct CanaryChange {
    /// The rollout as it was when the decision was made.
    pub rollout: CanaryRollout,
    /// The state from now on.
    pub state: CanaryState,
    /// The next step; the same one unless the canary goes on.
    pub step: usize,
    /// The share of the canary from now on; `None` to leave it.
    pub percentage: Option<i64>,
    pub reason: String,
    /// The figures of the comparison.
    pub figures: Value,
    /// The report to the channel of `on_rollback`, which is written with the change.
    pub report: Option<NewTrace>,
}

impl Repository<Workflow> {
    /// Carries out the order of an operator. Returns the newer version, or the older one if that alone remains.
    ///
    /// # Errors
    /// [`StoreError::Refused`]: 400 outside 0..100, without an active version, or if a single version would serve only
    /// a part; 409 while a rollout moves by itself and the order does not override it, or if there is none to steer;
    /// 412 if the precondition does not hold; the other variants if the database fails.
    pub async fn order_rollout(
        &self,
        id: &str,
        order: RolloutOrder,
        mutation: Mutation,
    ) -> Result<Workflow, StoreError> {
        let (id, keys, precondition) = (key(id), Arc::clone(&self.keys), mutation.precondition.clone());
        mutate(&self.database, operation::<Workflow>("order_rollout"), mutation, move |conn| {
            Box::pin(async move {
                find_checked::<Workflow>(conn, &id, &precondition, &keys).await?;
                let now = clock::now(conn).await?;
                let rollout = rows::find(conn, &id, now).await?.filter(|rollout| rollout.state.is_open());
                match order {
                    RolloutOrder::Share { percentage, overrides } => {
                        require_override(&id, rollout.as_ref(), overrides)?;
                        move_share(conn, &id, percentage, &keys).await
                    }
                    RolloutOrder::Begin { plan, overrides } => {
                        require_override(&id, rollout.as_ref(), overrides)?;
                        let moved = match plan.shadow {
                            true => move_to_shadow(conn, &id, &keys).await?,
                            false => move_share(conn, &id, plan.first_percentage(), &keys).await?,
                        };
                        rows::begin(conn, &id, &plan).await?;
                        Ok(moved)
                    }
                    RolloutOrder::Steer(state) => steer(conn, &id, rollout, state, &keys).await,
                }
            })
        })
        .await
    }

    /// Carries out a decision. Returns `false`, and changes nothing, if the rollout has moved on meanwhile.
    ///
    /// # Errors
    /// [`StoreError`] if the database fails.
    pub async fn settle_canary(&self, change: CanaryChange, mutation: Mutation) -> Result<bool, StoreError> {
        let keys = Arc::clone(&self.keys);
        mutate(&self.database, operation::<Workflow>("settle_canary"), mutation, move |conn| {
            Box::pin(async move { settle(conn, change, &keys).await })
        })
        .await
    }
}

async fn settle(
    conn: &mut Conn,
    change: CanaryChange,
    keys: &EnvelopeKeys,
) -> Result<MutationResult<bool>, StoreError> {
    let CanaryChange { rollout, state, step, percentage, reason, figures, report } = change;
    let id = rollout.workflow_id.as_str();
    let now = clock::now(conn).await?;
    let is_same = |stored: &CanaryRollout| {
        (&stored.id, stored.step, stored.state) == (&rollout.id, rollout.step, CanaryState::Watching)
    };
    if !rows::find(conn, id, now).await?.is_some_and(|stored| is_same(&stored)) {
        return Ok(MutationResult { value: false, id: None, facts: ChangeFacts::default() });
    }
    let states = queries::states(conn, EntityKind::Workflow, id).await?;
    if active_versions(&states) != [rollout.canary_version, rollout.stable_version] {
        // A program of the release before has changed the traffic, and recorded that.
        rows::end_open(conn, id).await?;
        return Ok(MutationResult { value: false, id: None, facts: ChangeFacts::default() });
    }
    let facts = match percentage {
        Some(percentage) => move_share(conn, id, percentage, keys).await?.facts,
        None => ChangeFacts::default(),
    };
    rows::set_state(conn, id, state, Some(&reason)).await?;
    rows::set_figures(conn, id, &figures).await?;
    if step != rollout.step {
        rows::set_step(conn, id, step, 0).await?;
    }
    if let Some(report) = report {
        TraceWrite::Insert(report.into()).apply(conn).await?;
    }
    Ok(MutationResult::new(true, id).with_facts(facts))
}

fn active_versions(states: &[VersionState]) -> Vec<i64> {
    let active = states.iter().filter(|state| state.status == LifecycleStatus::Active);
    active.map(|state| state.version).collect()
}

/// Refuses an order by hand while a rollout moves by itself.
fn require_override(id: &str, rollout: Option<&CanaryRollout>, overrides: bool) -> Result<(), ServiceError> {
    match rollout.filter(|_| !overrides) {
        None => Ok(()),
        Some(rollout) => Err(ServiceError::conflict(format!(
            "the rollout of workflow '{id}' moves by itself and is {}; send \"override\": true to end that, or \
             \"state\": \"paused\", \"promoted\" or \"aborted\" to steer it",
            rollout.state.name()
        ))),
    }
}

/// Changes the share of the newer version. A rollout that moved by itself ends.
async fn move_share(
    conn: &mut Conn,
    id: &str,
    percentage: i64,
    keys: &EnvelopeKeys,
) -> Result<MutationResult<Workflow>, StoreError> {
    let states = queries::states(conn, EntityKind::Workflow, id).await?;
    let transition = lifecycle::rollout(id, &states, percentage)?;
    apply::<Workflow>(conn, id, transition, keys).await
}

/// Takes the traffic from the newer version, which stays active. A rollout that moved by itself ends.
async fn move_to_shadow(
    conn: &mut Conn,
    id: &str,
    keys: &EnvelopeKeys,
) -> Result<MutationResult<Workflow>, StoreError> {
    let states = queries::states(conn, EntityKind::Workflow, id).await?;
    let transition = lifecycle::shadow(id, &states)?;
    apply::<Workflow>(conn, id, transition, keys).await
}

async fn steer(
    conn: &mut Conn,
    id: &str,
    rollout: Option<CanaryRollout>,
    state: CanaryState,
    keys: &EnvelopeKeys,
) -> Result<MutationResult<Workflow>, StoreError> {
    let Some(rollout) = rollout else {
        let message = format!("no rollout of workflow '{id}' moves by itself now; begin one with \"steps\"");
        return Err(ServiceError::conflict(message).into());
    };
    let result = match state {
        CanaryState::Promoted => move_share(conn, id, 100, keys).await?,
        CanaryState::Aborted => move_share(conn, id, 0, keys).await?,
        CanaryState::Watching | CanaryState::Paused => {
            if state == CanaryState::Watching && rollout.state == CanaryState::Paused {
                // Its age begins anew, so that it waits for runs once more; its outcomes stay.
                rows::set_step(conn, id, rollout.step, rollout.looks).await?;
            }
            let workflow = read_back::<Workflow>(conn, id, Some(rollout.canary_version), keys).await?;
            let facts = ChangeFacts::default().with_version(Some(rollout.canary_version));
            MutationResult::new(workflow, id).with_facts(facts)
        }
        CanaryState::RolledBack => {
            let error = FieldError::invalid("body.state", CanaryState::ORDERS);
            return Err(ServiceError::from(error).into());
        }
    };
    rows::set_state(conn, id, state, Some("by order of an operator")).await?;
    Ok(result)
}
