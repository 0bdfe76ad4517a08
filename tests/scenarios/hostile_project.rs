//! Project directories that mean harm: every command says what is wrong with which file, and writes nothing
//! by halves.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

use crate::support::launch;

const DEEP: usize = 100_000;

/// Writes files that hold no value; returns the part of the message about each.
fn write_hostile(root: &Path) -> Vec<(&'static str, &'static str)> {
    let bomb = (1..12).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        format!("{text}a{level}: &a{level} [{aliases}]\n")
    });
    let files: [(&str, Vec<u8>, &str); 9] = [
        ("bomb.yaml", bomb.into_bytes(), "repeat too much at line 6"),
        ("deep.json", "[".repeat(DEEP).into_bytes(), "is nested deeper than 128 levels at line 1 column"),
        ("deep.yaml", "[".repeat(DEEP).into_bytes(), "is nested deeper than 128 levels at line 1 column"),
        (
            "duplicate.json",
            b"{\r\n\"a\": 1,\r\n\"a\": 2}".to_vec(),
            "(first at line 2 column 1) at line 3 column 1",
        ),
        ("empty.json", Vec::new(), "the file is empty"),
        ("latin1.json", b"{\"a\": \"\xe9\"}".to_vec(), "is not UTF-8 at line 1 column 8"),
        ("nul.json", b"{\"tasks\": \0}".to_vec(), "at line 1 column 11"),
        ("two.yaml", b"a: 1\n---\nb: 1\n".to_vec(), "a second document begins at line 2"),
        ("utf16.json", b"\xff\xfe{\0}\0".to_vec(), "is UTF-16, not UTF-8"),
    ];
    for (name, content, _) in &files {
        fs::write(root.join(name), content).unwrap();
    }
    File::create(root.join("huge.json")).unwrap().set_len(100 << 20).unwrap();
    symlink(root, root.join("loop")).unwrap();
    let messages = files.into_iter().map(|(name, _, message)| (name, message));
    messages.chain([("huge.json", "is larger than 16 MiB")]).collect()
}

fn run(args: &[&str]) -> (Output, String) {
    let output = launch().args(args).run_to_end().unwrap();
    let err = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    (output, err)
}

fn assert_tells(err: &str, name: &str, message: &str) {
    let names_it = err.lines().any(|line| line.contains(name) && line.contains(message));
    assert!(names_it, "{name}: {message}\n{err}");
}

#[test]
fn every_unreadable_file_is_named_with_its_place() {
    let root = tempfile::tempdir().unwrap();
    let expected = write_hostile(root.path());
    let directory = root.path().to_str().unwrap();
    let (linted, err) = run(&["lint", directory]);
    assert_eq!(linted.status.code(), Some(1), "a directory without an entity");
    expected.iter().for_each(|(name, message)| assert_tells(&err, name, message));
    assert_tells(&err, "loop", "is a link back to the project directory");
    let (formatted, err) = run(&["fmt", directory]);
    assert_eq!((formatted.status.code(), formatted.stdout.len()), (Some(1), 0));
    expected.iter().for_each(|(name, message)| assert_tells(&err, name, message));
    for (name, message) in expected {
        let (linted, err) = run(&["lint", root.path().join(name).to_str().unwrap()]);
        assert_eq!((linted.status.code(), linted.stdout.len()), (Some(1), 0), "{name}");
        assert_tells(&err, name, message);
    }
}

#[test]
fn unreadable_files_fail_compile_which_writes_nothing() {
    let root = tempfile::tempdir().unwrap();
    let hostile = write_hostile(root.path());
    let directory = root.path().to_str().unwrap();
    fs::write(
        root.path().join("c.json"),
        r#"{"name": "memory", "connector_type": "cache", "config": {"backend": "memory"}}"#,
    )
    .unwrap();
    let (linted, err) = run(&["lint", directory]);
    assert_eq!(linted.status.code(), Some(1));
    hostile.iter().for_each(|(name, message)| assert_tells(&err, name, message));
    let package = root.path().join("target.txt");
    let (compiled, _) =
        run(&["compile", directory, "--name", "p", "--version", "1", "-o", package.to_str().unwrap()]);
    assert_eq!(compiled.status.code(), Some(1));
    let left = root
        .path()
        .read_dir()
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "tmp"));
    assert!(!package.exists() && left.count() == 0);
    let names: Vec<_> = hostile.iter().map(|(name, _)| *name).chain(["loop"]).collect();
    fs::write(root.path().join(".svcignore"), names.join("\n")).unwrap();
    let (linted, err) = run(&["lint", "--deny-warnings", directory]);
    assert_eq!(linted.status.code(), Some(0), "{err}");
}

/// A name that would steer a terminal, and a runner of CI from a line of its own.
const STEERING: &str = "n\u{1b}]0;owned\u{7}\u{9b}31m\n::error file=x::owned\r##vso[task]\u{202e}";

/// Checks that no line of an output is obeyed by a terminal or a runner of CI.
fn assert_not_obeyed(what: &str, text: &str) {
    for line in text.lines() {
        let is_obeyed = line.chars().any(|c| c.is_control() || c == '\u{202e}')
            || line.trim_start().starts_with("::")
            || line.contains("##vso[");
        assert!(!is_obeyed, "{what}: {line:?}");
    }
}

#[test]
fn names_steer_neither_terminal_nor_ci_log() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str, document: serde_json::Value| {
        fs::write(root.path().join(name), document.to_string()).unwrap();
    };
    file(
        "c.json",
        serde_json::json!({"name": STEERING, "connector_type": "http", "config": {"urll": STEERING}}),
    );
    file(
        "w.json",
        serde_json::json!({"workflow_id": "w", "name": STEERING, "tasks": [{"id": STEERING, "name": "n",
        "function": {"name": STEERING, "input": {STEERING: {"uper": [1]}}}}]}),
    );
    file("x\u{1b}]0;owned\u{7}.json", serde_json::json!({"taks": STEERING}));
    file("y\n::error::owned.json", serde_json::json!({"channel_type": STEERING, "name": STEERING}));
    fs::create_dir(root.path().join("tests")).unwrap();
    file(
        "tests/z\n::error::owned.case.json",
        serde_json::json!({"name": STEERING, "workflow": STEERING, "input": 1}),
    );
    let directory = root.path().to_str().unwrap();
    for args in [
        vec!["lint", directory],
        vec!["lint", directory, "--format", "github"],
        vec!["compile", directory, "--name", "p", "--version", "1"],
        vec!["test", root.path().join("tests").to_str().unwrap()],
        vec!["fmt", "--check", directory],
    ] {
        let (output, err) = run(&args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert_not_obeyed(&args.join(" "), &err);
        let out = String::from_utf8(output.stdout).unwrap();
        if args.contains(&"github") {
            assert!(out.lines().count() > 3, "{out}");
            let commands = ["::error ", "::warning ", "::notice "];
            for line in out.lines() {
                assert!(commands.iter().any(|command| line.starts_with(command)), "{line:?}");
                assert!(!line.contains(char::is_control) && !line.contains("::owned\r"), "{line:?}");
            }
        } else {
            assert_not_obeyed(&args.join(" "), &out);
        }
    }
    file(
        "one.json",
        serde_json::json!({"name": STEERING, "connector_type": "cache", "config": {"backend": "memory"}}),
    );
    let (_, err) = run(&["lint", root.path().join("y\n::error::owned.json").to_str().unwrap()]);
    assert_not_obeyed("lint of a file", &err);
}
