//! Alert rules and dashboards: made by the program, accepted by the tools of Prometheus, about metrics that exist.

mod live;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::operations::documented_metrics;
use crate::support::launch;

/// The unit tests of the rules.
const RULE_TESTS: &str = include_str!("alerts.test.yaml");
/// The shape of a dashboard.
const DASHBOARD_SCHEMA: &str = include_str!("dashboard.schema.json");
/// The folder of the files that this version writes.
const KEPT: &str = "deploy/monitoring";

/// Labels that Prometheus sets itself; a metric of the service of the same name is `exported_job`.
const OF_PROMETHEUS: [&str; 4] = ["instance", "job", "exported_job", "le"];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Writes rules and dashboards into a directory, and returns their paths.
fn write_files(directory: &Path) -> Vec<PathBuf> {
    let rules = directory.to_str().unwrap();
    let dashboards = directory.join("dashboards");
    let mut paths = Vec::new();
    for args in [["rules", rules], ["dashboards", dashboards.to_str().unwrap()]] {
        let output = launch().args(&["monitoring", args[0], "--out", args[1]]).run_to_end().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        paths.extend(printed.lines().map(PathBuf::from));
    }
    assert!(paths.len() > 7 && paths.iter().all(|path| path.is_file()), "{paths:?}");
    paths
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the dashboards by the names of their files.
fn dashboards(directory: &Path) -> BTreeMap<String, Value> {
    let paths = write_files(directory).into_iter().filter(|path| path.extension().unwrap() == "json");
    let named = paths.map(|path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_str(&read(&path)).unwrap())
    });
    named.collect()
}

/// Returns the queries of a dashboard.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// Returns the expressions of the rules by the names of the alerts.
fn rule_expressions(rules: &str) -> BTreeMap<String, String> {
    let mut lines = rules.lines().map(str::trim);
    let mut expressions = BTreeMap::new();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("- alert: ") {
            let expr = lines.next().and_then(|line| line.strip_prefix("expr: ")).unwrap();
            expressions.insert(name.to_owned(), serde_json::from_str(expr).unwrap());
        }
    }
    expressions
}

#[test]
fn kept_files_are_those_that_the_program_writes() {
    let directory = TempDir::new().unwrap();
    let kept = repository().join(KEPT);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        write_files(&kept);
    }
    for path in write_files(directory.path()) {
        let kept = kept.join(path.strip_prefix(directory.path()).unwrap());
        assert!(read(&path) == read(&kept), "{} differs; UPDATE_GOLDEN=1 writes it anew", kept.display());
    }
    let printed = launch().args(&["monitoring", "rules"]).run_to_end().unwrap();
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), read(&kept.join("alerts.yaml")));
}

#[test]
fn directory_that_cannot_be_made_is_named() {
    let output = launch().args(&["monitoring", "dashboards", "-o", "/dev/null/boards"]).run_to_end().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.starts_with("Error: cannot write /dev/null/boards"), "{message}");
}

