//! Reports for machines: one document on standard output, whatever is wrong with the input.

use std::fs;

use serde_json::{Value, json};

use super::directory::{Directory, PACKAGE, Ran, with_fragment};
use super::kit::{CHANNEL, Files, note};

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns a directory with a package whose content was changed, and which holds a warning.
fn altered_package() -> Directory {
    let directory = Directory::new(&with_fragment().file(
        "workflows/b.json",
        json!({"workflow_id": "b", "name": "b", "tasks": [note("n", &json!({"uper": "x"}))]}),
    ));
    let output = directory.run(PACKAGE);
    assert_eq!(output.code, 0, "{}", output.err);
    directory.write("p.json", &output.out.replace("late", "soon"));
    directory
}

#[test]
fn lint_of_a_package_reports_in_every_format() {
    let directory = altered_package();
    let ran = directory.run("package lint -f p.json --format json");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let report = document(&ran);
    assert_eq!(
        (&report["summary"]["errors"], &report["summary"]["warnings"]),
        (&json!(1), &json!(1)),
        "{report}"
    );
    let checks: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|finding| &finding["check"]).collect();
    assert_eq!(checks, ["package.content_hash", "logic.unknown_operator"], "{report}");
    assert_eq!(report["findings"][0]["place"]["file"], "p.json", "{report}");
    assert!(ran.err.contains("error: [package.content_hash] package: "), "{}", ran.err);

    let sarif = document(&directory.run("package lint -f p.json --format sarif"));
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2, "{sarif}");
    let github = directory.run("package lint -f p.json --format github");
    assert!(github.out.starts_with("::error file=p.json,line=5,"), "{}", github.out);
    assert_eq!(github.out.lines().count(), 2, "{}", github.out);

    directory.write("p.json", &directory.run(PACKAGE).out);
    for (flags, code) in [("", 0), (" --deny-warnings", 1)] {
        let ran = directory.run(&format!("package lint -f p.json --format json{flags}"));
        assert_eq!((ran.code, &document(&ran)["summary"]["errors"]), (code, &json!(0)), "{ran:?}");
    }
}

#[test]
fn truncated_file_is_in_every_report() {
    let directory = Directory::new(&Files::default());
    directory.write("cut.json", "{\n  \"tasks\": [");
    for command in ["lint cut.json", "package lint -f cut.json"] {
        let ran = directory.run(command);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{command}");
        let start = "Error: cut.json: EOF while parsing a list at line 2 column ";
        let fix = "\n        fix: close the list that begins at line 2 column 12 with ]";
        assert!(ran.err.starts_with(start) && ran.err.contains(fix), "{command}: {}", ran.err);
        let ran = directory.run(&format!("{command} --format json"));
        let finding = document(&ran)["findings"][0].take();
        assert_eq!((ran.code, &finding["check"]), (1, &json!("source.unreadable")), "{command}: {finding}");
        assert_eq!(
            (&finding["severity"], &finding["place"]["line"]),
            (&json!("error"), &json!(2)),
            "{finding}"
        );
        assert!(finding["fix"].as_str().unwrap().starts_with("close the list"), "{finding}");
        let ran = directory.run(&format!("{command} --format github"));
        assert!(ran.out.starts_with("::error file=cut.json,line=2,"), "{command}: {}", ran.out);
    }
    let case = r#"{"workflow": "../cut.json", "input": 1"#;
    directory.write("tests/a.case.json", case);
    directory.write("tests/b.case.json", &format!("{case}}}"));
    let report = document(&directory.run("test tests --format json"));
    let message = |case: usize| report["cases"][case]["failures"][0]["message"].as_str().unwrap().to_owned();
    assert!(message(0).contains("fix: close the object that begins at line 1 column 1"), "{report}");
    assert!(message(1).contains("cut.json: EOF while parsing a list"), "{report}");
    assert!(message(1).contains("fix: close the list"), "{report}");
    assert_eq!(report["cases"][0]["failures"][0]["place"]["file"], "tests/a.case.json", "{report}");
}

#[test]
fn unlintable_directory_has_a_report_too() {
    let directory = Directory::new(&Files::default());
    fs::create_dir(directory.path("empty")).unwrap();
    directory.write("empty/broken.yaml", "a: [1");
    for (command, expected) in [
        ("lint empty", &["project.unreadable", "source.empty"][..]),
        ("lint nothing", &["source.unreadable"][..]),
    ] {
        let ran = directory.run(&format!("{command} --format json"));
        let report = document(&ran);
        assert_eq!(
            (ran.code, &report["summary"]["errors"]),
            (1, &json!(expected.len())),
            "{command}: {report}"
        );
        let findings = report["findings"].as_array().unwrap();
        let checks: Vec<_> = findings.iter().map(|finding| finding["check"].as_str().unwrap()).collect();
        assert_eq!(checks, expected, "{command}");
        assert!(findings.iter().all(|finding| finding["fix"].is_string()), "{report}");
        assert!(ran.err.contains("Error: "), "{command}: {}", ran.err);
        let sarif = document(&directory.run(&format!("{command} --format sarif")));
        assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), expected.len(), "{sarif}");
    }
}

#[test]
fn unstartable_test_run_reports_no_cases() {
    let directory = Directory::new(&Files::default());
    directory.write("tests/a.case.json", "{}");
    directory.write(&format!("src/{CHANNEL}"), r#"{"constants": 1}"#);
    for command in
        ["test nothing", "test src", "test tests --definitions nothing", "test tests --definitions src"]
    {
        let ran = directory.run(&format!("{command} --format json"));
        let expected = json!({"cases": [], "summary": {"passed": 0, "failed": 0, "cases": 0}});
        assert_eq!((ran.code, document(&ran)), (1, expected), "{command}: {}", ran.err);
        assert!(ran.err.contains("Error: "), "{command}: {}", ran.err);
        let junit = directory.run(&format!("{command} --format junit"));
        assert!(
            junit.out.starts_with("<?xml") && junit.out.contains("tests=\"0\""),
            "{command}: {}",
            junit.out
        );
        let sarif = document(&directory.run(&format!("{command} --format sarif")));
        assert_eq!(sarif["runs"][0]["results"], json!([]), "{command}");
        assert_eq!(directory.run(&format!("{command} --format github")).out, "", "{command}");
    }
}
