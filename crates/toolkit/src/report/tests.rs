use std::fs;

use serde_json::json;
use svc_project::{Finding, Severity, SourceFile, SourceFormat};

use super::*;

const TEXT: &str = "{\n  \"tasks\": [\n    {\"id\": \"ä\", \"function\": {\"name\": \"mapp\"}}\n  ]\n}\n";

const RULES: [ReportRule; 2] = [
    ReportRule {
        id: "schema.workflow",
        severity: Severity::Error,
        description: "It is refused.",
        remedy: "Change it.",
    },
    ReportRule { id: "env.reference", severity: Severity::Note, description: "Inventory.", remedy: "" },
];

fn findings() -> Vec<Finding> {
    let source = SourceFile::parse("flows/a, b.json", SourceFormat::Json, TEXT.to_owned()).unwrap();
    let place = source.place("tasks[0].function.name");
    let finding = |severity, check, entity: &str, message: &str| Finding {
        severity,
        check,
        entity: entity.to_owned(),
        message: message.to_owned(),
        fix: None,
        place: None,
    };
    vec![
        Finding {
            fix: Some("write 'map'".to_owned()),
            place,
            ..finding(
                Severity::Error,
                "schema.workflow",
                "workflow 'w'",
                "tasks[0].function.name: 100% unknown\nfunction",
            )
        },
        finding(Severity::Warning, "other.check", "channel 'c'", "no place"),
        finding(Severity::Note, "env.reference", "project", "env://A: workflow 'w'"),
    ]
}

