//! Cases in a directory, run as a suite.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField};
use svc_engine::{CompileCx, CompiledTask, Engine, Function};
use svc_model::ConnectorType;
use tempfile::TempDir;

use super::{CaseResult, CaseSuite, SuiteSettings};

/// A function that only stubs answer.
struct DbRead;

impl Function for DbRead {
    fn entry(&self) -> &'static FunctionEntry {
        static ENTRY: FunctionEntry = FunctionEntry {
            fields: &[
                InputField::connector(""),
                InputField::string("query", "").required(),
                InputField::array("params", "").resolvable(),
                InputField::output(),
            ],
            ..FunctionEntry::connector("db_read", "", ConnectorRequirement::new(&[ConnectorType::Db]))
        };
        &ENTRY
    }

    fn compile(&self, _: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Err("it cannot be called".to_owned())
    }
}

fn engine() -> Engine {
    Engine::builder().function(Arc::new(DbRead)).build()
}

fn map(id: &str, path: &str, logic: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": "map", "input": {"mappings": [{"path": path, "logic": logic}]}}})
}

/// Refuses an order that is not paid, and returns the region.
fn checkout() -> Value {
    json!({"name": "Checkout", "tasks": [
        {"id": "load", "name": "Load", "function": {"name": "db_read", "input": {"connector": "shop",
            "query": "select paid from orders where id = $1", "params": [{"var": "payload.basket"}], "output": "data.rows"}}},
        map("decide", "data.state", json!({"if": [{"var": "data.rows.0.paid"}, "accepted", "refused"]})),
        map("region", "temp_data.region", json!({"var": "metadata.vars.region"})),
    ]})
}

fn refused_case() -> Value {
    json!({"workflow": "../checkout.json", "input": {"basket": 7}, "metadata": {"vars": {"region": "eu"}},
        "stubs": {"db_read": {"shop": [{"paid": false}]}},
        "expect": {"data.state": "refused", "temp_data.region": "eu", "data.none": null,
            "calls.db_read[0].input.params": [7], "calls.db_read.0.stub_target": "shop",
            "audit_trail[1].changes[0].new_value": "refused"},
        "expect_calls": {"db_read": [{"connector": "shop"}]}, "expect_tasks": ["load", "decide", "region"]})
}

struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(TempDir::new().unwrap());
        std::fs::create_dir(project.0.path().join("tests")).unwrap();
        project.write("checkout.json", &checkout());
        project
    }

    fn write(&self, file: &str, value: &Value) {
        std::fs::write(self.0.path().join(file), value.to_string()).unwrap();
    }

    fn run(&self) -> Vec<CaseResult> {
        run(&self.0.path().join("tests"))
    }

    /// Runs one case and returns the lines of its failures.
    fn lines(&self, case: &Value) -> Vec<String> {
        self.write("tests/one.case.json", case);
        let result = run(&self.0.path().join("tests/one.case.json")).remove(0);
        result.failures.into_iter().flat_map(|failure| failure.lines).collect()
    }
}

fn run(path: &Path) -> Vec<CaseResult> {
    let settings = SuiteSettings {
        engine: &engine(),
        expand: None,
        values: None,
        answers: None,
        coverage: None,
        threads: NonZeroUsize::new(2),
        progress: None,
    };
    CaseSuite::find(path).unwrap().run(&settings).unwrap()
}

#[test]
fn a_case_passes_when_everything_it_expects_holds() {
    assert_eq!(Project::new().lines(&refused_case()), [""; 0]);
}

#[test]
fn every_expectation_that_fails_is_reported_with_its_difference() {
    let mut case = refused_case();
    case["stubs"]["db_read"]["shop"] = json!([{"paid": true}]);
    case["expect"]["data.rows"] = json!([{"paid": false, "total": 3}]);
    case["expect_calls"]["db_read"] = json!([{"connector": "shop", "params": [8], "limit": null}, {}]);
    case["expect_tasks"] = json!(["load", "region"]);
    case["expect_errors"] = json!(["HTTP_ERROR"]);
    assert_eq!(
        Project::new().lines(&case),
        [
            r#"data.state: expected "refused", got "accepted""#,
            r#"audit_trail[1].changes[0].new_value: expected "refused", got "accepted""#,
            "data.rows[0].paid: expected false, got true",
            "data.rows[0].total: expected 3, got nothing",
            r#"errors: expected ["HTTP_ERROR"], got []"#,
            "db_read: expected 2 call(s), got 1",
            "db_read[0].input.params[0]: expected 8, got 7",
            "db_read[0].input.limit: expected null, got nothing",
            r#"tasks: expected ["load","region"], got ["load","decide","region"]"#,
            "tasks[1]: expected 'region', got 'decide'",
        ]
    );
}

