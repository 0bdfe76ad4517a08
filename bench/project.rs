//! The commands of a project directory: time and peak memory over generated projects, and ten times as large.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use svc_testkit::project::GeneratedProject;
use tempfile::TempDir;

use crate::BenchContext;
use crate::process::let_run;

/// The measured project; every workflow has a channel.
const PROJECT: GeneratedProject =
    GeneratedProject { seed: 1, workflows: 2_000, fragments: 200, cases: 5_000 };
/// The factor of the second round, which shows how the cost grows.
const GROWTH: usize = 10;
/// Runs of each command; the median counts.
const RUNS: usize = 3;
/// Pause between two looks at the memory of a command.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The cost of one run of a command.
#[derive(Clone, Copy)]
struct Cost {
    took: Duration,
    peak_mib: u64,
}

/// Measures `lint`, `compile` and `test`.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    println!("commands of a project directory, median of {RUNS} runs");
    println!("  {:<52} {:>10} {:>14} {:>10}", "", "time", "a second", "peak MiB");
    for factor in [1, GROWTH] {
        let project = GeneratedProject {
            workflows: PROJECT.workflows * factor,
            fragments: PROJECT.fragments * factor,
            cases: PROJECT.cases * factor,
            ..PROJECT
        };
        let directory = TempDir::new()?;
        project.write(directory.path(), "sqlite:shop.db")?;
        let (root, tests) = (directory.path(), directory.path().join("tests"));
        let output = TempDir::new()?;
        let artifact = output.path().join("project.json");
        let root_text = root.display().to_string();
        let compile =
            ["compile", &root_text, "--name", "p", "--version", "1", "-o", &artifact.display().to_string()]
                .map(str::to_owned);
        let definitions = project.workflows * 2;
        for (title, args, count) in [
            ("lint", vec!["lint".to_owned(), root_text.clone()], definitions),
            ("compile", compile.to_vec(), definitions),
            (
                "test",
                vec![
                    "test".to_owned(),
                    tests.display().to_string(),
                    "--definitions".to_owned(),
                    root_text.clone(),
                ],
                project.cases,
            ),
        ] {
            let cost = median(&setting.binaries.join("svc-server"), &args)?;
            let title = format!(
                "{title}: {} workflows, channels; {} fragments; {} cases",
                project.workflows, project.fragments, project.cases
            );
            let rate = count as f64 / cost.took.as_secs_f64();
            println!("  {title:<52} {:>8.2} s {rate:>14.0} {:>10}", cost.took.as_secs_f64(), cost.peak_mib);
        }
    }
    Ok(())
}

fn median(binary: &Path, args: &[String]) -> io::Result<Cost> {
    let mut costs = (0..RUNS).map(|_| run(binary, args)).collect::<io::Result<Vec<_>>>()?;
    costs.sort_by_key(|cost| cost.took);
    Ok(costs[RUNS / 2])
}

#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
fn run(binary: &Path, args: &[String]) -> io::Result<Cost> {
    let started = Instant::now();
    let mut child = Command::new(binary).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_kib.max(peak_memory(child.id()));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let_run(LOOK_EVERY);
    };
    let took = started.elapsed();
    if !status.success() {
        return Err(io::Error::other(format!("svc-server {} ended with {status}", args.join(" "))));
    }
    Ok(Cost { took, peak_mib: peak_kib / 1024 })
}

/// Returns the peak of the resident memory of a process, in KiB; 0 once it has ended.
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
