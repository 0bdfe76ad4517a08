//! Tests of the judge: it finds each defect in a log that is otherwise clean.

use super::*;

const START: i64 = 1_800_000_000;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Two channels, ten seconds, every occurrence answered in 200 ms; `b`'s hold one key. One run of `a` was cut
/// off and taken over after five seconds.
fn clean() -> Evidence {
    let mut evidence = Evidence {
        channels: vec!["a".into(), "b".into()],
        window: START..=START + 9,
        rows: Vec::new(),
        runs: Vec::new(),
        began_unix: Duration::from_secs(START as u64),
        kills: 1,
    };
    for second in 0..10 {
        for channel in ["a", "b"] {
            let id = format!("{channel}{second}");
            evidence.rows.push(RecordedOccurrence {
                id: id.clone(),
                channel: channel.into(),
                scheduled_for: START + second,
                status: "completed".into(),
                attempt: 1,
                message: None,
            });
            let begin = millis(second as u64 * 1000 + 10);
            evidence.runs.push(WitnessedRun {
                occurrence: id,
                attempt: 1,
                key: (channel == "b").then(|| "k".into()),
                begin,
                end: Some(begin + millis(200)),
                answered: true,
                ..WitnessedRun::default()
            });
        }
    }
    evidence.rows[0].attempt = 2;
    let again = WitnessedRun {
        attempt: 2,
        begin: millis(5_210),
        end: Some(millis(5_410)),
        ..evidence.runs[0].clone()
    };
    evidence.runs[0].answered = false;
    evidence.runs.push(again);
    evidence
}

fn limits() -> DrillLimits {
    DrillLimits { takeover: Duration::from_secs(7), occurrences: 20, kills: 1, takeovers: 1 }
}

#[track_caller]
fn finds(words: &str, spoil: impl FnOnce(&mut Evidence)) {
    let mut evidence = clean();
    spoil(&mut evidence);
    let verdict = judge(&evidence, &limits());
    assert!(verdict.failures.iter().any(|failure| failure.contains(words)), "{:?}", verdict.failures);
    assert_eq!(verdict.json()["passed"], false);
}

#[test]
fn a_clean_log_passes_and_tells_what_it_saw() {
    let verdict = judge(&clean(), &limits());
    assert_eq!(verdict.failures, Vec::<String>::new());
    let figures = &verdict.json()["figures"];
    assert_eq!((&figures["occurrences"], &figures["lost"]), (&json!(20), &json!(0)));
    assert_eq!((&figures["takeovers"], &figures["takeover_max_ms"]), (&json!(1), &json!(5000)));
    assert_eq!((&figures["attempts_above_one"], &figures["repeated_effects"]), (&json!(1), &json!(0)));
}

#[test]
fn an_instant_without_a_row_is_lost() {
    finds("1 instants were lost: b at 1800000009", |evidence| drop(evidence.rows.pop()));
}

#[test]
fn a_second_row_of_an_instant_is_found() {
    finds("instants have two rows", |evidence| evidence.rows.push(evidence.rows[3].clone()));
}

#[test]
fn two_attempts_at_once_are_found() {
    finds("occurrences ran twice at once", |evidence| {
        evidence.runs[20].begin = evidence.runs[0].end.unwrap() - millis(1);
    });
}

#[test]
fn a_run_that_never_ended_overlaps_what_follows() {
    finds("occurrences ran twice at once", |evidence| evidence.runs[0].end = None);
}

#[test]
fn two_runs_of_a_key_at_once_are_found() {
    finds("keys had two runs at once", |evidence| evidence.runs[1].end = Some(millis(1_011)));
}

#[test]
fn long_run_overlaps_the_run_after_next() {
    let run =
        |begin, end| WitnessedRun { begin: millis(begin), end: Some(millis(end)), ..WitnessedRun::default() };
    let runs = [run(0, 3_000), run(1_000, 1_100), run(2_000, 2_100)];
    assert_eq!(overlaps(&group_by_channel(runs.iter().map(|run| ("k", run)))).len(), 2);
}

#[test]
fn a_late_takeover_is_found() {
    finds("takeovers took longer than 7s", |evidence| {
        evidence.runs[20].begin = millis(7_211);
        evidence.runs[20].end = Some(millis(7_300));
    });
}

#[test]
fn an_attempt_that_died_unseen_gets_its_own_time() {
    let mut evidence = clean();
    evidence.runs[20] =
        WitnessedRun { begin: millis(11_400), end: Some(millis(11_500)), ..evidence.runs[20].clone() };
    assert!(!judge(&evidence, &limits()).has_passed());
    evidence.runs[20].attempt = 3;
    let verdict = judge(&evidence, &limits());
    assert_eq!(verdict.failures, Vec::<String>::new());
    assert_eq!(verdict.json()["figures"]["takeovers_cut_off_unseen"], 1);
    evidence.runs[20].begin = millis(14_211);
    assert!(!judge(&evidence, &limits()).has_passed());
}

#[test]
fn a_run_before_its_instant_is_found() {
    finds("runs began before their instant", |evidence| evidence.runs[4].begin = millis(1_900));
}

#[test]
fn unended_failed_or_summed_row_is_found() {
    for (status, words) in [
        ("running", "rows never came to an end"),
        ("failed", "rows failed"),
        ("skipped_misfire", "rows stand for missed instants"),
    ] {
        finds(words, |evidence| evidence.rows[5].status = status.into());
    }
}

#[test]
fn unseen_row_and_rowless_run_are_found() {
    finds("rows completed and nobody saw them run", |evidence| drop(evidence.runs.remove(7)));
    finds("rows completed and nobody saw them run", |evidence| evidence.runs[7].answered = false);
    finds("runs have no row: elsewhere", |evidence| evidence.runs[7].occurrence = "elsewhere".into());
}

#[test]
fn a_drill_that_shows_too_little_fails() {
    finds("too little was shown: 0 kills", |evidence| evidence.kills = 0);
    finds("too little was shown: 0 takeovers", |evidence| drop(evidence.runs.pop()));
    finds("too little was shown: 18 occurrences", |evidence| evidence.window = START..=START + 8);
    finds("completed occurrences", |evidence| {
        evidence.rows.iter_mut().for_each(|row| row.status = "skipped_singleton".into());
    });
}

#[test]
fn row_skipped_for_its_key_needs_no_run() {
    let mut evidence = clean();
    evidence.rows[5].status = "skipped_singleton".into();
    evidence.runs.remove(5);
    assert_eq!(judge(&evidence, &limits()).failures, Vec::<String>::new());
}