fn machine(format: ReportFormat, base: &str) -> String {
    let mut out = Vec::new();
    let report = FindingReport { findings: &findings(), base: Path::new(base), rules: &RULES };
    write_machine(&report, format, &json!({"errors": 1}), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn text(style: TextStyle, base: &Path) -> String {
    let mut err = Vec::new();
    write_text(&findings(), base, style, &mut err).unwrap();
    String::from_utf8(err).unwrap()
}

fn report_of_cases() -> TestReport {
    let place = findings().remove(0).place;
    let failure = ReportedFailure { message: "data.x: expected 1\n  got <2> & \u{1}".to_owned(), place };
    let passed =
        ReportedCase { name: "fine".to_owned(), file: "tests/fine.case.json".to_owned(), failures: vec![] };
    let other = ReportedFailure { message: "calls: none".to_owned(), place: None };
    let failed = ReportedCase {
        name: "\"bad\"".to_owned(),
        file: "tests/bad.case.yaml".to_owned(),
        failures: vec![failure, other],
    };
    TestReport { cases: vec![passed, failed], coverage: None }
}

fn cases(format: TestFormat) -> String {
    let mut out = Vec::new();
    write_test_report(&report_of_cases(), format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn plain_findings_are_their_lines_and_nothing_else() {
    assert_eq!(
        text(TextStyle::Plain, Path::new("")),
        "error: [schema.workflow] workflow 'w': tasks[0].function.name: 100% unknown\\u{a}function\n        fix: write 'map'\n\
         warning: [other.check] channel 'c': no place\n\
         note: [env.reference] project: env://A: workflow 'w'\n"
    );
}

#[test]
fn terminal_shows_source_lines_with_a_caret() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("flows")).unwrap();
    fs::write(directory.path().join("flows/a, b.json"), format!("\u{FEFF}{TEXT}")).unwrap();
    let shown = text(TextStyle::Excerpt { color: false }, directory.path());
    assert!(
        shown.starts_with("error[schema.workflow]: workflow 'w': tasks[0].function.name: 100% unknown"),
        "{shown}"
    );
    assert!(shown.contains("flows/a, b.json:3:38"), "{shown}");
    let lines: Vec<_> = shown.lines().collect();
    let source = lines.iter().position(|line| line.starts_with("3 |")).unwrap();
    let column = |line: &str, text: &str| line.split_once(text).unwrap().0.chars().count();
    assert_eq!(column(lines[source], "\"mapp\""), column(lines[source + 1], "^^^^^^"), "{shown}");
    assert!(
        shown.contains("help: fix: write 'map'") && shown.contains("warning[other.check]: channel 'c'"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
    assert!(text(TextStyle::Excerpt { color: true }, directory.path()).contains("\u{1b}["));
}

#[test]
fn missing_or_changed_file_is_reported_without_lines() {
    let directory = tempfile::tempdir().unwrap();
    let gone = text(TextStyle::Excerpt { color: false }, directory.path());
    fs::create_dir(directory.path().join("flows")).unwrap();
    fs::write(directory.path().join("flows/a, b.json"), "{}").unwrap();
    assert_eq!(text(TextStyle::Excerpt { color: false }, directory.path()), gone);
    assert!(gone.contains("100% unknown") && !gone.contains("3 |"), "{gone}");
}

#[test]
fn the_style_follows_the_terminal_and_no_color() {
    let environment = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let color = |color| TextStyle::Excerpt { color };
    assert_eq!(TextStyle::detect(false, &[]), TextStyle::Plain);
    assert_eq!(TextStyle::detect(true, &[]), color(true));
    assert_eq!(TextStyle::detect(true, &environment("NO_COLOR", "1")), color(false));
    assert_eq!(TextStyle::detect(true, &environment("NO_COLOR", "")), color(true));
    assert_eq!(TextStyle::detect(true, &environment("TERM", "dumb")), color(false));
}

#[test]
fn json_names_files_as_the_caller_does() {
    let document: Value = serde_json::from_str(&machine(ReportFormat::Json, "./shop/")).unwrap();
    assert_eq!(document["summary"], json!({"errors": 1}));
    assert_eq!(
        document["findings"][0]["place"],
        json!({"file": "shop/flows/a, b.json", "line": 3, "column": 38})
    );
    assert_eq!(
        document["findings"][1],
        json!({"severity": "warning", "check": "other.check", "entity": "channel 'c'", "message": "no place"})
    );
}

#[test]
fn github_commands_escape_what_would_end_them() {
    assert_eq!(
        machine(ReportFormat::Github, "shop"),
        "::error file=shop/flows/a%2C b.json,line=3,col=38,title=schema.workflow::workflow 'w': tasks[0].function.name: 100%25 unknown%0Afunction%0Afix: write 'map'\n\
         ::warning title=other.check::channel 'c': no place\n\
         ::notice title=env.reference::project: env://A: workflow 'w'\n"
    );
}

#[test]
fn sarif_results_point_into_the_table_of_rules() {
    let document: Value = serde_json::from_str(&machine(ReportFormat::Sarif, ".")).unwrap();
    assert_eq!((&document["version"], document["runs"].as_array().unwrap().len()), (&json!("2.1.0"), 1));
    let run = &document["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["schema.workflow", "env.reference", "other.check"]);
    for (result, finding) in run["results"].as_array().unwrap().iter().zip(findings()) {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!((&rule["id"], &result["ruleId"]), (&json!(finding.check), &json!(finding.check)));
        assert_eq!(result["level"], rule["defaultConfiguration"]["level"]);
    }
    assert_eq!(
        run["results"][0]["locations"][0]["physicalLocation"],
        json!({"artifactLocation": {"uri": "flows/a,%20b.json"}, "region": {"startLine": 3, "startColumn": 38}})
    );
    assert_eq!(run["results"][0]["level"], "error");
}

#[test]
fn junit_counts_failures_and_escapes_what_xml_cannot_hold() {
    assert_eq!(
        cases(TestFormat::Junit),
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="svc-server test" tests="2" failures="1" errors="0">
  <testsuite name="svc-server test" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="tests/fine.case.json" name="fine" file="tests/fine.case.json"/>
    <testcase classname="tests/bad.case.yaml" name="&quot;bad&quot;" file="tests/bad.case.yaml">
      <failure message="data.x: expected 1" type="expectation">data.x: expected 1
  got &lt;2&gt; &amp; �
flows/a, b.json:3:38</failure>
      <failure message="calls: none" type="expectation">calls: none</failure>
    </testcase>
  </testsuite>
</testsuites>
"#
    );
}

#[test]
fn test_results_have_the_other_formats_too() {
    let document: Value = serde_json::from_str(&cases(TestFormat::Json)).unwrap();
    assert_eq!(document["summary"], json!({"passed": 1, "failed": 1, "cases": 2}));
    assert_eq!(document["cases"][1]["failures"][1], json!({"message": "calls: none"}));
    let github = cases(TestFormat::Github);
    assert!(
        github.contains(
            "::error file=tests/bad.case.yaml,line=1,col=1,title=case.failed::\"bad\": calls: none\n"
        ),
        "{github}"
    );
    let sarif: Value = serde_json::from_str(&cases(TestFormat::Sarif)).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2);
    assert_eq!(cases(TestFormat::Text), "");
}

#[test]
fn linked_file_outside_shows_no_lines() {
    let directory = tempfile::tempdir().unwrap();
    let (project, outside) = (directory.path().join("project"), directory.path().join("outside"));
    fs::create_dir(&project).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a, b.json"), TEXT).unwrap();
    std::os::unix::fs::symlink(&outside, project.join("flows")).unwrap();
    let shown = text(TextStyle::Excerpt { color: false }, &project);
    assert!(shown.contains("schema.workflow") && !shown.contains("mapp"), "{shown}");
}
