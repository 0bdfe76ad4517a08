//! Tests of the judge: it finds each defect in a log that is otherwise clean.

use super::*;

const START: i64 = 1_800_000_000;
const LIMITS: ClusterLimits = ClusterLimits { accepted: 10, faults: 2, outages: 1, propagations: 10 };

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn run(name: &str, begin: Duration) -> WitnessedRun {
    WitnessedRun {
        occurrence: name.into(),
        begin,
        end: Some(begin + Duration::from_millis(30)),
        answered: true,
        ..WitnessedRun::default()
    }
}

/// Ten jobs, one a second, on three nodes in turn; job 6 ran again after node 0 was killed. Ten occurrences of one
/// channel, ten changes that served at once. Nodes are asked every second; an ending node and nodes without Redis or the
/// database say that they are not ready.
fn clean() -> ClusterEvidence {
    let mut evidence = ClusterEvidence {
        told: ToldToClients { answered: 10, ..ToldToClients::default() },
        propagations: Vec::new(),
        faults: vec![
            Fault { node: 0, kind: NodeFault::Kill, begin: seconds(6), end: seconds(8) },
            Fault { node: 1, kind: NodeFault::Restart, begin: seconds(20), end: seconds(24) },
        ],
        outages: vec![
            PeerOutage { peer: Peer::Database, begin: seconds(30), back: seconds(32), end: seconds(33) },
            PeerOutage { peer: Peer::Redis, begin: seconds(40), back: seconds(42), end: seconds(43) },
        ],
        looks: Vec::new(),
        runs: Vec::new(),
        statuses: HashMap::new(),
        dead_letters: HashSet::new(),
        channels: vec!["c".into()],
        window: START..=START + 9,
        rows: Vec::new(),
        lease: seconds(6),
        settling: seconds(7),
    };
    for number in 0..10 {
        let (name, trace, sent) = (format!("job-{number}"), format!("t{number}"), seconds(number));
        evidence.runs.push(run(&name, sent));
        evidence.statuses.insert(trace.clone(), "completed".into());
        evidence.told.accepted.push(AcceptedWork { name, trace, node: number as usize % 3, sent });
        let id = format!("o{number}");
        evidence.runs.push(run(&id, sent));
        evidence.rows.push(RecordedOccurrence {
            id,
            channel: "c".into(),
            scheduled_for: START + number as i64,
            status: "completed".into(),
            attempt: 1,
            message: None,
        });
        let begin = seconds(number);
        let end = Some(begin + Duration::from_millis(300));
        evidence.propagations.push(FollowedChange { node: 2, begin, end });
    }
    evidence.runs.push(run("job-6", seconds(13)));
    for (node, at) in (0..3).flat_map(|node| (0..60).map(move |at| (node, at))) {
        let is_down = (30..33).contains(&at) || (40..43).contains(&at) || node == 1 && (20..24).contains(&at);
        let unready = is_down.then(|| "not_ready".to_owned());
        evidence.looks.push(ReadinessLook { node, sent: seconds(at), at: seconds(at), unready });
    }
    evidence
}

fn refusal(node: usize, status: u16, at: u64) -> Refusal {
    Refusal { node, status, sent: seconds(at), at: seconds(at), answer: "echo answered POOL".into() }
}

/// The only failure of evidence that was changed.
fn failure(change: impl FnOnce(&mut ClusterEvidence)) -> String {
    let mut evidence = clean();
    change(&mut evidence);
    let mut failures = judge(&evidence, &LIMITS).failures;
    assert_eq!(failures.len(), 1, "{failures:?}");
    failures.remove(0)
}

#[test]
fn clean_log_passes() {
    let verdict = judge(&clean(), &LIMITS);
    assert!(verdict.has_passed(), "{:?}", verdict.failures);
    assert_eq!(verdict.json()["figures"]["doubled_with_a_fault"], 1);
}

#[test]
fn unended_job_is_lost_unless_dead_letter() {
    let open = |evidence: &mut ClusterEvidence| drop(evidence.statuses.insert("t3".into(), "running".into()));
    assert!(failure(open).starts_with("1 accepted jobs neither completed"));
    let gone = |evidence: &mut ClusterEvidence| drop(evidence.statuses.remove("t3"));
    assert!(failure(gone).contains("job-3 (t3) is None"));
    let mut dead = clean();
    dead.statuses.insert("t3".into(), "failed".into());
    dead.dead_letters.insert("t3".into());
    assert!(judge(&dead, &LIMITS).has_passed());
}

#[test]
fn job_that_nobody_saw_is_found() {
    let unseen = |evidence: &mut ClusterEvidence| evidence.runs.retain(|run| run.occurrence != "job-4");
    assert!(failure(unseen).contains("nobody saw them run: job-4"));
    let cut_off = |evidence: &mut ClusterEvidence| {
        evidence.runs.iter_mut().filter(|run| run.occurrence == "job-4").for_each(|run| run.answered = false);
    };
    assert!(failure(cut_off).contains("nobody saw them run: job-4"));
}

#[test]
fn repetition_needs_a_fault_of_its_node_in_between() {
    let again = |name: &'static str, at: u64| {
        move |evidence: &mut ClusterEvidence| evidence.runs.push(run(name, seconds(at)))
    };
    // No fault of node 2 at all; the fault of node 0 was over when job 9 was sent; it came after the repetition.
    for (name, at) in [("job-5", 12), ("job-9", 15), ("job-3", 5)] {
        assert!(failure(again(name, at)).contains(&format!("{name} of node")), "{name}");
    }
    // A restart in good order explains nothing.
    assert!(failure(again("job-7", 28)).contains("job-7 of node 1 ran 2 times"));
    assert!(failure(again("job-6", 28)).contains("job-6 of node 0 ran 3 times"), "one fault, one repetition");
}

