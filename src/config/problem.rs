//! The problems of a configuration, collected so that all are reported at once.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use super::setting::variable_name;

/// Seconds of the longest time that is added to instants.
const LONGEST_SECS: u64 = 10_000_000_000;

/// Workers of one kind on a node at most. Each is a task, which starts with the node.
const MOST_WORKERS: usize = 10_000;

/// A problem: its place (a key, a variable or a file) and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The key, variable or file.
    pub subject: String,
    /// The problem and its remedy. Contains no secret.
    pub text: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.text)
    }
}

/// A refused configuration, with all its problems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// All problems, at least one.
    pub problems: Vec<ConfigProblem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => problem.fmt(f),
            problems => {
                write!(f, "the configuration has {} problems", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// Collects problems and warnings while a configuration is read and checked.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    problems: Vec<ConfigProblem>,
    notes: Vec<String>,
    /// Keys whose value came from the file.
    read: BTreeSet<String>,
    /// Keys whose value came from a variable.
    overridden: BTreeSet<String>,
    /// Keys without a usable value; their consequences are not reported.
    broken: BTreeSet<String>,
}

impl Diagnostics {
    /// Adds a warning, which does not prevent the start.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds a problem of something that is not a setting.
    pub(crate) fn refuse_subject(&mut self, subject: impl Into<String>, text: impl Into<String>) {
        self.problems.push(ConfigProblem { subject: subject.into(), text: text.into() });
    }

    /// Adds the problem of a setting whose value cannot be parsed: its rules are not checked.
    pub(crate) fn refuse_unreadable(&mut self, key: &str, subject: &str, text: impl Into<String>) {
        self.broken.insert(key.to_owned());
        self.refuse_subject(subject, text);
    }

    /// Adds a problem of the value of a setting.
    pub(crate) fn refuse(&mut self, key: &str, text: impl Into<String>) {
        if self.broken.contains(key) {
            return;
        }
        let subject = if self.overridden.contains(key) {
            format!("{key} ({})", variable_name(key))
        } else {
            key.to_owned()
        };
        self.refuse_subject(subject, text);
    }

    /// Records that the value of a setting came from the file.
    pub(crate) fn mark_read(&mut self, key: &str) {
        self.read.insert(key.to_owned());
    }

    /// Returns the keys whose value came from the file.
    pub(crate) fn read_keys(&self) -> impl Iterator<Item = &String> {
        self.read.iter()
    }

    /// Returns the keys whose value came from a variable.
    pub(crate) fn overridden_keys(&self) -> impl Iterator<Item = &String> {
        self.overridden.iter()
    }

    /// Records that the value of a setting came from a variable.
    pub(crate) fn mark_overridden(&mut self, key: &str) {
        self.overridden.insert(key.to_owned());
    }

    /// Refuses zero.
    pub(crate) fn require_positive<N: Default + PartialEq>(&mut self, key: &str, value: N) {
        if value == N::default() {
            self.refuse(key, "must be greater than 0");
        }
    }

    /// Refuses what is outside the range.
    pub(crate) fn require_within<N: PartialOrd + fmt::Display>(
        &mut self,
        key: &str,
        value: N,
        range: RangeInclusive<N>,
    ) {
        if !range.contains(&value) {
            self.refuse(key, format!("must be from {} to {}, is {value}", range.start(), range.end()));
        }
    }

    /// Refuses a time of more seconds than clocks and databases can add to an instant. Centuries are as good as never.
    pub(crate) fn require_time(&mut self, key: &str, secs: u64) {
        self.require_within(key, secs, 0..=LONGEST_SECS);
    }

    /// Refuses more workers than a node starts.
    pub(crate) fn require_workers(&mut self, key: &str, workers: usize) {
        self.require_within(key, workers, 0..=MOST_WORKERS);
    }

    /// Refuses blank text.
    pub(crate) fn require_filled(&mut self, key: &str, value: &str) {
        if value.trim().is_empty() {
            self.refuse(key, "must not be empty");
        }
    }

    /// Returns the warnings, or all problems.
    pub(crate) fn finish(self) -> Result<Vec<String>, ConfigError> {
        if self.problems.is_empty() { Ok(self.notes) } else { Err(ConfigError { problems: self.problems }) }
    }
}

/// Returns the known name nearest to a mistyped one: at most three edits away, fewer for a short name, which
/// would be near to anything.
pub(crate) fn nearest_name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.len() / 3).clamp(1, 3);
    let alike = known.filter(|candidate| candidate.len().abs_diff(name.len()) <= 4 * limit);
    let near = alike.map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate));
    near.filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
