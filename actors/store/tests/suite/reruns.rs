//! Reruns of traces.

use serde_json::{Value, json};
use svc_model::WorkflowVersion;
use svc_model::id::new_ordered_id;
use svc_store::{
    AcceptedRerun, NewTrace, RERUN, RerunOrder, RerunVersion, Store, StoreError, TraceEnd, TraceFailure,
    TraceMode, TraceQuery, TraceStatus, WaitReason, WaitTerms,
};
use uuid::Uuid;

use super::database::TestDatabase;
use super::traces::{end, failure, pending};
use super::{any_mutation, mutation, refusal, workflow};

/// Stores a run that completed with version 1 of the workflow `w`.
async fn completed(store: &Store, row: NewTrace) -> Uuid {
    let id = row.id;
    store.traces().insert(row).await.unwrap();
    let workflow = Some(WorkflowVersion { id: "w".into(), version: 1 });
    let ended = TraceEnd { workflow, ..end(id, TraceStatus::Completed) };
    assert!(store.traces().finish(ended).await.unwrap());
    id
}

fn order(id: Uuid, version: RerunVersion) -> RerunOrder {
    RerunOrder { id: id.to_string(), rerun: new_ordered_id(), version, payload: None }
}

async fn rerun(store: &Store, order: RerunOrder) -> Result<AcceptedRerun, StoreError> {
    store.traces().rerun(order, mutation("trace", "rerun")).await
}

/// Returns the input that the rerun runs.
async fn input(store: &Store, id: Uuid) -> Value {
    let source = store.traces().source(&id.to_string()).await.unwrap().unwrap();
    serde_json::from_str(&source.input_json.unwrap()).unwrap()
}

pub(crate) async fn rerun_waits_with_the_stored_input(db: TestDatabase) {
    let store = db.store().await;
    let former = completed(&store, pending("orders")).await;
    let accepted = rerun(&store, order(former, RerunVersion::Current)).await.unwrap();
    let expected = AcceptedRerun {
        trace_id: accepted.trace_id,
        channel_id: Some("c1".into()),
        reason: WaitReason::Paused,
    };
    assert_eq!(accepted, expected);
    let due = store.traces().due_waiting(10).await.unwrap();
    assert_eq!(due.iter().map(|work| work.id).collect::<Vec<_>>(), [accepted.trace_id]);
    let key = accepted.trace_id.to_string();
    assert_eq!(
        input(&store, accepted.trace_id).await,
        json!({"data": {"a": 1}, "bucket": 7, "metadata": {"ip": "::1", "run": {"key": key},
            RERUN: {"of": former.to_string(), "workflow": null}}})
    );
    let again = RerunOrder { payload: Some(json!([2])), ..order(former, RerunVersion::Current) };
    let again = rerun(&store, again).await.unwrap().trace_id;
    assert_eq!(input(&store, again).await["data"], json!([2]));
    let shown = store.traces().get(&former.to_string()).await.unwrap().unwrap();
    assert_eq!(shown.reruns, [key.clone(), again.to_string()]);
    let shown = store.traces().get(&key).await.unwrap().unwrap();
    assert_eq!((shown.row.rerun_of.as_deref(), &*shown.row.status), (Some(&*former.to_string()), "waiting"));
    let query = TraceQuery { rerun_of: Some(former.to_string().into()), ..TraceQuery::default() };
    let listed = store.traces().list(query).await.unwrap().rows;
    assert!(listed.iter().all(|row| row.rerun_of == Some(former.to_string())), "{listed:?}");
    let listed: Vec<_> = listed.into_iter().map(|row| row.id).collect();
    assert_eq!(listed, [again.to_string(), key]);
}

pub(crate) async fn rerun_takes_the_share_of_its_work(db: TestDatabase) {
    let store = db.store().await;
    let terms = WaitTerms { reason: WaitReason::Share, due: None, share: Some("k".into()) };
    let row = NewTrace { wait: Some(Box::new(terms)), ..pending("orders") };
    let former = completed(&store, row).await;
    let accepted = rerun(&store, order(former, RerunVersion::Current)).await.unwrap();
    assert_eq!(accepted.reason, WaitReason::Share);
}

pub(crate) async fn rerun_of_version_needs_one_that_ran(db: TestDatabase) {
    let store = db.store().await;
    let former = completed(&store, pending("orders")).await;
    let refused = refusal(rerun(&store, order(former, RerunVersion::Same)).await);
    assert_eq!(refused.status(), 400, "there is no such workflow");
    store.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    assert_eq!(
        refusal(rerun(&store, order(former, RerunVersion::Same)).await).status(),
        400,
        "it is a draft"
    );
    db.execute("UPDATE definitions SET status = 'archived'").await.unwrap();
    for version in [RerunVersion::Same, RerunVersion::Number(1)] {
        let accepted = rerun(&store, order(former, version)).await.unwrap().trace_id;
        let pinned = &input(&store, accepted).await["metadata"][RERUN]["workflow"];
        assert_eq!(*pinned, json!({"workflow_id": "w", "version": 1}));
    }
    assert_eq!(refusal(rerun(&store, order(former, RerunVersion::Number(9))).await).status(), 400);
}

pub(crate) async fn trace_that_cannot_run_again_is_refused(db: TestDatabase) {
    let store = db.store().await;
    let traces = store.traces();
    let refuse = async |id| refusal(rerun(&store, order(id, RerunVersion::Current)).await);
    assert_eq!(refuse(Uuid::now_v7()).await.status(), 404);
    let open = pending("orders");
    traces.insert(open.clone()).await.unwrap();
    assert_eq!(refuse(open.id).await.status(), 409, "it has not ended");
    let failed = TraceFailure { retry_count: 5, max_retries: 5, ..failure(open.id) };
    assert!(traces.fail_to_dead_letters(failed).await.unwrap());
    let refused = refuse(open.id).await;
    assert_eq!((refused.status(), refused.message().contains("dead letter")), (409, true));
    let bare = NewTrace { mode: TraceMode::Sync, input_json: None, ..pending("orders") };
    let bare = completed(&store, bare).await;
    let refused = refuse(bare).await;
    assert_eq!((refused.status(), refused.message().contains("tracing.keep_input")), (409, true));
}
