//! Channels of a package that take names and routes from one another.

use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use super::verbs::{Package, exit, stderr, stdout, verb};
use crate::support::{channel, echo_workflow, start};

/// Compiles a package of channels, each given by its id, its name and its route.
fn write_channels(directory: &Path, version: &str, channels: &[[&str; 3]]) -> PathBuf {
    let mut package = Package::new(directory, version).with_document("w.json", echo_workflow("calls"));
    for [id, name, route] in channels {
        let mut document = channel(id, "calls", json!({}));
        (document["name"], document["route_pattern"]) = (json!(name), json!(route));
        package = package.with_document(&format!("c-{id}.json"), document);
    }
    package.write()
}

#[test]
fn plan_names_channels_that_swap_routes_or_names() {
    let (server, directory) = (start(), TempDir::new().unwrap());
    let run = |command: &str, version: &str, channels: &[[&str; 3]]| {
        let file = write_channels(directory.path(), version, channels);
        verb(command, &server, &["-f", file.to_str().unwrap()])
    };
    let applied = run("apply", "1", &[["a", "first", "/one"], ["b", "second", "/two"]]);
    assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
    let swapped_names = [["a", "second", "/one"], ["b", "first", "/two"]];
    let swapped_routes = [["a", "first", "/two"], ["b", "second", "/one"]];
    let assert_blocked = |version: &str, channels: &[[&str; 3]], what: &str| {
        let planned = run("plan", version, channels);
        let told =
            format!("blocking: channels 'a' and 'b' take each other's {what}: put a version in between\n");
        assert_eq!(exit(&planned), 1, "{}", stdout(&planned));
        assert_eq!(stderr(&planned).matches("blocking: ").count(), 1, "{}", stderr(&planned));
        assert!(stderr(&planned).contains(&told), "{}", stderr(&planned));
        assert!(!stdout(&planned).contains("renames that channel"), "{}", stdout(&planned));
    };
    assert_blocked("names", &swapped_names, "name");
    assert_blocked("both", &[["a", "second", "/two"], ["b", "first", "/one"]], "name and route");
    assert_blocked("routes", &swapped_routes, "route");
    // The drafts of an apply that did not end.
    assert_eq!(exit(&run("apply", "routes", &swapped_routes)), 1);
    assert_blocked("routes", &swapped_routes, "route");
    let between = [["a", "first", "/three"], ["b", "second", "/one"]];
    for (version, channels) in [("between", &between), ("routes", &swapped_routes)] {
        for command in ["plan", "apply"] {
            let output = run(command, version, channels);
            assert_eq!(exit(&output), 0, "{}", stderr(&output));
        }
    }
}

#[test]
fn names_move_along_a_chain_of_channels() {
    let (server, directory) = (start(), TempDir::new().unwrap());
    let run = |command: &str, version: &str, names: [&str; 3]| {
        let [x, y, z] = names;
        let channels = [["x", x, "/x"], ["y", y, "/y"], ["z", z, "/z"]];
        let file = write_channels(directory.path(), version, &channels);
        let output = verb(command, &server, &["-f", file.to_str().unwrap()]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    run("apply", "1", ["a", "b", "c"]);
    // Each is imported before the channel that has its name.
    run("plan", "2", ["b", "c", "d"]);
    let told = run("apply", "2", ["b", "c", "d"]);
    assert!(told.contains("3 new version") && told.contains("; 3 activated"), "{told}");
    for (id, name) in [("x", "b"), ("y", "c"), ("z", "d")] {
        let read = server.client().get(&format!("/api/v1/admin/channels/{id}")).unwrap().json();
        assert_eq!((&read["data"]["name"], &read["data"]["status"]), (&json!(name), &json!("active")));
    }
}
