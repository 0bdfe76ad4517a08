//! Rollouts that move by themselves: the plan of each, its step, and the outcomes that nodes have counted.
//!
//! A decision is a transaction that names the rollout and the step it was made for, so that of several nodes one
//! decides. Whatever else changes the traffic of the workflow ends the rollout in the same transaction.

mod change;
mod rows;

use std::time::Duration;

use serde_json::Value;
use svc_model::Timestamp;
use svc_model::gate::{CanaryPlan, CanaryState, CompareCounts, OutcomeCounts, StepOutcomes};

use crate::clock;
use crate::database::Database;
use crate::error::StoreError;
use crate::metrics::QueryOperation;
use crate::repo::key;
use crate::writer::UnitOutcome;

pub use change::{CanaryChange, RolloutOrder};
pub(super) use rows::{begin, end_open, forget};

/// A rollout that moves by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct CanaryRollout {
    pub workflow_id: String,
    /// Id of the rollout.
    pub id: String,
    /// The newer version.
    pub canary_version: i64,
    /// The older version.
    pub stable_version: i64,
    pub plan: CanaryPlan,
    pub state: CanaryState,
    /// The reason of the state.
    pub reason: Option<String>,
    /// Index of the present step.
    pub step: usize,
    /// Number of looks at the step.
    pub looks: u32,
    /// The figures of the last look.
    pub figures: Option<Value>,
    /// Begin of the step.
    pub step_since: Timestamp,
    /// Time since then, by the clock of the database.
    pub age: Duration,
    /// Begin of the rollout.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// The outcomes of one version within a step, as one process has counted them so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanaryReport {
    pub rollout_id: String,
    /// Index of the step.
    pub step: usize,
    pub version: i64,
    /// Id of the process.
    pub reporter: String,
    /// All that it has counted within the step.
    pub counts: OutcomeCounts,
}

/// The messages that both versions of a rollout ran within a step, as one process has counted them so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowReport {
    pub rollout_id: String,
    /// Index of the step.
    pub step: usize,
    /// Id of the process.
    pub reporter: String,
    /// All that it has counted within the step.
    pub counts: CompareCounts,
}

/// The rollouts that move by themselves.
#[derive(Clone)]
pub struct CanaryRollouts(pub(crate) Database);

const fn operation(method: &'static str) -> QueryOperation {
    QueryOperation::new("canary_rollouts", method)
}

impl CanaryRollouts {
    /// Returns the last rollout of a workflow; `None` if none had a plan.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] while the database is away, [`StoreError::Database`] if it refuses a statement.
    pub async fn get(&self, workflow: &str) -> Result<Option<CanaryRollout>, StoreError> {
        let id = key(workflow);
        self.0
            .read(operation("get"), move |conn| {
                Box::pin(async move {
                    let now = clock::now(conn).await?;
                    rows::find(conn, &id, now).await
                })
            })
            .await
    }

    /// Lists the rollouts that are watched or paused, in the order of their workflows.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn list_open(&self) -> Result<Vec<CanaryRollout>, StoreError> {
        self.0.read(operation("list_open"), |conn| Box::pin(rows::list_open(conn))).await
    }

    /// Returns the outcomes of the steps of a rollout up to the present one, of all processes together.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn outcomes(&self, rollout: &CanaryRollout) -> Result<Vec<StepOutcomes>, StoreError> {
        let rollout = rollout.clone();
        self.0
            .read(operation("outcomes"), move |conn| {
                Box::pin(async move { rows::outcomes(conn, &rollout).await })
            })
            .await
    }

    /// Stores what a process has counted; each report replaces the one before.
    ///
    /// # Errors
    /// Those of [`get`](Self::get), and [`StoreError::Unanswered`] if the answer of the database is lost.
    pub async fn report(&self, reports: Vec<CanaryReport>) -> Result<(), StoreError> {
        self.0
            .write(operation("report"), move |conn| {
                Box::pin(async move {
                    for report in &reports {
                        rows::write_report(conn, report).await?;
                    }
                    Ok(UnitOutcome::Keep(()))
                })
            })
            .await
    }

    /// Stores what a process has counted of shadows; each report replaces the one before.
    ///
    /// # Errors
    /// Those of [`report`](Self::report).
    pub async fn report_shadows(&self, reports: Vec<ShadowReport>) -> Result<(), StoreError> {
        self.0
            .write(operation("report_shadows"), move |conn| {
                Box::pin(async move {
                    for report in &reports {
                        rows::write_shadow_report(conn, report).await?;
                    }
                    Ok(UnitOutcome::Keep(()))
                })
            })
            .await
    }

    /// Stores a look that changes nothing else, unless the rollout has moved on.
    ///
    /// # Errors
    /// Those of [`report`](Self::report).
    pub async fn record_look(
        &self,
        rollout: &CanaryRollout,
        looks: u32,
        figures: Value,
    ) -> Result<(), StoreError> {
        let rollout = rollout.clone();
        self.0
            .write(operation("record_look"), move |conn| {
                Box::pin(async move {
                    rows::record_look(conn, &rollout, looks, &figures).await.map(UnitOutcome::Keep)
                })
            })
            .await
    }
}
