//! Gives the binary the commit it is built from and the time of the build.
//!
//! `SVC_BUILD_COMMIT` and `SVC_BUILD_TIME` win if the build sets them; then the checkout is asked. The
//! time is that of `SOURCE_DATE_EPOCH`, else of the commit, so that one commit makes one binary. Runs again
//! when the commit changes, and at no other call.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

const INPUTS: [&str; 3] = ["SVC_BUILD_COMMIT", "SVC_BUILD_TIME", "SOURCE_DATE_EPOCH"];

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    for name in INPUTS {
        writeln!(out, "cargo:rerun-if-env-changed={name}")?;
    }
    writeln!(out, "cargo:rerun-if-changed=build.rs")?;
    let watched = ["HEAD", "logs/HEAD", "packed-refs"];
    // A file that does not exist would count as changed at every call.
    for path in watched.iter().filter_map(|name| git_path(name)).filter(|path| path.exists()) {
        writeln!(out, "cargo:rerun-if-changed={}", path.display())?;
    }
    let commit = env_value("SVC_BUILD_COMMIT").or_else(|| git(&["rev-parse", "HEAD"]));
    let time = env_value("SVC_BUILD_TIME")
        .or_else(|| seconds(&env_value("SOURCE_DATE_EPOCH")?))
        .or_else(|| seconds(&git(&["show", "-s", "--format=%ct", "HEAD"])?));
    for (name, value) in [("SVC_BUILD_COMMIT", commit), ("SVC_BUILD_TIME", time)] {
        if let Some(value) = value {
            writeln!(out, "cargo:rustc-env={name}={value}")?;
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the environment of the build is what it is told by")]
fn env_value(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the answer of git about the checkout this package is part of; nothing if it lies in that of somebody
/// else's.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && is_own_checkout()).then(|| text.trim().to_owned())
}

/// Returns true if the package is at the top of the innermost checkout, as its own sources are.
fn is_own_checkout() -> bool {
    let prefix = Command::new("git").args(["rev-parse", "--show-prefix"]).output();
    prefix.is_ok_and(|output| output.status.success() && output.stdout.trim_ascii().is_empty())
}

fn git_path(name: &str) -> Option<PathBuf> {
    git(&["rev-parse", "--git-path", name]).map(PathBuf::from)
}

/// Seconds of Unix time as RFC 3339.
fn seconds(text: &str) -> Option<String> {
    let seconds: i64 = text.trim().parse().ok()?;
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

/// Year, month and day of a number of days since 1970, by the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (mut year, mut rest) = (1970, days);
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if rest < length {
            break;
        }
        rest -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    (year, month, rest + 1)
}
