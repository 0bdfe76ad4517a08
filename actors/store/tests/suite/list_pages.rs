//! Pages of lists: merged from parts of indexes, and bounded in what they read.

use svc_model::{Page, Timestamp};
use svc_store::{AnyOf, AuditFilter, DeadLetterFilter, OccurrenceFilter, Store, TraceQuery};

use super::database::TestDatabase;
use super::{any_mutation, channel};

/// Writes `count` rows by a statement in which `n` is the number of a row.
async fn write(db: &TestDatabase, count: usize, insert: &str, values: &str) {
    let numbers = if db.is_sqlite() {
        format!(
            "(WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < {count}) SELECT n FROM i)"
        )
    } else {
        format!("generate_series(1, {count}) n")
    };
    db.execute(&format!("INSERT INTO {insert} SELECT {values} FROM {numbers}")).await.unwrap();
}

/// Writes occurrences of the channels `a`, `b` and `c`, one a minute; every fourth failed.
async fn write_occurrences(db: &TestDatabase) {
    let insert = "cron_occurrences (id, channel_id, channel_name, channel_version, executing_version, workflow_id, \
                  status, scheduled_for, created_at)";
    let values = "'o' || (100 + n), substr('abc', n % 3 + 1, 1), 'of ' || substr('abc', n % 3 + 1, 1), 1, 1 + n % 2, \
                  'w', CASE n % 4 WHEN 0 THEN 'failed' WHEN 1 THEN 'cancelled' ELSE 'completed' END";
    write(db, 24, insert, &format!("{values}, {0}, {0}", minute(db))).await;
}

/// Returns the instant of row `n`, as an expression.
fn minute(db: &TestDatabase) -> &'static str {
    if db.is_sqlite() {
        "datetime('2026-01-01 12:00:00', '+' || n || ' minutes')"
    } else {
        "(timestamp '2026-01-01 12:00:00' + n * interval '1 minute')"
    }
}

fn any_of(values: &[&str]) -> Option<AnyOf> {
    Some(AnyOf::new(values.iter().map(|value| (*value).to_owned()).collect()))
}

/// The ids of a list, and the calls that it took.
#[derive(Debug, Default, PartialEq, Eq)]
struct Walk {
    ids: Vec<String>,
    calls: usize,
}

/// Returns every row of a list of occurrences, page by page.
async fn walk_occurrences(store: &Store, filter: &OccurrenceFilter, limit: i64) -> Walk {
    let (mut walk, mut cursor) = (Walk::default(), None);
    loop {
        let page = Page { limit, offset: 0 };
        let page = store.ledger().list(filter.clone(), page, cursor.as_deref()).await.unwrap();
        walk.ids.extend(page.rows.into_iter().map(|row| row.id));
        walk.calls += 1;
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return walk,
        }
    }
}

async fn walk_letters(store: &Store, filter: &DeadLetterFilter, limit: i64) -> Walk {
    let (mut walk, mut filter) = (Walk::default(), filter.clone());
    loop {
        let page = store.dead_letters().list_page(filter.clone(), Page { limit, offset: 0 }).await.unwrap();
        walk.ids.extend(page.rows.into_iter().map(|row| row.id));
        walk.calls += 1;
        assert!(walk.calls < 100, "the list has no end");
        match page.next_cursor {
            Some(next) => filter.cursor = Some(next),
            None => return walk,
        }
    }
}

async fn walk_audit(store: &Store, filter: &AuditFilter, limit: i64) -> Walk {
    let (mut walk, mut filter) = (Walk::default(), filter.clone());
    loop {
        let page = store.audit().list_page(filter.clone(), Page { limit, offset: 0 }).await.unwrap();
        walk.ids.extend(page.rows.into_iter().map(|row| row.id));
        walk.calls += 1;
        match page.next_cursor {
            Some(next) => filter.cursor = Some(next),
            None => return walk,
        }
    }
}

/// Returns the ids with these numbers, the newest first.
fn numbered(letter: char, numbers: impl DoubleEndedIterator<Item = usize>) -> Vec<String> {
    numbers.rev().map(|number| format!("{letter}{}", 100 + number)).collect()
}

