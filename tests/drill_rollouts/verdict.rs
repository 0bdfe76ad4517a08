//! Judges a rollout: pure arithmetic over the answers to clients and what the service has recorded.

use std::time::Duration;

use serde_json::{Value, json};

use crate::case::{CanaryCase, INTERVAL, NEWER, OLDER};
use crate::run::CanaryEvidence;

/// Time beyond its looks in which a worse version loses its traffic: the job that looks runs every second, and another
/// node loads what it has decided within a second more.
const LOADED_IN: Duration = Duration::from_secs(2);
/// Time before the end of the load in which the version that has all traffic must have answered.
const LATELY: Duration = Duration::from_secs(2);

/// Returns the objections to a rollout, and its figures.
pub(crate) fn judge(case: &CanaryCase, evidence: &CanaryEvidence, rate: u64) -> (Vec<String>, Value) {
    let mut failures = Vec::new();
    judge_end(case, evidence, &mut failures);
    judge_answers(case, evidence, rate, &mut failures);
    judge_records(case, evidence, &mut failures);
    let answers = &evidence.answers;
    let since_begin = |at: Option<Duration>| at.map(|at| seconds(at.saturating_sub(evidence.begun_at)));
    let figures = json!({
        "state": evidence.state,
        "reason": evidence.reason,
        "decided_after_secs": seconds(evidence.decided_after),
        "last_newer_secs": since_begin(answers.last_newer),
        "last_older_secs": since_begin(answers.last_older),
        "requests_a_second": answers.count_sent() as f64 / evidence.stopped_at.as_secs_f64(),
        "newer": answers.newer,
        "older": answers.older,
        "either": answers.either,
        "failed": answers.failed,
        "unanswered": answers.unanswered,
        "decisions": evidence.audit,
        "reports": evidence.reports,
        "report_runs": evidence.report_runs,
        "kills": evidence.kills,
    });
    (failures, figures)
}

/// Judges the state, the shares that the nodes show, and the time.
fn judge_end(case: &CanaryCase, evidence: &CanaryEvidence, failures: &mut Vec<String>) {
    let expected = case.expected_state();
    if evidence.state != expected {
        failures.push(format!("it ended as {} ({}), not as {expected}", evidence.state, evidence.reason));
    }
    let winner = if case.conduct.is_worse() { OLDER } else { NEWER };
    let shares = json!([{"version": winner, "rollout_percentage": 100}]);
    let others: Vec<_> = evidence.shares.iter().filter(|shown| **shown != shares).collect();
    if !others.is_empty() || evidence.shares.is_empty() {
        failures.push(format!("nodes show other shares than {shares}: {others:?}"));
    }
    let limit = INTERVAL * 2 + LOADED_IN;
    if case.conduct.is_worse() && case.kill.is_none() {
        let last = evidence.answers.last_newer.unwrap_or_default().saturating_sub(evidence.begun_at);
        if last > limit {
            failures
                .push(format!("the newer version answered until {last:?} after its begin, not {limit:?}"));
        }
    }
}

/// Judges the answers: only those of the two versions, all of the winner's from the end on, at the rate of the drill.
fn judge_answers(case: &CanaryCase, evidence: &CanaryEvidence, rate: u64, failures: &mut Vec<String>) {
    let answers = &evidence.answers;
    if !answers.problems.is_empty() {
        failures.push(format!(
            "{} answers of neither version: {}",
            answers.problems.len(),
            answers.problems[0]
        ));
    }
    let (loser, winner) = match case.conduct.is_worse() {
        true => (answers.last_newer, answers.last_older),
        false => (answers.last_older, answers.last_newer),
    };
    let loaded_at = evidence.ended_at + LOADED_IN;
    if let Some(late) = loser.filter(|at| *at > loaded_at) {
        failures.push(format!(
            "the version that lost answered until {late:?}, the rollout ended at {loaded_at:?}"
        ));
    }
    let lately = evidence.stopped_at.saturating_sub(LATELY);
    if winner.is_none_or(|at| at < lately) {
        failures.push(format!("the version that won answered until {winner:?}, not until {lately:?}"));
    }
    if answers.newer == 0 || answers.older == 0 {
        failures.push("not both versions have answered".to_owned());
    }
    if case.kill.is_some() {
        return;
    }
    if answers.unanswered > 0 {
        failures.push(format!("{} requests had no answer", answers.unanswered));
    }
    // Nine tenths of what is due.
    let due = evidence.stopped_at.as_secs() * rate * 9 / 10;
    if answers.count_sent() < due {
        failures.push(format!("too little was shown: {} requests, {due} are due", answers.count_sent()));
    }
}

