//! Copies of a SQLite file, made while others write, and their way back.
//!
//! A copy is one read transaction: it holds every row committed before it began and no half of a later one. Writers go
//! on meanwhile; the log of their writes grows until the copy is complete. Every copy passes an integrity check before
//! it counts. A copy holds what the database holds, encrypted settings as they are, plain ones in plain text, so that
//! its file is readable by its owner only.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, RunQueryDsl, SqliteConnection};
use svc_model::Timestamp;
use svc_outbound::describe_cause;

use crate::config::{DatabaseTarget, StoreConfig};
use crate::connections::connection_manager::{ConnectionManager, Purpose, sqlite_uri};
use crate::error::OpenError;
use crate::files::private_file::private_options;
use crate::migrate;

/// Number of problems that a check reports at most.
const PROBLEMS: usize = 10;

/// The reason why there is no backup, or nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database is a server.
    #[error(
        "{target}: backups are for SQLite files; a server has tools of its own, pg_dump and pg_restore for PostgreSQL"
    )]
    NotAFile {
        /// The location, without the password.
        target: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {detail}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        detail: String,
    },
    /// The integrity check found problems.
    #[error("{} is damaged: {}", .path.display(), .problems.join("; "))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first problems.
        problems: Vec<String>,
    },
    /// The file is a database of another program.
    #[error("{} holds no table of this service", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The schema is none that this program can use.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl BackupError {
    fn file_error(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, detail: describe_cause(&error) }
    }

    fn sql(path: &Path, error: impl std::fmt::Display) -> Self {
        Self::File { path: path.to_owned(), detail: error.to_string() }
    }
}

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// The database file.
    pub file: PathBuf,
    /// The name of the file that was replaced; `None` if there was none.
    pub replaced: Option<PathBuf>,
    /// The migrations that the next start applies.
    pub pending: Vec<String>,
}

/// A backup that was restored and read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedBackup {
    /// The migrations that a start would apply.
    pub pending: Vec<String>,
    /// The rows of all tables.
    pub rows: u64,
}

/// Copies the database that `config` names to a file that is absent or empty, and checks the copy. Blocks.
///
/// # Errors
/// [`BackupError`]; the file at `to` may hold a part then.
pub fn back_up(config: &StoreConfig, to: &Path) -> Result<(), BackupError> {
    check_source(config)?;
    copy_checked(&ConnectionManager::new(config)?, to)
}

/// Checks that the database that `config` names is a file and exists.
///
/// # Errors
/// [`BackupError`] if it is a server, or missing.
pub fn check_source(config: &StoreConfig) -> Result<(), BackupError> {
    let path = file_of(&ConnectionManager::new(config)?.target)?;
    if !path.exists() {
        return Err(BackupError::File { path, detail: "the database does not exist".to_owned() });
    }
    Ok(())
}

/// Copies the file of a connection manager, checks the copy and writes it through to the disk. Blocks.
pub(crate) fn copy_checked(manager: &ConnectionManager, to: &Path) -> Result<(), BackupError> {
    let mut source = manager
        .open_sqlite(Purpose::Inspect)
        .map_err(|error| BackupError::sql(manager.target.file().unwrap_or(to), migrate::detail(error)))?;
    copy(&mut source, to)?;
    check_integrity(to)?;
    sync(to)
}

/// Replaces the database file that `config` names by a copy of `backup`, after checks of the copy. The replaced file
/// stays next to it under another name. The caller holds the lock of the file. Blocks.
///
/// # Errors
/// [`BackupError`]; the database is unchanged then.
pub fn restore(config: &StoreConfig, backup: &Path) -> Result<RestoreReport, BackupError> {
    let manager = ConnectionManager::new(config)?;
    let file = file_of(&manager.target)?;
    let file = file.canonicalize().unwrap_or(file);
    if backup.canonicalize().is_ok_and(|backup| backup == file) {
        let detail = "this is the database itself; name a backup of it".to_owned();
        return Err(BackupError::File { path: backup.to_owned(), detail });
    }
    let fresh = Unfinished::create(&sibling_path(&file, &format!("restore-{}", std::process::id())))?;
    copy(&mut open_backup(backup)?, fresh.path())?;
    check_integrity(fresh.path()).map_err(|error| match error {
        BackupError::Damaged { problems, .. } => BackupError::Damaged { path: backup.to_owned(), problems },
        other => other,
    })?;
    let pending = check_schema(fresh.path(), backup)?;
    sync(fresh.path())?;
    let replaced = set_aside(&manager, &file)?;
    fs::rename(fresh.path(), &file).map_err(BackupError::file_error(&file))?;
    fresh.keep();
    sync_directory(&file)?;
    Ok(RestoreReport { file, replaced, pending })
}

