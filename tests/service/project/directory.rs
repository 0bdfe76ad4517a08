//! Projects on disk, and the commands run over them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;
use tempfile::TempDir;

use super::kit::Files;

/// The command that makes a package of the project.
pub(crate) const PACKAGE: &str = "compile src --name shop --version 1.0.0";

/// Returns the project with a workflow that calls a fragment.
pub(crate) fn with_fragment() -> Files {
    Files::default().tasks(json!([{"id": "c", "use": "note"}]))
}

/// A project on disk with its outputs.
pub(crate) struct Directory(TempDir);

impl Directory {
    pub(crate) fn new(files: &Files) -> Self {
        let directory = Self(TempDir::new().unwrap());
        for (name, document) in &files.0 {
            directory.write(&format!("src/{name}"), &format!("{document:#}\n"));
        }
        directory
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs the binary in the directory.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_in(line, &[])
    }

    pub(crate) fn run_in(&self, line: &str, environment: &[(&str, &str)]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_svc-server"));
        command.args(line.split_whitespace()).envs(environment.iter().copied());
        Ran::run(command.current_dir(self.0.path()))
    }

    /// Lists the files below a directory.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let mut names = Vec::new();
        collect_files(&self.path(name), &self.path(name), &mut names);
        names.sort();
        names
    }
}

fn collect_files(root: &Path, directory: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect_files(root, &path, names),
            false => names.push(path.strip_prefix(root).unwrap().display().to_string()),
        }
    }
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Runs a command to its end.
    pub(crate) fn run(command: &mut Command) -> Self {
        let output: Output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
