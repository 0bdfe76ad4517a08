//! Shared helpers: packages in files, the verbs as commands, the hashes of a server.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use svc_testkit::server::ServerProcess;

use crate::plugins;
use crate::support::{channel, launch};

/// A package in the making, compiled by the command for it.
pub(super) struct Package {
    directory: PathBuf,
    version: String,
    documents: Vec<(String, Value)>,
    has_plugin: bool,
}

impl Package {
    pub(super) fn new(directory: &Path, version: &str) -> Self {
        let (directory, version) = (directory.to_owned(), version.to_owned());
        Self { directory, version, documents: Vec::new(), has_plugin: false }
    }

    /// Adds workflows that answer `text`, each behind a channel of its id.
    pub(super) fn echoing(mut self, ids: &[&str], text: &str) -> Self {
        for id in ids {
            let workflow = json!({"workflow_id": id, "name": id, "tasks": [{"id": "v", "name": "", "function":
                {"name": "map", "input": {"mappings": [{"path": "data.version", "logic": text}]}}}]});
            self.documents.push((format!("w-{id}.json"), workflow));
            self.documents.push((format!("c-{id}.json"), channel(id, id, json!({}))));
        }
        self
    }

    /// Adds a document of a file.
    pub(super) fn with_document(mut self, file: &str, document: Value) -> Self {
        self.documents.push((file.to_owned(), document));
        self
    }

    /// Adds the plugin `shop` and a workflow that calls it, behind a channel.
    pub(super) fn with_plugin(mut self) -> Self {
        self.has_plugin = true;
        let workflow = json!({"workflow_id": "price", "name": "price", "tasks": plugins::task("shop.price")});
        let channel = channel("price", "price", json!({}));
        self.with_document("w-price.json", workflow).with_document("c-price.json", channel)
    }

    /// States a share of the traffic for every workflow.
    pub(super) fn with_rollout(mut self, share: Option<i64>) -> Self {
        for (_, document) in self.documents.iter_mut().filter(|(name, _)| name.starts_with("w-")) {
            if let Some(share) = share {
                document["rollout_percentage"] = share.into();
            }
        }
        self
    }

    /// Compiles the package and returns its file.
    pub(super) fn write(self) -> PathBuf {
        let sources = tempfile::tempdir().unwrap();
        for (name, document) in &self.documents {
            std::fs::write(sources.path().join(name), document.to_string()).unwrap();
        }
        if self.has_plugin {
            plugins::write_plugin(&sources.path().join("plugins/shop"));
        }
        let file = self.directory.join(format!("package-{}.json", self.version));
        let (from, to) = (sources.path().to_str().unwrap(), file.to_str().unwrap());
        let arguments = ["compile", from, "--name", "shop", "--version", &self.version, "-o", to];
        let output = launch().args(&arguments).output().unwrap();
        assert_eq!(exit(&output), 0, "{}{}", stdout(&output), stderr(&output));
        file
    }
}

/// Runs a verb against a server.
pub(super) fn verb(name: &str, server: &ServerProcess, arguments: &[&str]) -> Output {
    let url = format!("http://{}", server.address());
    let head = ["package", name, "--server", &url];
    let all: Vec<&str> = head.into_iter().chain(arguments.iter().copied()).collect();
    launch().args(&all).output().unwrap()
}

/// Returns the content hash of everything that a server has stored, by kind and key.
pub(super) fn hashes(server: &ServerProcess) -> Vec<(String, String)> {
    let mut client = server.client();
    let mut hashes = Vec::new();
    for (kind, key) in [("channels", "channel_id"), ("connectors", "name"), ("workflows", "workflow_id")] {
        let rows = client.get(&format!("/api/v1/admin/{kind}/export")).unwrap().json();
        let text = |row: &Value, member: &str| row[member].as_str().unwrap().to_owned();
        let rows = rows["data"].as_array().unwrap().iter();
        hashes.extend(rows.map(|row| (format!("{kind}/{}", text(row, key)), text(row, "content_hash"))));
    }
    hashes.sort();
    hashes
}

pub(super) fn exit(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub(super) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(super) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
