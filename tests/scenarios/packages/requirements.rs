//! Packages that run on some versions of the service alone.

use serde_json::json;
use tempfile::TempDir;

use super::verbs::{Package, exit, stderr, verb};
use crate::support::{error, launch, start};

#[test]
fn package_for_other_version_is_refused_everywhere() {
    let (server, directory) = (start(), TempDir::new().unwrap());
    let requiring = |version: &str, range: &str| {
        let package = Package::new(directory.path(), version).echoing(&["orders"], version);
        package.with_document("svc.json", json!({"requires": {"svc": range}})).write()
    };
    let refused = requiring("1", ">=9999");
    for name in ["plan", "apply"] {
        let output = verb(name, &server, &["-f", refused.to_str().unwrap()]);
        let told = stderr(&output);
        assert_eq!(exit(&output), 1, "{name}: {told}");
        assert!(told.contains("requires svc >=9999, and the server is "), "{name}: {told}");
    }
    let receipts = server.client().get("/api/v1/admin/packages/shop").unwrap();
    assert_eq!(receipts.status, 404, "nothing was stored: {}", receipts.text());
    let body = serde_json::from_slice(&std::fs::read(&refused).unwrap()).unwrap();
    let imported = server.client().json("POST", "/api/v1/admin/workflows/import", &body).unwrap();
    let told = error(&imported, 400, "VALIDATION_ERROR").to_string();
    assert!(told.contains("body.requires.svc") && told.contains(">=9999"), "{told}");
    let booted = launch().env("SVC_PACKAGES__APPLY", refused.to_str().unwrap()).run_to_end().unwrap();
    assert_eq!(exit(&booted), 78, "{}", stderr(&booted));
    assert!(stderr(&booted).contains("requires svc >=9999"), "{}", stderr(&booted));
    let taken = requiring("2", ">=0.0.1, <9999");
    let applied = verb("apply", &server, &["-f", taken.to_str().unwrap()]);
    assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
}

#[test]
fn range_of_no_versions_is_a_usage_error() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().to_str().unwrap();
    let arguments = ["compile", path, "--name", "shop", "--version", "content", "--requires-svc", "two"];
    let output = launch().args(&arguments).output().unwrap();
    assert_eq!(exit(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains(">=0.2, <1"), "{}", stderr(&output));
}
