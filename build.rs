//! Gives the binary the commit it is built from, the time of the build, and the files of the console.
//!
//! `SVC_BUILD_COMMIT` and `SVC_BUILD_TIME` win if the build sets them; then the checkout is asked. The
//! time is that of `SOURCE_DATE_EPOCH`, else of the commit, so that one commit makes one binary. Runs again
//! when the commit or the console changes, and at no other call.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
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
    if env_value("CARGO_FEATURE_CONSOLE").is_some() {
        write_console_table(&mut out)?;
    }
    Ok(())
}

/// The folder in which `make console` leaves the files of the console.
const CONSOLE: &str = "console/dist";

/// Writes the table of the files of the console, in the order of their paths, each with its compressed forms. It is empty
/// if the console was not built.
fn write_console_table(out: &mut impl Write) -> io::Result<()> {
    let (Some(target), Some(package)) = (env_value("OUT_DIR"), env_value("CARGO_MANIFEST_DIR")) else {
        return Ok(());
    };
    let dist = Path::new(&package).join(CONSOLE);
    // As above: what does not exist is watched by the folder in which it would appear.
    if let Some(watched) = dist.ancestors().take(2).find(|path| path.exists()) {
        writeln!(out, "cargo:rerun-if-changed={}", watched.display())?;
    }
    let mut files = Vec::new();
    list_files(&dist, "", &mut files)?;
    files.sort_unstable();
    let has = |name: &str| files.binary_search_by(|file| file.as_str().cmp(name)).is_ok();
    let is_form = |name: &str| [".br", ".gz"].iter().any(|form| name.strip_suffix(form).is_some_and(&has));
    let content = |name: &str| {
        format!("include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{CONSOLE}/{name}\")).as_slice()")
    };
    let form = |name: &str| if has(name) { format!("Some({})", content(name)) } else { "None".to_owned() };
    let mut table = String::from("&[\n");
    for name in files.iter().filter(|name| !is_form(name)) {
        let (plain, brotli, gzip) = (content(name), form(&format!("{name}.br")), form(&format!("{name}.gz")));
        let row = writeln!(
            table,
            "ConsoleFile {{ path: {name:?}, content: {plain}, brotli: {brotli}, gzip: {gzip} }},"
        );
        row.map_err(io::Error::other)?;
    }
    table.push_str("]\n");
    fs::write(Path::new(&target).join("console_files.rs"), table)
}

/// Lists the files below a folder by their paths from it; none if it does not exist.
fn list_files(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list_files(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
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
