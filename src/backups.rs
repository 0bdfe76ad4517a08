//! The directory of backups: names, the list, the number of files that stay, and the check of the newest.

mod metrics;
pub(crate) mod scheduled;

use std::fs::{self, DirEntry};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use svc_api::{BackupFile, CreatedBackup};
use svc_model::Timestamp;
use svc_outbound::describe_cause;
use svc_store::{BackupError, Unfinished, VerifiedBackup};
use tokio::sync::{Mutex, MutexGuard};

use crate::config::Config;

/// Beginning of the name of a backup.
const PREFIX: &str = "svc_backup_";
/// End of the name of a backup.
const SUFFIX: &str = ".db";
/// End of the name of a backup that is being written.
const PART: &str = ".part";
/// Name of the directory in which a backup is restored to be checked.
const SCRATCH: &str = "svc_backup_check";
/// Name of the file that says which backup was checked last; the time of its last change is that of the check.
const MARK: &str = "svc_backup_verified";
/// Name of the file that says which backup was copied to the store last.
const COPIED: &str = "svc_backup_copied";
/// Age of an unfinished file from which on its writer is known to be gone. A writer touches its file all the time.
const ABANDONED: Duration = Duration::from_hours(24);

pub(crate) struct BackupDirectory {
    path: PathBuf,
    /// Files that stay; `None` for all.
    retention: Option<usize>,
    /// Held while a backup is made: two at once would only slow each other down.
    turn: Mutex<()>,
}

impl BackupDirectory {
    /// Returns the directory of the settings. A relative path is resolved now, so that a later change of the working
    /// directory has no effect.
    pub(crate) fn new(config: &Config) -> Self {
        let path = PathBuf::from(&config.storage.backup_dir);
        let scheduled = config.backups.schedule.as_ref().map(|_| config.backups.keep);
        let retention = scheduled.or(config.storage.backup_retention_count);
        let retention = retention.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        Self { path: std::path::absolute(&path).unwrap_or(path), retention, turn: Mutex::new(()) }
    }

    /// Waits until no other backup is being made.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Lists the backups, newest first; none if the directory does not exist. Blocks.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(crate) fn list(&self) -> io::Result<Vec<BackupFile>> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files: Vec<_> = entries.filter_map(|entry| describe(&entry.ok()?)).collect();
        files.sort_by(|one, other| {
            (other.modified_at, &other.filename).cmp(&(one.modified_at, &one.filename))
        });
        Ok(files)
    }

    /// Returns the newest backup, but for those that a wrong clock has dated into the future. Blocks.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(crate) fn newest(&self) -> io::Result<Option<BackupFile>> {
        Ok(self.list()?.into_iter().find(|file| !is_of_future(file)))
    }

    /// Begins a backup at `now`: an empty file under a name that no other backup has. Blocks.
    ///
    /// # Errors
    /// The directory cannot be created or written.
    pub(crate) fn begin(&self, now: Timestamp) -> Result<BackupDraft, BackupError> {
        create_private(&self.path)
            .map_err(|error| BackupError::File { path: self.path.clone(), detail: describe_cause(&error) })?;
        self.remove_abandoned();
        let stem = format!("{PREFIX}{}", now.naive().format("%Y%m%d_%H%M%S"));
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("_{number}") };
            let filename = format!("{stem}{suffix}{SUFFIX}");
            let path = self.path.join(&filename);
            let part = self.path.join(format!("{filename}{PART}"));
            // Another server may keep its backups here too.
            if !path.exists() && !part.exists() {
                return Ok(BackupDraft {
                    filename,
                    path,
                    unfinished: Unfinished::create(&part)?,
                    begun_at: now,
                });
            }
            number += 1;
        }
    }

    /// Deletes the oldest backups beyond the number that stays, and returns their names. Those that a wrong clock has dated
    /// into the future count as the oldest, so that they drive no new one out. Blocks.
    ///
    /// # Errors
    /// The directory cannot be read, or a file not deleted.
    pub(crate) fn prune(&self) -> io::Result<Vec<String>> {
        let Some(retention) = self.retention else { return Ok(Vec::new()) };
        let (mut files, mut pruned) = (self.list()?, Vec::new());
        files.sort_by_key(is_of_future);
        for file in files.into_iter().skip(retention) {
            fs::remove_file(self.path.join(&file.filename))?;
            pruned.push(file.filename);
        }
        Ok(pruned)
    }

    /// Returns the time at which a backup was last restored and checked; `None` if none ever was, or a wrong clock has dated
    /// the check into the future. Blocks.
    pub(crate) fn verified_at(&self) -> Option<Timestamp> {
        let mark = fs::metadata(self.path.join(MARK)).ok()?;
        mark.modified().ok().map(to_timestamp).filter(|at| !is_future(*at))
    }

    /// Restores a backup into a directory next to it, reads it, removes the directory and records the time. Blocks.
    ///
    /// # Errors
    /// The backup cannot be restored, or the directory not be written.
    pub(crate) fn verify(&self, filename: &str) -> Result<VerifiedBackup, BackupError> {
        let scratch = ScratchDirectory::create(self.path.join(SCRATCH))?;
        let verified = svc_store::verify_backup(&self.path.join(filename), &scratch.0)?;
        let mark = self.path.join(MARK);
        let written = fs::write(&mark, filename);
        written.map_err(|error| BackupError::File { path: mark, detail: describe_cause(&error) })?;
        Ok(verified)
    }

    /// Returns the name of the backup that was copied to the store last, and the time of the copy. Blocks.
    pub(crate) fn last_copied(&self) -> Option<(String, Timestamp)> {
        let mark = self.path.join(COPIED);
        let at = fs::metadata(&mark).and_then(|data| data.modified()).ok()?;
        Some((fs::read_to_string(&mark).ok()?, to_timestamp(at)))
    }

    /// Records that a backup was copied to the store. Blocks.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub(crate) fn mark_copied(&self, filename: &str) -> io::Result<()> {
        fs::write(self.path.join(COPIED), filename)
    }

    /// Reads at most so many bytes of a backup; none at its end. Blocks.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read_part(&self, filename: &str, offset: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(self.path.join(filename))?;
        file.seek(SeekFrom::Start(offset))?;
        let mut part = Vec::new();
        file.take(bytes as u64).read_to_end(&mut part)?;
        Ok(part)
    }

    /// Deletes what a process left that was killed while it wrote.
    fn remove_abandoned(&self) {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let is_part = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(PART));
            let age = entry.metadata().and_then(|data| data.modified()).ok();
            let is_old = age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > ABANDONED);
            if is_part && is_old {
                // The next backup tries again.
                let _kept = fs::remove_file(entry.path());
            }
        }
    }
}

