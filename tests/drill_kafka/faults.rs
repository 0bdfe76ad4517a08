//! The plan of the faults: the process that is killed, stopped or continued next. Pure, no clock.
//!
//! Each kill makes the group rebalance, in which nothing is read. So faults come in pairs: the second one falls into the
//! rebalance that the first one causes, and the next pair follows once the group has committed further records. A
//! process that is stopped for longer than its session loses its member, and joins again. No process is killed from the
//! moment at which one is stopped for that long until it is back in its group: in that time others are stopped for less
//! than their session.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// Time from one fault to the next, at least.
const FAULT_EVERY: Duration = Duration::from_secs(2);
/// Records that are committed between two pairs of faults.
const RECORDS_BETWEEN: i64 = 1_000;
/// Time for which a process is stopped that loses its member: longer than its session.
const LONG_STOP: Duration = Duration::from_secs(5);
/// Time for which a process is stopped that keeps its member.
const SHORT_STOP: Duration = Duration::from_secs(1);
/// Kills between two processes that lose their member.
const KILLS_IN_A_ROW: usize = 3;
/// Time in which a process that lost its member joins its group again.
const RETURN: Duration = Duration::from_secs(3);

/// A fault of a process, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessFault {
    /// The process is killed and started again.
    Kill(usize),
    /// The process is stopped.
    Stop(usize),
    /// The process goes on.
    Continue(usize),
}

/// The plan of the faults of a drill.
pub(crate) struct ProcessFaultPlan {
    nodes: usize,
    round: usize,
    /// Kills since a process lost its member.
    kills: usize,
    next_at: Instant,
    /// The number of committed records from which on the next fault is due.
    next_committed: i64,
    /// Processes that are stopped, and the time at which each goes on.
    stopped: Vec<(usize, Instant)>,
    /// The process that lost its member, and the time at which it has another.
    away: Option<(usize, Instant)>,
    random: RandomState,
}

impl ProcessFaultPlan {
    /// Builds the plan for a number of processes.
    pub(crate) fn new(nodes: usize, now: Instant) -> Self {
        let (stopped, random) = (Vec::new(), RandomState::new());
        Self {
            nodes,
            round: 0,
            kills: 0,
            next_at: now + FAULT_EVERY,
            next_committed: RECORDS_BETWEEN,
            stopped,
            away: None,
            random,
        }
    }

    /// Returns the fault that is due with so many committed records. Called again until there is none.
    pub(crate) fn take_due(&mut self, now: Instant, committed: i64) -> Option<ProcessFault> {
        if let Some(index) = self.stopped.iter().position(|(_, until)| *until <= now) {
            return Some(ProcessFault::Continue(self.stopped.swap_remove(index).0));
        }
        if now < self.next_at || committed < self.next_committed {
            return None;
        }
        self.next_at = now + FAULT_EVERY;
        self.round += 1;
        if self.round.is_multiple_of(2) {
            self.next_committed = committed + RECORDS_BETWEEN;
        }
        self.away = self.away.filter(|(_, until)| now < *until);
        let node = self.choose();
        if self.away.is_some() {
            self.stopped.push((node, now + SHORT_STOP));
            return Some(ProcessFault::Stop(node));
        }
        if self.kills == KILLS_IN_A_ROW {
            self.kills = 0;
            self.stopped.push((node, now + LONG_STOP));
            self.away = Some((node, now + LONG_STOP + RETURN));
            return Some(ProcessFault::Stop(node));
        }
        self.kills += 1;
        Some(ProcessFault::Kill(node))
    }

    /// Returns the processes that are to go on at the end of the drill.
    pub(crate) fn stopped_nodes(&self) -> impl Iterator<Item = usize> {
        self.stopped.iter().map(|(node, _)| *node)
    }

    /// Chooses a process that is not away. One that is stopped has gone on by now: its stop is shorter than the
    /// time between two faults.
    fn choose(&self) -> usize {
        let free: Vec<usize> =
            (0..self.nodes).filter(|node| self.away.is_none_or(|(away, _)| away != *node)).collect();
        free[self.random.hash_one(self.round) as usize % free.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the start of a time that the test itself counts")]
    fn kills_avoid_absent_nodes_and_every_stop_ends() {
        let start = Instant::now();
        let mut plan = ProcessFaultPlan::new(3, start);
        let (mut stopped, mut away_until) = (Vec::new(), start);
        let (mut kills, mut long_stops) = (0, 0);
        for tick in 0..6_000 {
            let now = start + Duration::from_millis(100) * tick;
            while let Some(fault) = plan.take_due(now, i64::from(tick) * RECORDS_BETWEEN) {
                match fault {
                    ProcessFault::Kill(node) => {
                        assert!(now >= away_until && !stopped.contains(&node), "{node}");
                        kills += 1;
                    }
                    ProcessFault::Stop(node) => {
                        assert!(!stopped.contains(&node), "{node}");
                        stopped.push(node);
                        if now >= away_until {
                            away_until = now + LONG_STOP + RETURN;
                            long_stops += 1;
                        }
                    }
                    ProcessFault::Continue(node) => stopped.retain(|known| *known != node),
                }
            }
            assert!(stopped.len() <= 2, "one process runs at any time");
        }
        assert!(kills >= 60 && long_stops >= 30, "{kills}, {long_stops}");
    }
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the start of a time that the test itself counts")]
    fn pair_of_faults_waits_for_committed_records() {
        let start = Instant::now();
        let mut plan = ProcessFaultPlan::new(3, start);
        let mut count_faults = |seconds: u64, committed: i64| {
            let now = start + Duration::from_secs(seconds);
            std::iter::from_fn(|| plan.take_due(now, committed)).count()
        };
        assert_eq!(count_faults(60, RECORDS_BETWEEN - 1), 0);
        assert_eq!((count_faults(61, RECORDS_BETWEEN), count_faults(62, RECORDS_BETWEEN)), (1, 0));
        assert_eq!((count_faults(63, RECORDS_BETWEEN), count_faults(99, RECORDS_BETWEEN)), (1, 0));
        assert_eq!(count_faults(100, 2 * RECORDS_BETWEEN), 1);
    }
}