#[test]
fn refusal_by_ready_node_is_found() {
    // In calm, while another node ends, while Redis is away but the node said it is ready, after the database is back.
    for (node, status, at) in [(2, 503, 6), (2, 503, 21), (2, 429, 50), (0, 500, 12), (1, 503, 36)] {
        let refused = |evidence: &mut ClusterEvidence| evidence.told.refusals.push(refusal(node, status, at));
        let found = failure(refused);
        assert!(found.contains(&format!("{status} of node {node}")) && found.contains("echo answered POOL"));
    }
    let ready_without_redis = |evidence: &mut ClusterEvidence| {
        evidence.looks.iter_mut().filter(|look| look.node == 2).for_each(|look| look.unready = None);
        evidence.told.refusals.push(refusal(2, 503, 41));
    };
    assert!(failure(ready_without_redis).contains("503 of node 2"));
}

#[test]
fn refusal_of_ending_or_waking_node_is_excused() {
    let mut evidence = clean();
    evidence.faults.push(Fault { node: 0, kind: NodeFault::Pause, begin: seconds(50), end: seconds(55) });
    evidence.told.refusals.extend([
        refusal(1, 503, 21),
        refusal(0, 503, 52),
        refusal(2, 503, 31),
        refusal(2, 429, 31),
        refusal(2, 503, 41),
    ]);
    // A node whose database has just gone does not know it yet.
    evidence.looks.iter_mut().filter(|look| look.node == 2).for_each(|look| {
        look.unready.take_if(|_| (30..33).any(|at| look.at == seconds(at)));
    });
    let verdict = judge(&evidence, &LIMITS);
    assert!(verdict.has_passed(), "{:?}", verdict.failures);
    evidence.told.refusals.push(refusal(2, 500, 31));
    assert!(judge(&evidence, &LIMITS).failures[0].contains("500 of node 2"), "a 500 is never contracted");
}

#[test]
fn unexplained_unready_node_is_found() {
    let unready = |evidence: &mut ClusterEvidence| {
        let look = evidence.looks.iter_mut().find(|look| look.node == 2 && look.at == seconds(10));
        look.unwrap().unready = Some("error of the database".into());
    };
    let found = failure(unready);
    assert!(found.contains("node 2 from 10s to 10s, before any fault: error of the database"), "{found}");
}

#[test]
fn late_recovery_and_late_end_are_found() {
    let late = failure(|evidence| evidence.outages[0].back = seconds(27));
    assert!(late.contains("recovered from too late: Database at 30s after 6s"), "{late}");
    let unfinished = failure(|evidence| evidence.settling = seconds(31));
    assert!(unfinished.contains("unfinished for too long: 31s"), "{unfinished}");
}

#[test]
fn only_database_outage_explains_a_repetition() {
    let mut again = clean();
    again.told.accepted[5].sent = seconds(29);
    again.runs.iter_mut().filter(|run| run.occurrence == "job-5").for_each(|run| run.begin = seconds(29));
    again.runs.push(run("job-5", seconds(35)));
    assert!(judge(&again, &LIMITS).has_passed(), "{:?}", judge(&again, &LIMITS).failures);
    let of_redis = |evidence: &mut ClusterEvidence| {
        evidence.told.accepted[5].sent = seconds(39);
        evidence
            .runs
            .iter_mut()
            .filter(|run| run.occurrence == "job-5")
            .for_each(|run| run.begin = seconds(39));
        evidence.runs.push(run("job-5", seconds(45)));
    };
    assert!(failure(of_redis).contains("job-5 of node 2"));
}

#[test]
fn lost_doubled_and_open_occurrences_are_found() {
    let lost = |evidence: &mut ClusterEvidence| drop(evidence.rows.remove(3));
    assert!(failure(lost).contains("instants of schedules were lost"));
    let twice = |evidence: &mut ClusterEvidence| {
        let row = RecordedOccurrence { id: "again".into(), ..evidence.rows[3].clone() };
        evidence.rows.push(row);
    };
    assert!(failure(twice).contains("have two rows"));
    let open = |evidence: &mut ClusterEvidence| evidence.rows[3].status = "running".into();
    assert!(failure(open).contains("did not complete"));
    let repeated = |evidence: &mut ClusterEvidence| evidence.runs.push(run("o3", seconds(9)));
    assert!(failure(repeated).contains("ran more often than they were attempted"));
}

#[test]
fn late_or_unserved_change_is_found() {
    let late = |evidence: &mut ClusterEvidence| evidence.propagations[9].end = Some(seconds(12));
    assert!(failure(late).contains("until a change serves is too long: 3s"));
    let never = |evidence: &mut ClusterEvidence| evidence.propagations[9].end = None;
    assert!(failure(never).contains("until a change serves is too long"));
    let mut dead = clean();
    dead.propagations.push(FollowedChange { node: 0, begin: seconds(6), end: None });
    assert!(judge(&dead, &LIMITS).has_passed(), "its node was killed");
}

#[test]
fn drill_that_shows_too_little_is_no_proof() {
    for (limits, word) in [
        (ClusterLimits { accepted: 11, ..LIMITS }, "accepted jobs"),
        (ClusterLimits { faults: 3, ..LIMITS }, "faults"),
        (ClusterLimits { outages: 2, ..LIMITS }, "outages of the database"),
        (ClusterLimits { outages: 2, ..LIMITS }, "outages of Redis"),
        (ClusterLimits { propagations: 11, ..LIMITS }, "changes followed"),
    ] {
        let failures = judge(&clean(), &limits).failures;
        assert!(failures.iter().any(|failure| failure.contains(word)), "{failures:?}");
    }
}