pub(crate) async fn pages_of_occurrences_merge_several_values(db: TestDatabase) {
    let store = db.store().await;
    write_occurrences(&db).await;
    db.execute(
        "INSERT INTO definitions (kind, id, version, status, name, content)
         VALUES ('channel', 'a', 1, 'archived', 'of a', '{}')",
    )
    .await
    .unwrap();
    let at = |minutes: u32| Timestamp::parse(&format!("2026-01-01T12:{minutes:02}:00Z"));
    let of = |numbers: &dyn Fn(usize) -> bool| numbered('o', (1..=24).filter(|n| numbers(*n)));
    let any = OccurrenceFilter::default;
    for (filter, expected) in [
        (any(), of(&|_| true)),
        (OccurrenceFilter { status: any_of(&["failed", "cancelled"]), ..any() }, of(&|n| n % 4 < 2)),
        (OccurrenceFilter { channel_id: any_of(&["a", "c", "a", "none"]), ..any() }, of(&|n| n % 3 != 1)),
        (
            OccurrenceFilter { channel_id: any_of(&["a"]), status: any_of(&["failed"]), ..any() },
            of(&|n| n % 12 == 0),
        ),
        (OccurrenceFilter { channel: any_of(&["of a"]), versions: vec![1], ..any() }, of(&|n| n % 6 == 0)),
        (OccurrenceFilter { since: at(5), until: at(20), ..any() }, of(&|n| (5..=20).contains(&n))),
        (
            OccurrenceFilter {
                since: at(5),
                channel_id: any_of(&["a"]),
                status: any_of(&["failed"]),
                ..any()
            },
            of(&|n| n > 5 && n % 12 == 0),
        ),
        (OccurrenceFilter { run_key: any_of(&["o103", "o107", "x"]), ..any() }, of(&|n| n == 3 || n == 7)),
        (OccurrenceFilter { status: any_of(&["a\0"]), ..any() }, Vec::new()),
    ] {
        assert_eq!(walk_occurrences(&store, &filter, 3).await.ids, expected, "{filter:?}");
        let total = store.ledger().list(filter.clone(), Page::default(), None).await.unwrap().total;
        assert_eq!(total, i64::try_from(expected.len()).ok(), "{filter:?}");
        let reversed: Vec<_> = expected.into_iter().rev().collect();
        let filter = OccurrenceFilter { oldest_first: true, ..filter };
        assert_eq!(walk_occurrences(&store, &filter, 4).await.ids, reversed, "{filter:?}");
        let second = Page { limit: 2, offset: 2 };
        let page = store.ledger().list(filter.clone(), second, None).await.unwrap();
        let ids: Vec<_> = page.rows.into_iter().map(|row| row.id).collect();
        let expected: Vec<_> = reversed.into_iter().skip(2).take(2).collect();
        assert_eq!(ids, expected, "{filter:?}");
    }
}

pub(crate) async fn pages_of_letters_merge_several_values(db: TestDatabase) {
    let store = db.store().await;
    let (at, values) =
        (minute(&db), "'l' || (100 + n), 't' || (100 + n), substr('abc', n % 3 + 1, 1), '{}', 'x'");
    let insert = "trace_dlq (id, trace_id, channel, payload_json, error_message, retry_count, max_retries, \
                  error_group, next_retry_at, created_at)";
    write(&db, 24, insert, &format!("{values}, n % 2, 1, 'g' || (n % 4), {at}, {at}")).await;
    write(
        &db,
        24,
        "traces (id, channel, status, workflow_version)",
        "'t' || (100 + n), 'a', 'failed', n % 5",
    )
    .await;
    let of = |numbers: &dyn Fn(usize) -> bool| numbered('l', (1..=24).filter(|n| numbers(*n)));
    let any = DeadLetterFilter::default;
    for (filter, expected) in [
        (any(), of(&|_| true)),
        (DeadLetterFilter { channel: any_of(&["a", "c"]), ..any() }, of(&|n| n % 3 != 1)),
        (
            DeadLetterFilter { error_group: any_of(&["g1", "g2", "x"]), ..any() },
            of(&|n| (1..=2).contains(&(n % 4))),
        ),
        (DeadLetterFilter { exhausted: Some(true), ..any() }, of(&|n| n % 2 == 1)),
        (DeadLetterFilter { exhausted: Some(false), ..any() }, of(&|n| n % 2 == 0)),
        (DeadLetterFilter { channel: any_of(&["a"]), exhausted: Some(true), ..any() }, of(&|n| n % 6 == 3)),
        (DeadLetterFilter { versions: vec![2, 9], ..any() }, of(&|n| n % 5 == 2)),
        (
            DeadLetterFilter { trace_id: any_of(&["t103", "t109"]), channel: any_of(&["a"]), ..any() },
            of(&|n| n == 3 || n == 9),
        ),
    ] {
        assert_eq!(walk_letters(&store, &filter, 3).await.ids, expected, "{filter:?}");
        let (rows, total) = store.dead_letters().list(filter.clone(), Page::default()).await.unwrap();
        assert_eq!(
            (rows.len(), total),
            (expected.len(), i64::try_from(expected.len()).unwrap()),
            "{filter:?}"
        );
        let reversed: Vec<_> = expected.into_iter().rev().collect();
        let filter = DeadLetterFilter { oldest_first: true, include_counts: true, ..filter };
        assert_eq!(walk_letters(&store, &filter, 4).await.ids, reversed, "{filter:?}");
        let without = DeadLetterFilter { exhausted: None, ..filter.clone() };
        let all = store.dead_letters().list_page(without, Page::default()).await.unwrap().total;
        let counts =
            store.dead_letters().list_page(filter.clone(), Page::default()).await.unwrap().counts.unwrap();
        assert_eq!(Some(counts["retrying"] + counts["exhausted"]), all, "{filter:?}");
    }
}

