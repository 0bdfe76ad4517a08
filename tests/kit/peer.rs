//! Real servers that tests talk to. A test without its server is skipped and counted, or fails if all are
//! required.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::{process, thread};

/// The variable that names a file: each skipped test adds a line to it. `tests/run` counts the lines.
const SKIPS: &str = "SVC_TEST_SKIPS";

/// Returns `true` if a missing peer must fail the run (`SVC_TEST_REQUIRE=all`).
pub fn is_required() -> bool {
    env::var_os("SVC_TEST_REQUIRE").is_some_and(|value| value == "all")
}

/// Reports that the peer of a test is missing: prints one line and records the skip, or fails the test if
/// every peer is required.
///
/// # Panics
/// The peer is [`is_required`], or the skip cannot be recorded.
#[expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "the test's verdict: the line is what the reader looks for"
)]
pub fn report_missing(peer: &str, why: &str) {
    if is_required() {
        panic!("{peer} is required here and missing: {why}");
    }
    println!("skipped: {peer}: {why}");
    let Some(file) = env::var_os(SKIPS).filter(|file| !file.is_empty()) else { return };
    if let Err(error) = record_skip(Path::new(&file), peer) {
        panic!("the skip cannot be recorded in {}: {error}", Path::new(&file).display());
    }
}

/// Returns `true` if a command can be run; reports a missing one as [`report_missing`] does.
///
/// # Panics
/// As [`report_missing`].
pub fn is_installed(command: &str, package: &str) -> bool {
    let is_there = env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|directory| directory.join(command).is_file()));
    if !is_there {
        report_missing(command, &format!("not installed (Debian package {package})"));
    }
    is_there
}

/// Returns `true` if a command can be run, installed if need be; reports a missing one as [`report_missing`] does.
///
/// # Panics
/// As [`report_missing`].
pub fn ensure_installed(command: &str, package: &str) -> bool {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/ensure");
    let missing = match process::Command::new(script).args([command, package]).output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    report_missing(command, &missing);
    false
}

/// Appends the peer and the running test as one line.
fn record_skip(file: &Path, peer: &str) -> io::Result<()> {
    let test = test_name();
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    // One write: tests run at the same time.
    file.write_all(format!("{peer}\t{test}\n").as_bytes())
}

/// Returns the name of the test binary and that of the test, which is the name of its thread.
fn test_name() -> String {
    let binary = env::current_exe().unwrap_or_default();
    let binary = binary.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match thread::current().name() {
        Some(test) => format!("{binary}::{test}"),
        None => format!("{binary}, process {}", process::id()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_recorded_by_peer_and_test() {
        let file = tempfile::NamedTempFile::new().unwrap();
        record_skip(file.path(), "redis").unwrap();
        record_skip(file.path(), "postgres").unwrap();
        let test = test_name();
        assert!(test.ends_with("skips_are_recorded_by_peer_and_test"), "{test}");
        let expected = format!("redis\t{test}\npostgres\t{test}\n");
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), expected);
    }
}
