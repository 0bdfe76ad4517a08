//! Errors at start, and errors of reads and writes.

use std::fmt;

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use svc_model::ServiceError;
use svc_outbound::describe_cause;

use crate::connections::sqlstate;

/// The reason why a database could not be opened. Each is one line.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is invalid: an error of the configuration.
    #[error("storage.url: {0}")]
    Url(String),
    /// The server did not answer, or the file could not be opened.
    #[error("cannot open {target}: {detail}")]
    Unreachable {
        /// The location, without the password.
        target: String,
        /// The message of the driver.
        detail: String,
    },
    /// Another process uses the file, which serves only one.
    #[error(
        "{target} is in use by {holder}: a SQLite file serves one process at a time; stop the other one, or use PostgreSQL"
    )]
    InUse {
        /// The location.
        target: String,
        /// The node that holds the lock, with its process id and start time.
        holder: String,
    },
    /// A newer program has migrated the database, and this one cannot run on its schema.
    #[error("{target} was migrated by a newer version of this program, which cannot run on it: unknown migrations {}; start that version, or one that knows them", .versions.join(", "))]
    Newer {
        /// The location, without the password.
        target: String,
        /// The migrations that this program does not know.
        versions: Vec<String>,
    },
    /// A migration differs from its recorded checksum.
    #[error("{target} was migrated by other migrations than those of this program: the checksum of {} differs; run the version of the program that migrated it", .migrations.join(", "))]
    Altered {
        /// The location, without the password.
        target: String,
        /// The names of the migrations that differ, in order.
        migrations: Vec<String>,
    },
    /// A build before 0.1.0 made the database, and did not finish its migrations.
    #[error("{target} has only a part of the migrations of the builds before 0.1.0, {} are missing: run `svc-server migrate` of the last such build first", .missing.join(", "))]
    Incomplete {
        /// The location, without the password.
        target: String,
        /// The names of the missing migrations, in order.
        missing: Vec<String>,
    },
    /// Nodes of a build before 0.1.0 use the database.
    #[error("{target} is in use by live nodes, which cannot run on the schema of 0.1.0: stop {}, and run this again", .nodes.join(", "))]
    LiveNodes {
        /// The location, without the password.
        target: String,
        /// The ids of the nodes.
        nodes: Vec<String>,
    },
    /// Secrets cannot be moved to the schema of 0.1.0 without their keys.
    #[error("{target} has secrets that are encrypted anew for the schema of 0.1.0, which needs their keys: {}; set storage.connector_encryption_key, and former keys in storage.previous_connector_encryption_keys. Nothing was changed", .secrets.join("; "))]
    MissingKeys {
        /// The location, without the password.
        target: String,
        /// The definitions, each with the reason.
        secrets: Vec<String>,
    },
    /// Migrations are pending and automatic migration is off.
    #[error("{target} has pending migrations and storage.auto_migrate is off: {}", .migrations.join(", "))]
    Pending {
        /// The location, without the password.
        target: String,
        /// Their names, in order.
        migrations: Vec<String>,
    },
    /// A migration failed and was rolled back.
    #[error("cannot migrate {target}: {detail}")]
    Migration {
        /// The location, without the password.
        target: String,
        /// The message of the database.
        detail: String,
    },
}

impl OpenError {
    /// Returns whether the error is one of the configuration, so that a retry cannot succeed.
    pub const fn is_configuration(&self) -> bool {
        matches!(
            self,
            Self::Url(_) | Self::Altered { .. } | Self::Incomplete { .. } | Self::MissingKeys { .. }
        )
    }
}

/// The reason why a read or a write failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A rule refused the operation: not found, conflict, or invalid. Nothing was written.
    #[error(transparent)]
    Refused(#[from] ServiceError),
    /// The database is away or locked; a retry may succeed. Nothing was written. The text is for the log.
    #[error("database unavailable: {0}")]
    Unavailable(Outage),
    /// No answer came: the write may or may not have happened. The text is for the log.
    #[error("database did not answer: {0}")]
    Unanswered(Outage),
    /// The database refused a statement that should have succeeded. The text is for the log.
    #[error("database error: {0}")]
    Database(String),
}

/// A state of the database that time may heal. Its text is for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    cause: OutageCause,
    detail: String,
}

impl Outage {
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// An outage without a result code of the database, such as a lost connection.
impl<T: Into<String>> From<T> for Outage {
    fn from(detail: T) -> Self {
        Self { cause: OutageCause::Unreachable, detail: detail.into() }
    }
}

/// The cause of an outage, as far as callers distinguish it. Decided once, from the result code of the
/// driver's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutageCause {
    /// The database is away, locked, or out of a resource.
    Unreachable,
    /// Another transaction won; the database rolled this one back.
    Contention,
    /// The database reads but cannot write.
    Unwritable,
    /// The server takes no writes: it is a replica, or read-only. Another one may have taken its place.
    NotPrimary,
}

impl StoreError {
    /// Converts the error of a failed commit: without an answer, the outcome of the transaction is unknown.
    pub(crate) fn into_commit_failure(self) -> Self {
        match self {
            Self::Unavailable(detail) => Self::Unanswered(detail),
            answered => answered,
        }
    }