pub(crate) async fn pages_of_audit_entries_merge_several_values(db: TestDatabase) {
    let store = db.store().await;
    let insert = "audit_logs (id, principal, action, resource_type, resource_id, created_at)";
    let values = "'a' || (100 + n), 'p' || (n % 3), 'act' || (n % 2), 'type' || (n % 4), 'r' || (n % 6)";
    write(&db, 24, insert, &format!("{values}, {}", minute(&db))).await;
    let of = |numbers: &dyn Fn(usize) -> bool| numbered('a', (1..=24).filter(|n| numbers(*n)));
    let any = AuditFilter::default;
    for (filter, expected) in [
        (any(), of(&|_| true)),
        (AuditFilter { principal: any_of(&["p0", "p2"]), ..any() }, of(&|n| n % 3 != 1)),
        (AuditFilter { resource_type: any_of(&["type1"]), ..any() }, of(&|n| n % 4 == 1)),
        (
            AuditFilter { resource_id: any_of(&["r1", "r5"]), action: any_of(&["act1"]), ..any() },
            of(&|n| n % 6 == 1 || n % 6 == 5),
        ),
        (AuditFilter { action: any_of(&["act0"]), principal: any_of(&["p0"]), ..any() }, of(&|n| n % 6 == 0)),
        (AuditFilter { start_time: Timestamp::parse("2026-01-01T12:20:00Z"), ..any() }, of(&|n| n >= 20)),
    ] {
        assert_eq!(walk_audit(&store, &filter, 3).await.ids, expected, "{filter:?}");
        let (rows, total) = store.audit().list(filter.clone(), Page::default()).await.unwrap();
        assert_eq!(
            (rows.len(), total),
            (expected.len(), i64::try_from(expected.len()).unwrap()),
            "{filter:?}"
        );
        let filter = AuditFilter { oldest_first: true, ..filter };
        let reversed: Vec<_> = expected.into_iter().rev().collect();
        assert_eq!(walk_audit(&store, &filter, 4).await.ids, reversed, "{filter:?}");
    }
}

