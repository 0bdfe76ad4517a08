//! Steps on the way of accepted work at which a drill kills the process. A release build passes them without a test.
//!
//! With `KILL_AT_STEP=rows-written:12` in its environment a build with debug assertions is killed, as by `kill -9`, as
//! it comes to that step for the twelfth time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// The variable that names a step and the number of the time at which the process is killed there.
const VARIABLE: &str = "KILL_AT_STEP";

/// A step of accepted work, from the begin of its run until its answer is sent and its end is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillStep {
    /// The run of a submission begins, before it is known whether its row is on disk.
    Begun,
    /// That run has ended, and nothing has its end.
    Ran,
    /// The end waits to be inserted with the row.
    EndedWithRow,
    /// The statements of a transaction with rows are done; the commit is next.
    RowsWritten,
    /// The commit has succeeded, and no caller has been answered.
    RowsCommitted,
    /// A submission that began early has learned that its row is on disk.
    RowStored,
    /// The answer to a submission that began early is about to be sent.
    Accepted,
    /// The end of a run is about to be written to its row.
    EndDue,
    /// That end is on disk.
    EndStored,
}

/// The order to kill the process.
struct KillOrder {
    step: KillStep,
    /// Times until then.
    left: AtomicU64,
}

impl KillStep {
    const ALL: [Self; 9] = [
        Self::Begun,
        Self::Ran,
        Self::EndedWithRow,
        Self::RowsWritten,
        Self::RowsCommitted,
        Self::RowStored,
        Self::Accepted,
        Self::EndDue,
        Self::EndStored,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Ran => "ran",
            Self::EndedWithRow => "ended-with-row",
            Self::RowsWritten => "rows-written",
            Self::RowsCommitted => "rows-committed",
            Self::RowStored => "row-stored",
            Self::Accepted => "accepted",
            Self::EndDue => "end-due",
            Self::EndStored => "end-stored",
        }
    }

    /// Kills the process if that is ordered for this time.
    #[inline]
    pub fn reach(self) {
        if cfg!(debug_assertions) {
            self.follow_order();
        }
    }

    fn follow_order(self) {
        static ORDER: OnceLock<Option<KillOrder>> = OnceLock::new();
        let order = ORDER.get_or_init(|| KillOrder::parse(std::env::var_os(VARIABLE)?.to_str()?));
        if order.as_ref().is_some_and(|order| order.is_due(self)) {
            // The signal ends this thread before the call returns.
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }
}

impl KillOrder {
    fn parse(text: &str) -> Option<Self> {
        let (name, count) = text.split_once(':')?;
        let step = KillStep::ALL.into_iter().find(|step| step.name() == name)?;
        Some(Self { step, left: AtomicU64::new(count.parse().ok()?) })
    }

    /// Counts one more time at a step. Returns `true` once: at the time that the order names.
    fn is_due(&self, step: KillStep) -> bool {
        self.step == step && self.left.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_due_once_at_its_step() {
        for step in KillStep::ALL {
            let order = KillOrder::parse(&format!("{}:3", step.name())).unwrap();
            let mut others = KillStep::ALL.into_iter().filter(|other| *other != step);
            assert!(others.all(|other| !order.is_due(other)));
            let due = [(); 4].map(|()| order.is_due(step));
            assert_eq!(due, [false, false, true, false], "{step:?}");
        }
        assert!(["", "begun", "begun:", "born:1"].iter().all(|text| KillOrder::parse(text).is_none()));
    }
}
