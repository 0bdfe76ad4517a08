//! Tests of the judge: it finds each defect in a log that is otherwise clean.

use super::*;
use crate::repetitions::answered_run;
use crate::submissions::AcceptedSubmission;

const START: i64 = 1_800_000_000;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn occurrence(schedule: &str, second: i64, status: &str, message: Option<&str>) -> RecordedOccurrence {
    RecordedOccurrence {
        id: format!("{schedule}-{second}"),
        channel: schedule.into(),
        scheduled_for: START + second,
        status: status.into(),
        attempt: 1,
        message: message.map(str::to_owned),
    }
}

/// Sixty seconds with one submission, one record and one instant of each schedule a second. All is paused from second 20
/// to second 40, and a node is killed in second 30. Instants that are late by more than five seconds are missed.
fn clean() -> PauseEvidence {
    let mut runs = Vec::new();
    let mut rows = Vec::new();
    for second in 0..60_u64 {
        let begin = if (20..40).contains(&second) { seconds(41) } else { seconds(second) };
        runs.push(answered_run(&format!("{JOB}-{second}"), begin));
        runs.push(answered_run(&format!("{RECORD}-0-{second}"), begin));
        for (schedule, policy) in SCHEDULES {
            let newest_late = if policy == "latest" { 35 } else { 36 };
            if policy != "catch_up" && (20..newest_late).contains(&second) {
                continue;
            }
            rows.push(occurrence(schedule, second as i64, "completed", None));
            runs.push(answered_run(&format!("{schedule}-{second}"), begin));
        }
    }
    rows.push(occurrence("tick-skip", 35, "skipped_misfire", Some("skipped 16 missed occurrence(s)")));
    rows.push(occurrence("tick-latest", 34, "skipped_misfire", Some("skipped 15 missed occurrence(s)")));
    let accepted = |number: u64| AcceptedSubmission {
        number: number as usize,
        trace: format!("t{number}"),
        sent: seconds(number),
    };
    PauseEvidence {
        rate: 1,
        length: seconds(60),
        submitted: SubmitterRecord {
            accepted: (0..60).map(accepted).collect(),
            ..SubmitterRecord::default()
        },
        left: 0,
        dead_letters: 0,
        settling: seconds(1),
        rows,
        window: START..=START + 59,
        began_unix: seconds(START as u64),
        times: PausedTimes { paused_at: seconds(20), resumed_at: seconds(40) },
        kills: vec![seconds(30)],
        order: RecordOrder::default(),
        rebalances: 2,
        records: 60,
        runs,
    }
}

/// Returns the failures that a change of the clean log leads to.
fn failures(change: impl FnOnce(&mut PauseEvidence)) -> String {
    let mut evidence = clean();
    change(&mut evidence);
    judge(&evidence).failures.join("\n")
}

fn find_row(evidence: &mut PauseEvidence, id: &str) -> usize {
    evidence.rows.iter().position(|row| row.id == id && row.status == "completed").unwrap()
}

#[test]
fn clean_log_passes() {
    assert_eq!(failures(|_| {}), "");
}

#[test]
fn lost_or_repeated_submission_is_found() {
    assert!(failures(|evidence| evidence.runs[0].answered = false).contains("never run: job-0"));
    assert!(failures(|evidence| evidence.runs.push(answered_run("job-5", seconds(50)))).contains("job-5"));
    assert!(failures(|evidence| evidence.left = 1).contains("come to its end"));
    assert!(failures(|evidence| evidence.dead_letters = 1).contains("dead letters"));
    assert!(failures(|evidence| evidence.submitted.problems.push("500".into())).contains("500"));
}

#[test]
fn run_of_paused_channel_is_found() {
    assert!(failures(|evidence| evidence.runs.push(answered_run("job-x", seconds(30)))).contains("paused"));
    assert_eq!(failures(|evidence| evidence.runs.push(answered_run("job-x", seconds(21)))), "");
}

#[test]
fn record_out_of_order_is_found() {
    assert!(failures(|evidence| evidence.order.early.push("x".into())).contains("precedes"));
    assert!(failures(|evidence| evidence.order.missing.push("x".into())).contains("never run"));
}

#[test]
fn repeated_records_are_bounded_by_rebalances() {
    let repeat = |repeated| failures(move |evidence| evidence.order.repeated = repeated);
    assert_eq!(repeat(2 * 3 * 512), "");
    assert!(repeat(2 * 3 * 512 + 1).contains("records ran again"));
    assert!(failures(|evidence| evidence.rebalances = 0).contains("rebalances"));
}

#[test]
fn instant_against_its_misfire_policy_is_found() {
    let lose = |id: &'static str| {
        failures(move |evidence| {
            let row = find_row(evidence, id);
            evidence.rows.remove(row);
        })
    };
    assert!(lose("tick-catch-up-25").contains("not caught up"));
    assert!(lose("tick-skip-10").contains("outside of the pause"));
    assert!(lose("tick-latest-36").contains("not one row"));
    let failed = failures(|evidence| {
        let row = find_row(evidence, "tick-skip-50");
        evidence.rows[row].status = "failed".into();
    });
    assert!(failed.contains("did not complete"), "{failed}");
}