pub(crate) async fn traces_of_groups_and_workflows_are_merged(db: TestDatabase) {
    let store = db.store().await;
    let insert = "traces (id, channel, status, mode, workflow_id, workflow_version, error_group, created_at)";
    let values = "'t' || (100 + n), substr('abc', n % 3 + 1, 1), CASE n % 5 WHEN 0 THEN 'retrying' ELSE 'failed' END, \
                  'sync', 'w' || (n % 2), n % 3, 'g' || (n % 4)";
    write(&db, 24, insert, &format!("{values}, {}", minute(&db))).await;
    let of = |numbers: &dyn Fn(usize) -> bool| numbered('t', (1..=24).filter(|n| numbers(*n)));
    let any = || TraceQuery { page: Page { limit: 3, offset: 0 }, ..TraceQuery::default() };
    let failed = || TraceQuery { status: any_of(&["failed"]), ..any() };
    for (query, expected) in [
        (
            TraceQuery { error_group: any_of(&["g1", "g2", "x"]), ..any() },
            of(&|n| (1..=2).contains(&(n % 4))),
        ),
        (
            TraceQuery { error_group: any_of(&["g1"]), channel: any_of(&["a"]), ..failed() },
            of(&|n| n % 12 == 9 && n % 5 != 0),
        ),
        (TraceQuery { workflow_id: any_of(&["w1"]), ..failed() }, of(&|n| n % 2 == 1 && n % 5 != 0)),
        (
            TraceQuery { workflow_id: any_of(&["w0", "w1"]), workflow_versions: vec![1], ..failed() },
            of(&|n| n % 3 == 1 && n % 5 != 0),
        ),
    ] {
        let (mut found, mut next) = (Vec::new(), Some(query.clone()));
        while let Some(query) = next.take() {
            let page = store.traces().list(query.clone()).await.unwrap();
            found.extend(page.rows.into_iter().map(|row| row.id));
            next = page.next_cursor.map(|cursor| TraceQuery { cursor: Some(cursor), ..query });
        }
        assert_eq!(found, expected, "{query:?}");
        let ascending =
            TraceQuery { order: Some("asc".into()), page: Page { limit: 50, offset: 0 }, ..query };
        let page = store.traces().list(ascending).await.unwrap();
        let expected: Vec<_> = expected.into_iter().rev().collect();
        assert_eq!(page.rows.into_iter().map(|row| row.id).collect::<Vec<_>>(), expected);
    }
}

pub(crate) async fn occurrences_are_found_by_names_of_versions(db: TestDatabase) {
    let store = db.store().await;
    write_occurrences(&db).await;
    let named = |name: &str| OccurrenceFilter { channel: any_of(&[name]), ..OccurrenceFilter::default() };
    let total = async |name: &str| {
        store.ledger().list(named(name), Page::default(), None).await.unwrap().total.unwrap()
    };
    store.channels().create(Some("b".into()), channel("of b", None), any_mutation()).await.unwrap();
    db.execute(
        "INSERT INTO definitions (kind, id, version, status, name, content)
         VALUES ('channel', 'a', 1, 'archived', 'of a', '{}'), ('channel', 'a', 2, 'archived', 'other', '{}'),
         ('channel', 'anew', 1, 'archived', 'of b', '{}')",
    )
    .await
    .unwrap();
    let expected = numbered('o', (1..=24).filter(|n| n % 3 == 0));
    assert_eq!(walk_occurrences(&store, &named("of a"), 3).await.ids, expected, "by its earlier name");
    assert_eq!(
        walk_occurrences(&store, &named("other"), 3).await.ids,
        [""; 0],
        "the row has its name of then"
    );
    let expected = numbered('o', (1..=24).filter(|n| n % 3 == 1));
    assert_eq!(walk_occurrences(&store, &named("of b"), 3).await.ids, expected, "of one of two channels");
    assert_eq!((total("of a").await, total("other").await, total("of b").await), (8, 0, 8));
    store.channels().delete("b", any_mutation()).await.unwrap();
    assert_eq!(
        walk_occurrences(&store, &named("of b"), 3).await.ids,
        [""; 0],
        "they went with their channel"
    );
    assert_eq!(
        store.ledger().list(OccurrenceFilter::default(), Page::default(), None).await.unwrap().total,
        Some(16)
    );
}

