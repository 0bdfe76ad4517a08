//! One process for a SQLite file.

use std::time::Duration;

use svc_testkit::server::ServerCommand;

use super::nodes;
use crate::support::launch;

/// The server on this file; what it says when it does not start.
fn refused_start(launch: ServerCommand, path: &str) -> (Option<i32>, String) {
    let output = launch.env("SVC_STORAGE__URL", &format!("sqlite:{path}")).run_to_end().unwrap();
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    (output.status.code(), said)
}

#[test]
fn second_process_is_refused_naming_the_first() {
    let first = launch().env("SVC_CLUSTER__INSTANCE_ID", "till-1").start().unwrap();
    let file = first.directory().join("svc.db");
    let id = nodes(&first)[0]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("till-1:"), "{id}");
    let other = launch();
    let link = other.directory().join("link.db");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [file.display().to_string(), link.display().to_string()] {
        let (code, said) = refused_start(launch(), &path);
        assert_eq!(code, Some(1), "{said}");
        let process = format!("process {}", first.pid());
        assert!(said.contains(&id) && said.contains(&process) && said.contains("since 20"), "{said}");
        let (code, said) = refused_start(launch().args(&["migrate"]), &path);
        assert!(code == Some(1) && said.contains(&id), "{said}");
        let (code, said) = refused_start(launch().args(&["migrate", "--dry-run"]), &path);
        assert_eq!(code, Some(0), "{said}");
    }
    assert_eq!(first.client().get("/readyz").unwrap().status, 200, "the first serves on");
}

#[test]
fn killed_process_leaves_no_lock_behind() {
    let first = launch().start().unwrap();
    let mut second = first.crash_and_restart().expect("the kernel has released the lock");
    let listed = nodes(&second);
    let status =
        |node: &serde_json::Value| (node["status"].as_str().unwrap().to_owned(), node["is_this"] == true);
    let standing: Vec<_> = listed.iter().map(status).collect();
    assert_eq!(standing, [("live".to_owned(), true), ("expired".to_owned(), false)]);
    second.signal("TERM").unwrap();
    second.wait(Duration::from_secs(20)).unwrap();
    let third = second.crash_and_restart().unwrap();
    let standing: Vec<_> = nodes(&third).iter().map(status).collect();
    assert_eq!(standing[1], ("stopped".to_owned(), false));
}