#[test]
fn aborted_run_passes_with_its_expected_codes() {
    let project = Project::new();
    let aborting = |codes: Value| json!({"workflow": "../checkout.json", "input": {"basket": 7}, "expect_errors": codes, "expect_tasks": ["load"]});
    assert_eq!(project.lines(&aborting(json!(["FUNCTION_ERROR"]))), [""; 0], "a missing stub");
    assert_eq!(project.lines(&aborting(json!(["FUNCTION_ERROR", "WORKFLOW_ERROR"]))), [""; 0]);
    let unexpected = project.lines(&aborting(json!([])));
    assert_eq!(unexpected[0], r#"errors: expected [], got ["FUNCTION_ERROR"]"#);
    assert!(
        unexpected[1].starts_with("FUNCTION_ERROR in task 'load': no stub answers db_read"),
        "{unexpected:?}"
    );
}

#[test]
fn cases_see_elements_in_list_order() {
    let project = Project::new();
    let load = json!({"id": "load", "name": "Load", "for_each": {"over": {"var": "payload"}, "max_concurrency": 2,
        "into": "data.loaded", "continue_on_error": true}, "function": {"name": "db_read", "input": {
        "connector": "shop", "query": "select 1", "params": [{"var": "temp_data.item"}], "output": "data.rows"}}});
    project
        .write("each.json", &json!({"name": "Each", "tasks": [load, map("last", "data.last", json!(true))]}));
    let rows = json!([{"paid": true}]);
    let case = |stubs: Value, expect: Value, codes: Value| {
        json!({"workflow": "../each.json", "input": [7, 8], "stubs": {"db_read": {"shop": stubs}}, "expect": expect,
            "expect_errors": codes, "expect_tasks": ["load", "load", "last"]})
    };
    let loaded = json!({"data.loaded": [rows, rows], "data.rows": null, "calls.db_read[1].input.params": [8],
        "calls.db_read[1].index": 1, "audit_trail[0].index": 0});
    assert_eq!(project.lines(&case(rows, loaded, json!([]))), [""; 0]);
    let failed = json!({"data.loaded": [null, null], "metadata._svc_errors[1].index": 1});
    let failure = json!({"$error": {"code": "IO_ERROR"}});
    assert_eq!(project.lines(&case(failure, failed, json!(["IO_ERROR", "IO_ERROR"]))), [""; 0]);
}

#[test]
fn unrooted_path_fails_the_case_before_it_runs() {
    let lines = Project::new().lines(&json!({"workflow": "none.json", "input": 1, "expect": {"state": 1}}));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("expect.state [INVALID]: ") && lines[0].ends_with("did you mean data.state?")
    );
}

#[test]
fn directory_is_read_one_level_sorted_by_name() {
    let project = Project::new();
    for (file, name) in [("b", Some("second")), ("a", None), ("c", None)] {
        let mut case = refused_case();
        if let Some(name) = name {
            case["name"] = name.into();
        }
        project.write(&format!("tests/{file}.case.json"), &case);
    }
    project.write("tests/other.json", &json!({}));
    std::fs::create_dir(project.0.path().join("tests/deep.case.json")).unwrap();
    project.write("tests/deep.case.json/d.case.json", &refused_case());
    let results = project.run();
    let names: Vec<_> = results.iter().map(|result| (result.name.as_str(), result.failures.len())).collect();
    assert_eq!(names, [("a", 0), ("second", 0), ("c", 0)]);
}