pub(crate) async fn rare_rows_are_found_in_bounded_calls(db: TestDatabase) {
    let store = db.store().await;
    let insert = "cron_occurrences (id, channel_id, channel_name, channel_version, workflow_id, scheduled_for, status, \
                  created_at)";
    let values = "'o' || n, 'a', 'a', 1, CASE n WHEN 1 THEN 'rare' ELSE 'w' END";
    write(&db, 20_100, insert, &format!("{values}, {0}, 'completed', {0}", minute(&db))).await;
    let rare = OccurrenceFilter { workflow: Some("rare".into()), ..OccurrenceFilter::default() };
    let first = store.ledger().list(rare.clone(), Page::default(), None).await.unwrap();
    assert_eq!((first.rows.len(), first.total), (0, Some(1)));
    assert!(first.scanned_until.is_some() && first.next_cursor.is_some(), "{first:?}");
    for oldest_first in [false, true] {
        let of_all = OccurrenceFilter { oldest_first, ..rare.clone() };
        let of_channel = OccurrenceFilter { channel_id: Some("a".into()), ..of_all.clone() };
        for filter in [of_all, of_channel] {
            let walk = walk_occurrences(&store, &filter, 50).await;
            assert_eq!((walk.ids, walk.calls), (vec!["o1".to_owned()], 3), "{filter:?}");
        }
    }
    let gone = OccurrenceFilter { channel: any_of(&["gone"]), ..OccurrenceFilter::default() };
    assert_eq!(walk_occurrences(&store, &gone, 50).await.calls, 1, "no channel has the name");
    let insert = "audit_logs (id, principal, action, resource_type, resource_id, created_at)";
    let values = "'a' || n, CASE n WHEN 1 THEN 'rare' ELSE 'p' END, 'act', 'type', 'r'";
    write(&db, 20_100, insert, &format!("{values}, {}", minute(&db))).await;
    let pair = AuditFilter {
        resource_id: Some("r".into()),
        principal: Some("rare".into()),
        ..AuditFilter::default()
    };
    let walk = walk_audit(&store, &pair, 50).await;
    assert_eq!((walk.ids, walk.calls), (vec!["a1".to_owned()], 2));
    let one = AuditFilter { principal: Some("rare".into()), ..AuditFilter::default() };
    assert_eq!(walk_audit(&store, &one, 50).await.calls, 1, "by an index");
}

pub(crate) async fn rare_version_is_found_in_bounded_calls(db: TestDatabase) {
    let store = db.store().await;
    db.execute(
        "INSERT INTO error_groups (id, channel, workflow_id, task_id, code, message)
         VALUES ('g', 'a', 'w', 't', 'E', 'x')",
    )
    .await
    .unwrap();
    let insert = "trace_dlq (id, trace_id, channel, payload_json, error_message, error_group, next_retry_at, \
                  created_at)";
    let at = minute(&db);
    write(&db, 600, insert, &format!("'l' || n, 't' || n, 'a', '{{}}', 'x', 'g', {at}, {at}")).await;
    let versions = "'t' || n, 'a', 'failed', CASE n WHEN 1 THEN 9 ELSE 1 END";
    write(&db, 600, "traces (id, channel, status, workflow_version)", versions).await;
    let of_all = DeadLetterFilter { versions: vec![9], ..DeadLetterFilter::default() };
    let of_workflow = DeadLetterFilter { workflow: Some("w".into()), ..of_all.clone() };
    for filter in [of_all, of_workflow] {
        for oldest_first in [false, true] {
            let filter = DeadLetterFilter { oldest_first, ..filter.clone() };
            let walk = walk_letters(&store, &filter, 50).await;
            assert_eq!((walk.ids, walk.calls), (vec!["l1".to_owned()], 3), "{filter:?}");
        }
    }
}

pub(crate) async fn rows_of_one_instant_are_read_on(db: TestDatabase) {
    let store = db.store().await;
    let insert = "audit_logs (id, principal, action, resource_type, resource_id, created_at)";
    let values =
        "'a' || n, CASE n WHEN 1 THEN 'rare' ELSE 'p' END, 'act', 'type', 'r', '2026-01-01 12:00:00.500'";
    write(&db, 20_100, insert, values).await;
    for oldest_first in [false, true] {
        let pair = AuditFilter {
            resource_id: Some("r".into()),
            principal: Some("rare".into()),
            oldest_first,
            ..AuditFilter::default()
        };
        let walk = walk_audit(&store, &pair, 50).await;
        assert_eq!(walk.ids, ["a1"], "{oldest_first}");
        assert!(walk.calls <= 3, "{walk:?}");
    }
}

pub(crate) async fn page_that_ends_within_instant_is_read_on(db: TestDatabase) {
    let store = db.store().await;
    let insert = "trace_dlq (id, trace_id, channel, payload_json, error_message, retry_count, max_retries, \
                  next_retry_at, created_at)";
    for (count, values, at) in [
        (1_200, "'l' || (10000 + n), 't' || n", "'2026-01-01 12:00:00.500'"),
        (3, "'m' || n, 't1'", "'2026-01-01 12:00:01.500'"),
    ] {
        write(&db, count, insert, &format!("{values}, 'a', '{{}}', 'x', 0, 1, {at}, {at}")).await;
    }
    let traces = "traces (id, channel, status, workflow_version)";
    write(&db, 1_200, traces, "'t' || n, 'a', 'failed', n % 2").await;
    let one = (1..=1_200).step_by(2).map(|n| format!("l{}", 10_000 + n));
    let mut expected: Vec<_> = one.chain((1..=3).map(|n| format!("m{n}"))).collect();
    for oldest_first in [true, false] {
        let filter = DeadLetterFilter { versions: vec![1], oldest_first, ..DeadLetterFilter::default() };
        assert_eq!(walk_letters(&store, &filter, 200).await.ids, expected, "{oldest_first}");
        expected.reverse();
    }
}

