//! Lists of traces.

use chrono::TimeDelta;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use svc_model::{Page, Timestamp, WorkflowVersion};
use svc_store::{
    NewTrace, RunTotals, TraceEnd, TraceMode, TracePage, TraceQuery, TraceRepository, TraceStatus,
};
use uuid::Uuid;

use super::database::TestDatabase;
use super::refusal;
use super::traces::{end, pending};

fn page(limit: i64, offset: i64) -> TraceQuery {
    TraceQuery { page: Page { limit, offset }, ..TraceQuery::default() }
}

fn ids(page: &TracePage) -> Vec<String> {
    page.rows.iter().map(|row| row.id.clone()).collect()
}

/// Returns a value of a condition, or of an order.
fn some<T: for<'t> From<&'t str>>(text: &str) -> Option<T> {
    Some(text.into())
}

/// Returns every page from the first to the last, by cursor.
async fn by_cursor(traces: &TraceRepository, first: TraceQuery) -> Vec<String> {
    let (mut query, mut found) = (first, Vec::new());
    loop {
        let page = traces.list(query.clone()).await.unwrap();
        assert!(page.rows.len() <= 1000 && (!page.rows.is_empty() || page.next_cursor.is_none()));
        found.extend(ids(&page));
        match page.next_cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => return found,
        }
    }
}

pub(crate) async fn traces_are_filtered_by_the_version_that_ran(db: TestDatabase) {
    let traces = db.store().await.traces();
    let version = |number| Some(WorkflowVersion { id: "w".into(), version: number });
    let inserted = NewTrace {
        workflow: version(1),
        ..NewTrace::new(Uuid::now_v7(), "a".into(), TraceMode::Sync, TraceStatus::Completed)
    };
    traces.insert(inserted.clone()).await.unwrap();
    let accepted = pending("a");
    traces.insert(accepted.clone()).await.unwrap();
    let done = TraceEnd { workflow: version(2), ..end(accepted.id, TraceStatus::Completed) };
    assert!(traces.finish(done).await.unwrap());
    let list = async |query| ids(&traces.list(query).await.unwrap());
    let of = |number| TraceQuery { workflow_id: Some("w".into()), workflow_versions: number, ..page(50, 0) };
    assert_eq!(list(of(vec![])).await, [accepted.id.to_string(), inserted.id.to_string()]);
    assert_eq!(list(of(vec![1])).await, [inserted.id.to_string()]);
    assert_eq!(list(of(vec![2])).await, [accepted.id.to_string()]);
    assert_eq!(list(TraceQuery { workflow_id: Some("x".into()), ..page(50, 0) }).await, [""; 0]);
    let row = traces.get(&accepted.id.to_string()).await.unwrap().unwrap().row;
    assert_eq!((row.workflow_id.as_deref(), row.workflow_version), (Some("w"), Some(2)));
}

pub(crate) async fn traces_are_filtered_by_request(db: TestDatabase) {
    let traces = db.store().await.traces();
    let mut rows = Vec::new();
    for (request, status) in [
        (Some("r-1"), TraceStatus::Failed),
        (Some("r-1"), TraceStatus::Completed),
        (Some("r-2"), TraceStatus::Failed),
        (None, TraceStatus::Failed),
    ] {
        let row = NewTrace {
            request_id: request.map(Into::into),
            ..NewTrace::new(Uuid::now_v7(), "a".into(), TraceMode::Sync, status)
        };
        traces.insert(row.clone()).await.unwrap();
        rows.push(row.id.to_string());
    }
    let list = async |query| ids(&traces.list(query).await.unwrap());
    let of = |request: &str| TraceQuery { request_id: Some(request.into()), ..page(50, 0) };
    assert_eq!(list(of("r-1")).await, [rows[1].clone(), rows[0].clone()]);
    let failed = |request: &str| TraceQuery { status: Some("failed".into()), ..of(request) };
    assert_eq!(list(failed("r-1")).await, [rows[0].clone()]);
    assert_eq!(list(failed("r-2")).await, [rows[2].clone()]);
    assert_eq!(list(of("r-3")).await, [""; 0]);
    let row = traces.get(&rows[2]).await.unwrap().unwrap().row;
    assert_eq!(row.request_id.as_deref(), Some("r-2"));
}