#[test]
fn unreadable_case_is_named_with_its_file() {
    let project = Project::new();
    let lines = |key: &str, value: Value| {
        let mut case = refused_case();
        if key == "stubs_file" {
            case.as_object_mut().unwrap().remove("stubs");
        }
        case[key] = value;
        project.lines(&case).join("\n")
    };
    assert!(lines("workflow", json!("../gone.json")).contains("gone.json: cannot be read"));
    assert!(lines("stubs_file", json!("gone.json")).contains("gone.json: cannot be read"));
    project.write("tests/stubs.json", &json!({"db_read": {"shop": [{"paid": false}]}}));
    assert_eq!(lines("stubs_file", json!("stubs.json")), "");
    project.write("tests/stubs.json", &json!({"db_red": {}}));
    let misspelt = lines("stubs_file", json!("stubs.json"));
    assert!(misspelt.contains("stubs.json: stubs.db_red") && misspelt.contains("db_read"), "{misspelt}");
    project.write("checkout.json", &json!({"name": "w", "tasks": [{"id": "a", "use": "guard"}]}));
    assert!(lines("name", json!("uncompiled")).contains("UNCOMPILED_SOURCE"));
}

#[test]
fn a_case_and_its_workflow_may_be_yaml() {
    let project = Project::new();
    let root = project.0.path();
    let workflow = "name: Checkout # priced elsewhere\ntasks:\n  - id: decide\n    name: Decide\n    function:\n      name: map\n      \
        input:\n        mappings:\n          - {path: data.state, logic: no}\n";
    std::fs::write(root.join("checkout.yaml"), workflow).unwrap();
    let case = "workflow: ../checkout.yaml\ninput: ~\nexpect:\n  data.state: no\n";
    std::fs::write(root.join("tests/says-no.case.yaml"), case).unwrap();
    let results = project.run();
    assert_eq!((results[0].name.as_str(), results[0].failures.len()), ("says-no", 0), "{results:?}");
}

#[test]
fn directives_of_packages_are_no_part_of_cases() {
    let project = Project::new();
    let workflow = json!({"name": "w", "activate": true, "rollout": {"steps": [10, 50]},
        "tasks": [map("in", "data.seen", json!({"var": "payload.n"}))]});
    project.write("canary.json", &workflow);
    let case = json!({"workflow": "../canary.json", "input": {"n": 1}, "expect": {"data.seen": 1}});
    assert_eq!(project.lines(&case), [""; 0]);
}

#[test]
fn stand_ins_are_read_and_never_shown() {
    let project = Project::new();
    project.write(
        "checkout.json",
        &json!({"name": "w", "condition": {"==": [{"secret": "pin"}, "canary-4711"]},
        "tasks": [map("in", "data.seen", json!({"var": "payload.pin"}))]}),
    );
    let case = |secret: &str| {
        json!({"workflow": "../checkout.json", "input": {"pin": "canary-4711"}, "secrets": {"pin": secret},
            "expect": {"data.seen": "other"}})
    };
    let masked = project.lines(&case("canary-4711"));
    assert_eq!(masked[0], r#"data.seen: expected "other", got "******""#);
    assert!(masked[1].contains("a stand-in of a secret is shown as"), "{masked:?}");
    assert_eq!(project.lines(&case("wrong")), [r#"data.seen: expected "other", got nothing"#]);
    let mut undeclared = case("x");
    undeclared.as_object_mut().unwrap().remove("secrets");
    let lines = project.lines(&undeclared);
    assert!(lines[0].contains("\"pin\" is not declared"), "{lines:?}");
    assert!(lines[1].starts_with("a case gives each secret"), "{lines:?}");
}

#[test]
fn many_cases_keep_their_order_and_report_their_progress() {
    let project = Project::new();
    for n in 0..200 {
        let mut case = refused_case();
        case["input"]["basket"] = n.into();
        case["expect"]["calls.db_read[0].input.params"] = json!([n]);
        project.write(&format!("tests/{n:03}.case.json"), &case);
    }
    let seen = AtomicUsize::new(0);
    let progress = |done: usize| {
        seen.fetch_max(done, Ordering::Relaxed);
    };
    let settings = SuiteSettings {
        engine: &engine(),
        expand: None,
        values: None,
        answers: None,
        coverage: None,
        threads: None,
        progress: Some(&progress),
    };
    let suite = CaseSuite::find(&project.0.path().join("tests")).unwrap();
    let results = suite.run(&settings).unwrap();
    let names: Vec<_> = results.iter().map(|result| result.name.clone()).collect();
    assert_eq!(names, (0..200).map(|n| format!("{n:03}")).collect::<Vec<_>>());
    assert!(results.iter().all(|result| result.failures.is_empty()));
    assert_eq!(seen.into_inner(), 200);
}