    /// Returns true if the database is away: unreachable, without an answer, or out of a resource. Time may
    /// heal it.
    pub const fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Unanswered(_))
    }

    /// Returns whether the database rolled the transaction back because of another one, so that it may be
    /// repeated.
    pub(crate) fn is_contention(&self) -> bool {
        matches!(self, Self::Unavailable(outage) if outage.cause == OutageCause::Contention)
    }

    /// Returns whether the database can read but not write, such as on a full disk.
    pub(crate) fn is_unwritable(&self) -> bool {
        matches!(self.cause(), Some(OutageCause::Unwritable | OutageCause::NotPrimary))
    }

    /// Returns whether the server takes no writes, so that another one may have taken its place.
    pub(crate) fn is_not_primary(&self) -> bool {
        self.cause() == Some(OutageCause::NotPrimary)
    }

    fn cause(&self) -> Option<OutageCause> {
        let (Self::Unavailable(outage) | Self::Unanswered(outage)) = self else { return None };
        Some(outage.cause)
    }

    /// Converts the failure of a whole transaction for a caller whose own write did not cause it.
    pub(crate) fn into_collateral(self) -> Self {
        match self {
            Self::Refused(_) | Self::Database(_) => Self::Unavailable(self.to_string().into()),
            away => away,
        }
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(error) => error,
            StoreError::Unavailable(detail) | StoreError::Unanswered(detail) => {
                Self::storage_unavailable(detail.to_string())
            }
            StoreError::Database(detail) => Self::storage(detail),
        }
    }
}

/// Decides by the result code of the database, never by the language of its messages.
impl From<DieselError> for StoreError {
    fn from(error: DieselError) -> Self {
        let cause = match &error {
            DieselError::BrokenTransactionManager => Some(OutageCause::Unreachable),
            DieselError::DatabaseError(kind, information) => cause_of_kind(kind).or_else(|| {
                let message = information.message();
                match sqlstate::code(message) {
                    Some(code) => cause_of_sqlstate(code),
                    None => cause_of_sqlite(message),
                }
            }),
            _ => None,
        };
        match cause {
            Some(cause) => Self::Unavailable(Outage { cause, detail: error.to_string() }),
            None => Self::Database(error.to_string()),
        }
    }
}

/// Returns the cause of a kind of error that the drivers distinguish themselves.
const fn cause_of_kind(kind: &DatabaseErrorKind) -> Option<OutageCause> {
    match kind {
        DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand => {
            Some(OutageCause::Unreachable)
        }
        DatabaseErrorKind::ReadOnlyTransaction => Some(OutageCause::NotPrimary),
        DatabaseErrorKind::SerializationFailure => Some(OutageCause::Contention),
        _ => None,
    }
}

/// Returns the cause of a SQLSTATE: classes 08 (connection), 53 (insufficient resources), 57 (operator
/// intervention) and 58 (system error), and the codes of a deadlock, a failed serialization, an unavailable
/// lock, a read-only server and a transaction that took too long. `None` for any other code.
pub(crate) fn cause_of_sqlstate(code: &str) -> Option<OutageCause> {
    match code {
        "40001" | "40P01" => Some(OutageCause::Contention),
        // A full disk, a failed write.
        "53100" | "58030" => Some(OutageCause::Unwritable),
        "25006" => Some(OutageCause::NotPrimary),
        // A lock that was not free. A server that closed the connection: this process was stopped in a transaction.
        "55P03" | "25P03" | "25P04" => Some(OutageCause::Unreachable),
        _ => ["08", "53", "57", "58"]
            .iter()
            .any(|class| code.starts_with(class))
            .then_some(OutageCause::Unreachable),
    }
}

/// Returns the cause of a result code of SQLite. The driver drops the code; the text for it is a
/// constant of the library that is compiled in, and has no other language.
fn cause_of_sqlite(message: &str) -> Option<OutageCause> {
    const RESULTS: [(&str, OutageCause); 7] = [
        ("database is locked", OutageCause::Unreachable),       // BUSY
        ("database table is locked", OutageCause::Unreachable), // LOCKED
        ("out of memory", OutageCause::Unreachable),            // NOMEM
        ("attempt to write a readonly database", OutageCause::Unwritable), // READONLY
        ("disk I/O error", OutageCause::Unwritable),            // IOERR
        ("unable to open database file", OutageCause::Unreachable), // CANTOPEN
        ("database or disk is full", OutageCause::Unwritable),  // FULL
    ];
    RESULTS.iter().find(|(text, _)| message.starts_with(text)).map(|(_, cause)| *cause)
}

