//! The parsed connection string of a SQLite.

use std::path::PathBuf;

use crate::drivers::sql::parameters::{decode_percent, split_parameters, unknown};

/// A connection string, read: `sqlite:file.db`, `sqlite:///var/lib/file.db?mode=ro`, `sqlite::memory:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqliteTarget {
    /// None for a database in memory.
    pub(super) file: Option<PathBuf>,
    pub(super) access: FileMode,
}

/// The mode in which a database file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileMode {
    /// `ro`
    Read,
    /// `rw`
    Write,
    /// `rwc`, and the default.
    Create,
}

impl SqliteTarget {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (base, parameters) = split_parameters(text);
        let (_, place) = base.split_once(':').unwrap_or_default();
        let place = decode_percent(place.strip_prefix("//").unwrap_or(place));
        let mut memory = place == ":memory:";
        let mut access = FileMode::Create;
        for parameter in &parameters {
            match (parameter.name, parameter.value.as_str()) {
                ("mode", "ro") => access = FileMode::Read,
                ("mode", "rw") => access = FileMode::Write,
                ("mode", "rwc") => access = FileMode::Create,
                ("mode", "memory") => memory = true,
                ("cache", "private" | "shared") => {}
                ("mode", _) => {
                    return Err("connection_string: mode: use one of ro, rw, rwc, memory".to_owned());
                }
                (name, _) => return Err(unknown(name)),
            }
        }
        if memory {
            return Ok(Self { file: None, access: FileMode::Create });
        }
        if is_uri(&place) {
            return Err("connection_string: a file: URI is not taken, use sqlite:path".to_owned());
        }
        if place.is_empty() {
            return Err("connection_string: names no file, use sqlite:path or sqlite::memory:".to_owned());
        }
        Ok(Self { file: Some(place.into()), access })
    }

    pub(crate) fn in_memory(&self) -> bool {
        self.file.is_none()
    }
}

/// Returns true if SQLite would read a path as a URI, with parameters of its own.
pub(super) fn is_uri(place: &str) -> bool {
    place.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Option<String> {
        let file = SqliteTarget::parse(text).unwrap().file;
        file.map(|file| file.display().to_string())
    }

    #[test]
    fn files_are_written_in_many_ways() {
        for (text, expected) in [
            ("sqlite:app.db", "app.db"),
            ("sqlite://app.db", "app.db"),
            ("sqlite:./data/app.db?mode=rwc", "./data/app.db"),
            ("sqlite:/var/app.db", "/var/app.db"),
            ("sqlite:///var/app%20one.db", "/var/app one.db"),
        ] {
            assert_eq!(file(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["sqlite::memory:", "sqlite://:memory:", "sqlite:any?mode=memory&cache=shared"] {
            assert_eq!(file(text), None, "{text}");
        }
        for wrong in [
            "sqlite:",
            "sqlite://",
            "sqlite:a?mode=x",
            "sqlite:a?vfs=unix",
            "sqlite:file:a",
            "sqlite://file:/a%3Fmode=rw",
        ] {
            assert!(SqliteTarget::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn file_access_follows_the_mode_parameter() {
        let access = |text| SqliteTarget::parse(text).unwrap().access;
        assert_eq!(access("sqlite:a"), FileMode::Create);
        assert_eq!(access("sqlite:a?mode=ro"), FileMode::Read);
        assert_eq!(access("sqlite:a?mode=rw"), FileMode::Write);
    }
}
