//! Files that hold one secret each: those of `file://`.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use svc_secrets::{Reference, ResolveError, Secret};

/// The variable with the directory of the files that the service manager hands to the service.
const DIRECTORY: &str = "CREDENTIALS_DIRECTORY";
/// Maximum size of a file, in bytes.
const CAP: u64 = 64 * 1024;

/// The user that may hand a file to a group.
const ROOT: u32 = 0;
/// Bits of the mode that let the group and others read.
const GROUP_READS: u32 = 0o040;
const OTHERS_READ: u32 = 0o004;

/// Reads the file at a place of a reference now: its text without a byte order mark at the beginning and without one
/// line break at the end. `environment` names the directory of credentials.
///
/// # Errors
/// [`ResolveError::Unreadable`] with the cause, which is never the content: there is no such file, others than the
/// owner can read it, or it is too large or no text.
pub fn read_secret_file(
    place: &str,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Secret, ResolveError> {
    let read = locate(place, environment).and_then(|file| read(&file));
    read.map_err(|cause| ResolveError::unreadable(&Reference::File { place: place.to_owned() }, cause))
}

/// Returns the path of the file at a place, or the reason why there is none.
fn locate(place: &str, environment: impl Fn(&str) -> Option<String>) -> Result<PathBuf, String> {
    let Some(name) = place.strip_prefix('$').and_then(|rest| rest.strip_prefix(DIRECTORY)) else {
        return Ok(place.into());
    };
    let directory = environment(DIRECTORY).filter(|directory| !directory.is_empty());
    let directory = directory.ok_or_else(|| {
        format!("{DIRECTORY} is not set; systemd sets it for a unit with LoadCredential or SetCredential")
    })?;
    if !Path::new(&directory).is_absolute() {
        return Err(format!("{DIRECTORY} is no absolute path"));
    }
    Ok(Path::new(&directory).join(name.trim_start_matches('/')))
}

/// Reads a file. An error is the cause, without the content.
fn read(path: &Path) -> Result<Secret, String> {
    let unreadable = |error: io::Error| format!("the file cannot be read: {error}");
    // A device is refused before it is opened.
    check(&std::fs::metadata(path).map_err(unreadable)?)?;
    let opened = open(path).map_err(unreadable)?;
    // Another file may have taken its place: what is read is what is checked.
    check(&opened.metadata().map_err(unreadable)?)?;
    let mut bytes = Vec::new();
    opened.take(CAP + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > CAP {
        return Err(too_large());
    }
    let text = String::from_utf8(bytes).map_err(|_| "the file is no text in UTF-8".to_owned())?;
    // Editors of Windows write it, and no header can hold it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    Ok(Secret::new(text))
}

/// Opens a file for reading. A pipe without a writer does not block.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Refuses what is no regular file, is too large, or can be read by others.
fn check(metadata: &Metadata) -> Result<(), String> {
    if !metadata.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if metadata.len() > CAP {
        return Err(too_large());
    }
    check_readers(metadata.uid(), metadata.mode())
}

/// Refuses a file of this owner and mode that others than its owner can read. A group may read a file of root, which
/// root has given it: by a volume of Kubernetes, by `chgrp`, by an access list of systemd, which shows as the group.
fn check_readers(owner: u32, mode: u32) -> Result<(), String> {
    let refused = if owner == ROOT { OTHERS_READ } else { GROUP_READS | OTHERS_READ };
    if mode & refused == 0 {
        return Ok(());
    }
    let remedy =
        "make it readable by its owner alone (chmod 0400), or let root own it and one group read it (0440)";
    Err(format!("its group or others can read the file; {remedy}"))
}

fn too_large() -> String {
    format!("the file is larger than {CAP} bytes")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Writes a file with this mode and returns its place.
    fn plant(directory: &Path, name: &str, content: &[u8], mode: u32) -> String {
        let path = directory.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.display().to_string()
    }

    fn read_text(place: &str) -> String {
        read_secret_file(place, |_| None).unwrap().expose().to_owned()
    }

    fn read_error(place: &str) -> String {
        read_secret_file(place, |_| None).unwrap_err().to_string()
    }

    #[test]
    fn one_line_break_at_the_end_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        for (content, expected) in [
            ("swordfish", "swordfish"),
            ("swordfish\n", "swordfish"),
            ("swordfish\r\n", "swordfish"),
            ("swordfish\n\n", "swordfish\n"),
            (" two\nlines ", " two\nlines "),
            ("\u{feff}swordfish\r\n", "swordfish"),
            ("\n", ""),
            ("", ""),
        ] {
            let place = plant(directory.path(), "a", content.as_bytes(), 0o600);
            assert_eq!(read_text(&place), expected, "{content:?}");
        }
    }

    #[test]
    fn changed_file_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let place = plant(directory.path(), "a", b"one", 0o600);
        assert_eq!(read_text(&place), "one");
        fs::write(&place, "two").unwrap();
        assert_eq!(read_text(&place), "two");
    }

    #[test]
    fn file_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for mode in [0o604, 0o644, 0o444] {
            let place = plant(directory.path(), "a", b"swordfish", mode);
            let error = read_error(&place);
            assert!(error.starts_with(&format!("file://{place}: ")) && error.contains("chmod"), "{error}");
            assert!(!error.contains("swordfish"), "{error}");
        }
    }

    #[test]
    fn group_reads_files_of_root_alone() {
        for mode in [0o400, 0o600, 0o440, 0o640] {
            assert_eq!(check_readers(ROOT, mode), Ok(()), "{mode:o}");
        }
        for (owner, mode) in [(ROOT, 0o444), (ROOT, 0o604), (1000, 0o440), (1000, 0o640), (1000, 0o444)] {
            assert!(check_readers(owner, mode).unwrap_err().contains("chmod"), "{owner} {mode:o}");
        }
        assert_eq!(check_readers(1000, 0o400), Ok(()));
    }

    #[test]
    fn unusable_files_are_refused_with_their_cause() {
        let directory = tempfile::tempdir().unwrap();
        let large = vec![b'x'; usize::try_from(CAP).unwrap() + 1];
        assert_eq!(read_text(&plant(directory.path(), "a", &large[1..], 0o400)).len() as u64, CAP);
        assert!(read_error(&plant(directory.path(), "b", &large, 0o600)).contains("larger than 65536 bytes"));
        assert!(read_error(&plant(directory.path(), "c", b"\xff\xfe", 0o600)).contains("no text in UTF-8"));
        assert!(read_error(&directory.path().display().to_string()).contains("no regular file"));
        let missing = read_error(&directory.path().join("none").display().to_string());
        assert!(missing.contains("cannot be read: No such file"), "{missing}");
    }

    #[test]
    fn pipe_without_writer_blocks_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, path.as_path(), Mode::RUSR).unwrap();
        assert!(read_error(&path.display().to_string()).contains("no regular file"));
        // One that takes the place of a file between its check and its opening.
        assert!(!open(&path).unwrap().metadata().unwrap().is_file());
    }

    #[test]
    fn credential_is_read_from_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        plant(directory.path(), "db", b"swordfish\n", 0o400);
        let of = |value: &str| {
            let value = value.to_owned();
            read_secret_file("$CREDENTIALS_DIRECTORY/db", move |name| {
                (name == "CREDENTIALS_DIRECTORY").then(|| value.clone())
            })
        };
        assert_eq!(of(&directory.path().display().to_string()).unwrap().expose(), "swordfish");
        assert!(of("").unwrap_err().to_string().contains("is not set"));
        assert!(of("run/credentials").unwrap_err().to_string().contains("no absolute path"));
    }
}
