//! The room on the disks of the database file and of the backups.

use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use svc_project::Severity;
use svc_store::StoreConfig;

use super::report::DoctorReport;
use super::system::to_mib;
use crate::config::Config;

/// Bytes below which the next burst fills the disk.
const LEAST: u64 = 100 << 20;
/// Bytes that are enough whatever the size of the database.
const COMFORTABLE: u64 = 1 << 30;
/// Files below which a disk is full whatever room it has.
const FEWEST_FILES: u64 = 100;

/// Checks the disks that this process writes to; those of a database server are not its own.
pub(super) fn check_disks(config: &Config, store: &StoreConfig, report: &mut DoctorReport) {
    let Some(file) = store.file() else { return };
    let size = std::fs::metadata(&file).map_or(0, |data| data.len());
    let file = std::path::absolute(&file).unwrap_or(file);
    let directory = file.parent().unwrap_or(Path::new("/"));
    // The log next to the file may grow to its size while a backup is made.
    check_room(report, "storage.url", directory, size);
    check_room(report, "storage.backup_dir", Path::new(&config.storage.backup_dir), size.saturating_mul(2));
}

fn check_room(report: &mut DoctorReport, setting: &str, directory: &Path, wanted: u64) {
    const CHECK: &str = "disk";
    let volume = nearest_existing(directory);
    let room = match statvfs(volume.as_path()) {
        Ok(room) => room,
        Err(error) => {
            let message = format!("the room of {} is unknown: {error}", volume.display());
            return report.add_warning(CHECK, setting, message, "make the directory readable");
        }
    };
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let lacks_files = room.f_files > 0 && room.f_favail < FEWEST_FILES;
    let severity = if lacks_files { Severity::Error } else { judge_room(free, wanted) };
    let place = volume.display();
    let message = match lacks_files {
        true => format!("{place} takes {} more files only", room.f_favail),
        false => format!("{} MiB are free at {place}", to_mib(free)),
    };
    let remedy = match severity {
        Severity::Note => None,
        _ => Some("make room, lower the retention of traces and of backups, or use a larger disk"),
    };
    report.add(severity, CHECK, setting, message, remedy);
}

fn judge_room(free: u64, wanted: u64) -> Severity {
    match free {
        free if free < LEAST => Severity::Error,
        free if free < wanted.max(COMFORTABLE) => Severity::Warning,
        _ => Severity::Note,
    }
}

/// Returns the path itself, or the nearest directory above it that exists.
fn nearest_existing(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_judged_against_the_database() {
        assert_eq!(judge_room(LEAST - 1, 0), Severity::Error);
        assert_eq!(judge_room(LEAST, 0), Severity::Warning);
        assert_eq!(judge_room(COMFORTABLE, COMFORTABLE), Severity::Note);
        assert_eq!(judge_room(COMFORTABLE, COMFORTABLE + 1), Severity::Warning);
    }

    #[test]
    fn absent_directory_counts_by_its_parent() {
        let root = tempfile::tempdir().unwrap();
        let absent = root.path().join("a/b");
        assert_eq!(nearest_existing(&absent), root.path());
        assert_eq!(nearest_existing(root.path()), root.path());
    }
}
