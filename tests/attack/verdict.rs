//! The outcome of one attack, as one line.

use std::fmt;
use std::time::Duration;

/// The promise an attack is aimed at, and the figure before it was kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promise {
    /// A short name, the one to run the attack alone by.
    pub(crate) name: &'static str,
    /// The sentence that must hold.
    pub(crate) text: &'static str,
    /// The figure of the release that did not keep it.
    pub(crate) before: &'static str,
}

/// The judgement of a measured figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Held,
    Broken,
    NotRun,
}

/// The measured figure and its judgement.
#[derive(Clone, Debug)]
pub(crate) struct AttackOutcome {
    figure: String,
    judgement: Judgement,
}

impl AttackOutcome {
    /// Judges a figure.
    pub(crate) fn new(held: bool, figure: impl Into<String>) -> Self {
        let judgement = if held { Judgement::Held } else { Judgement::Broken };
        Self { figure: figure.into(), judgement }
    }

    /// Says why the attack was not run.
    pub(crate) fn not_run(reason: impl Into<String>) -> Self {
        Self { figure: reason.into(), judgement: Judgement::NotRun }
    }
}

/// One attack with its outcome.
#[derive(Debug)]
pub(crate) struct AttackVerdict {
    pub(crate) promise: Promise,
    pub(crate) outcome: AttackOutcome,
    pub(crate) took: Duration,
}

impl AttackVerdict {
    /// Reports a broken promise; an attack that was not run has broken none.
    pub(crate) fn is_broken(&self) -> bool {
        self.outcome.judgement == Judgement::Broken
    }
}

impl fmt::Display for AttackVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Promise { name, text, before } = self.promise;
        let word = match self.outcome.judgement {
            Judgement::Held => "held",
            Judgement::Broken => "BROKEN",
            Judgement::NotRun => "not run",
        };
        let (figure, seconds) = (&self.outcome.figure, self.took.as_secs_f64());
        write!(f, "{word:<7} {name:<13} {text}: {figure} (before: {before}) [{seconds:.0} s]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISE: Promise = Promise { name: "stop", text: "it ends in 3 s", before: "20.2 s" };

    #[test]
    fn verdict_line_carries_both_figures_and_the_judgement() {
        let outcome = AttackOutcome::new(false, "4.0 s");
        let verdict = AttackVerdict { promise: PROMISE, outcome, took: Duration::from_secs(7) };
        assert!(verdict.is_broken());
        assert_eq!(verdict.to_string(), "BROKEN  stop          it ends in 3 s: 4.0 s (before: 20.2 s) [7 s]");
    }

    #[test]
    fn attack_that_was_not_run_breaks_no_promise() {
        let outcome = AttackOutcome::not_run("no wrk");
        let verdict = AttackVerdict { promise: PROMISE, outcome, took: Duration::ZERO };
        assert!(!verdict.is_broken() && verdict.to_string().starts_with("not run"), "{verdict}");
    }
}
