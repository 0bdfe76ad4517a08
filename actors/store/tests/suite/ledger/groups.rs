//! Calls of many runs at once, which share transactions.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use svc_ledger::Settlement;
use svc_store::{Ledger, MaterialiseOutcome, NewTrace, StartResult, TraceMode, TraceStatus};
use tokio::time::timeout;
use uuid::Uuid;

use super::super::is_unavailable;
use super::super::traces::{count_traces, end, status};
use super::{
    LEASE, MOST, TestDatabase, ago, align, align_cursor, claim_single, order, read, seconds, singleton,
    start, statuses, write_occurrences,
};

/// Channels of a group.
const MANY: usize = 40;

fn channel(number: usize) -> String {
    format!("c{number:02}")
}

fn trace() -> NewTrace {
    NewTrace::new(Uuid::now_v7(), "c".into(), TraceMode::Cron, TraceStatus::Running)
}

pub(crate) async fn each_call_of_a_group_gets_its_own_answer(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, traces) = (store.ledger(), store.traces());
    let from = ago(&ledger, 1000).await;
    for number in 0..MANY {
        align_cursor(&db, &ledger, align(&channel(number), from)).await;
    }
    let orders = (0..MANY + 1).map(|number| {
        let mut order = order(&channel(number), from, 1 + (number % 6) as i64);
        match number {
            0 => order.from = from + seconds(1),
            1 => order.singleton = Some(singleton("k")),
            _ => {}
        }
        ledger.materialise(order)
    });
    let written = join_all(orders).await;
    for (number, written) in written.into_iter().enumerate() {
        let written = written.unwrap();
        let inserted = 1 + number % 6;
        match number {
            0 => {
                assert!(matches!(&written, MaterialiseOutcome::Moved(cursor) if cursor.next_fire_at == from))
            }
            MANY => assert_eq!(written, MaterialiseOutcome::Gone),
            _ => assert_eq!(written, MaterialiseOutcome::Written { inserted, skipped: 0 }, "{number}"),
        }
    }
    for cursor in ledger.cursors().await.unwrap() {
        let number: usize = cursor.channel_id[1..].parse().unwrap();
        let instants = if number == 0 { 0 } else { 1 + (number % 6) as i64 };
        assert_eq!(cursor.next_fire_at, from + seconds(instants), "{number}");
    }
    let again = join_all((0..MANY).map(|number| ledger.materialise(order(&channel(number), from, 1)))).await;
    let moved = again.iter().filter(|again| matches!(again, Ok(MaterialiseOutcome::Moved(_)))).count();
    assert_eq!(moved, MANY - 1, "all but the first are further by now");

    let claims = ledger.claim("node", LEASE, 60, MOST, Vec::new()).await.unwrap().claimed;
    assert_eq!(claims.len(), 60);
    let singleton = singleton("k");
    let starts = claims.iter().enumerate().map(|(number, claim)| {
        let mut key = claim.key.clone();
        key.claim += i64::from(number == 0);
        let (key, trace) = (key, trace());
        let (ledger, singleton) = (&ledger, (number == 1).then_some(&singleton));
        async move { (trace.id, ledger.start(&key, 7, singleton, LEASE, Some(trace)).await.unwrap()) }
    });
    let started = join_all(starts).await;
    for (number, (claim, (trace, started))) in claims.iter().zip(&started).enumerate() {
        let row = read(&ledger, claim).await;
        match (number, started) {
            (0, started) => {
                assert_eq!((started, row.row.status.as_str()), (&StartResult::Lost, "claimed"));
                assert_eq!(status(&traces, *trace).await, None);
            }
            (_, StartResult::Running { slot, started_at }) => {
                assert_eq!(slot.is_some(), number == 1);
                assert_eq!((row.row.status.as_str(), row.executing_version), ("running", Some(7)));
                assert_eq!(row.row.started_at.map(|at| at.naive()), Some(*started_at));
                assert_eq!(
                    (row.trace_id, row.singleton_key),
                    (Some(trace.to_string()), slot.as_ref().map(|slot| slot.key.clone()))
                );
                assert_eq!(status(&traces, *trace).await.as_deref(), Some("running"));
            }
            other => panic!("it runs: {other:?}"),
        }
    }

    // Each run is settled twice at once; the second one fails.
    let ends = claims.iter().zip(&started).enumerate().flat_map(|(number, (claim, (trace, started)))| {
        let slot = match started {
            StartResult::Running { slot, .. } => slot.clone(),
            _ => None,
        };
        let settlement = match number % 3 {
            0 => Settlement::failed(format!("no luck {number}")),
            _ => Settlement::completed(),
        };
        let report = (number == 3).then(trace_of_report);
        (0..2).map(move |_| (claim, *trace, slot.clone(), settlement.clone(), report.clone()))
    });
    let ends = ends.map(|(claim, trace, slot, settlement, report)| {
        let ledger = &ledger;
        async move {
            let end = end(trace, TraceStatus::Completed);
            ledger.settle(&claim.key, slot.as_ref(), settlement, Some(end), report).await.unwrap()
        }
    });
    let ends = join_all(ends).await;
    for (number, (claim, ends)) in claims.iter().zip(ends.chunks(2)).enumerate() {
        assert_eq!(ends.iter().filter(|settled| **settled).count(), 1, "{number}: {ends:?}");
        let row = read(&ledger, claim).await;
        let (status_name, message) = match number % 3 {
            0 => ("failed", Some(format!("no luck {number}"))),
            _ => ("completed", None),
        };
        assert_eq!(
            (row.row.status.as_str(), row.error_message, row.claimed_until),
            (status_name, message, None)
        );
        if number > 0 {
            assert_eq!(status(&traces, started[number].0).await.as_deref(), Some("completed"));
        }
    }
    assert!(ledger.slots_held(vec!["k".into()]).await.unwrap().is_empty());
    assert_eq!(count_traces(&traces).await, 60, "one of each run that started, and the report");
}

