//! Rollouts that move by themselves.

use serde_json::json;
use svc_model::LifecycleStatus;
use svc_model::gate::{CanaryPlan, CanaryState, CompareCounts, OutcomeCounts};
use svc_store::{
    CanaryChange, CanaryReport, CanaryRollout, RolloutOrder, ShadowReport, Store, StoreError,
    WorkflowRequirements,
};

use super::database::TestDatabase;
use super::{any_mutation, refusal, workflow};

fn plan() -> CanaryPlan {
    let plan = json!({"steps": [10, 50], "interval_secs": 10, "on_rollback": "alarm"});
    CanaryPlan::parse(plan.as_object().unwrap(), None).unwrap().unwrap()
}

/// Activates a first version, and a second one with a plan.
async fn begin(store: &Store) {
    let workflows = store.workflows();
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    activate(store, None).await.unwrap();
    workflows.new_version("w", any_mutation()).await.unwrap();
    activate(store, Some(plan())).await.unwrap();
}

async fn activate(store: &Store, plan: Option<CanaryPlan>) -> Result<(), StoreError> {
    let share = plan.as_ref().map(|plan| plan.first_percentage().into());
    let requirements = WorkflowRequirements::default();
    let workflows = store.workflows();
    let activated =
        workflows.set_status_with("w", LifecycleStatus::Active, share, requirements, plan, any_mutation());
    activated.await.map(drop)
}

async fn rollout(store: &Store) -> CanaryRollout {
    store.canary_rollouts().get("w").await.unwrap().unwrap()
}

async fn shares(store: &Store) -> Vec<(i64, i64)> {
    let active = store.workflows().active_of(&["w".into()]).await.unwrap();
    active.iter().map(|workflow| (workflow.version, workflow.rollout_percentage)).collect()
}

fn change(rollout: CanaryRollout, state: CanaryState, step: usize, percentage: Option<i64>) -> CanaryChange {
    let figures = json!({"canary": {"runs": 5}});
    CanaryChange { rollout, state, step, percentage, reason: "because".into(), figures, report: None }
}

pub(crate) async fn canary_is_moved_once_for_each_step(db: TestDatabase) {
    let store = db.store().await;
    begin(&store).await;
    let first = rollout(&store).await;
    assert_eq!((first.canary_version, first.stable_version, &first.plan), (2, 1, &plan()));
    assert_eq!((first.state, first.step, first.looks), (CanaryState::Watching, 0, 0));
    assert_eq!(shares(&store).await, [(2, 10), (1, 90)]);
    store.canary_rollouts().record_look(&first, 1, json!({"looked": true})).await.unwrap();
    let looked = rollout(&store).await;
    assert_eq!((looked.looks, looked.figures), (1, Some(json!({"looked": true}))));

    let workflows = store.workflows();
    let settle = |change| workflows.settle_canary(change, any_mutation());
    let advance = change(first.clone(), CanaryState::Watching, 1, Some(50));
    assert!(settle(advance.clone()).await.unwrap());
    assert!(!settle(advance).await.unwrap(), "another node decided over this step");
    let second = rollout(&store).await;
    assert_eq!((second.state, second.step, second.looks), (CanaryState::Watching, 1, 0));
    assert_eq!((second.reason.as_deref(), &second.id), (Some("because"), &first.id));
    assert_eq!(shares(&store).await, [(2, 50), (1, 50)]);

    assert!(settle(change(second, CanaryState::RolledBack, 1, Some(0))).await.unwrap());
    assert_eq!(rollout(&store).await.state, CanaryState::RolledBack);
    assert_eq!(shares(&store).await, [(1, 100)]);
    assert!(store.canary_rollouts().list_open().await.unwrap().is_empty());
}

pub(crate) async fn share_by_hand_needs_override(db: TestDatabase) {
    let store = db.store().await;
    begin(&store).await;
    let refused = refusal(store.workflows().set_rollout("w", 30, any_mutation()).await);
    assert_eq!(refused.status(), 409);
    assert!(refused.message().contains("\"override\": true"), "{}", refused.message());
    assert_eq!(shares(&store).await, [(2, 10), (1, 90)]);
    let order = RolloutOrder::Share { percentage: 30, overrides: true };
    store.workflows().order_rollout("w", order, any_mutation()).await.unwrap();
    assert_eq!(rollout(&store).await.state, CanaryState::Aborted);
    assert_eq!(shares(&store).await, [(2, 30), (1, 70)]);
    let again = RolloutOrder::Begin { plan: plan(), overrides: false };
    store.workflows().order_rollout("w", again, any_mutation()).await.unwrap();
    assert_eq!(rollout(&store).await.state, CanaryState::Watching);
    assert_eq!(shares(&store).await, [(2, 10), (1, 90)]);
}

