//! `new`: makes a small project that lints, tests and runs, or a small plugin that builds.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use svc_outbound::describe_cause;
use svc_project::{PluginLanguage, TemplateFile, new_plugin, new_project};

use crate::exit::{EXIT_FAILURE, EXIT_OK};

/// The arguments of `new`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct NewArgs {
    /// Make a plugin instead, in this language
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    plugin: Option<NewPlugin>,
    /// Directory of the project or plugin: a new or an empty one
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// The language of a new plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NewPlugin {
    Rust,
    Js,
    Python,
}

impl From<NewPlugin> for PluginLanguage {
    fn from(language: NewPlugin) -> Self {
        match language {
            NewPlugin::Rust => Self::Rust,
            NewPlugin::Js => Self::JavaScript,
            NewPlugin::Python => Self::Python,
        }
    }
}

/// Writes the files of the project or plugin and returns the exit code. If one cannot be written, none is left.
pub(crate) fn new(args: &NewArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<u8> {
    let directory = &args.directory;
    let mut created = Created::default();
    let written = check_empty(directory)
        .and_then(|()| created.directory(directory))
        .and_then(|()| template_files(args).iter().try_for_each(|file| created.file(directory, file)));
    if let Err(error) = written {
        created.remove();
        writeln!(err, "Error: {}: {}", directory.display(), describe_cause(&error))?;
        return Ok(EXIT_FAILURE);
    }
    created.files.iter().try_for_each(|file| writeln!(out, "created {}", file.display()))?;
    writeln!(err, "note: {} says what to do next", directory.join("README.md").display())?;
    Ok(EXIT_OK)
}

/// Returns the files to write.
fn template_files(args: &NewArgs) -> Vec<TemplateFile> {
    let name = directory_name(&args.directory);
    match args.plugin {
        Some(language) => new_plugin(language.into(), &name),
        None => new_project(&name),
    }
}

/// Refuses a directory that holds something.
fn check_empty(directory: &Path) -> io::Result<()> {
    match directory.read_dir() {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(io::Error::other("the directory is not empty; name a new one")),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the last part of the path, `.` and links resolved.
fn directory_name(directory: &Path) -> String {
    let resolved = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    resolved.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The files and directories that were made, in their order.
#[derive(Default)]
struct Created {
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Created {
    /// Makes a directory and those above it.
    fn directory(&mut self, path: &Path) -> io::Result<()> {
        if path.as_os_str().is_empty() || path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        fs::create_dir(path)?;
        self.directories.push(path.to_owned());
        Ok(())
    }

    fn file(&mut self, directory: &Path, file: &TemplateFile) -> io::Result<()> {
        let path = directory.join(file.path);
        self.directory(path.parent().unwrap_or(directory))?;
        let mut opened = OpenOptions::new().write(true).create_new(true).open(&path)?;
        self.files.push(path);
        opened.write_all(file.text.as_bytes())
    }

    /// Removes everything again. What cannot be removed stays.
    fn remove(&self) {
        self.files.iter().for_each(|file| drop(fs::remove_file(file)));
        self.directories.iter().rev().for_each(|directory| drop(fs::remove_dir(directory)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(directory: &Path) -> (u8, String, String) {
        run_for(directory, None)
    }

    fn run_for(directory: &Path, plugin: Option<NewPlugin>) -> (u8, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = new(&NewArgs { plugin, directory: directory.to_owned() }, &mut out, &mut err).unwrap();
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn project_is_written_into_an_empty_directory() {
        let root = tempfile::tempdir().unwrap();
        for directory in [root.path().join("a/My Shop"), root.path().join("empty")] {
            if directory.ends_with("empty") {
                fs::create_dir(&directory).unwrap();
            }
            let (code, out, _) = run(&directory);
            assert_eq!((code, out.lines().count()), (EXIT_OK, 10), "{out}");
            assert!(directory.join(".github/workflows/check.yml").is_file());
        }
        let readme = fs::read_to_string(root.path().join("a/My Shop/README.md")).unwrap();
        assert!(readme.starts_with("# my-shop\n"), "{readme}");
    }

    #[test]
    fn plugin_is_written_in_its_language() {
        let root = tempfile::tempdir().unwrap();
        for (plugin, source) in [
            (NewPlugin::Rust, "src/svc_plugin.rs"),
            (NewPlugin::Js, "svc-plugin.js"),
            (NewPlugin::Python, "svc_plugin.py"),
        ] {
            let directory = root.path().join(format!("{plugin:?}"));
            let (code, out, err) = run_for(&directory, Some(plugin));
            assert_eq!(code, EXIT_OK, "{out}{err}");
            for file in [source, "plugin.toml", "wit/plugin.wit", ".gitignore"] {
                assert!(directory.join(file).is_file(), "{file}");
            }
        }
    }

    #[test]
    fn filled_directory_is_refused_and_unchanged() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(".hidden"), "x").unwrap();
        let (code, out, err) = run(root.path());
        assert_eq!((code, out.as_str()), (EXIT_FAILURE, ""));
        assert!(err.ends_with("the directory is not empty; name a new one\n"), "{err}");
        assert_eq!(root.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_project_that_cannot_be_written_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("file"), "x").unwrap();
        let (code, out, _) = run(&root.path().join("file/shop"));
        assert_eq!((code, out.as_str()), (EXIT_FAILURE, ""));
        let mut created = Created::default();
        let shop = root.path().join("a/shop");
        created.directory(&shop).unwrap();
        created.file(&shop, &new_project("shop")[0]).unwrap();
        created.remove();
        assert!(!root.path().join("a").exists());
    }
}