#[test]
fn promtool_accepts_rules_and_fires_each_alert() {
    if !svc_testkit::peer::is_installed("promtool", "prometheus") {
        return;
    }
    let directory = TempDir::new().unwrap();
    write_files(directory.path());
    std::fs::write(directory.path().join("alerts.test.yaml"), RULE_TESTS).unwrap();
    for args in [["check", "rules", "alerts.yaml"], ["test", "rules", "alerts.test.yaml"]] {
        let output = Command::new("promtool").args(args).current_dir(directory.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
    for alert in rule_expressions(&read(&directory.path().join("alerts.yaml"))).keys() {
        assert!(RULE_TESTS.contains(&format!("  - name: {alert}\n")), "{alert} has no test");
    }
}

#[test]
fn every_alert_has_its_section_on_the_page() {
    let rules = read(&repository().join(KEPT).join("alerts.yaml"));
    let page = read(&repository().join("docs/alerts.md"));
    let on_page: BTreeSet<_> = page.lines().filter_map(|line| line.strip_prefix("### Svc")).collect();
    let alerts = rule_expressions(&rules);
    let names: BTreeSet<_> = alerts.keys().filter_map(|name| name.strip_prefix("Svc")).collect();
    assert_eq!(on_page, names);
    for name in names {
        let anchor = format!("docs/alerts.md#svc{}\"", name.to_ascii_lowercase());
        assert!(rules.contains(&anchor), "{anchor}");
        let section = page.split_once(&format!("### Svc{name}\n")).unwrap().1;
        let section = section.split_once("\n### ").map_or(section, |(section, _)| section);
        for part in ["**Meaning.**", "**Impact.**", "**First.**", "**Changes.**"] {
            assert!(section.contains(part), "{name} has no {part}");
        }
    }
}

#[test]
fn dashboards_have_the_shape_that_grafana_imports() {
    let schema: Value = serde_json::from_str(DASHBOARD_SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let directory = TempDir::new().unwrap();
    let dashboards = dashboards(directory.path());
    assert_eq!(dashboards.len(), 7);
    for (name, dashboard) in &dashboards {
        let faults: Vec<_> = validator.iter_errors(dashboard).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}");
        assert_eq!(&dashboard["uid"], name);
        let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
        for panel in dashboard["panels"].as_array().unwrap() {
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{name}: {}", panel["id"]);
            let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            assert!(place("x") + place("w") <= 24, "{name}: {}", panel["title"]);
            for x in place("x")..place("x") + place("w") {
                for y in place("y")..place("y") + place("h") {
                    assert!(cells.insert((x, y)), "{name}: {} overlaps", panel["title"]);
                }
            }
        }
    }
}

#[test]
fn named_metrics_and_labels_are_documented() {
    let directory = TempDir::new().unwrap();
    let boards = dashboards(directory.path());
    let rules = rule_expressions(&read(&directory.path().join("alerts.yaml")));
    let expressions = boards.values().flat_map(queries).chain(rules.into_values());
    let documented = documented_metrics();
    let mut count = 0;
    for expression in expressions {
        let used = UsedNames::read(&expression);
        assert!(!used.metrics.is_empty(), "{expression}");
        let mut labels: BTreeSet<_> = OF_PROMETHEUS.into_iter().map(str::to_owned).collect();
        for metric in used.metrics.iter().filter(|metric| *metric != "up") {
            let base = ["_bucket", "_count", "_sum"].into_iter().find_map(|end| metric.strip_suffix(end));
            let known = documented.get(metric.as_str()).or_else(|| documented.get(base?));
            let (_, own) = known.unwrap_or_else(|| panic!("{metric} in {expression} is on no page"));
            labels.extend(own.iter().cloned());
            count += 1;
        }
        let unknown: Vec<_> = used.labels.difference(&labels).collect();
        assert!(unknown.is_empty(), "{unknown:?} of {expression}");
    }
    assert!(count > 100, "{count}");
}

/// The metrics and the labels that an expression names.
#[derive(Debug, Default)]
struct UsedNames {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
}

impl UsedNames {
    /// Reads an expression: a label is before the operator of a matcher, or in the list after `by`, `on` and `without`.
    fn read(expression: &str) -> Self {
        let mut used = Self::default();
        let words = |text: &str| {
            let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        // What is in quotes is neither.
        let bare: String = expression.split('"').step_by(2).collect::<Vec<_>>().join("\"");
        let is_metric =
            |word: &String| word.starts_with("svc_") || word.starts_with("process_") || word == "up";
        used.metrics.extend(words(&bare).into_iter().filter(is_metric));
        for selector in bare.split('{').skip(1) {
            used.labels.extend(words(selector.split('}').next().unwrap_or_default()));
        }
        for keyword in ["by (", "on (", "without ("] {
            for list in bare.split(keyword).skip(1) {
                used.labels.extend(words(list.split(')').next().unwrap_or_default()));
            }
        }
        used
    }
}

#[test]
fn names_are_read_out_of_an_expression() {
    let used =
        UsedNames::read(r#"sum by (le, a) (rate(svc_x_total{b=~"svc_y|z",c!="1"}[5m])) / on (a) up > 1"#);
    let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(used.metrics, texts(&["svc_x_total", "up"]));
    assert_eq!(used.labels, texts(&["le", "a", "b", "c"]));
}
