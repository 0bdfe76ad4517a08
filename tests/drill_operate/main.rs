//! `make drill-operate`: orders of operators at full size, on three nodes with one PostgreSQL. A witness outside sees
//! every run, and explains each that is repeated.
//!
//! - [`bulk`]: a hundred thousand dead letters are grouped, requeued by one order, which is aborted half-way, and by a
//!   second one, while the node that drives them is killed three times;
//! - [`pause`]: submissions, schedules and records go on while their channels are paused, a node is killed, and the
//!   channels are resumed;
//! - [`shares`]: the flood of one tenant next to the jobs of 99 others;
//! - [`later`]: delayed work that becomes due at a thousand a second;
//! - [`repeats`]: a thousand repeats of one idempotency key at once, and keys whose node is killed while it runs them;
//! - [`elements`]: three slow calls at once, a long list, and a job with a thousand elements whose node is killed;
//! - [`quotas`]: quotas that are used up while the nodes are restarted, and while they are killed;
//! - [`webhooks`]: a hundred events to a thousand customers in each of three rounds: with a tenth of them dead, slow or
//!   lying, and with nodes that are killed. `make drill-webhooks` is this section alone.
//!
//! The report is one JSON document on standard output, with the verdict of each section; the exit code is 1 if anything
//! was found.

mod bulk;
mod bulk_verdict;
mod cluster;
mod customers;
mod elements;
mod later;
mod partition;
mod pause;
mod pause_verdict;
mod quotas;
mod repeats;
mod repetitions;
mod shares;
mod submissions;
mod webhook_verdict;
mod webhooks;

use std::io;
use std::path::{Path, absolute};
use std::process::ExitCode;

use serde_json::{Value, json};
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::postgres::Postgres;

const USAGE: &str = "usage: drill-operate SVC_SERVER_BINARY [bulk[=LETTERS] | pause[=REQUESTS_PER_SECOND] | \
     shares[=JOBS_OF_THE_FLOOD] | later[=DUE_PER_SECOND] | repeats[=REQUESTS] | quotas[=LIMIT] | \
     webhooks[=EVENTS_PER_ROUND] | elements[=ELEMENTS]]…";

/// A part of the drill, with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperateSection {
    /// So many dead letters.
    Bulk(usize),
    /// So many submissions in a second.
    Pause(usize),
    /// So many jobs of the flood.
    Shares(usize),
    /// So many jobs due in a second.
    Later(usize),
    /// So many requests with one key.
    Repeats(usize),
    /// Quotas of so many requests.
    Quotas(usize),
    /// So many events a round.
    Webhooks(usize),
    /// So many elements of a list.
    Elements(usize),
}

/// All sections, at full size.
const SECTIONS: [OperateSection; 8] = [
    OperateSection::Bulk(100_000),
    OperateSection::Pause(5_000),
    OperateSection::Shares(100_000),
    OperateSection::Later(1_000),
    OperateSection::Repeats(1_000),
    OperateSection::Quotas(3_000),
    OperateSection::Webhooks(100),
    OperateSection::Elements(1_000),
];

#[expect(clippy::print_stdout, reason = "the report is what a drill is for")]
fn main() -> io::Result<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let binary = args.next();
    let sections: Option<Vec<_>> = args.map(|arg| OperateSection::parse(arg.to_str()?)).collect();
    let (Some(binary), Some(mut sections)) = (binary, sections) else {
        return Err(io::Error::other(USAGE));
    };
    if sections.is_empty() {
        sections.extend(SECTIONS);
    }
    // The nodes run in directories of their own.
    let binary = absolute(binary)?;
    let Some(postgres) = Postgres::own() else { return Ok(ExitCode::SUCCESS) };
    let (mut report, mut has_passed) = (Vec::new(), true);
    for section in sections {
        let verdict = section.carry_out(&binary, &postgres);
        has_passed &= verdict.has_passed();
        report.push(json!({"section": section.name(), "size": section.size(), "verdict": verdict.json()}));
    }
    println!("{:#}", json!({"sections": report, "passed": has_passed}));
    Ok(if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl OperateSection {
    /// Parses a name, which a size may follow.
    fn parse(text: &str) -> Option<Self> {
        let (name, size) = match text.split_once('=') {
            Some((name, size)) => (name, Some(size.parse::<usize>().ok().filter(|size| *size > 0)?)),
            None => (text, None),
        };
        let section = SECTIONS.into_iter().find(|section| section.name() == name)?;
        Some(size.map_or(section, |size| section.resize(size)))
    }

    const fn resize(self, size: usize) -> Self {
        match self {
            Self::Bulk(_) => Self::Bulk(size),
            Self::Pause(_) => Self::Pause(size),
            Self::Shares(_) => Self::Shares(size),
            Self::Later(_) => Self::Later(size),
            Self::Repeats(_) => Self::Repeats(size),
            Self::Quotas(_) => Self::Quotas(size),
            Self::Webhooks(_) => Self::Webhooks(size),
            Self::Elements(_) => Self::Elements(size),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Bulk(_) => "bulk",
            Self::Pause(_) => "pause",
            Self::Shares(_) => "shares",
            Self::Later(_) => "later",
            Self::Repeats(_) => "repeats",
            Self::Quotas(_) => "quotas",
            Self::Webhooks(_) => "webhooks",
            Self::Elements(_) => "elements",
        }
    }

    const fn size(self) -> usize {
        match self {
            Self::Bulk(size)
            | Self::Pause(size)
            | Self::Shares(size)
            | Self::Later(size)
            | Self::Repeats(size)
            | Self::Quotas(size)
            | Self::Webhooks(size)
            | Self::Elements(size) => size,
        }
    }

    /// Runs the section on a new database. One that cannot be run has not passed.
    fn carry_out(self, binary: &Path, postgres: &Postgres) -> DrillVerdict {
        note(&format!("{} {}", self.name(), self.size()));
        let verdict = postgres.database().map_err(io::Error::other).and_then(|database| match self {
            Self::Bulk(letters) => bulk::drill(binary, &database, letters),
            Self::Pause(rate) => pause::drill(binary, &database, rate as u64),
            Self::Shares(jobs) => shares::drill(binary, &database, jobs),
            Self::Later(rate) => later::drill(binary, &database, rate),
            Self::Repeats(requests) => repeats::drill(binary, &database, requests),
            Self::Quotas(limit) => quotas::drill(binary, &database, limit),
            Self::Webhooks(events) => webhooks::drill(binary, &database, events),
            Self::Elements(elements) => elements::drill(binary, &database, elements),
        });
        let verdict = verdict.unwrap_or_else(|error| {
            let mut findings = Findings::default();
            findings.expect_none("drills could not be carried out", &[error.to_string()]);
            findings.into_verdict(Value::Null)
        });
        verdict.failures.iter().for_each(|failure| note(failure));
        verdict
    }
}

/// Reports the progress of the drill.
#[expect(clippy::print_stderr, reason = "a drill takes minutes, and its report comes last")]
pub(crate) fn note(text: &str) {
    eprintln!("drill-operate: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_has_its_full_size_unless_given() {
        assert_eq!(OperateSection::parse("bulk"), Some(OperateSection::Bulk(100_000)));
        assert_eq!(OperateSection::parse("pause=200"), Some(OperateSection::Pause(200)));
        for refused in ["", "bulks", "bulk=", "bulk=0", "later=-1", "shares=many", "quota"] {
            assert_eq!(OperateSection::parse(refused), None, "{refused}");
        }
    }
}
