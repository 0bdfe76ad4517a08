//! Tests of the judge: it finds each defect in a log that is otherwise clean.

use super::*;

/// Two partitions of ten records, in turns; one record had its effect twice after a kill; the commits follow.
fn clean() -> DrillEvidence {
    let mut evidence =
        DrillEvidence { written: [(0, 10), (1, 10)].into(), kills: 1, ..DrillEvidence::default() };
    for offset in 0..10 {
        for partition in 0..2 {
            evidence.effects.push(Effect { partition, offset });
            let effects = evidence.effects.len();
            evidence.readings.push(CommitReading { partition, committed: offset + 1, effects });
        }
    }
    evidence.effects.push(Effect { partition: 1, offset: 9 });
    evidence
}

fn find_failures(evidence: &DrillEvidence) -> Vec<String> {
    judge(evidence, 1).failures
}

#[test]
fn clean_log_passes_and_its_duplicate_is_counted() {
    let verdict = judge(&clean(), 1);
    assert!(verdict.has_passed(), "{:?}", verdict.failures);
    let figures = &verdict.json()["figures"];
    assert_eq!((&figures["records"], &figures["duplicates"]), (&json!(20), &json!(1)));
}

#[test]
fn lost_record_is_found() {
    let mut evidence = clean();
    evidence.written.insert(0, 11);
    let failures = find_failures(&evidence);
    assert!(failures[0].starts_with("1 records had no effect: partition 0, offset 10"), "{failures:?}");
    assert!(failures[1].starts_with("1 partitions are not committed to their end"), "{failures:?}");
}

#[test]
fn record_before_its_predecessor_is_found() {
    let mut evidence = clean();
    evidence.effects.swap(4, 6);
    let failures = find_failures(&evidence);
    assert!(
        failures[0].contains("before one that precedes them: partition 0: offset 3 where 2 was due"),
        "{failures:?}"
    );
}

#[test]
fn commit_ahead_of_its_effect_is_found() {
    let mut evidence = clean();
    evidence.readings[4].committed = 4;
    let failures = find_failures(&evidence);
    assert!(
        failures[0].starts_with("1 offsets were committed before their effect: partition 0: offset 4"),
        "{failures:?}"
    );
}

#[test]
fn more_duplicates_than_the_faults_explain_are_found() {
    let mut evidence = clean();
    let repeated = Effect { partition: 0, offset: 3 };
    evidence.effects.extend(vec![repeated; 2 * 512 - 1]);
    assert_eq!(find_failures(&evidence), Vec::<String>::new());
    evidence.effects.push(repeated);
    assert_eq!(find_failures(&evidence), ["1025 effects were repeated, the faults explain 1024"]);
}

#[test]
fn drill_without_faults_proves_nothing() {
    let evidence = DrillEvidence { kills: 0, ..clean() };
    let failures = find_failures(&evidence);
    assert!(failures.iter().any(|failure| failure.starts_with("too little was shown")), "{failures:?}");
}
