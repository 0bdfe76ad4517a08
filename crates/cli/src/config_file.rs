//! The file `~/.svc/config.toml`: read at every start, changed by `config`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, value};

use crate::environment::Environment;
use crate::error::CliError;
use crate::input::input_error;

/// The names of the settings.
pub(crate) const SETTINGS: &[&str] = &["server_url", "default_output", "api_key", "api_key_header"];

/// The settings of the user.
pub(crate) struct UserConfig {
    path: PathBuf,
    document: DocumentMut,
}

impl UserConfig {
    /// Reads the file; one that is absent is empty.
    pub(crate) fn load(environment: &Environment) -> Result<Self, CliError> {
        let home = environment.get("HOME").map(PathBuf::from).or_else(std::env::home_dir);
        let path = home.unwrap_or_default().join(".svc").join("config.toml");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(CliError::File { path, source }),
        };
        let document = parse(&text).map_err(|cause| input_error(&path.display().to_string(), &cause))?;
        Ok(Self { path, document })
    }

    /// Returns a setting.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.document.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `true` if others than its owner can read a file that holds a key.
    pub(crate) fn is_exposed(&self) -> bool {
        let mode = fs::metadata(&self.path).map(|metadata| metadata.permissions().mode());
        self.get("api_key").is_some() && mode.is_ok_and(|mode| mode & 0o077 != 0)
    }

    /// Changes a setting and replaces the file, readable for its owner alone. Comments stay.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<(), CliError> {
        self.document[name] = value(text);
        let path = self.path.clone();
        self.save().map_err(|source| CliError::File { path, source })
    }

    fn save(&self) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        // A link to a file that is kept elsewhere stays a link.
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let temporary = path.with_file_name(format!(".config.toml.{}", std::process::id()));
        let written = write_private(&temporary, &self.document.to_string())
            .and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            // The error of the write is the one to report.
            let _kept = fs::remove_file(&temporary);
        }
        written
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Parses the file. An unknown setting is an error: a misspelt one would be without effect.
fn parse(text: &str) -> Result<DocumentMut, String> {
    // The error of the parser repeats the line, which may hold the key; its message does not.
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    for (name, item) in document.iter() {
        if !SETTINGS.contains(&name) {
            return Err(format!("unknown setting '{name}'; there are {}", SETTINGS.join(", ")));
        }
        if item.as_str().is_none() {
            return Err(format!("{name} must be a text"));
        }
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_setting_and_wrong_type_are_refused() {
        assert!(parse("server_url = \"http://h\" # ours\n").is_ok());
        assert!(parse("server = \"http://h\"").unwrap_err().contains("server_url"));
        assert!(parse("api_key = 7").unwrap_err().contains("api_key must be a text"));
    }

    #[test]
    fn error_of_the_file_does_not_repeat_a_key() {
        let error = parse("server_url = \"a\"\napi_key = \"secret\" junk").unwrap_err();
        assert!(error.starts_with("line 2: ") && !error.contains("secret"), "{error}");
    }
}
