//! Project directories, from files to answers: the examples, and generated projects that are checked, compiled, imported
//! into a running server and called.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::project::GeneratedProject;
use tempfile::TempDir;

use crate::support::{launch, start};

/// Generated projects; each has one to three workflows.
const PROJECTS: usize = 100;
/// Projects that are checked at a time.
const AT_A_TIME: usize = 4;
/// Calls of each channel.
const ROUNDS: usize = 2;

fn run(args: &[&str]) -> Output {
    launch().args(args).run_to_end().unwrap()
}

fn succeeds(args: &[&str]) -> String {
    let output = run(args);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{args:?}: {out}{err}");
    out.into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn examples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut projects: Vec<_> = entries.filter(|path| path.join("workflows").is_dir()).collect();
    projects.sort();
    assert_eq!(projects.len(), 11, "{projects:?}");
    projects
}

#[test]
fn examples_lint_without_warnings_pass_their_cases_and_compile() {
    for project in examples() {
        let out = succeeds(&["lint", text(&project), "--deny-warnings"]);
        assert!(out.trim_end().ends_with("— 0 error(s), 0 warning(s)"), "{out}");
        let out = succeeds(&["test", text(&project.join("tests"))]);
        assert!(out.contains(" passed, 0 failed"), "{out}");
        let package = succeeds(&["compile", text(&project), "--name", "example", "--version", "1"]);
        let package: Value = serde_json::from_str(&package).unwrap();
        assert!(!package["workflows"].as_array().unwrap().is_empty(), "{package}");
    }
}

fn generate(seed: usize) -> GeneratedProject {
    GeneratedProject { seed, workflows: 1 + seed % 3, fragments: 1 + seed % 2, cases: 4 }
}

/// A generated project that passed every offline command.
struct CheckedProject {
    /// The import bodies of its connectors, workflows and channels.
    bodies: [Value; 3],
    /// The output of a dry run of each workflow, for each round.
    dry_runs: Vec<Vec<Value>>,
}

/// Returns the output of `dry-run` for each workflow and round.
fn dry_runs(project: &GeneratedProject, directory: &Path, scratch: &Path) -> Vec<Vec<Value>> {
    let write = |name: String, document: Value| {
        let path = scratch.join(name);
        std::fs::write(&path, document.to_string()).unwrap();
        path
    };
    let stubs = write("stubs.json".to_owned(), project.stubs());
    let rounds = (0..ROUNDS).map(|round| write(format!("input{round}.json"), project.input(round)));
    let rounds: Vec<_> = rounds.collect();
    let output = |workflow: usize, input: &PathBuf| {
        let file = directory.join(project.workflow_file(workflow));
        let args = ["dry-run", "-w", text(&file), "-i", text(input), "-s", text(&stubs), "--definitions"];
        let out = succeeds(&[&args[..], &[text(directory)]].concat());
        serde_json::from_str::<Value>(&out).unwrap()["output"].take()
    };
    (0..project.workflows)
        .map(|workflow| rounds.iter().map(|input| output(workflow, input)).collect())
        .collect()
}

/// Writes a project and checks it.
fn check_project(seed: usize, database: &str) -> CheckedProject {
    let (project, output) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    generate(seed).write(project.path(), database).unwrap();
    let dry_runs = dry_runs(&generate(seed), project.path(), output.path());
    let bulk = output.path().join("bulk");
    succeeds(&["lint", text(project.path()), "--deny-warnings"]);
    let tests = project.path().join("tests");
    succeeds(&["test", text(&tests), "--definitions", text(project.path())]);
    succeeds(&["compile", text(project.path()), "--format", "bulk", "-o", text(&bulk)]);
    let bodies = ["connectors", "workflows", "channels"].map(|kind| {
        let body = std::fs::read_to_string(bulk.join(format!("{kind}.json"))).unwrap();
        serde_json::from_str(&body).unwrap()
    });
    CheckedProject { bodies, dry_runs }
}

/// Sends an admin request that must succeed.
fn admin(client: &mut HttpClient, method: &str, path: &str, body: &Value) {
    let answer = client.json(method, &format!("/api/v1/admin/{path}"), body).unwrap();
    assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text());
    assert!(answer.json()["data"]["failed"].as_u64().unwrap_or(0) == 0, "{method} {path}: {}", answer.text());
}

/// Calls a channel, which answers as its cases say, and as the dry run did.
fn call(
    client: &mut HttpClient,
    project: &GeneratedProject,
    (workflow, round): (usize, usize),
    dry_run: &Value,
) {
    let path = format!("/api/v1/data/{}", project.id(workflow));
    let answer = client.json("POST", &path, &project.input(round)).unwrap();
    let data = &answer.json()["data"];
    let expected = project.outcome(workflow, round);
    for (member, value) in expected.as_object().unwrap() {
        assert_eq!(&data[member], value, "{path} {}: {}", project.input(round), answer.text());
    }
    assert_eq!(data, dry_run, "{path} {}", project.input(round));
}

#[test]
fn generated_projects_answer_like_cases_and_dry_runs() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("shop.db");
    std::fs::write(&file, "").unwrap();
    let database = format!("sqlite:{}", file.display());
    let next = AtomicUsize::new(0);
    let mut projects = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            while let Some(seed) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < PROJECTS)
            {
                own.push((seed, check_project(seed, &database)));
            }
            own
        };
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(projects.len(), PROJECTS);
    projects.sort_unstable_by_key(|(seed, _)| *seed);
    let server = start();
    let mut client = server.client();
    for (index, kind) in ["connectors", "workflows", "channels"].into_iter().enumerate() {
        let items =
            projects.iter().flat_map(|(_, project)| project.bodies[index].as_array().unwrap().clone());
        let items: Vec<Value> = items.collect();
        admin(&mut client, "POST", &format!("{kind}/import"), &json!(items));
        if kind == "connectors" {
            continue;
        }
        for project in (0..PROJECTS).map(generate) {
            for workflow in 0..project.workflows {
                let path = format!("{kind}/{}/status?reload=defer", project.id(workflow));
                admin(&mut client, "PATCH", &path, &json!({"status": "active"}));
            }
        }
    }
    admin(&mut client, "POST", "engine/reload", &json!({}));
    for (seed, project) in &projects {
        for (workflow, rounds) in project.dry_runs.iter().enumerate() {
            for (round, dry_run) in rounds.iter().enumerate() {
                call(&mut client, &generate(*seed), (workflow, round), dry_run);
            }
        }
    }
}
