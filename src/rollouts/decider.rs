//! The decisions over rollouts that move by themselves.

use serde_json::{Value, json};
use slog::{info, warn};
use svc_model::gate::{
    CanaryDecision, CanaryFigures, CanaryLook, CanaryPlan, CanaryState, CanaryVerdict, decide, is_look_due,
};
use svc_model::{AuditAction, AuditResource};
use svc_registry::ReloadScope;
use svc_store::{AuditEntry, AuditReceipt, CanaryChange, CanaryRollout, Mutation, StoreError};
use svc_traces::{FailureReport, PreparedReport};

use super::shared::CanaryServices;

/// The principal of a decision: the member of the request that set it.
const GATE: &str = "gate";

/// A decision that changes a rollout.
struct CanaryStepChange {
    /// The decision, in metrics and the audit row.
    name: &'static str,
    state: CanaryState,
    step: usize,
    percentage: Option<i64>,
    reason: String,
    figures: CanaryFigures,
}

/// Decides over rollouts.
pub(super) struct CanaryDecider<'s> {
    services: &'s CanaryServices,
}

impl<'s> CanaryDecider<'s> {
    pub(super) const fn new(services: &'s CanaryServices) -> Self {
        Self { services }
    }

    /// Looks at a rollout, if a look is due.
    pub(super) async fn look_at(&self, rollout: CanaryRollout) -> Result<(), StoreError> {
        let is_watched = rollout.state == CanaryState::Watching;
        if !is_watched || !is_look_due(&rollout.plan, rollout.looks, rollout.age) {
            return Ok(());
        }
        let stored = self.services.store.canary_rollouts();
        let outcomes = stored.outcomes(&rollout).await?;
        let CanaryRollout { step, looks, age, .. } = rollout;
        let look = CanaryLook { step, looks, age, outcomes: &outcomes };
        match to_change(&rollout, decide(&rollout.plan, look)) {
            CanaryLookResult::Nothing => Ok(()),
            CanaryLookResult::Wait { looks, figures } => {
                let figures = figures.to_json();
                if looks == rollout.looks && rollout.figures.as_ref() == Some(&figures) {
                    return Ok(());
                }
                stored.record_look(&rollout, looks, figures).await
            }
            CanaryLookResult::Change(change) => self.carry_out(rollout, change).await,
        }
    }

    async fn carry_out(&self, rollout: CanaryRollout, change: CanaryStepChange) -> Result<(), StoreError> {
        let CanaryStepChange { name, state, step, percentage, reason, figures } = change;
        let CanaryServices { store, registry, metrics, log, .. } = self.services;
        let (workflow, figures) = (rollout.workflow_id.clone(), figures.to_json());
        let details = json!({"decision": name, "state": state.name(), "reason": reason, "rollout": rollout.id,
            "figures": figures});
        let report = match state {
            CanaryState::RolledBack => self.prepare_report(&rollout, &reason, &details),
            _ => None,
        };
        let mutation = Mutation { epoch: percentage.is_some(), ..decision_mutation(&workflow, details) };
        let change = CanaryChange {
            rollout,
            state,
            step,
            percentage,
            reason: reason.clone(),
            figures,
            report: report.as_ref().map(|report| report.row().clone()),
        };
        match store.workflows().settle_canary(change, mutation).await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                // The commit that got no answer may have stored the report, which only this node would run.
                if let (StoreError::Unanswered(_), Some(report)) = (&error, report) {
                    report.begin_if_stored().await;
                }
                return Err(error);
            }
        }
        if let Some(report) = report {
            report.begin();
        }
        metrics.count_decision(name);
        info!(log, "a rollout was decided over"; "workflow" => &workflow, "decision" => name, "reason" => reason);
        if percentage.is_some()
            && let Err(error) = registry.reload(ReloadScope::workflow(workflow.as_str())).await
        {
            // The watcher of the epoch loads the change.
            warn!(log, "a decision over a rollout is not served yet"; "workflow" => &workflow, "error" => %error);
        }
        Ok(())
    }

    /// Prepares the report to the channel of `on_rollback`.
    fn prepare_report(
        &self,
        rollout: &CanaryRollout,
        reason: &str,
        details: &Value,
    ) -> Option<PreparedReport> {
        let target = rollout.plan.on_rollback.as_deref()?;
        let error = format!(
            "version {} of workflow '{}' was rolled back to version {}: {reason}",
            rollout.canary_version, rollout.workflow_id, rollout.stable_version
        );
        let mut data = details.clone();
        data["workflow_id"] = rollout.workflow_id.as_str().into();
        data["canary_version"] = rollout.canary_version.into();
        data["stable_version"] = rollout.stable_version.into();
        let report = FailureReport {
            target: target.into(),
            trace_id: None,
            channel: rollout.workflow_id.as_str().into(),
            data,
        };
        self.services.traces.prepare_report(report, &error)
    }
}

