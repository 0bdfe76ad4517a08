//! The kills of the deciding node, at one point of each decision over a rollout.

use std::io;

use svc_testkit::nodes::expect_soon;
use svc_testkit::postgres::PostgresDatabase;

use crate::case::{CanaryCase, KillPoint};
use crate::hold::{DecisionHold, HeldPart};
use crate::nodes::CanaryNodes;

/// The progress of a rollout, as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RolloutProgress {
    pub(crate) state: String,
    /// Index of the step.
    step: usize,
    /// Number of looks at the step.
    looks: usize,
}

impl RolloutProgress {
    /// Reads the progress of the rollout of a workflow.
    pub(crate) fn read(database: &PostgresDatabase, id: &str) -> io::Result<Self> {
        let sql = format!("SELECT state, step, looks FROM canary_rollouts WHERE workflow_id = '{id}'");
        let rows = database.rows(&sql).map_err(io::Error::other)?;
        let parsed = rows.first().and_then(|row| match row.as_slice() {
            [Some(state), Some(step), Some(looks)] => {
                Some(Self { state: state.clone(), step: step.parse().ok()?, looks: looks.parse().ok()? })
            }
            _ => None,
        });
        parsed.ok_or_else(|| io::Error::other(format!("workflow {id} has no rollout")))
    }

    /// Returns true while a decision is to come.
    pub(crate) fn is_watched(&self) -> bool {
        self.state == "watching"
    }

    /// Returns true for another step or the end.
    fn is_decided_since(&self, earlier: &Self) -> bool {
        (&self.state, self.step) != (&earlier.state, earlier.step)
    }
}

/// Kills the deciding node at the point that the case names, at each decision until the rollout has ended. Returns the
/// number of kills.
pub(crate) fn kill_at_decisions(
    nodes: &mut CanaryNodes<'_>,
    database: &PostgresDatabase,
    (case, point): (&CanaryCase, KillPoint),
) -> io::Result<usize> {
    match point {
        KillPoint::BeforeStored => kill_in_decisions(nodes, database, case.id, HeldPart::Statement),
        KillPoint::AfterStored => kill_in_decisions(nodes, database, case.id, HeldPart::Commit),
        KillPoint::BetweenSteps => kill_between_steps(nodes, database, case),
    }
}

/// Kills the node in the middle of the transaction of each decision.
fn kill_in_decisions(
    nodes: &mut CanaryNodes<'_>,
    database: &PostgresDatabase,
    id: &str,
    part: HeldPart,
) -> io::Result<usize> {
    let hold = DecisionHold::install(database, part)?;
    let mut kills = 0;
    loop {
        let before = RolloutProgress::read(database, id)?;
        if !before.is_watched() {
            return Ok(kills);
        }
        let held = hold.close()?;
        hold.wait(held)?;
        // The transaction goes on once its node is gone: it is rolled back, or its commit is carried out.
        nodes.kill_decider(|| hold.open())?;
        kills += 1;
        expect_soon("the decision is made", || {
            Ok(RolloutProgress::read(database, id)?.is_decided_since(&before))
        })?;
    }
}

/// Kills the node in each step, once it has looked at it.
fn kill_between_steps(
    nodes: &mut CanaryNodes<'_>,
    database: &PostgresDatabase,
    case: &CanaryCase,
) -> io::Result<usize> {
    for step in 0..case.compared_steps() {
        expect_soon("the step is looked at", || {
            let progress = RolloutProgress::read(database, case.id)?;
            Ok(!progress.is_watched() || (progress.step == step && progress.looks > 0))
        })?;
        nodes.kill_decider(|| Ok(()))?;
    }
    Ok(case.compared_steps())
}
