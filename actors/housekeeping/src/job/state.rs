//! The state of the runs of a job: pure, no clock, no I/O.

/// The state of the runs of one job.
#[derive(Debug, Default)]
pub(crate) struct RunState {
    running: bool,
}

impl RunState {
    /// Records that a run is due. Returns whether it begins now.
    pub(crate) const fn due(&mut self) -> bool {
        !std::mem::replace(&mut self.running, true)
    }

    /// Records the end of the run.
    pub(crate) const fn over(&mut self) {
        self.running = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_only_when_none_is_under_way() {
        let mut runs = RunState::default();
        assert!(runs.due());
        assert!(!runs.due());
        runs.over();
        assert!(runs.due());
    }
}