/// Restores a backup into an empty directory as [`restore`] does, opens it as a server does, and reads every table. The
/// files stay in the directory. Blocks.
///
/// # Errors
/// [`BackupError`]: the backup could not be restored.
pub fn verify_backup(backup: &Path, directory: &Path) -> Result<VerifiedBackup, BackupError> {
    let file = directory.join("svc.db");
    let config = StoreConfig { url: format!("sqlite:{}", file.display()), ..StoreConfig::default() };
    let RestoreReport { pending, .. } = restore(&config, backup)?;
    let opened = ConnectionManager::new(&config)?.open_sqlite(Purpose::Write);
    let mut conn = opened.map_err(|error| BackupError::sql(backup, migrate::detail(error)))?;
    let tables: Vec<TableName> = diesel::sql_query("SELECT name FROM sqlite_master WHERE type = 'table'")
        .load(&mut conn)
        .map_err(|error| BackupError::sql(backup, error))?;
    let mut rows = 0;
    for TableName { name } in tables {
        let count = format!("SELECT count(*) AS n FROM \"{name}\"");
        let count: RowCount = diesel::sql_query(count)
            .get_result(&mut conn)
            .map_err(|error| BackupError::sql(backup, error))?;
        rows += count.n.unsigned_abs();
    }
    Ok(VerifiedBackup { pending, rows })
}

