//! `make drill-rollouts`: canaries under load, on two nodes of an optimised binary with one PostgreSQL.
//!
//! A version that fails 3 % more, one that is twice as slow and one that answers 5 % differently must lose their
//! traffic by themselves within two intervals; five that are as good as the older version must take all of it. Then the
//! deciding node is killed at each step of its decisions: every rollout ends as it must, and is decided over once. The
//! judge is what clients and the called system have seen of both versions.
//!
//! Each case has a line on standard error. The report is one JSON document, on standard output and in a file; the exit
//! code is 1 if anything was found.

mod answers;
mod case;
mod hold;
mod kills;
mod nodes;
mod run;
mod verdict;

use std::ffi::OsString;
use std::io;
use std::path::{Path, absolute};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::postgres::Postgres;
use svc_testkit::witness::RunWitness;

use case::{CanaryCase, hold_call};
use nodes::CanaryNodes;
use run::{CanaryDrill, define_alarm};
use verdict::judge;

const USAGE: &str = "usage: drill-rollouts SVC_SERVER_BINARY REQUESTS_PER_SECOND VERDICT_FILE [CASE]…";

fn main() -> io::Result<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let binary = args.next();
    let rate = args.next().and_then(|rate| rate.to_str()?.parse::<u64>().ok()).filter(|rate| *rate > 0);
    let (Some(binary), Some(rate), Some(file)) = (binary, rate, args.next()) else {
        return Err(io::Error::other(USAGE));
    };
    let cases = choose(args.collect())?;
    let Some(postgres) = Postgres::own() else { return Ok(ExitCode::SUCCESS) };
    // The nodes run in directories of their own.
    drill(&absolute(binary)?, &postgres, rate, &cases)?.publish(&file)
}

/// Returns the cases with these names, or all.
fn choose(names: Vec<OsString>) -> io::Result<Vec<CanaryCase>> {
    let mut cases = CanaryCase::all();
    let known: Vec<&str> = cases.iter().map(|case| case.id).collect();
    if let Some(unknown) = names.iter().find(|name| !known.iter().any(|id| name.as_os_str() == *id)) {
        let message = format!("no case is called {}; use {}", unknown.display(), known.join(", "));
        return Err(io::Error::other(message));
    }
    cases.retain(|case| names.is_empty() || names.iter().any(|name| name.as_os_str() == case.id));
    Ok(cases)
}

fn drill(binary: &Path, postgres: &Postgres, rate: u64, cases: &[CanaryCase]) -> io::Result<DrillVerdict> {
    let database = postgres.database().map_err(io::Error::other)?;
    let witness = Arc::new(RunWitness::start(hold_call)?);
    let nodes = CanaryNodes::start(binary, &database)?;
    define_alarm(&mut nodes.client(0), &witness)?;
    let mut drill = CanaryDrill { nodes, database: &database, witness, rate };
    let (mut findings, mut figures) = (Findings::default(), Vec::new());
    for case in cases {
        match drill.carry_out(case) {
            Ok(evidence) => {
                let (failures, measured) = judge(case, &evidence, rate);
                note(&describe(case.id, &measured, &failures));
                findings.expect_none(&format!("objections to {}", case.id), &failures);
                figures.push(json!({"case": case.id, "passed": failures.is_empty(), "figures": measured}));
            }
            Err(error) => {
                note(&format!("{}: could not be carried out: {error}", case.id));
                findings.expect_none("cases could not be carried out", &[format!("{}: {error}", case.id)]);
            }
        }
    }
    Ok(findings.into_verdict(json!({"requests_a_second": rate, "cases": figures})))
}

/// Returns the verdict on a case as a line.
fn describe(id: &str, figures: &Value, failures: &[String]) -> String {
    let verdict = if failures.is_empty() { "passed".to_owned() } else { failures.join("; ") };
    format!(
        "{id}: {} {} s after its begin, last answer of the newer version after {} s; {} of the newer, {} of the \
         older, {} of either, {} failed, {} kills: {verdict}",
        figures["state"].as_str().unwrap_or("unknown"),
        figures["decided_after_secs"],
        figures["last_newer_secs"],
        figures["newer"],
        figures["older"],
        figures["either"],
        figures["failed"],
        figures["kills"],
    )
}

/// Reports the progress of the drill.
#[expect(clippy::print_stderr, reason = "a drill takes minutes, and its report comes last")]
fn note(text: &str) {
    eprintln!("drill-rollouts: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_chosen_by_name() {
        assert_eq!(choose(Vec::new()).unwrap().len(), CanaryCase::all().len());
        let chosen = choose(vec!["slow".into(), "innocent-5".into()]).unwrap();
        assert_eq!(chosen.iter().map(|case| case.id).collect::<Vec<_>>(), ["slow", "innocent-5"]);
        assert!(choose(vec!["slower".into()]).is_err());
    }
}
