//! Signed packages: signatures that openssl makes and checks, servers that take signed packages alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use svc_testkit::server::{ServerCommand, ServerProcess};
use tempfile::TempDir;

use super::verbs::{Package, exit, stderr, verb};
use crate::support::{echo_workflow, error, launch};

const SIGNATURE: &str = "x-svc-package-signature";

/// A pair of keys, made by openssl.
pub(super) struct Keys {
    private: PathBuf,
    public: PathBuf,
}

impl Keys {
    pub(super) fn make(directory: &TempDir, name: &str) -> Self {
        let file = |end: &str| directory.path().join(format!("{name}.{end}"));
        let keys = Self { private: file("key.pem"), public: file("pub.pem") };
        openssl(&["genpkey", "-algorithm", "ed25519", "-out", text(&keys.private)]);
        openssl(&["pkey", "-in", text(&keys.private), "-pubout", "-out", text(&keys.public)]);
        keys
    }

    pub(super) fn sign(&self, file: &Path) {
        let output = launch().args(&["package", "sign", "--key", text(&self.private), "-f", text(file)]);
        let output = output.output().unwrap();
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
    }

    /// Returns the exit code and the errors of `package verify`.
    fn verify(&self, file: &Path) -> (i32, String) {
        let output = launch().args(&["package", "verify", "--key", text(&self.public), "-f", text(file)]);
        let output = output.output().unwrap();
        (exit(&output), stderr(&output))
    }