pub(crate) async fn pages_of_channels_merge_statuses_and_modes(db: TestDatabase) {
    let traces = db.store().await.traces();
    let mut expected = Vec::new();
    for number in 0..24 {
        let (status, mode) = (TraceStatus::ALL[number % 8], TraceMode::ALL[number % 4]);
        let channel = ["a", "b", "c"][number % 3];
        let row = NewTrace::new(Uuid::now_v7(), channel.into(), mode, status);
        if channel != "c" {
            expected.push(row.id.to_string());
        }
        traces.insert(row).await.unwrap();
    }
    let channels: Vec<String> = ["a", "b", "a", "none"].map(str::to_owned).into();
    let of_both = TraceQuery { channel: Some(channels.into()), ..page(3, 0) };
    let ascending = TraceQuery { order: some("asc"), ..of_both.clone() };
    assert_eq!(by_cursor(&traces, ascending).await, expected);
    expected.reverse();
    assert_eq!(by_cursor(&traces, of_both.clone()).await, expected);
    let several: Vec<String> = ["completed", "failed"].map(str::to_owned).into();
    let ended = TraceQuery { status: Some(several.into()), mode: some("async"), ..of_both };
    let expected =
        traces.list(TraceQuery { page: Page { limit: 50, offset: 0 }, ..ended.clone() }).await.unwrap();
    assert!(expected.rows.iter().all(|row| row.mode == "async" && row.channel != "c"));
    assert_eq!(by_cursor(&traces, ended).await, ids(&expected));
}

pub(crate) async fn traffic_counts_recent_runs_of_channel(db: TestDatabase) {
    let traces = db.store().await.traces();
    let began = Timestamp::now();
    let hour_before = Timestamp::from_naive(began.naive() - TimeDelta::hours(1));
    for (number, duration) in (0_usize..40).zip(1_u32..) {
        let (status, mode) = (TraceStatus::ALL[number % 8], TraceMode::ALL[number / 8 % 4]);
        let row = NewTrace {
            duration_ms: status.is_end().then(|| f64::from(duration)),
            ..NewTrace::new(Uuid::now_v7(), ["a", "b"][number / 20].into(), mode, status)
        };
        traces.insert(row).await.unwrap();
    }
    // Every eighth row is completed, as many failed or were cancelled.
    let of_a = traces.traffic("a", hour_before).await.unwrap();
    assert_eq!((of_a.runs, of_a.failed, of_a.is_capped), (6, 2, false));
    assert_eq!(of_a.p95_ms, Some(15.0), "the longest of four, without those that were cancelled");
    let of_b = traces.traffic("b", hour_before).await.unwrap();
    assert_eq!((of_b.runs, of_b.failed), (9, 3));
    assert_eq!(traces.traffic("none", hour_before).await.unwrap(), RunTotals::default());
    let later = Timestamp::from_naive(began.naive() + TimeDelta::hours(1));
    assert_eq!(traces.traffic("a", later).await.unwrap(), RunTotals::default());
}

pub(crate) async fn pages_of_statuses_are_merged(db: TestDatabase) {
    let traces = db.store().await.traces();
    let mut expected = Vec::new();
    for number in 0..24 {
        let status = TraceStatus::ALL[number % 8];
        let row = NewTrace::new(Uuid::now_v7(), "a".into(), TraceMode::Async, status);
        if status != TraceStatus::Completed {
            expected.push(row.id.to_string());
        }
        traces.insert(row).await.unwrap();
    }
    let open: Vec<String> = TraceStatus::ALL.map(|status| status.name().to_owned()).into();
    let open = open.into_iter().filter(|name| name != "completed").collect::<Vec<_>>();
    let ascending = TraceQuery { status: Some(open.into()), order: some("asc"), ..page(4, 0) };
    assert_eq!(by_cursor(&traces, ascending.clone()).await, expected);
    expected.reverse();
    assert_eq!(by_cursor(&traces, TraceQuery { order: None, ..ascending }).await, expected);
}

pub(crate) async fn reruns_are_found_among_runs_of_channel(db: TestDatabase) {
    let traces = db.store().await.traces();
    db.execute(
        "INSERT INTO traces (id, channel, created_at, rerun_of) VALUES ('old', 'a', '2026-01-01 12:00:00', 'first'),
         ('between', 'a', '2026-01-01 12:00:01', NULL), ('new', 'a', '2026-01-01 12:00:02', 'first')",
    )
    .await
    .unwrap();
    let reruns = TraceQuery { channel: some("a"), rerun_of: some("first"), ..page(1, 0) };
    assert_eq!(by_cursor(&traces, reruns).await, ["new", "old"]);
}

