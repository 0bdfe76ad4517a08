//! The findings of the judge of a drill, and the verdict that they make.

use std::ffi::OsStr;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

/// Examples of each finding.
const EXAMPLES: usize = 5;

/// The objections of a judge to a drill.
#[derive(Debug, Default)]
pub struct Findings {
    failures: Vec<String>,
}

/// The verdict on a drill. Without failures it passed.
#[derive(Debug)]
pub struct DrillVerdict {
    /// One line for each finding.
    pub failures: Vec<String>,
    figures: Value,
}

impl Findings {
    /// Records a finding, with examples, unless nothing was found.
    pub fn expect_none(&mut self, what: &str, found: &[String]) {
        if !found.is_empty() {
            let examples = found.iter().take(EXAMPLES).map(String::as_str).collect::<Vec<_>>().join("; ");
            self.failures.push(format!("{} {what}: {examples}", found.len()));
        }
    }

    /// Records that there was more of something than the faults explain.
    pub fn at_most(&mut self, what: &str, got: usize, explained: usize) {
        if got > explained {
            self.failures.push(format!("{got} {what}, the faults explain {explained}"));
        }
    }

    /// Records that a drill showed too little to prove anything.
    pub fn at_least(&mut self, what: &str, got: usize, due: usize) {
        if got < due {
            self.failures.push(format!("too little was shown: {got} {what}, {due} are due"));
        }
    }

    /// Returns the verdict, with the figures of the drill.
    pub fn into_verdict(self, figures: Value) -> DrillVerdict {
        DrillVerdict { failures: self.failures, figures }
    }
}

impl DrillVerdict {
    /// Returns true if nothing was found.
    pub fn has_passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// Returns the document. The failures are last, so that the end of a log shows them.
    pub fn json(&self) -> Value {
        json!({"figures": self.figures, "passed": self.has_passed(), "failures": self.failures})
    }

    /// Writes the document to a file and to standard output; the exit code is 1 if anything was found.
    ///
    /// # Errors
    /// The file cannot be written.
    #[expect(clippy::print_stdout, reason = "the verdict is what a drill is for")]
    pub fn publish(&self, file: &OsStr) -> io::Result<ExitCode> {
        let document = serde_json::to_string_pretty(&self.json())?;
        std::fs::write(file, &document)?;
        println!("{document}");
        Ok(if self.has_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Returns the time below which this share of the times lies, in percent.
pub fn percentile(sorted: &[Duration], share: usize) -> Option<Duration> {
    sorted.get((sorted.len() * share / 100).min(sorted.len().saturating_sub(1))).copied()
}