#[derive(QueryableByName)]
struct TableName {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct RowCount {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn file_of(target: &DatabaseTarget) -> Result<PathBuf, BackupError> {
    let file = target.file().ok_or_else(|| BackupError::NotAFile { target: target.to_string() })?;
    std::path::absolute(file).map_err(BackupError::file_error(file))
}

/// Copies everything that is committed, as of one instant.
fn copy(source: &mut SqliteConnection, to: &Path) -> Result<(), BackupError> {
    let Some(text) = to.to_str() else {
        let detail = "the path holds characters that are no UTF-8".to_owned();
        return Err(BackupError::File { path: to.to_owned(), detail });
    };
    let copied = diesel::sql_query("VACUUM INTO ?").bind::<Text, _>(text).execute(source);
    copied.map(drop).map_err(|error| BackupError::sql(to, error))
}

/// Opens a backup for reading. One with a log next to it is the copy of a live file, whose log holds the last rows.
fn open_backup(backup: &Path) -> Result<SqliteConnection, BackupError> {
    if !backup.is_file() {
        let detail = "there is no such file".to_owned();
        return Err(BackupError::File { path: backup.to_owned(), detail });
    }
    let log = with_suffix(backup, "-wal");
    let uri =
        sqlite_uri(&backup.to_string_lossy(), if log.exists() { "mode=ro" } else { "mode=ro&immutable=1" });
    let mut conn = SqliteConnection::establish(&uri).map_err(|error| BackupError::sql(backup, error))?;
    // A file of another kind is found out at the first read.
    let read = conn.batch_execute("SELECT count(*) FROM sqlite_master");
    read.map_err(|error| BackupError::sql(backup, error)).map(|()| conn)
}

#[derive(QueryableByName)]
struct Problem {
    #[diesel(sql_type = Text)]
    integrity_check: String,
}

/// Reads the whole file and reports what is wrong with it.
fn check_integrity(path: &Path) -> Result<(), BackupError> {
    let uri = sqlite_uri(&path.to_string_lossy(), "mode=ro&immutable=1");
    let mut conn = SqliteConnection::establish(&uri).map_err(|error| BackupError::sql(path, error))?;
    let check = diesel::sql_query(format!("PRAGMA integrity_check({PROBLEMS})"));
    let rows: Vec<Problem> = check.load(&mut conn).map_err(|error| BackupError::sql(path, error))?;
    let problems: Vec<String> =
        rows.into_iter().map(|row| row.integrity_check).filter(|line| line != "ok").collect();
    if problems.is_empty() { Ok(()) } else { Err(BackupError::Damaged { path: path.to_owned(), problems }) }
}

/// Checks that this program knows every migration of a copy, and returns those that the copy lacks.
fn check_schema(copy: &Path, backup: &Path) -> Result<Vec<String>, BackupError> {
    let target = format!("backup '{}'", backup.display());
    let uri = sqlite_uri(&copy.to_string_lossy(), "mode=ro&immutable=1");
    let mut conn = SqliteConnection::establish(&uri).map_err(|error| BackupError::sql(backup, error))?;
    let schema = migrate::pending_in(&mut conn, &target)?;
    if !schema.is_earlier && schema.migrations.len() == migrate::all_sqlite(&target)?.len() {
        return Err(BackupError::Foreign { path: backup.to_owned() });
    }
    Ok(schema.migrations)
}

/// Gives the database file and what belongs to it another name. The file itself keeps its own as well, so that it is
/// missing at no time.
fn set_aside(manager: &ConnectionManager, file: &Path) -> Result<Option<PathBuf>, BackupError> {
    if fs::metadata(file).map_or(0, |data| data.len()) == 0 {
        return Ok(None);
    }
    // Moves the log into the file. A file that is too damaged for this keeps its log, under the new name.
    if let Ok(mut conn) = manager.open_sqlite(Purpose::Write) {
        let _kept_as_log = conn.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    let stamp = Timestamp::now().naive().format("%Y%m%d_%H%M%S");
    let aside = free_name(&sibling_path(file, &format!("replaced-{stamp}")));
    for suffix in ["-wal", "-shm"] {
        let (from, to) = (with_suffix(file, suffix), with_suffix(&aside, suffix));
        match fs::rename(&from, &to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BackupError::file_error(&from)(error));
            }
            _ => {}
        }
    }
    fs::hard_link(file, &aside)
        .or_else(|_| fs::copy(file, &aside).map(drop))
        .map_err(BackupError::file_error(&aside))?;
    Ok(Some(aside))
}

/// Returns the first of `path`, `path-2`, `path-3` … that is free.
fn free_name(path: &Path) -> PathBuf {
    let numbered = (2..).map(|number| with_suffix(path, &format!("-{number}")));
    let mut names = std::iter::once(path.to_owned()).chain(numbered);
    names.find(|name| !name.exists()).unwrap_or_else(|| path.to_owned())
}

fn sibling_path(file: &Path, what: &str) -> PathBuf {
    with_suffix(file, &format!(".{what}"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn sync(path: &Path) -> Result<(), BackupError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(BackupError::file_error(path))
}

/// Writes the names in the directory of a file through to the disk.
fn sync_directory(file: &Path) -> Result<(), BackupError> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory).and_then(|open| open.sync_all()).map_err(BackupError::file_error(directory))
}

/// A file that is removed unless it is kept. Its name may be given to another file meanwhile.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    is_kept: bool,
}

impl Unfinished {
    /// Creates an empty file that only its owner can read.
    ///
    /// # Errors
    /// [`BackupError::File`] if it exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, BackupError> {
        let created = private_options().write(true).create_new(true).open(path);
        created.map_err(BackupError::file_error(path))?;
        Ok(Self { path: path.to_owned(), is_kept: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its final name, unless a file has it, and writes that through to the disk.
    ///
    /// # Errors
    /// [`BackupError::File`]; the file is removed then.
    pub fn publish(self, name: &Path) -> Result<(), BackupError> {
        if name.exists() {
            return Err(BackupError::File { path: name.to_owned(), detail: "the file exists".to_owned() });
        }
        fs::rename(&self.path, name).map_err(BackupError::file_error(name))?;
        self.keep();
        sync_directory(name)
    }

    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_kept {
            // It may be gone already, and hides nothing where it stays.
            let _gone = fs::remove_file(&self.path);
        }
    }
}
