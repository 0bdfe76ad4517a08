//! An apply that is killed, whose server is killed, or that meets another one: a further run finishes it.

use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};
use svc_testkit::server::ServerProcess;
use tempfile::TempDir;

use super::verbs::{Package, exit, hashes, stderr, stdout, verb};
use crate::support::{launch, start};

/// Kills of a run of the suite; `SVC_TEST_KILLS` asks for another number.
const KILLS: usize = 4;

#[expect(clippy::disallowed_methods, reason = "the number of kills of a run by hand")]
fn kills() -> usize {
    std::env::var("SVC_TEST_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(KILLS)
}

/// Returns the number of looks, 10 ms apart, after which the kill of a round comes: spread over an apply.
fn looks_before(round: usize) -> usize {
    1 + (round * 37 + 11) % 80
}

/// Ids of the entities of a package that takes a while.
fn ids() -> Vec<String> {
    (0..40).map(|index| format!("e{index:02}")).collect()
}

fn package(directory: &TempDir, version: usize) -> PathBuf {
    let ids = ids();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let version = version.to_string();
    Package::new(directory.path(), &version).echoing(&ids, &version).write()
}

fn receipt(server: &ServerProcess, version: usize) -> Value {
    let detail = server.client().get("/api/v1/admin/packages/shop").unwrap().json();
    let versions = detail["data"]["versions"].as_array().cloned().unwrap_or_default();
    let version = version.to_string();
    versions.into_iter().find(|receipt| receipt["version"] == version.as_str()).unwrap_or_default()
}

/// Runs the apply again and checks that everything is there. Before that, an applied receipt means that it was.
fn finish(server: &ServerProcess, file: &str, round: usize) -> bool {
    let was_staged = receipt(server, round)["state"] == "staged";
    if receipt(server, round)["state"] == "applied" {
        assert_eq!(exit(&verb("diff", server, &["-f", file])), 0, "round {round}: half applied");
    }
    let again = verb("apply", server, &["-f", file]);
    assert_eq!(exit(&again), 0, "round {round}: {}", stderr(&again));
    let is_resumed = stdout(&again).contains("did not end");
    // The last request of the killed run may have arrived after it.
    assert!(!was_staged || is_resumed || stdout(&again).contains("already"), "{}", stdout(&again));
    let drift = verb("diff", server, &["-f", file]);
    assert_eq!(exit(&drift), 0, "round {round}: {}", stdout(&drift));
    assert_eq!(receipt(server, round)["state"], "applied");
    is_resumed
}

#[test]
fn killed_apply_is_finished_by_the_next() {
    let (target, fresh, directory) = (start(), start(), TempDir::new().unwrap());
    let url = format!("http://{}", target.address());
    let mut interrupted = 0;
    for round in 1..=kills() {
        let file = package(&directory, round);
        let file = file.to_str().unwrap();
        let mut looks = 0;
        let command = launch().args(&["package", "apply", "-s", &url, "-f", file]);
        command
            .kill_when(|| {
                looks += 1;
                let is_early = round % 2 == 1;
                if is_early {
                    receipt(&target, round)["state"] == "staged"
                } else {
                    looks > looks_before(round)
                }
            })
            .unwrap();
        interrupted += usize::from(finish(&target, file, round));
    }
    let last = directory.path().join(format!("package-{}.json", kills()));
    assert_eq!(exit(&verb("apply", &fresh, &["-f", last.to_str().unwrap()])), 0);
    assert_eq!(hashes(&target), hashes(&fresh));
    assert!(interrupted > 0, "no kill came in the middle");
}

#[test]
fn current_version_is_restored_after_an_interrupted_apply() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let files = [1, 2].map(|version| package(&directory, version).display().to_string());
    assert_eq!(exit(&verb("apply", &target, &["-f", &files[0]])), 0);
    let before = hashes(&target);
    let url = format!("http://{}", target.address());
    let command = launch().args(&["package", "apply", "-s", &url, "-f", &files[1]]);
    command.kill_when(|| receipt(&target, 2)["state"] == "staged").unwrap();
    let again = verb("apply", &target, &["-f", &files[0]]);
    assert_eq!(exit(&again), 0, "{}", stderr(&again));
    assert_eq!(hashes(&target), before);
    assert_eq!(exit(&verb("diff", &target, &["-f", &files[0]])), 0);
}

#[test]
fn current_version_is_restored_over_foreign_changes() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let file = package(&directory, 1).display().to_string();
    assert_eq!(exit(&verb("apply", &target, &["-f", &file])), 0);
    let archived = json!({"status": "archived"});
    let archived = target.client().json("PATCH", "/api/v1/admin/channels/e00/status", &archived).unwrap();
    assert_eq!(archived.status, 200, "{}", archived.text());
    let restored = verb("apply", &target, &["-f", &file]);
    let text = stdout(&restored);
    assert!(exit(&restored) == 0 && text.contains("this run restores it"), "{text}{}", stderr(&restored));
    assert_eq!(target.client().json("POST", "/api/v1/data/e00", &json!({})).unwrap().status, 200);
    let unchanged = stdout(&verb("apply", &target, &["-f", &file]));
    assert!(unchanged.contains("nothing was done"), "{unchanged}");
}

