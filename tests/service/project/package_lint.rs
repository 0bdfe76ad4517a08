//! The checks of a package: its header, its hash and its content.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_project::{PackageHeader, SetForm, build_package, lint_package};

use super::kit::{ENGINE, Files, ids, source};

#[test]
fn changed_package_header_or_content_is_refused() {
    let project = Files::default().project();
    let linted = svc_project::lint(&project, &ENGINE, &svc_project::Boundary::default(), SetForm::Package);
    let header = PackageHeader {
        name: "shop".into(),
        version: "1.0.0".into(),
        tool_version: "0".into(),
        requires: svc_project::Boundary::default(),
        activates: true,
    };
    let package = build_package(&linted, Vec::new(), &header);
    let problems = |change: fn(&mut Value)| {
        let mut package = package.clone();
        change(&mut package);
        ids(&lint_package(&Arc::new(source("p.json", &package.to_string())), &ENGINE).0)
    };
    assert!(problems(|_| {}).is_empty());
    assert_eq!(problems(|package| package["package"]["name"] = json!(" ")), ["package.name"]);
    assert_eq!(problems(|package| package["package"]["version"] = json!(1)), ["package.version"]);
    assert_eq!(problems(|package| package["package"]["version"] = json!("1.0+build")), ["package.version"]);
    assert_eq!(
        problems(|package| package["package"]["content_hash"] = Value::Null),
        ["package.content_hash"]
    );
    assert_eq!(
        problems(|package| package["workflows"][0]["name"] = json!("Other")),
        ["package.content_hash"]
    );
    assert!(problems(|package| package["requires"]["svc"] = json!(">=0.2, <1")).is_empty());
    for (member, value) in [("svc", json!("two")), ("svc", json!(2)), ("svcs", json!("^1"))] {
        let mut package = package.clone();
        package["requires"][member] = value;
        let source = Arc::new(source("p.json", &package.to_string()));
        assert_eq!(ids(&lint_package(&source, &ENGINE).0), ["package.requires"], "{member}");
    }
    assert!(problems(|package| package["workflows"][0]["activate"] = json!(false)).is_empty());
    assert_eq!(
        problems(|package| package["channels"] = json!({})),
        ["parse.channel", "package.content_hash"]
    );
    assert_eq!(problems(|package| package["plugins"] = json!({})), ["package.plugin"]);
    let faulty = problems(|package| package["plugins"] = json!([{"manifest": {}}]));
    assert!(faulty.len() > 1 && faulty.iter().all(|id| *id == "package.plugin"), "{faulty:?}");
    let mut faulty = problems(|package| package["workflows"][0]["tasks"][0]["id"] = json!(""));
    faulty.sort_unstable();
    assert_eq!(faulty, ["schema.workflow"]);
    assert_eq!(problems(|package| *package = json!([])).len(), 3);
}
