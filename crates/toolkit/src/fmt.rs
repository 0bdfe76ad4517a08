//! `fmt`: puts authored files into their canonical form.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use svc_outbound::describe_cause;
use svc_project::{
    Finding, FoundFile, LinkPolicy, Severity, SourceError, SourceFormat, UNREADABLE, find_files, format_text,
    read_text,
};

use crate::exit::{EXIT_FAILURE, EXIT_OK};

/// The arguments of `fmt`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct FmtArgs {
    /// Files, and directories with all files below them; links out of a directory are left alone
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Change nothing; list the files that would change and fail if there is one
    #[arg(long)]
    check: bool,
}

/// Formats the files and returns the exit code. The names of files that change go to `out`.
pub(crate) fn fmt(args: &FmtArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let (files, failed_paths) = find_all(&args.paths, err)?;
    let (mut changed, mut failed) = (0, failed_paths);
    // All are written before one is named: a reader that goes away leaves no file as it was.
    let outcomes: Vec<_> = files.iter().map(|file| (file, format_file(file, args.check))).collect();
    for (file, outcome) in outcomes {
        match outcome {
            Ok(false) => {}
            Ok(true) => {
                changed += 1;
                writeln!(out, "{}", file.name)?;
            }
            Err(finding) => {
                failed += 1;
                writeln!(err, "{finding}")?;
            }
        }
    }
    let verb = if args.check { "would change" } else { "formatted" };
    writeln!(err, "note: {changed} of {} file(s) {verb}", files.len())?;
    let passes = failed == 0 && !(args.check && changed > 0);
    Ok(if passes { EXIT_OK } else { EXIT_FAILURE })
}

/// Returns the files of all paths, named as the caller names them, and the number of paths that cannot be
/// read.
fn find_all(paths: &[PathBuf], err: &mut dyn Write) -> io::Result<(Vec<FoundFile>, usize)> {
    let (mut files, mut failed) = (Vec::new(), 0);
    for path in paths {
        if !path.is_dir() {
            files.push(FoundFile { name: path.display().to_string(), path: path.clone() });
            continue;
        }
        match find_files(path, LinkPolicy::Leave) {
            Ok(found) => {
                found.unreadable.iter().try_for_each(|finding| writeln!(err, "{finding}"))?;
                failed += found.unreadable.len();
                for link in &found.links {
                    let link = path.join(link);
                    writeln!(
                        err,
                        "note: {}: a link out of the directory, left alone; name it to format it",
                        link.display()
                    )?;
                }
                let named = found
                    .files
                    .into_iter()
                    .map(|file| FoundFile { name: file.path.display().to_string(), ..file });
                files.extend(named);
            }
            Err(error) => {
                failed += 1;
                writeln!(err, "Error: {}: {}", path.display(), describe_cause(&error))?;
            }
        }
    }
    Ok((files, failed))
}

/// Formats a file; returns true if it changes.
fn format_file(file: &FoundFile, check: bool) -> Result<bool, Box<Finding>> {
    let to_finding = |error: SourceError| Box::new(error.to_finding(Severity::Error, UNREADABLE, &file.name));
    let problem = |message: String, fix: &str| {
        Box::new(Finding {
            severity: Severity::Error,
            check: UNREADABLE,
            entity: file.name.clone(),
            message,
            fix: Some(fix.to_owned()),
            place: None,
        })
    };
    let Some(format) = SourceFormat::from_path(&file.path) else {
        return Err(problem("is neither JSON nor YAML".to_owned(), "name it .json, .yaml or .yml"));
    };
    let text = read_text(&file.name, &file.path).map_err(to_finding)?;
    let formatted = format_text(&file.name, format, &text).map_err(to_finding)?;
    let has_mark = || fs::metadata(&file.path).is_ok_and(|metadata| metadata.len() != formatted.len() as u64);
    if formatted == text && !has_mark() {
        return Ok(false);
    }
    if !check {
        let refused = |error: io::Error| {
            let message = format!("cannot be written: {}", describe_cause(&error));
            problem(message, "check that the directory may be written")
        };
        replace(&file.path, &formatted).map_err(refused)?;
    }
    Ok(true)
}