pub(crate) async fn traces_are_found_by_run_key(db: TestDatabase) {
    let traces = db.store().await.traces();
    let plain = NewTrace::new(Uuid::now_v7(), "a".into(), TraceMode::Sync, TraceStatus::Completed);
    let run_of = |key: &str| NewTrace {
        run_key: Some(key.into()),
        ..NewTrace::new(Uuid::now_v7(), "a".into(), TraceMode::Kafka, TraceStatus::Completed)
    };
    let (id, key) = (plain.id.to_string(), "orders:0:17");
    let rows = [plain, run_of(key), run_of(key), run_of("orders:0:18")];
    for row in &rows {
        traces.insert(row.clone()).await.unwrap();
    }
    let list = async |key: Vec<String>| {
        let query = TraceQuery { run_key: Some(key.into()), include_counts: true, ..page(50, 0) };
        let page = traces.list(query).await.unwrap();
        let count = page.counts.as_ref().unwrap()["completed"];
        assert_eq!(usize::try_from(count).unwrap(), page.rows.len());
        ids(&page)
    };
    let of = |places: &[usize]| places.iter().map(|place| rows[*place].id.to_string()).collect::<Vec<_>>();
    assert_eq!(list(vec![key.into()]).await, of(&[2, 1]));
    assert_eq!(list(vec![id, key.into()]).await, of(&[2, 1, 0]), "a row without a key has its id as such");
    assert_eq!(list(vec![rows[1].id.to_string()]).await, of(&[]));
}

pub(crate) async fn traces_are_sorted_by_duration_code_and_version(db: TestDatabase) {
    let traces = db.store().await.traces();
    let mut rows = Vec::new();
    for (duration_ms, error_code, version) in [
        (Some(5.0), Some("B"), Some(2)),
        (None, None, None),
        (Some(70.5), Some("A"), Some(10)),
        (Some(7.0), None, None),
    ] {
        let row = NewTrace {
            duration_ms,
            error_code,
            workflow: version.map(|version| WorkflowVersion { id: "w".into(), version }),
            ..NewTrace::new(Uuid::now_v7(), "a".into(), TraceMode::Sync, TraceStatus::Completed)
        };
        traces.insert(row.clone()).await.unwrap();
        rows.push(row.id.to_string());
    }
    let list = async |query| ids(&traces.list(query).await.unwrap());
    let of = |places: &[usize]| places.iter().map(|place| rows[*place].clone()).collect::<Vec<_>>();
    let sorted = |column: &str, order: &str| TraceQuery {
        sort_by: Some(column.into()),
        sort_order: Some(order.into()),
        ..page(50, 0)
    };
    for (column, ascending) in
        [("duration_ms", [1, 0, 3, 2]), ("workflow_version", [1, 3, 0, 2]), ("error_code", [1, 3, 2, 0])]
    {
        assert_eq!(list(sorted(column, "asc")).await, of(&ascending), "{column}");
        let last = list(sorted(column, "desc")).await.remove(0);
        assert_eq!(last, rows[ascending[3]], "{column}: what a row lacks is the smallest");
    }
    let slow = |least| TraceQuery { min_duration_ms: Some(least), ..page(50, 0) };
    assert_eq!(list(slow(7)).await, of(&[3, 2]));
    assert_eq!(list(slow(71)).await, of(&[]));
    assert_eq!(list(TraceQuery { error_code: Some("A".into()), ..page(50, 0) }).await, of(&[2]));
    let stored = traces.get(&rows[2]).await.unwrap().unwrap().row;
    assert_eq!(stored.error_code.as_deref(), Some("A"));
    let since = |instant| TraceQuery { since: Some(instant), ..page(50, 0) };
    let until = |instant| TraceQuery { until: Some(instant), ..page(50, 0) };
    let newer: Vec<_> = list(since(stored.created_at)).await;
    let older: Vec<_> = list(until(stored.created_at)).await;
    assert_eq!(newer.len() + older.len(), 4, "one bound is inclusive, the other exclusive");
    assert!(newer.contains(&rows[2]) && !older.contains(&rows[2]));
}

