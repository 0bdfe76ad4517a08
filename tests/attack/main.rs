//! `make attack`: the service under attacks that once broke a promise, one verdict a line with the figure of
//! before next to it.
//!
//! Bounded in time, connections and memory; loopback only. `attack BINARY short|full [NAME…]` runs all
//! attacks or those named. The exit code is 1 if a promise was broken. `SVC_ATTACK_CALLS` is the number of calls of
//! `plugins`.

mod cache;
mod connections;
mod cpu;
mod disk;
mod failover;
mod freeze;
mod goodput;
mod h2_heads;
mod idempotency;
mod lockout;
mod loopback_web;
mod memory;
mod plugins;
mod pooler;
mod recoveries;
mod rolling;
mod rollout;
mod stop;
mod target;
mod verdict;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use target::AttackTarget;
use verdict::{AttackOutcome, AttackVerdict, Promise};

/// An attack: the promise, and the code that measures it.
type Attack = (Promise, fn(&AttackTarget) -> io::Result<AttackOutcome>);

/// The variable with the number of calls that an attack makes of what works.
const CALLS: &str = "SVC_ATTACK_CALLS";

/// Every attack, in the order of the report.
const ATTACKS: [Attack; 21] = [
    recoveries::ATTACK,
    rolling::ATTACK,
    pooler::ATTACK,
    rollout::ATTACK,
    stop::ATTACK,
    goodput::SUBMISSIONS,
    goodput::REQUESTS,
    cpu::ATTACK,
    freeze::ATTACK,
    lockout::ATTACK,
    loopback_web::ATTACK,
    cache::ATTACK,
    idempotency::ATTACK,
    failover::ATTACK,
    connections::BODIES,
    connections::PIPELINE,
    connections::DESCRIPTORS,
    memory::ATTACK,
    h2_heads::ATTACK,
    disk::ATTACK,
    plugins::ATTACK,
];

fn main() -> io::Result<ExitCode> {
    let mut args = std::env::args().skip(1);
    let (Some(binary), Some(form)) = (args.next(), args.next()) else {
        return Err(io::Error::other("usage: attack SVC_SERVER_BINARY short|full [NAME…]"));
    };
    let calls = std::env::var_os(CALLS).filter(|number| !number.is_empty());
    let calls = calls.map(|number| number.to_string_lossy().parse::<usize>()).transpose();
    let calls = calls.map_err(|error| io::Error::other(format!("{CALLS}: {error}")))?;
    let target = AttackTarget { binary: PathBuf::from(binary), short: form == "short", calls };
    let names: Vec<String> = args.collect();
    if let Some(unknown) =
        names.iter().find(|name| !ATTACKS.iter().any(|(promise, _)| promise.name == **name))
    {
        let names: Vec<_> = ATTACKS.iter().map(|(promise, _)| promise.name).collect();
        return Err(io::Error::other(format!("no attack '{unknown}'; there are {}", names.join(", "))));
    }
    let mut broken = 0;
    for (promise, attack) in ATTACKS {
        if !names.is_empty() && !names.iter().any(|name| name == promise.name) {
            continue;
        }
        let verdict = judge(promise, attack, &target);
        broken += usize::from(verdict.is_broken());
        report(&verdict.to_string());
    }
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[expect(clippy::disallowed_methods, reason = "an attack on another process takes real time")]
fn judge(
    promise: Promise,
    attack: fn(&AttackTarget) -> io::Result<AttackOutcome>,
    target: &AttackTarget,
) -> AttackVerdict {
    let begin = Instant::now();
    // An attack that could not be carried out has shown nothing, which is no reason to call its promise kept.
    let outcome = attack(target).unwrap_or_else(|error| AttackOutcome::new(false, error.to_string()));
    AttackVerdict { promise, outcome, took: begin.elapsed() }
}

#[expect(clippy::print_stdout, reason = "the report is what the program is for")]
fn report(line: &str) {
    println!("{line}");
}
