//! The project that `svc-server new` makes: canonical, without a finding, tested, and running.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{launch, start};

/// Runs a command to its end in a directory of its own; returns exit code, standard output and standard
/// error.
fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let output = launch().args(args).run_to_end().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn succeeds(args: &[&str]) -> String {
    let (code, out, err) = run(args);
    assert_eq!(code, Some(0), "{args:?}\n{out}{err}");
    out
}

fn path(directory: &Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

#[test]
fn new_project_is_canonical_and_passes_its_tests() {
    let root = tempfile::tempdir().unwrap();
    let shop = path(root.path(), "shop");
    let created = succeeds(&["new", &shop]);
    assert!(created.contains("created ") && created.contains("README.md"), "{created}");
    assert_eq!(succeeds(&["fmt", "--check", &shop]), "");
    let summary = succeeds(&["lint", "--deny-warnings", &shop]);
    assert!(summary.contains("— 0 error(s), 0 warning(s)"), "{summary}");
    let (tests, shared) = (format!("{shop}/tests"), format!("{shop}/shared"));
    let passed = succeeds(&["test", &tests, "--definitions", &shared]);
    assert!(passed.contains("2 passed, 0 failed (2 case(s))"), "{passed}");
    let junit = succeeds(&["test", &tests, "--definitions", &shared, "--format", "junit"]);
    assert!(junit.contains(r#"tests="2" failures="0" errors="0""#) && !junit.contains("passed,"), "{junit}");
    let sarif: Value = serde_json::from_str(&succeeds(&["lint", "--format", "sarif", &shop])).unwrap();
    assert!(!sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap().is_empty());
    let (code, out, err) = run(&["new", &shop]);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(err.contains("the directory is not empty"), "{err}");
}

#[test]
fn new_project_answers_once_its_package_is_applied() {
    let root = tempfile::tempdir().unwrap();
    let (shop, package) = (path(root.path(), "shop"), path(root.path(), "shop.json"));
    succeeds(&["new", &shop]);
    succeeds(&["compile", &shop, "--name", "shop", "--version", "1", "--output", &package]);
    let server = start();
    succeeds(&["package", "apply", "-s", &format!("http://{}", server.address()), "-f", &package]);
    let mut client = server.client();
    let mut order =
        |body: Value| client.json("POST", "/api/v1/data/orders", &body).unwrap().json()["data"].clone();
    assert_eq!(order(json!({"qty": 3})), json!({"previous": null, "total": 150, "review": false}));
    assert_eq!(order(json!({"qty": 30})), json!({"previous": 150, "total": 1500, "review": true}));
    assert_eq!(order(json!({"note": "x"})), json!({"refused": "an order needs qty"}));
}