pub(crate) async fn row_without_readable_time_ends_no_list(db: TestDatabase) {
    let store = db.store().await;
    let insert = "trace_dlq (id, trace_id, channel, payload_json, error_message, next_retry_at, created_at)";
    let at = minute(&db);
    write(&db, 24, insert, &format!("'l' || (100 + n), 't', 'a', '{{}}', 'x', {at}, {at}")).await;
    db.execute("UPDATE trace_dlq SET created_at = 'unknown' WHERE id = 'l124'").await.unwrap();
    for channel in [None, any_of(&["a"])] {
        let filter = DeadLetterFilter { channel, ..DeadLetterFilter::default() };
        assert_eq!(walk_letters(&store, &filter, 3).await.ids, numbered('l', 1..=23));
    }
}

pub(crate) async fn many_values_of_two_words_are_found(db: TestDatabase) {
    let store = db.store().await;
    let insert = "trace_dlq (id, trace_id, channel, payload_json, error_message, error_group, next_retry_at, \
                  created_at)";
    let at = minute(&db);
    let values = "'l' || (100 + n), 't', 'c' || (n % 3), '{}', 'x', 'g' || (n % 4)";
    write(&db, 24, insert, &format!("{values}, {at}, {at}")).await;
    let named = |letter: char, numbers: std::ops::Range<usize>| {
        Some(AnyOf::new(numbers.map(|number| format!("{letter}{number}")).collect()))
    };
    let filter = DeadLetterFilter {
        error_group: named('g', 1..100),
        channel: named('c', 1..500),
        ..DeadLetterFilter::default()
    };
    let expected = numbered('l', (1..=24).filter(|n| n % 4 > 0 && n % 3 > 0));
    assert_eq!(walk_letters(&store, &filter, 5).await.ids, expected);
}

pub(crate) async fn total_is_left_out_if_asked(db: TestDatabase) {
    let store = db.store().await;
    write_occurrences(&db).await;
    for (without_total, expected) in [(false, true), (true, false)] {
        let occurrences = OccurrenceFilter { without_total, ..OccurrenceFilter::default() };
        let page = store.ledger().list(occurrences, Page::default(), None).await.unwrap();
        assert_eq!((page.rows.len(), page.total.is_some()), (24, expected));
        let letters = DeadLetterFilter { without_total, ..DeadLetterFilter::default() };
        let page = store.dead_letters().list_page(letters, Page::default()).await.unwrap();
        assert_eq!(page.total.is_some(), expected);
        let audit = AuditFilter { without_total, ..AuditFilter::default() };
        let page = store.audit().list_page(audit, Page::default()).await.unwrap();
        assert_eq!(page.total.is_some(), expected);
    }
}

pub(crate) async fn counts_leave_out_later_attempts(db: TestDatabase) {
    let store = db.store().await;
    let insert = "traces (id, channel, status, attempt_of)";
    let values = "'t' || n, substr('ab', n % 2 + 1, 1), CASE n % 4 WHEN 0 THEN 'failed' ELSE 'completed' END, \
                  CASE n % 8 WHEN 0 THEN 't1' WHEN 1 THEN 't1' END";
    write(&db, 32, insert, values).await;
    let counts = async |query: TraceQuery| {
        let counts = store.traces().list(query).await.unwrap().counts.unwrap();
        (counts["completed"], counts["failed"])
    };
    let all = || TraceQuery { include_counts: true, ..TraceQuery::default() };
    assert_eq!(counts(all()).await, (20, 4));
    assert_eq!(counts(TraceQuery { attempts: true, ..all() }).await, (24, 8));
    assert_eq!(counts(TraceQuery { channel: Some("a".into()), ..all() }).await, (8, 4));
    assert_eq!(counts(TraceQuery { channel: any_of(&["a", "b"]), ..all() }).await, (20, 4));
}
