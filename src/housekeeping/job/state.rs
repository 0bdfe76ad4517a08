//! The state of the runs of a job: pure, no clock, no I/O.

/// The state of the runs of one job.
#[derive(Debug, Default)]
pub(crate) struct JobRunState {
    running: bool,
}

impl JobRunState {
    /// Records that a run is due. Returns whether it begins now.
    pub(crate) const fn try_begin(&mut self) -> bool {
        !std::mem::replace(&mut self.running, true)
    }

    /// Records the end of the run.
    pub(crate) const fn end(&mut self) {
        self.running = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_begins_only_when_none_is_under_way() {
        let mut runs = JobRunState::default();
        assert!(runs.try_begin());
        assert!(!runs.try_begin());
        runs.end();
        assert!(runs.try_begin());
    }
}