/// Replaces a file by a new text, at once: a reader sees the old one or the new one. A link stays a link.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = path.canonicalize()?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = write_new(&temporary, text)
        .and_then(|()| fs::set_permissions(&temporary, path.metadata()?.permissions()))
        .and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        // The error to report is the one before.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn run(paths: &[&Path], check: bool) -> (u8, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let paths = paths.iter().map(|path| path.to_path_buf()).collect();
        let code = fmt(&FmtArgs { paths, check }, &mut out, &mut err).unwrap();
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn files_change_once_and_keep_their_permissions() {
        let root = tempfile::tempdir().unwrap();
        let (file, link) = (root.path().join("a.json"), root.path().join("b.json"));
        fs::write(&file, "\u{FEFF}{\"name\":\"x\"}").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        fs::write(root.path().join("c.case.yml"), "input: 1\nworkflow: x   \n").unwrap();
        assert_eq!(run(&[root.path()], true).0, EXIT_FAILURE);
        assert!(fs::read(&file).unwrap().starts_with(b"\xEF\xBB\xBF"), "--check changes nothing");
        let (code, out, err) = run(&[root.path()], false);
        assert_eq!((code, out.lines().count()), (EXIT_OK, 2), "{out}");
        assert!(err.ends_with("note: 2 of 2 file(s) formatted\n"), "{err}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"name\": \"x\"\n}\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(link.is_symlink() && root.path().read_dir().unwrap().count() == 3);
        assert_eq!(run(&[root.path()], true).0, EXIT_OK);
    }

    /// An output whose reader has gone.
    struct ClosedPipe;

    impl Write for ClosedPipe {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_file_is_formatted_though_nobody_reads() {
        let root = tempfile::tempdir().unwrap();
        let files = ["a.json", "b.json"].map(|name| root.path().join(name));
        files.iter().for_each(|file| fs::write(file, "{\"name\":\"x\"}").unwrap());
        let args = FmtArgs { paths: vec![root.path().to_path_buf()], check: false };
        assert!(fmt(&args, &mut ClosedPipe, &mut Vec::new()).is_err());
        for file in &files {
            assert_eq!(fs::read_to_string(file).unwrap(), "{\n  \"name\": \"x\"\n}\n");
        }
    }

    #[test]
    fn outward_links_are_skipped_unless_named() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (file, alone) = (other.path().join("deep/a.json"), other.path().join("b.json"));
        fs::create_dir(other.path().join("deep")).unwrap();
        for path in [&file, &alone] {
            fs::write(path, "{\"name\":\"x\"}").unwrap();
        }
        symlink(other.path(), root.path().join("home")).unwrap();
        symlink(&alone, root.path().join("b.json")).unwrap();
        symlink(root.path(), root.path().join("loop")).unwrap();
        let (code, out, err) = run(&[root.path()], false);
        assert_eq!((code, out.as_str()), (EXIT_OK, ""), "{err}");
        assert!(err.contains("home: a link out of") && err.contains("b.json: a link out of"), "{err}");
        assert!(!err.contains("loop"), "{err}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\"name\":\"x\"}");
        assert_eq!(
            run(&[&root.path().join("home"), &root.path().join("b.json")], false).1.lines().count(),
            2
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"name\": \"x\"\n}\n");
    }

    #[test]
    fn unreadable_file_is_named_others_are_formatted() {
        let root = tempfile::tempdir().unwrap();
        let (bad, good, other) =
            (root.path().join("a.json"), root.path().join("b.yaml"), root.path().join("c.txt"));
        fs::write(&bad, "{\n\"a\": 1,\n}").unwrap();
        fs::write(&good, "a: 1 \n").unwrap();
        fs::write(&other, "x").unwrap();
        let (code, out, err) = run(&[&bad, &good, &other, Path::new("/nowhere.json")], false);
        assert_eq!((code, out), (EXIT_FAILURE, format!("{}\n", good.display())));
        assert!(err.contains("a.json: trailing comma at line 3 column 1\n        fix: "), "{err}");
        assert!(
            err.contains("c.txt: is neither JSON nor YAML") && err.contains("/nowhere.json: cannot be read"),
            "{err}"
        );
        assert_eq!(fs::read_to_string(&bad).unwrap(), "{\n\"a\": 1,\n}");
    }
}