fn trace_of_report() -> NewTrace {
    NewTrace::new(Uuid::now_v7(), "reports".into(), TraceMode::Async, TraceStatus::Pending)
}

pub(crate) async fn one_of_many_nodes_writes_each_instant(db: TestDatabase) {
    let nodes = super::races::nodes::<3>(&db).await;
    let from = ago(&nodes[0], 1000).await;
    for number in 0..MANY {
        align_cursor(&db, &nodes[0], align(&channel(number), from)).await;
    }
    for round in 0..5 {
        let from = from + seconds(round);
        let orders = nodes
            .iter()
            .flat_map(|node| (0..MANY).map(move |number| node.materialise(order(&channel(number), from, 1))));
        let written = join_all(orders).await;
        for number in 0..MANY {
            let outcomes: Vec<_> =
                (0..3).map(|node| written[node * MANY + number].as_ref().unwrap()).collect();
            let wrote = |outcome: &&&MaterialiseOutcome| {
                **outcome == &MaterialiseOutcome::Written { inserted: 1, skipped: 0 }
            };
            assert_eq!(outcomes.iter().filter(wrote).count(), 1, "{outcomes:?}");
            let moved = |outcome: &&&MaterialiseOutcome| matches!(outcome, MaterialiseOutcome::Moved(cursor) if cursor.next_fire_at == from + seconds(1));
            assert_eq!(outcomes.iter().filter(moved).count(), 2, "{outcomes:?}");
        }
    }
}

pub(crate) async fn a_call_that_the_database_refuses_fails_alone(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, traces) = (store.ledger(), store.traces());
    write_occurrences(&db, &ledger, "c", 20).await;
    let claims = ledger.claim("node", LEASE, 20, MOST, Vec::new()).await.unwrap().claimed;
    let taken = trace();
    traces.insert(taken.clone()).await.unwrap();
    let starts = claims.iter().enumerate().map(|(number, claim)| {
        let trace = if number == 7 { taken.clone() } else { trace() };
        ledger.start(&claim.key, 1, None, LEASE, Some(trace))
    });
    for (number, started) in join_all(starts).await.into_iter().enumerate() {
        match number {
            7 => assert!(started.is_err(), "its trace exists: {started:?}"),
            _ => assert!(matches!(started, Ok(StartResult::Running { .. })), "{number}: {started:?}"),
        }
    }
    let running = statuses(&ledger).await.iter().filter(|status| *status == "running").count();
    assert_eq!(running, 19);
    assert_eq!(read(&ledger, &claims[7]).await.row.status, "claimed");
}

pub(crate) async fn calls_on_one_cursor_are_made_in_order(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let from = ago(&ledger, 1000).await;
    for number in 0..MANY {
        align_cursor(&db, &ledger, align(&channel(number), from)).await;
    }
    // The second call of a channel begins at the end of its first one.
    let calls = (0..2).flat_map(|step| {
        let ledger = &ledger;
        (0..MANY).map(move |number| ledger.materialise(order(&channel(number), from + seconds(step), 1)))
    });
    for written in join_all(calls).await {
        assert_eq!(written.unwrap(), MaterialiseOutcome::Written { inserted: 1, skipped: 0 });
    }
    assert!(ledger.cursors().await.unwrap().iter().all(|cursor| cursor.next_fire_at == from + seconds(2)));
}

