//! The files that `case`, `dry-run` and `test` read, and their paths.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use svc_outbound::describe_cause;
use svc_project::{SourceFile, SourceFormat, read_with_statements};

use crate::output::resolve;

/// The name of standard input and output on the command line.
const STANDARD: &str = "-";

/// Reads an authored file; `-` is JSON on standard input.
///
/// # Errors
/// The problem, beginning with the name of the file.
pub(crate) fn read_source(path: &Path) -> Result<SourceFile, String> {
    if path.as_os_str() != STANDARD {
        let name = path.display().to_string();
        return read_with_statements(&name, path).map_err(|error| error.report(&name));
    }
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| format!("standard input: {}", describe_cause(&error)))?;
    SourceFile::parse("standard input", SourceFormat::Json, text)
        .map_err(|error| error.report("standard input"))
}

/// Reads the value of an authored file.
///
/// # Errors
/// As [`read_source`].
pub(crate) fn read_value(path: &Path) -> Result<Value, String> {
    read_source(path).map(|source| source.value)
}

/// Returns the path of `file` as seen from `directory`, which may be absent, with `/` between its parts.
///
/// # Errors
/// The file cannot be found.
pub(crate) fn relative_path(file: &Path, directory: &Path) -> io::Result<String> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let (file, directory) = (file.canonicalize()?, resolve(directory)?);
    let shared = file.components().zip(directory.components()).take_while(|(a, b)| a == b).count();
    let up = directory.components().skip(shared).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(file.components().skip(shared)).collect();
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_another_directory() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        for directory in ["workflows/deep", "tests"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        let file = root.join("workflows/deep/w.json");
        std::fs::write(&file, "{}").unwrap();
        let seen = |directory: &str| relative_path(&file, &root.join(directory)).unwrap();
        assert_eq!(seen("tests"), "../workflows/deep/w.json");
        assert_eq!(seen("workflows"), "deep/w.json");
        assert_eq!(seen("workflows/deep"), "w.json");
        assert_eq!(seen("new/tests"), "../../workflows/deep/w.json");
        assert!(relative_path(&root.join("none"), root).is_err());
    }
}
