//! Tests of the judge: it finds each defect in a log that is otherwise clean.

use super::*;
use crate::repetitions::answered_run;
use crate::submissions::AcceptedSubmission;

const ROWS: usize = 10;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn order(state: &str, matched: usize, done: usize) -> BulkOrderRecord {
    BulkOrderRecord { state: state.into(), matched, done, ..BulkOrderRecord::default() }
}

/// Ten dead letters, six requeued by the first order and four by the second; row 3 was in flight at the first kill.
fn clean() -> BulkEvidence {
    let accepted = |number: usize| AcceptedSubmission {
        number,
        trace: format!("t{number}"),
        sent: Duration::from_millis(number as u64),
    };
    let mut runs: Vec<_> =
        (0..ROWS).map(|number| answered_run(&format!("t{number}"), seconds(10 + number as u64))).collect();
    runs.push(answered_run("t3", seconds(30)));
    BulkEvidence {
        rows: ROWS,
        filled: FilledLetters {
            submitted: SubmitterRecord {
                accepted: (0..ROWS).map(accepted).collect(),
                ..SubmitterRecord::default()
            },
            letters: ROWS,
            took: seconds(1),
        },
        groups: ErrorGroupReading { times: vec![seconds(0); 2], groups: CAUSES.len(), failures: ROWS },
        orders: [order("aborted", ROWS, 6), order("completed", 4, 4)],
        runs,
        kills: vec![seconds(14), seconds(50), seconds(60)],
        left: 0,
        failed: 0,
        settling: seconds(1),
        audits: [2, 2],
    }
}

/// Returns the one failure that a change of the clean log leads to.
fn failure(change: impl FnOnce(&mut BulkEvidence)) -> String {
    let mut evidence = clean();
    change(&mut evidence);
    let failures = judge(&evidence).failures;
    assert_eq!(failures.len(), 1, "{failures:?}");
    failures[0].clone()
}

#[test]
fn clean_log_passes() {
    assert!(judge(&clean()).has_passed(), "{:?}", judge(&clean()).failures);
}

#[test]
fn rows_that_are_lost_or_repeated_are_found() {
    assert!(failure(|evidence| drop(evidence.runs.remove(0))).contains("never run: t0"));
    assert!(
        failure(|evidence| evidence.runs.push(answered_run("t9", seconds(40)))).contains("without a kill")
    );
    assert!(failure(|evidence| evidence.runs.push(answered_run("x", seconds(9)))).contains("no submission"));
    assert!(failure(|evidence| evidence.left = 1).contains("left over"));
    assert!(failure(|evidence| evidence.failed = 1).contains("did not complete"));
}

#[test]
fn orders_that_miss_or_repeat_rows_are_found() {
    assert!(failure(|evidence| evidence.orders[1].done = 5).contains("exactly once"));
    assert!(failure(|evidence| evidence.orders[1].skipped = 1).contains("exactly once"));
    assert!(failure(|evidence| evidence.orders[0].state = "completed".into()).contains("as they were told"));
    assert!(failure(|evidence| evidence.audits = [2, 1]).contains("audit"));
    assert!(failure(|evidence| drop(evidence.kills.pop())).contains("too little"));
}

#[test]
fn slow_or_incomplete_grouping_is_found() {
    assert!(failure(|evidence| evidence.groups.times[1] = seconds(1)).contains("a second or longer"));
    assert!(failure(|evidence| evidence.groups.failures -= 1).contains("every dead letter once"));
}

#[test]
fn pace_is_that_of_longest_stretch_without_stall() {
    let mut looks = vec![(seconds(0), 0)];
    looks.extend((1..=20).map(|quarter| (Duration::from_millis(250 * quarter), 500 * quarter as usize)));
    // A kill, and half the pace after it.
    looks.extend((1..=40).map(|quarter| {
        (seconds(20) + Duration::from_millis(250 * quarter), 10_000 + 250 * quarter as usize)
    }));
    let slow = BulkOrderRecord { looks, ..order("aborted", ROWS, 6) };
    let (length, pace) = slow.measure_pace().unwrap();
    assert!(length > seconds(9) && (pace - 1000.0).abs() < 1.0, "{length:?} {pace}");
    assert!(failure(|evidence| evidence.orders[0] = slow).contains("the pace of 2000"));
    assert_eq!(order("aborted", 1, 1).measure_pace(), None);
}