/// A directory that is removed with everything in it.
struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    /// Creates it anew: a process that was killed may have left one.
    fn create(path: PathBuf) -> Result<Self, BackupError> {
        let _absent = fs::remove_dir_all(&path);
        match create_private(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err(BackupError::File { path, detail: describe_cause(&error) }),
        }
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // The next check tries again.
        let _kept = fs::remove_dir_all(&self.0);
    }
}

/// A backup that is being written, and is removed unless it is finished.
pub(crate) struct BackupDraft {
    /// Its final name.
    pub(crate) filename: String,
    path: PathBuf,
    unfinished: Unfinished,
    begun_at: Timestamp,
}

impl BackupDraft {
    /// Returns the path to write to.
    pub(crate) fn part(&self) -> &Path {
        self.unfinished.path()
    }

    /// Gives the file its final name. Blocks.
    ///
    /// # Errors
    /// The name was taken meanwhile, or the directory cannot be written.
    pub(crate) fn finish(self) -> Result<CreatedBackup, BackupError> {
        let size = fs::metadata(self.unfinished.path()).map(|data| data.len());
        let size_bytes = size
            .map_err(|error| BackupError::File { path: self.path.clone(), detail: describe_cause(&error) })?;
        self.unfinished.publish(&self.path)?;
        Ok(CreatedBackup {
            filename: self.filename,
            path: self.path.to_string_lossy().into_owned(),
            size_bytes,
            created_at: self.begun_at,
        })
    }
}

/// Creates a directory that only its owner can read, unless it exists.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Returns the row of a backup; `None` for any other file.
fn describe(entry: &DirEntry) -> Option<BackupFile> {
    let filename = entry.file_name().into_string().ok()?;
    let data = entry.metadata().ok().filter(fs::Metadata::is_file)?;
    let is_backup = filename.starts_with(PREFIX) && filename.ends_with(SUFFIX);
    is_backup.then_some(())?;
    let modified_at = to_timestamp(data.modified().ok()?);
    Some(BackupFile { filename, size_bytes: data.len(), modified_at })
}

fn is_of_future(file: &BackupFile) -> bool {
    is_future(file.modified_at)
}

fn is_future(at: Timestamp) -> bool {
    at > Timestamp::now()
}