    /// A server that takes packages alone that this key has signed. `more` are further settings of `[packages]`.
    pub(super) fn server(&self, more: &str) -> ServerCommand {
        let launch = launch();
        let settings = launch.directory().join("svc.toml");
        let pem = std::fs::read_to_string(&self.public).unwrap();
        let trust = format!("[packages.trust]\nrequired = true\npublic_keys = ['''\n{pem}''']\n");
        std::fs::write(&settings, format!("[packages]\n{more}\n{trust}")).unwrap();
        let settings = text(&settings).to_owned();
        launch.args(&["-c", &settings])
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn openssl(arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn signature_of(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.sig", file.display()))
}

fn write_package(directory: &TempDir) -> PathBuf {
    Package::new(directory.path(), "1").echoing(&["orders"], "signed").write()
}

fn served_version(server: &ServerProcess) -> Value {
    let answer = server.client().json("POST", "/api/v1/data/orders", &json!({})).unwrap();
    answer.json()["data"]["version"].clone()
}

/// Writes the text that a signature is over, as a file.
fn write_signed_text(directory: &TempDir, file: &Path) -> PathBuf {
    let hash = hex::encode(Sha256::digest(std::fs::read(file).unwrap()));
    let target = directory.path().join("text");
    std::fs::write(&target, format!("sha256:{hash}")).unwrap();
    target
}

#[test]
fn openssl_and_package_accept_each_other() {
    let directory = TempDir::new().unwrap();
    let (keys, others) = (Keys::make(&directory, "own"), Keys::make(&directory, "other"));
    let file = write_package(&directory);
    assert!(keys.verify(&file).1.contains("package sign"), "{:?}", keys.verify(&file));
    keys.sign(&file);
    let line = std::fs::read_to_string(signature_of(&file)).unwrap();
    assert_eq!((line.lines().count(), line.ends_with('\n')), (1, true), "{line:?}");
    assert_eq!(keys.verify(&file).0, 0, "{:?}", keys.verify(&file));
    assert_eq!(others.verify(&file).0, 1);
    let signed_text = write_signed_text(&directory, &file);
    let raw = directory.path().join("raw");
    std::fs::write(&raw, STANDARD.decode(line.trim_end()).unwrap()).unwrap();
    let input = ["-rawin", "-in", text(&signed_text)];
    let check = ["pkeyutl", "-verify", "-pubin", "-inkey", text(&keys.public), "-sigfile", text(&raw)];
    openssl(&[&check[..], &input].concat());
    let make = ["pkeyutl", "-sign", "-inkey", text(&others.private), "-out", text(&raw)];
    openssl(&[&make[..], &input].concat());
    std::fs::write(signature_of(&file), STANDARD.encode(std::fs::read(&raw).unwrap())).unwrap();
    assert_eq!(others.verify(&file).0, 0, "{:?}", others.verify(&file));
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(others.verify(&file).0, 1);
}

#[test]
fn only_signed_package_is_applied_where_required() {
    let directory = TempDir::new().unwrap();
    let (keys, others) = (Keys::make(&directory, "own"), Keys::make(&directory, "other"));
    let file = write_package(&directory);
    let server = keys.server("").start().unwrap();
    for (signer, reason) in [(None, "package sign"), (Some(&others), "does not fit")] {
        if let Some(signer) = signer {
            signer.sign(&file);
        }
        for name in ["plan", "apply"] {
            let refused = verb(name, &server, &["-f", text(&file)]);
            let told = stderr(&refused);
            assert_eq!(exit(&refused), 1, "{name}: {told}");
            assert!(told.contains(reason) && told.contains("UNTRUSTED_PACKAGE"), "{name}: {told}");
        }
    }
    let receipts = server.client().get("/api/v1/admin/packages/shop").unwrap();
    assert_eq!(receipts.status, 404, "nothing was stored: {}", receipts.text());
    keys.sign(&file);
    let applied = verb("apply", &server, &["-f", text(&file)]);
    assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
    assert_eq!(served_version(&server), "signed");
    assert_eq!(exit(&verb("diff", &server, &["-f", text(&file)])), 0);
}

#[test]
fn unsigned_import_is_refused_by_code() {
    let directory = TempDir::new().unwrap();
    let keys = Keys::make(&directory, "own");
    let file = write_package(&directory);
    keys.sign(&file);
    let line = std::fs::read_to_string(signature_of(&file)).unwrap();
    let package = std::fs::read(&file).unwrap();
    let server = keys.server("").start().unwrap();
    let import = |kind: &str, body: &[u8], signature: Option<&str>| {
        let path = format!("/api/v1/admin/{kind}/import");
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(signature.map(|line| (SIGNATURE, line)));
        server.client().send("POST", &path, &headers, body).unwrap()
    };
    let foreign = json!([echo_workflow("foreign")]).to_string();
    let (signed, bytes) = (line.trim_end(), package.as_slice());
    for kind in ["connectors", "workflows", "channels"] {
        for (body, signature) in
            [(&b"[]"[..], None), (foreign.as_bytes(), Some(signed)), (bytes, None), (bytes, Some("AAAA"))]
        {
            error(&import(kind, body, signature), 403, "UNTRUSTED_PACKAGE");
        }
    }
    let taken = import("workflows", bytes, Some(signed));
    assert_eq!((taken.status, &taken.json()["data"]["imported"]), (200, &json!(1)), "{}", taken.text());
    let none = import("connectors", bytes, Some(signed));
    assert_eq!((none.status, &none.json()["data"]["imported"]), (200, &json!(0)), "{}", none.text());
}

#[test]
fn only_signed_boot_package_is_applied() {
    let directory = TempDir::new().unwrap();
    let keys = Keys::make(&directory, "own");
    let file = write_package(&directory);
    let apply = format!("apply = [{:?}]", text(&file));
    let refused = |reason: &str| {
        let output = keys.server(&apply).run_to_end().unwrap();
        let told = stderr(&output);
        assert_eq!(exit(&output), 78, "{told}");
        assert!(told.contains("packages.apply") && told.contains(reason), "{told}");
    };
    refused("has no signature");
    Keys::make(&directory, "other").sign(&file);
    refused("none of the trusted keys");
    keys.sign(&file);
    let server = keys.server(&apply).start().unwrap();
    assert_eq!(served_version(&server), "signed");
}