/// Returns an error with its causes, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        cause = error.source();
        text = match cause {
            Some(_) => format!("{text}: {error}"),
            None => format!("{text}: {}", describe_cause(error)),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raise(kind: DatabaseErrorKind, message: &str) -> StoreError {
        DieselError::DatabaseError(kind, Box::new(message.to_owned())).into()
    }

    #[test]
    fn outage_is_recognised_by_code_not_text() {
        for message in [
            "database is locked",
            "attempt to write a readonly database",
            "SQLSTATE 40P01: Verklemmung entdeckt",
            "SQLSTATE 57P01: Verbindung wird abgebrochen",
            "SQLSTATE 25P03: Verbindung wird abgebrochen wegen Zeitüberschreitung in inaktiver Transaktion",
            "SQLSTATE 25P04: Verbindung wird abgebrochen wegen Zeitüberschreitung in Transaktion",
            "SQLSTATE 53300: tut mir leid, schon zu viele Verbindungen",
        ] {
            let error = raise(DatabaseErrorKind::Unknown, message);
            assert!(error.is_outage(), "{message}");
        }
        for message in [
            "SQLSTATE 42P01: database is locked",
            "SQLSTATE 22001: deadlock detected",
            "SQLSTATE 25P02: terminating connection due to idle-in-transaction timeout",
            "the database system is starting up",
            "deadlock detected",
            "no such table: x",
        ] {
            let error = raise(DatabaseErrorKind::Unknown, message);
            assert!(matches!(error, StoreError::Database(_)), "{message}");
        }
        assert!(raise(DatabaseErrorKind::UnableToSendCommand, "closed").is_outage());
        assert!(raise(DatabaseErrorKind::SerializationFailure, "x").is_contention());
        assert!(matches!(raise(DatabaseErrorKind::UniqueViolation, "x"), StoreError::Database(_)));
    }

    /// The texts for SQLite's result codes are those that the library raises.
    #[test]
    fn sqlite_raises_the_texts_of_its_result_codes() {
        use diesel::connection::SimpleConnection;
        use diesel::{Connection, SqliteConnection};

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("svc.db").display().to_string();
        let mut conn = SqliteConnection::establish(&path).unwrap();
        let mut raise = |sql: &str| StoreError::from(conn.batch_execute(sql).unwrap_err());
        let full = raise(
            "CREATE TABLE t (b BLOB); PRAGMA max_page_count = 4; INSERT INTO t VALUES (zeroblob(99999))",
        );
        assert!(full.is_unwritable(), "{full}");
        let readonly = raise("PRAGMA query_only = ON; DELETE FROM t");
        assert!(readonly.is_unwritable(), "{readonly}");
        let mut other = SqliteConnection::establish(&path).unwrap();
        other.batch_execute("BEGIN EXCLUSIVE").unwrap();
        let busy = raise("SELECT * FROM t");
        assert!(busy.is_outage() && !busy.is_unwritable(), "{busy}");
    }

    #[test]
    fn contention_is_recognised_by_its_code_in_any_language() {
        for (message, expected) in [
            ("SQLSTATE 40P01: Verklemmung entdeckt", true),
            ("SQLSTATE 40001: Zugriff konnte nicht serialisiert werden", true),
            ("SQLSTATE 53100: deadlock detected", false),
        ] {
            let kind = DatabaseErrorKind::Unknown;
            assert_eq!(raise(kind, message).is_contention(), expected, "{message}");
        }
    }

    #[test]
    fn full_disk_is_recognised_by_its_code() {
        for (message, expected) in [
            ("SQLSTATE 53100: konnte Datei nicht erweitern", true),
            ("SQLSTATE 25006: kann UPDATE nicht in einer Read-Only-Transaktion ausführen", true),
            ("SQLSTATE 53300: No space left on device", false),
            ("database or disk is full", true),
            ("database is locked", false),
        ] {
            assert_eq!(raise(DatabaseErrorKind::Unknown, message).is_unwritable(), expected, "{message}");
        }
    }

    #[test]
    fn read_only_server_is_told_from_a_full_disk() {
        for (kind, message, expected) in [
            (DatabaseErrorKind::Unknown, "SQLSTATE 25006: kann UPDATE nicht ausführen", true),
            (DatabaseErrorKind::ReadOnlyTransaction, "cannot execute UPDATE", true),
            (DatabaseErrorKind::Unknown, "SQLSTATE 53100: konnte Datei nicht erweitern", false),
            (DatabaseErrorKind::Unknown, "attempt to write a readonly database", false),
        ] {
            let error = raise(kind, message);
            assert_eq!(error.is_not_primary(), expected, "{message}");
            assert_eq!(error.into_commit_failure().is_not_primary(), expected, "{message}");
        }
    }

    #[test]
    fn caller_learns_the_kind_and_never_the_detail() {
        let away = ServiceError::from(StoreError::Unavailable("host db.internal is down".into()));
        assert_eq!((away.status(), away.retry_after()), (503, Some(5)));
        let broken = ServiceError::from(StoreError::Database("no such column: secret".into()));
        assert_eq!((broken.status(), broken.code().name()), (500, "STORAGE_ERROR"));
        for error in [away, broken] {
            let body = error.body(None).to_string();
            assert!(!body.contains("internal is down") && !body.contains("secret"), "{body}");
            assert!(error.internal().is_some());
        }
        let refused = ServiceError::from(StoreError::from(ServiceError::conflict("taken")));
        assert_eq!((refused.status(), refused.message()), (409, "taken"));
    }
}
