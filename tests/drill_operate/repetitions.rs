//! Runs that are repeated, and the kills that explain them: pure arithmetic over the log of the witness.

use std::collections::BTreeMap;
use std::time::Duration;

use svc_testkit::witness::WitnessedRun;

/// Time after the begin of a run within which its end is written, whatever else the database has to do.
const UNWRITTEN: Duration = Duration::from_secs(5);
/// Tolerance between the instants of two threads.
const READING: Duration = Duration::from_millis(500);

/// Runs that were repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repetitions {
    /// Those that no kill explains.
    pub(crate) unexplained: Vec<String>,
    /// Number of those that were in flight at a kill.
    pub(crate) explained: usize,
}

/// Finds the repeated runs. A run may be repeated if a node was killed between its begin and the begin of the next one,
/// and before its end could have been written.
pub(crate) fn find_repetitions(runs: &BTreeMap<&str, Vec<&WitnessedRun>>, kills: &[Duration]) -> Repetitions {
    let mut repetitions = Repetitions::default();
    for (name, runs) in runs.iter().filter(|(_, runs)| runs.len() > 1) {
        let is_explained = runs.windows(2).all(|pair| {
            let (first, next) = (pair[0].begin, pair[1].begin);
            kills
                .iter()
                .any(|kill| first <= *kill + READING && *kill <= first + UNWRITTEN && *kill <= next + READING)
        });
        match is_explained {
            true => repetitions.explained += 1,
            false => {
                let begins: Vec<_> = runs.iter().map(|run| run.begin).collect();
                repetitions.unexplained.push(format!("{name} began at {begins:?}"));
            }
        }
    }
    repetitions
}

/// Returns the names without a run that was answered.
pub(crate) fn find_unseen<'n>(
    names: impl Iterator<Item = &'n str>,
    runs: &BTreeMap<&str, Vec<&WitnessedRun>>,
) -> Vec<String> {
    let is_seen = |name: &str| runs.get(name).is_some_and(|runs| runs.iter().any(|run| run.answered));
    names.filter(|name| !is_seen(name)).map(str::to_owned).collect()
}

/// Returns the run of this name from its begin to its answer, for the tests of judges.
#[cfg(test)]
pub(crate) fn answered_run(name: &str, begin: Duration) -> WitnessedRun {
    WitnessedRun {
        occurrence: name.into(),
        begin,
        end: Some(begin + Duration::from_millis(10)),
        answered: true,
        ..WitnessedRun::default()
    }
}

#[cfg(test)]
mod tests {
    use svc_testkit::witness::runs_by_name;

    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn only_kill_in_flight_explains_repetition() {
        let kills = [seconds(20)];
        for (first, next, is_explained) in
            [(19, 30, true), (20, 21, true), (10, 30, false), (19, 19, false), (22, 30, false)]
        {
            let runs = [answered_run("a", seconds(first)), answered_run("a", seconds(next))];
            let found = find_repetitions(&runs_by_name(&runs), &kills);
            assert_eq!((found.explained == 1, found.unexplained.is_empty()), (is_explained, is_explained));
        }
    }

    #[test]
    fn unanswered_run_counts_as_unseen() {
        let cut_off = WitnessedRun { answered: false, ..answered_run("b", seconds(2)) };
        let runs = [answered_run("a", seconds(1)), cut_off];
        let unseen = find_unseen(["a", "b", "c"].into_iter(), &runs_by_name(&runs));
        assert_eq!(unseen, ["b", "c"]);
    }
}
