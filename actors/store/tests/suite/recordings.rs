//! Recorded runs: lists, the count of a day, deletion by key and by age.

use svc_model::id::new_ordered_id;
use svc_model::{Page, WorkflowVersion};
use svc_store::{NewRunRecording, RecordingFilter, RowKey, Store};

use super::any_mutation;
use super::database::TestDatabase;
use super::traces::ago;

fn recording(channel: &str, run_key: &str, outcome: &'static str) -> NewRunRecording {
    NewRunRecording {
        id: new_ordered_id().to_string(),
        run_id: format!("run-{run_key}"),
        run_key: run_key.to_owned(),
        channel_id: format!("id-{channel}").into(),
        channel: channel.into(),
        workflow: Some(WorkflowVersion { id: "w".into(), version: 3 }),
        source: "sync",
        outcome,
        recording: r#"{"payload":1}"#.to_owned(),
    }
}

async fn count(store: &Store, filter: RecordingFilter) -> i64 {
    store.recordings().list(filter, Page::default()).await.unwrap().1
}

pub(crate) async fn recordings_are_listed_and_deleted_by_key(db: TestDatabase) {
    let store = db.store().await;
    let recordings = store.recordings();
    let batch = vec![
        recording("orders", "a", "completed"),
        recording("orders", "b", "failed"),
        recording("other", "a", "completed"),
    ];
    recordings.insert(batch.clone()).await.unwrap();
    recordings.insert(batch).await.unwrap();
    let of_channel =
        |channel: &str| RecordingFilter { channel: Some(channel.to_owned()), ..RecordingFilter::default() };
    let failed = RecordingFilter { outcome: Some("failed".to_owned()), ..of_channel("orders") };
    let (rows, total) = recordings.list(failed, Page::default()).await.unwrap();
    assert_eq!((rows.len(), total, rows[0].run_key.as_str(), rows[0].workflow_version), (1, 1, "b", Some(3)));
    let stored = recordings.get(&rows[0].id).await.unwrap().unwrap();
    assert_eq!((stored.row.bytes, stored.recording.as_str()), (13, r#"{"payload":1}"#));
    assert_eq!(recordings.count_today("id-orders").await.unwrap(), 2);
    let of_key = RecordingFilter { run_key: Some("a".to_owned()), ..RecordingFilter::default() };
    assert_eq!(recordings.delete(of_key, any_mutation()).await.unwrap(), 2);
    assert_eq!(count(&store, RecordingFilter::default()).await, 1);
    assert_eq!(count(&store, of_channel("other\0")).await, 0);
}

pub(crate) async fn recordings_are_deleted_after_their_time(db: TestDatabase) {
    let store = db.store().await;
    let recordings = store.recordings();
    recordings
        .insert((0..5).map(|n| recording("orders", &n.to_string(), "completed")).collect())
        .await
        .unwrap();
    let old = ago(&db, 3);
    db.execute(&format!("UPDATE run_recordings SET created_at = {old} WHERE run_key <> '4'")).await.unwrap();
    assert_eq!(recordings.delete_expired(2, 3).await.unwrap(), 4);
    assert_eq!(count(&store, RecordingFilter::default()).await, 1);
}

pub(crate) async fn next_recordings_follow_their_position(db: TestDatabase) {
    let store = db.store().await;
    let recordings = store.recordings();
    recordings
        .insert((0..5).map(|n| recording("orders", &n.to_string(), "completed")).collect())
        .await
        .unwrap();
    let (mut position, mut keys) = (None, Vec::new());
    loop {
        let rows = recordings.read_next(RecordingFilter::default(), position, 2).await.unwrap();
        let Some(last) = rows.last() else { break };
        let (created_at, id) = (last.row.created_at.naive(), last.row.id.clone());
        position = Some(RowKey { created_at, id });
        keys.extend(rows.into_iter().map(|stored| stored.row.run_key));
    }
    keys.sort_unstable();
    assert_eq!(keys, ["0", "1", "2", "3", "4"]);
}