fn to_timestamp(instant: SystemTime) -> Timestamp {
    Timestamp::from_naive(DateTime::<Utc>::from(instant).naive_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(path: &Path, retention: Option<u32>) -> BackupDirectory {
        let mut config = Config::default();
        config.storage.backup_dir = path.to_string_lossy().into_owned();
        config.storage.backup_retention_count = retention;
        BackupDirectory::new(&config)
    }

    fn names(directory: &BackupDirectory) -> Vec<String> {
        directory.list().unwrap().into_iter().map(|file| file.filename).collect()
    }

    #[test]
    fn backups_of_one_second_have_different_names() {
        let root = tempfile::tempdir().unwrap();
        let backups = directory(&root.path().join("a/b"), None);
        assert_eq!(names(&backups), Vec::<String>::new(), "the directory does not exist yet");
        let now = Timestamp::parse("2026-01-02T03:04:05Z").unwrap();
        let open = backups.begin(now).unwrap();
        let first = backups.begin(now).unwrap().finish().unwrap();
        assert_eq!(first.filename, "svc_backup_20260102_030405_2.db");
        assert_eq!(open.finish().unwrap().filename, "svc_backup_20260102_030405.db");
        assert_eq!(backups.begin(now).unwrap().finish().unwrap().filename, "svc_backup_20260102_030405_3.db");
        assert_eq!(names(&backups).len(), 3);
    }

    #[test]
    fn unfinished_backup_is_removed_and_never_listed() {
        let root = tempfile::tempdir().unwrap();
        let backups = directory(root.path(), None);
        let draft = backups.begin(Timestamp::now()).unwrap();
        assert_eq!(names(&backups), Vec::<String>::new());
        drop(draft);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn oldest_backups_are_pruned_and_other_files_stay() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("notes.txt"), "mine").unwrap();
        let backups = directory(root.path(), Some(2));
        let day = |day: u32| Timestamp::parse(&format!("2026-01-{day:02}T00:00:00Z")).unwrap();
        for age in 1..=4 {
            let backup = backups.begin(day(age)).unwrap().finish().unwrap();
            let written = fs::File::options().append(true).open(&backup.path).unwrap();
            written.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(age))).unwrap();
        }
        let pruned = backups.prune().unwrap();
        assert_eq!(pruned, ["svc_backup_20260102_000000.db", "svc_backup_20260101_000000.db"]);
        assert_eq!(names(&backups), ["svc_backup_20260104_000000.db", "svc_backup_20260103_000000.db"]);
        assert!(root.path().join("notes.txt").exists());
    }

    #[test]
    fn backup_of_the_future_drives_no_other_out() {
        let root = tempfile::tempdir().unwrap();
        let backups = directory(root.path(), Some(1));
        let future = fs::File::create(root.path().join("svc_backup_29990101_000000.db")).unwrap();
        // In the year 2999.
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(32_472_144_000);
        future.set_modified(later).unwrap();
        assert_eq!(backups.newest().unwrap(), None);
        let check = fs::File::create(root.path().join(MARK)).unwrap();
        assert!(backups.verified_at().is_some());
        check.set_modified(later).unwrap();
        assert_eq!(backups.verified_at(), None);
        let made = backups.begin(Timestamp::now()).unwrap().finish().unwrap();
        assert_eq!(backups.newest().unwrap().unwrap().filename, made.filename);
        assert_eq!(backups.prune().unwrap(), ["svc_backup_29990101_000000.db"]);
        assert_eq!(names(&backups), [made.filename]);
    }

    #[test]
    fn damaged_backup_fails_the_check_and_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let backups = directory(root.path(), None);
        fs::write(root.path().join("svc_backup_1.db"), "damaged").unwrap();
        backups.verify("svc_backup_1.db").unwrap_err();
        assert_eq!(backups.verified_at(), None);
        assert!(!root.path().join(SCRATCH).exists());
    }

    #[test]
    fn schedule_decides_the_number_that_stays() {
        let mut config = Config::default();
        assert_eq!(BackupDirectory::new(&config).retention, None);
        config.storage.backup_retention_count = Some(3);
        assert_eq!(BackupDirectory::new(&config).retention, Some(3));
        config.backups.schedule = Some("@daily".into());
        assert_eq!(BackupDirectory::new(&config).retention, Some(7));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_a_backup() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let backups = directory(&root.path().join("backups"), None);
        let backup = backups.begin(Timestamp::now()).unwrap().finish().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(Path::new(&backup.path)), mode(&root.path().join("backups"))), (0o600, 0o700));
    }
}