/// Judges the audit log and the reports: one entry for each decision, one report for a rollback, and kills at each.
fn judge_records(case: &CanaryCase, evidence: &CanaryEvidence, failures: &mut Vec<String>) {
    let last = if case.conduct.is_worse() { "roll_back" } else { "promote" };
    let (ends, steps): (Vec<_>, Vec<_>) = evidence.audit.iter().partition(|entry| *entry != "advance");
    // A worse version is found in any of the steps; a good one goes through all of them.
    let most = case.compared_steps().saturating_sub(1);
    let has_steps = if case.conduct.is_worse() { steps.len() <= most } else { steps.len() == most };
    if !has_steps || ends != [last] || evidence.audit.last().is_none_or(|entry| entry != last) {
        failures.push(format!("the audit log has the decisions {:?}", evidence.audit));
    }
    let reports = usize::from(case.conduct.is_worse());
    if evidence.reports != reports || evidence.report_runs < reports {
        let (rows, runs) = (evidence.reports, evidence.report_runs);
        failures.push(format!("{rows} reports of a rollback with {runs} runs, {reports} are due"));
    }
    let kills = if case.kill.is_some() { evidence.audit.len() } else { 0 };
    if evidence.kills != kills {
        failures.push(format!("{} kills of the deciding node, {kills} are due", evidence.kills));
    }
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::CanaryAnswers;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn find_case(id: &str) -> CanaryCase {
        CanaryCase::all().into_iter().find(|case| case.id == id).unwrap()
    }

    /// Returns a rollout that began after 2 seconds and was rolled back 16 seconds later.
    fn rolled_back() -> CanaryEvidence {
        CanaryEvidence {
            answers: CanaryAnswers {
                newer: 2_000,
                older: 20_000,
                last_newer: Some(secs(18)),
                last_older: Some(secs(23)),
                ..CanaryAnswers::default()
            },
            begun_at: secs(2),
            ended_at: secs(18),
            stopped_at: secs(23),
            decided_after: secs(16),
            state: "rolled_back".into(),
            shares: vec![json!([{"version": 1, "rollout_percentage": 100}]); 2],
            audit: vec!["advance".into(), "roll_back".into()],
            reports: 1,
            report_runs: 1,
            ..CanaryEvidence::default()
        }
    }

    #[test]
    fn clean_rollout_has_no_objection() {
        let (failures, figures) = judge(&find_case("slow"), &rolled_back(), 1000);
        assert!(failures.is_empty(), "{failures:?}");
        assert_eq!(
            (&figures["last_newer_secs"], &figures["decided_after_secs"]),
            (&json!(16.0), &json!(16.0))
        );
    }

    #[test]
    fn each_defect_is_one_objection() {
        type Defect = (&'static str, fn(&mut CanaryEvidence));
        let defects: [Defect; 10] = [
            ("it ended as", |evidence| evidence.state = "promoted".into()),
            ("other shares", |evidence| evidence.shares[1] = json!([])),
            ("after its begin", |evidence| {
                (evidence.answers.last_newer, evidence.ended_at) = (Some(secs(25)), secs(25));
                (evidence.answers.last_older, evidence.stopped_at) = (Some(secs(24)), secs(24));
            }),
            ("that lost", |evidence| evidence.answers.last_newer = Some(secs(21))),
            ("that won", |evidence| evidence.answers.last_older = Some(secs(20))),
            ("neither version", |evidence| evidence.answers.problems.push("404".into())),
            ("no answer", |evidence| evidence.answers.unanswered = 1),
            ("too little", |evidence| evidence.answers.older = 2),
            ("decisions", |evidence| evidence.audit.push("roll_back".into())),
            ("reports", |evidence| evidence.reports = 2),
        ];
        for (expected, defect) in defects {
            let mut evidence = rolled_back();
            defect(&mut evidence);
            let (failures, _) = judge(&find_case("failing"), &evidence, 1000);
            assert!(failures.len() == 1 && failures[0].contains(expected), "{expected}: {failures:?}");
        }
    }

    #[test]
    fn interrupted_rollout_needs_kill_at_each_decision() {
        let case = find_case("rolled-back-before-stored");
        let mut evidence = CanaryEvidence { kills: 1, ..rolled_back() };
        assert!(judge(&case, &evidence, 1000).0[0].contains("1 kills"));
        evidence.kills = 2;
        assert_eq!(judge(&case, &evidence, 1000).0, Vec::<String>::new());
    }
}