pub(crate) async fn traces_are_filtered_and_sorted(db: TestDatabase) {
    let traces = db.store().await.traces();
    let mut rows = Vec::new();
    for (channel, mode, status) in [
        ("a", TraceMode::Sync, TraceStatus::Completed),
        ("b", TraceMode::Async, TraceStatus::Pending),
        ("a", TraceMode::Async, TraceStatus::Failed),
        ("c", TraceMode::Cron, TraceStatus::Running),
    ] {
        let row = NewTrace::new(Uuid::now_v7(), channel.into(), mode, status);
        traces.insert(row.clone()).await.unwrap();
        rows.push(row.id.to_string());
    }
    let list = async |query| ids(&traces.list(query).await.unwrap());
    let of = |places: &[usize]| places.iter().map(|place| rows[*place].clone()).collect::<Vec<_>>();
    assert_eq!(list(page(50, 0)).await, of(&[3, 2, 1, 0]), "newest first");
    for (query, found) in [
        (TraceQuery { status: some("completed"), ..page(50, 0) }, of(&[0])),
        (TraceQuery { channel: some("a"), ..page(50, 0) }, of(&[2, 0])),
        (TraceQuery { mode: some("async"), ..page(50, 0) }, of(&[2, 1])),
        (TraceQuery { channel: some("a"), mode: some("async"), ..page(50, 0) }, of(&[2])),
        (TraceQuery { channel: some("a"), status: some("running"), ..page(50, 0) }, of(&[])),
        (TraceQuery { status: some("nonsense"), ..page(50, 0) }, of(&[])),
        (TraceQuery { status: some("a\0"), ..page(50, 0) }, of(&[])),
        (TraceQuery { sort_order: some("asc"), ..page(50, 0) }, of(&[0, 1, 2, 3])),
        (TraceQuery { sort_order: some("ASC"), sort_by: some("nonsense"), ..page(50, 0) }, of(&[3, 2, 1, 0])),
        (TraceQuery { sort_order: some("asc"), sort_by: some("status"), ..page(50, 0) }, of(&[0, 2, 1, 3])),
        (TraceQuery { sort_by: some("channel"), ..page(50, 0) }, of(&[3, 1, 2, 0])),
        (TraceQuery { sort_by: some("mode"), sort_order: some("asc"), ..page(2, 1) }, of(&[2, 3])),
    ] {
        assert_eq!(list(query.clone()).await, found, "{query:?}");
    }
    traces.finish(end(rows[1].parse().unwrap(), TraceStatus::Completed)).await.unwrap();
    let updated = traces.list(TraceQuery { sort_by: some("updated_at"), ..page(50, 0) }).await.unwrap();
    assert!(updated.rows.is_sorted_by_key(|row| std::cmp::Reverse(row.updated_at)));
    assert_eq!((ids(&updated)[0].clone(), updated.next_cursor), (rows[1].clone(), None));
    let counted = TraceQuery { channel: some("a"), include_total: true, ..page(1, 0) };
    assert_eq!(traces.list(counted).await.unwrap().total, Some(2));
    assert_eq!(traces.list(page(1, 0)).await.unwrap().total, None);
}

pub(crate) async fn a_cursor_goes_with_the_default_order_only(db: TestDatabase) {
    let traces = db.store().await.traces();
    traces.insert_all((0..3).map(|_| pending("a")).collect()).await.unwrap();
    let cursor = traces.list(page(1, 0)).await.unwrap().next_cursor;
    assert!(cursor.is_some());
    let with = |query: TraceQuery| TraceQuery { cursor: cursor.clone(), ..query };
    for refused in [
        with(page(1, 1)),
        with(TraceQuery { sort_by: some("status"), ..page(1, 0) }),
        with(TraceQuery { sort_order: some("asc"), ..page(1, 0) }),
        TraceQuery { cursor: some("nonsense"), ..page(1, 0) },
    ] {
        assert_eq!(refusal(traces.list(refused).await).status(), 400);
    }
    let explicit = TraceQuery { sort_by: some("created_at"), sort_order: some("desc"), ..page(9, 0) };
    assert_eq!(traces.list(with(explicit)).await.unwrap().rows.len(), 2);
    assert_eq!(traces.list(page(3, 0)).await.unwrap().next_cursor, None, "nothing follows");
    let other = TraceQuery { sort_order: some("asc"), ..page(1, 0) };
    assert_eq!(traces.list(other).await.unwrap().next_cursor, None);
}

pub(crate) async fn pages_stay_what_they_were_while_rows_arrive(db: TestDatabase) {
    let traces = db.store().await.traces();
    traces.insert_all((0..25).map(|_| pending("a")).collect()).await.unwrap();
    let before = ids(&traces.list(page(50, 0)).await.unwrap());
    let (mut query, mut found) = (page(4, 0), Vec::new());
    loop {
        let listed = traces.list(query.clone()).await.unwrap();
        found.extend(ids(&listed));
        traces.insert_all((0..3).map(|_| pending("a")).collect()).await.unwrap();
        let Some(cursor) = listed.next_cursor else { break };
        query.cursor = Some(cursor);
    }
    assert_eq!(found, before, "none twice, none left out");
}