/// On PostgreSQL only: the connection to a file is not lost.
pub(crate) async fn lost_connection_answers_every_call_of_group(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    write_occurrences(&db, &ledger, "c", 20).await;
    let claims = ledger.claim("node", LEASE, 20, MOST, Vec::new()).await.unwrap().claimed;
    let lock = db.hold("LOCK TABLE cron_occurrences IN ACCESS EXCLUSIVE MODE").await;
    let starts = join_all(claims.iter().map(|claim| ledger.start(&claim.key, 1, None, LEASE, None)));
    let cut = async {
        let terminate = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND backend_type = 'client backend' AND wait_event_type = 'Lock'";
        while db.number(terminate).await == 0 {
            tokio::task::yield_now().await;
        }
    };
    let (started, ()) =
        timeout(Duration::from_secs(20), join(starts, cut)).await.expect("every caller is answered");
    assert!(started.iter().all(is_unavailable), "{started:?}");
    lock.batch_execute("COMMIT").await.unwrap();
    assert!(statuses(&ledger).await.iter().all(|status| status == "claimed"), "nothing was written");
    for claim in &claims {
        assert!(matches!(start(&ledger, claim, None).await, StartResult::Running { .. }));
    }
}

/// On PostgreSQL only: a file has one writer, and no row of it is locked.
pub(crate) async fn a_locked_row_delays_no_other_call(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let from = ago(&ledger, 1000).await;
    for number in 0..MANY {
        align_cursor(&db, &ledger, align(&channel(number), from)).await;
    }
    let lock = db.hold("SELECT * FROM cron_schedule_state WHERE channel_id = 'c05' FOR UPDATE").await;
    let locked = ledger.materialise(order("c05", from, 1));
    let others = (0..MANY)
        .filter(|number| *number != 5)
        .map(|number| ledger.materialise(order(&channel(number), from, 1)));
    let others = async {
        for written in join_all(others).await {
            assert_eq!(written.unwrap(), MaterialiseOutcome::Written { inserted: 1, skipped: 0 });
        }
        lock.batch_execute("COMMIT").await.unwrap();
    };
    let (locked, ()) = timeout(Duration::from_secs(20), join(locked, others))
        .await
        .expect("nobody waits for the lock but one");
    assert_eq!(locked.unwrap(), MaterialiseOutcome::Written { inserted: 1, skipped: 0 });

    let claims = ledger.claim("node", LEASE, 30, MOST, Vec::new()).await.unwrap().claimed;
    let id = claims[3].key.id;
    let lock = db.hold(&format!("SELECT * FROM cron_occurrences WHERE id = '{id}' FOR UPDATE")).await;
    let mut starts: Vec<_> = claims.iter().map(|claim| start(&ledger, claim, None).boxed_local()).collect();
    let locked = starts.remove(3);
    let others = async {
        assert!(join_all(starts).await.iter().all(|started| matches!(started, StartResult::Running { .. })));
        lock.batch_execute("COMMIT").await.unwrap();
    };
    let (locked, ()) = timeout(Duration::from_secs(20), join(locked, others))
        .await
        .expect("nobody waits for the lock but one");
    assert!(matches!(locked, StartResult::Running { .. }));
}

/// Number of rows of the ledger that grows.
const MANY_ROWS: u64 = 20_000;

/// On PostgreSQL only, which keeps the plan of a prepared statement after some runs.
pub(crate) async fn runs_are_found_in_a_ledger_that_has_grown(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    run_some(&db, &ledger, "a").await;
    let many = format!(
        "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, scheduled_for, status, completed_at)
         SELECT 'x' || n, 'grown', 'grown', 1, TIMESTAMP '2020-01-01' + n * interval '1 second', 'completed', now()
         FROM generate_series(1, {MANY_ROWS}) AS n"
    );
    db.execute(&many).await.unwrap();
    let settled = run_some(&db, &ledger, "b").await;
    let statistics = "FROM pg_stat_user_tables WHERE relname = 'cron_occurrences'";
    // A server counts with some delay. Each run was claimed, started and settled.
    let read = timeout(Duration::from_secs(30), async {
        while db.number(&format!("SELECT n_tup_upd {statistics}")).await < 2 * 3 * settled {
            tokio::task::yield_now().await;
        }
        db.number(&format!("SELECT seq_tup_read {statistics}")).await
            + db.number(
                "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE relname = 'cron_occurrences'",
            )
            .await
    });
    let read = read.await.expect("the changes are counted");
    assert!(read < MANY_ROWS, "{settled} runs have read {read} rows of {MANY_ROWS}");
}

/// Records, claims, starts and settles some runs, one after the other. Returns their number.
async fn run_some(db: &TestDatabase, ledger: &Ledger, channel: &str) -> u64 {
    let runs = 10;
    for number in 0..runs {
        write_occurrences(db, ledger, &format!("{channel}{number}"), 1).await;
        let claim = claim_single(ledger, "node").await;
        assert!(matches!(start(ledger, &claim, None).await, StartResult::Running { .. }));
        assert!(ledger.settle(&claim.key, None, Settlement::completed(), None, None).await.unwrap());
    }
    runs
}