pub(crate) async fn operator_steers_open_canary_alone(db: TestDatabase) {
    let store = db.store().await;
    begin(&store).await;
    let workflows = store.workflows();
    let steer = |state| workflows.order_rollout("w", RolloutOrder::Steer(state), any_mutation());
    for state in [CanaryState::Paused, CanaryState::Watching] {
        steer(state).await.unwrap();
        assert_eq!(rollout(&store).await.state, state);
        assert_eq!(shares(&store).await, [(2, 10), (1, 90)]);
    }
    steer(CanaryState::Promoted).await.unwrap();
    assert_eq!(rollout(&store).await.state, CanaryState::Promoted);
    assert_eq!(shares(&store).await, [(2, 100)]);
    assert_eq!(refusal(steer(CanaryState::Paused).await).status(), 409, "it has ended");
    store.workflows().new_version("w", any_mutation()).await.unwrap();
    activate(&store, Some(plan())).await.unwrap();
    steer(CanaryState::Aborted).await.unwrap();
    assert_eq!(shares(&store).await, [(2, 100)]);
}

pub(crate) async fn canary_needs_older_active_version(db: TestDatabase) {
    let store = db.store().await;
    store.workflows().create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    assert_eq!(refusal(activate(&store, Some(plan())).await).status(), 400);
    assert!(shares(&store).await.is_empty(), "nothing was written");
    activate(&store, None).await.unwrap();
    store.workflows().new_version("w", any_mutation()).await.unwrap();
    activate(&store, Some(plan())).await.unwrap();
    let requirements = WorkflowRequirements::default();
    let archived = store.workflows();
    archived.set_status("w", LifecycleStatus::Archived, None, requirements, any_mutation()).await.unwrap();
    assert_eq!(rollout(&store).await.state, CanaryState::Aborted);
}

pub(crate) async fn reports_add_up_by_step_and_version(db: TestDatabase) {
    let store = db.store().await;
    begin(&store).await;
    let (rollouts, begun) = (store.canary_rollouts(), rollout(&store).await);
    let report = |reporter: &str, version, runs| CanaryReport {
        rollout_id: begun.id.clone(),
        step: 0,
        version,
        reporter: reporter.to_owned(),
        counts: OutcomeCounts { runs, errors: 1, durations: vec![0, runs] },
    };
    rollouts.report(vec![report("a", 2, 10), report("a", 1, 90)]).await.unwrap();
    rollouts.report(vec![report("b", 2, 5)]).await.unwrap();
    rollouts.report(vec![report("a", 2, 20)]).await.unwrap();
    let outcomes = rollouts.outcomes(&begun).await.unwrap();
    assert_eq!(outcomes.len(), 1);
    assert_eq!(outcomes[0].canary, OutcomeCounts { runs: 25, errors: 2, durations: vec![0, 25] });
    assert_eq!((outcomes[0].stable.runs, outcomes[0].stable.errors), (90, 1));
    let shadows = |reporter: &str, runs| ShadowReport {
        rollout_id: begun.id.clone(),
        step: 0,
        reporter: reporter.to_owned(),
        counts: CompareCounts { runs, different: 1 },
    };
    rollouts.report_shadows(vec![shadows("a", 5), shadows("b", 7)]).await.unwrap();
    rollouts.report_shadows(vec![shadows("a", 6)]).await.unwrap();
    let compared = rollouts.outcomes(&begun).await.unwrap()[0].compared;
    assert_eq!(compared, CompareCounts { runs: 13, different: 2 });
}

pub(crate) async fn shadow_keeps_newer_version_active_without_traffic(db: TestDatabase) {
    let store = db.store().await;
    begin(&store).await;
    let plan = CanaryPlan::parse(json!({"shadow": true}).as_object().unwrap(), None).unwrap().unwrap();
    let order = RolloutOrder::Begin { plan: plan.clone(), overrides: true };
    store.workflows().order_rollout("w", order, any_mutation()).await.unwrap();
    assert_eq!(shares(&store).await, [(2, 0), (1, 100)]);
    let begun = rollout(&store).await;
    assert_eq!((begun.plan, begun.state), (plan, CanaryState::Watching));
    let promoted = RolloutOrder::Steer(CanaryState::Promoted);
    store.workflows().order_rollout("w", promoted, any_mutation()).await.unwrap();
    assert_eq!(shares(&store).await, [(2, 100)]);
}