pub(crate) async fn pages_by_cursor_are_pages_by_offset(db: TestDatabase) {
    let traces = db.store().await.traces();
    // Few instants, so that many rows share one. Some are whole seconds and some have fractions, whose text
    // forms differ on SQLite.
    let times = ["12:00:00.000", "12:00:00.001", "12:00:00.120", "12:00:01.000"];
    let rows = prop::collection::vec((0..times.len(), prop::sample::select(vec!["a", "b"])), 0..40);
    let cases = (rows, 1..9_i64, prop::option::of(prop::sample::select(vec!["a", "b"])));
    let mut runner = TestRunner::deterministic();
    for _ in 0..12 {
        let (rows, limit, channel) = cases.new_tree(&mut runner).unwrap().current();
        db.execute("DELETE FROM traces").await.unwrap();
        for (time, channel) in rows {
            let (id, time) = (Uuid::new_v4(), times[time]);
            db.execute(&format!(
                "INSERT INTO traces (id, channel, created_at) VALUES ('{id}', '{channel}', '2026-01-01 {time}')"
            ))
            .await
            .unwrap();
        }
        let query = TraceQuery { channel: channel.map(Into::into), ..page(limit, 0) };
        let mut by_offset = Vec::new();
        loop {
            let offset = i64::try_from(by_offset.len()).unwrap();
            let page =
                traces.list(TraceQuery { page: Page { limit, offset }, ..query.clone() }).await.unwrap();
            if page.rows.is_empty() {
                break;
            }
            by_offset.extend(ids(&page));
        }
        assert_eq!(by_cursor(&traces, query).await, by_offset);
    }
}

pub(crate) async fn cursor_passes_a_whole_second_once(db: TestDatabase) {
    let traces = db.store().await.traces();
    // SQLite has either text for a whole second: that of its clock, and that of a bound value.
    for second in ["2026-01-01 12:00:00.000", "2026-01-01 12:00:00"] {
        db.execute("DELETE FROM traces").await.unwrap();
        for (id, time) in [("d", "2026-01-01 12:00:01.500"), ("c", second), ("b", second), ("a", second)] {
            let row = format!("INSERT INTO traces (id, channel, created_at) VALUES ('{id}', 'c', '{time}')");
            db.execute(&row).await.unwrap();
        }
        assert_eq!(by_cursor(&traces, page(1, 0)).await, ["d", "c", "b", "a"], "{second}");
        let ascending = TraceQuery { order: some("asc"), ..page(1, 0) };
        assert_eq!(by_cursor(&traces, ascending).await, ["a", "b", "c", "d"], "{second}");
    }
}

pub(crate) async fn a_foreign_row_spoils_no_list(db: TestDatabase) {
    let traces = db.store().await.traces();
    traces.insert(NewTrace { owner: Some("me".into()), ..pending("a") }).await.unwrap();
    db.execute(
        "INSERT INTO traces (id, channel, mode, status) VALUES ('odd', 'a', 'carrier pigeon', 'lost')",
    )
    .await
    .unwrap();
    if db.is_sqlite() {
        db.execute(
            "INSERT INTO traces (id, channel, created_at, started_at) VALUES ('no time', 'a', 'noon', 'x')",
        )
        .await
        .unwrap();
        db.execute(
            "INSERT INTO traces (id, channel, started_at, duration_ms) VALUES ('odd time', 'a', 'x', 'y')",
        )
        .await
        .unwrap();
    }
    let listed = traces.list(page(50, 0)).await.unwrap();
    assert_eq!(listed.rows.len(), if db.is_sqlite() { 3 } else { 2 });
    let odd = listed.rows.iter().find(|row| row.id == "odd").unwrap();
    assert_eq!((odd.mode.as_str(), odd.status.as_str()), ("carrier pigeon", "lost"));
    assert!(traces.get("odd").await.unwrap().is_some());
    if db.is_sqlite() {
        assert!(traces.get("no time").await.is_err());
        assert_eq!(traces.get("odd time").await.unwrap().unwrap().row.started_at, None);
    }
    assert!(traces.unfinished_async(&"me".into(), None, 10).await.unwrap().0.is_empty());
}
