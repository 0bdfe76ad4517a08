//! The findings of the judge of a drill, as its verdict lists them.

/// Examples of each finding.
const EXAMPLES: usize = 5;

/// The objections of a judge to a drill. Without any it passed.
#[derive(Debug, Default)]
pub struct Findings {
    /// One line each.
    pub failures: Vec<String>,
}

impl Findings {
    /// Records a finding, with examples, unless nothing was found.
    pub fn expect_none(&mut self, what: &str, found: &[String]) {
        if !found.is_empty() {
            let examples = found.iter().take(EXAMPLES).map(String::as_str).collect::<Vec<_>>().join("; ");
            self.failures.push(format!("{} {what}: {examples}", found.len()));
        }
    }

    /// Records that a drill showed too little to prove anything.
    pub fn at_least(&mut self, what: &str, got: usize, due: usize) {
        if got < due {
            self.failures.push(format!("too little was shown: {got} {what}, {due} are due"));
        }
    }
}
