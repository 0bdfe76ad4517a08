//! The cost of a run: in the engine alone by wall time, and by instructions, which do not depend on the load
//! of the machine; in the service with calls between channels.

use std::io;
use std::path::Path;
use std::process::{Command, Output};

use crate::BenchContext;
use crate::figures::Figure;

/// Runs of one measurement of wall time; the fastest of [`ROUNDS`] counts, which what else the machine does
/// disturbed least.
const RUNS: u32 = 500;
const ROUNDS: usize = 9;
/// The measured workflows, with names and the number of runs under callgrind, which is large enough to hide
/// variations of the start; the aim of some. The expressions of each are also run by the underlying library alone.
const CASES: [(&str, &str, u32, Option<&str>); 4] = [
    ("quickstart", "quickstart, 2 tasks run", 1000, None),
    ("mappings", "20 tasks, 57 mappings", 200, Some("8 µs")),
    ("large", "payload of 100 KiB, 3 mappings", 10, Some("100 µs")),
    ("groups", "1 task in 8 groups", 1000, None),
];

/// Time and instructions of one run.
struct Cost {
    microseconds: f64,
    instructions: Option<u64>,
}

#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let callgrind = Command::new("valgrind").arg("--version").output().is_ok();
    println!("Runs in the engine, one thread, fastest of {ROUNDS} rounds of {RUNS}");
    if !callgrind {
        println!("  instructions not measured: valgrind absent");
    }
    println!("  {:<34} {:>12} {:>14}", "", "µs per run", "instructions");
    let show = |name: &str, cost: &Cost| {
        let instructions = cost.instructions.map_or_else(|| "-".to_owned(), |count| count.to_string());
        println!("  {name:<34} {:>12.2} {instructions:>14}", cost.microseconds);
    };
    let cost = |case: &str, counted| cost(setting, case, callgrind.then_some(counted));
    let (one, many) = (cost("run-one", 500)?, cost("run-hundred", 500)?);
    let between = |few: u64, many: u64| many.saturating_sub(few) / 100;
    let idle = Cost {
        microseconds: (many.microseconds - one.microseconds) / 100.0,
        instructions: one.instructions.zip(many.instructions).map(|(few, many)| between(few, many)),
    };
    show("a task that does nothing", &idle);
    let figure =
        |name: &str, aim, cost: &Cost| Figure::new(name, aim, format!("{:.2} µs", cost.microseconds));
    setting.note([figure("a task that does nothing", "0.1 µs", &idle)]);
    for (case, name, counted, aim) in CASES {
        let mut whole = cost(&format!("run-{case}"), counted)?;
        let payload = cost(&format!("payload-{case}"), counted)?;
        // Callgrind counts the making of the payload too; the clock does not.
        whole.instructions =
            whole.instructions.zip(payload.instructions).map(|(all, given)| all.saturating_sub(given));
        show(name, &whole);
        setting.note(aim.map(|aim| figure(name, aim, &whole)));
        show("  its expressions alone", &cost(&format!("bare-{case}"), counted)?);
        show("  a copy of its payload", &payload);
    }
    crate::calls::measure(setting)
}

/// `counted`: how many runs callgrind counts, if it is there.
fn cost(setting: &BenchContext, case: &str, counted: Option<u32>) -> io::Result<Cost> {
    let rounds = (0..ROUNDS)
        .map(|_| {
            let said = program(setting, Command::new(binary(setting)), case, RUNS)?;
            number(&String::from_utf8_lossy(&said.stdout))
        })
        .collect::<io::Result<Vec<f64>>>()?;
    let fastest = rounds.into_iter().fold(f64::INFINITY, f64::min);
    // The difference of two counts leaves out what happens once.
    let count = |runs: u32| {
        let (few, many) = (instructions(setting, case, runs)?, instructions(setting, case, 3 * runs)?);
        io::Result::Ok(many.saturating_sub(few) / u64::from(2 * runs))
    };
    Ok(Cost { microseconds: fastest / 1000.0, instructions: counted.map(count).transpose()? })
}

fn binary(setting: &BenchContext) -> std::path::PathBuf {
    setting.binaries.join("examples/cost")
}

fn program(setting: &BenchContext, mut command: Command, case: &str, runs: u32) -> io::Result<Output> {
    let quickstart: &Path = &setting.quickstart;
    let output = command.arg(quickstart).arg(case).arg(runs.to_string()).output()?;
    if output.status.success() {
        Ok(output)
    } else {
        Err(io::Error::other(format!("{case}: {}", String::from_utf8_lossy(&output.stderr))))
    }
}

/// Returns the instructions that callgrind counts for a whole process.
fn instructions(setting: &BenchContext, case: &str, runs: u32) -> io::Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(binary(setting));
    let output = program(setting, command, case, runs)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let count = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.ok_or_else(|| io::Error::other(format!("callgrind counted nothing: {said}")))?;
    number(count)
}

fn number<N: std::str::FromStr>(text: &str) -> io::Result<N> {
    text.trim().parse().map_err(|_| io::Error::other(format!("not a number: {text}")))
}