#[test]
fn apply_of_killed_server_is_finished_by_next() {
    let (mut target, fresh, directory) = (start(), start(), TempDir::new().unwrap());
    let url = format!("http://{}", target.address());
    for round in 1..=kills() {
        let file = package(&directory, round);
        let file = file.to_str().unwrap().to_owned();
        let command = launch().args(&["package", "apply", "-s", &url, "-f", &file]);
        let applying = thread::spawn(move || command.output().unwrap());
        let mut looks = 0;
        crate::support::eventually(|| {
            looks += 1;
            looks > looks_before(round)
        });
        target = target.crash_and_restart().unwrap();
        let output = applying.join().unwrap();
        if exit(&output) != 0 {
            assert!(stderr(&output).contains("run the same command again"), "{}", stderr(&output));
        }
        finish(&target, &file, round);
    }
    let last = directory.path().join(format!("package-{}.json", kills()));
    assert_eq!(exit(&verb("apply", &fresh, &["-f", last.to_str().unwrap()])), 0);
    assert_eq!(hashes(&target), hashes(&fresh));
}

#[test]
fn of_two_that_apply_at_once_one_is_told() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let files = [package(&directory, 1), package(&directory, 2)];
    apply_at_once(&target, &files);
    assert_eq!(exit(&verb("apply", &target, &["-f", files[1].to_str().unwrap()])), 0);
    assert_eq!(exit(&verb("diff", &target, &["-f", files[1].to_str().unwrap()])), 0);
    let answer = target.client().json("POST", "/api/v1/data/e00", &json!({})).unwrap();
    assert_eq!(answer.json()["data"]["version"], "2");
}

#[test]
fn one_of_two_simultaneous_rollbacks_is_refused() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let files = [1, 2, 3].map(|version| package(&directory, version));
    for file in &files {
        assert_eq!(exit(&verb("apply", &target, &["-f", file.to_str().unwrap()])), 0);
    }
    apply_at_once(&target, &files[..2]);
    check_current(&target, &directory);
}

#[test]
fn rollback_that_begins_later_takes_over() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let files = [1, 2, 3].map(|version| package(&directory, version));
    for file in &files {
        assert_eq!(exit(&verb("apply", &target, &["-f", file.to_str().unwrap()])), 0);
    }
    let applied = receipt(&target, 3);
    let earlier = thread::scope(|scope| {
        let earlier = scope.spawn(|| verb("apply", &target, &["-f", files[0].to_str().unwrap()]));
        crate::support::eventually(|| receipt(&target, 3) != applied);
        let later = verb("apply", &target, &["-f", files[1].to_str().unwrap()]);
        assert_eq!(exit(&later), 0, "{}", stderr(&later));
        earlier.join().unwrap()
    });
    assert!(exit(&earlier) == 0 || stderr(&earlier).contains("has taken over"), "{}", stderr(&earlier));
    assert_eq!(check_current(&target, &directory), "2");
}

/// Checks that a server holds the content of its current version, and returns that.
fn check_current(server: &ServerProcess, directory: &TempDir) -> String {
    let detail = server.client().get("/api/v1/admin/packages/shop").unwrap().json();
    let current = detail["data"]["current"]["version"].as_str().unwrap().to_owned();
    let file = directory.path().join(format!("package-{current}.json"));
    let drift = verb("diff", server, &["-f", file.to_str().unwrap()]);
    assert_eq!(exit(&drift), 0, "version {current} is a mixture: {}", stdout(&drift));
    current
}

/// Applies packages at once. At least one reaches its end; another gets the reason why it does not.
fn apply_at_once(target: &ServerProcess, files: &[PathBuf]) {
    let outcomes: Vec<_> = thread::scope(|scope| {
        let runs: Vec<_> = files
            .iter()
            .map(|file| scope.spawn(|| verb("apply", target, &["-f", file.to_str().unwrap()])))
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for outcome in &outcomes {
        let excuses = ["has taken over", "[CONFLICT]", "at the same time"];
        let text = stderr(outcome);
        assert!(exit(outcome) == 0 || excuses.iter().any(|words| text.contains(words)), "{text}");
    }
    let winners = outcomes.iter().filter(|outcome| exit(outcome) == 0).count();
    assert!(winners >= 1, "nobody won: {:?}", outcomes.iter().map(stderr).collect::<Vec<_>>());
}