/// The result of a look.
enum CanaryLookResult {
    Nothing,
    Wait { looks: u32, figures: CanaryFigures },
    Change(CanaryStepChange),
}

fn to_change(rollout: &CanaryRollout, decision: CanaryDecision) -> CanaryLookResult {
    let plan = &rollout.plan;
    let change = |name, state, percentage, reason: String, figures| CanaryStepChange {
        name,
        state,
        step: rollout.step,
        percentage,
        reason,
        figures,
    };
    CanaryLookResult::Change(match decision {
        CanaryDecision::NotDue => return CanaryLookResult::Nothing,
        CanaryDecision::Wait { looks, figures } => return CanaryLookResult::Wait { looks, figures },
        CanaryDecision::Advance { step, percentage, figures } => {
            let reason = format!("step {} of {} at {percentage} percent", step + 1, plan.steps.len());
            let change = change("advance", CanaryState::Watching, Some(percentage), reason, figures);
            CanaryStepChange { step, ..change }
        }
        CanaryDecision::Promote(figures) => {
            let reason = "no test found it worse than permitted".to_owned();
            change("promote", CanaryState::Promoted, Some(100), reason, figures)
        }
        CanaryDecision::Pause(figures) => {
            let reason = describe_lack(plan, &figures);
            change("pause", CanaryState::Paused, None, reason, figures)
        }
        CanaryDecision::RollBack { verdict, figures } => {
            let reason = describe(verdict, &figures, rollout);
            change("roll_back", CanaryState::RolledBack, Some(0), reason, figures)
        }
    })
}

/// Returns the reason of a pause: what the gate needs and did not get.
fn describe_lack(plan: &CanaryPlan, figures: &CanaryFigures) -> String {
    if figures.canary_runs >= plan.gate.min_runs && plan.gate.compare.is_some() {
        return format!("{} runs of the step were compared, too few for its gate", figures.compared_runs);
    }
    format!(
        "{} runs of the newer version came within the step, of the {} that its gate needs",
        figures.canary_runs, plan.gate.min_runs
    )
}

fn describe(verdict: CanaryVerdict, figures: &CanaryFigures, rollout: &CanaryRollout) -> String {
    let gate = &rollout.plan.gate;
    match verdict {
        CanaryVerdict::Slower => {
            let slowest = figures.slowest();
            format!(
                "the {}th percentile of its durations is {:.2} times that of version {}, of {} permitted",
                slowest.percent,
                slowest.ratio().unwrap_or_default(),
                rollout.stable_version,
                gate.max_p99_ratio
            )
        }
        CanaryVerdict::Different => format!(
            "{:.4} of the compared runs differ from those of version {}, of {} permitted",
            figures.difference_ratio.unwrap_or_default(),
            rollout.stable_version,
            gate.compare.map_or(0.0, |compare| compare.max_difference_ratio)
        ),
        _ => format!(
            "its share of failed runs is {:.4} above that of version {}, of {} permitted",
            figures.error_ratio_delta, rollout.stable_version, gate.max_error_ratio_delta
        ),
    }
}

fn decision_mutation(workflow: &str, details: Value) -> Mutation {
    Mutation::new(AuditEntry {
        principal: GATE.to_owned(),
        action: AuditAction::UpdateRollout.name().to_owned(),
        resource_type: AuditResource::Workflow.name().to_owned(),
        resource_id: workflow.to_owned(),
        details: Some(details),
        receipt: AuditReceipt::default(),
    })
}
