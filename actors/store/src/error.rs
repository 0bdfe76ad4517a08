//! Errors at start, and errors of reads and writes.

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use svc_model::ServiceError;

use crate::sqlstate;

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
    /// A newer program has migrated the database.
    #[error("{target} was migrated by a newer version of this program: unknown migrations {}", .versions.join(", "))]
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
        matches!(self, Self::Url(_) | Self::Altered { .. })
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
    Unavailable(String),
    /// No answer came: the write may or may not have happened. The text is for the log.
    #[error("database did not answer: {0}")]
    Unanswered(String),
    /// The database refused a statement that should have succeeded. The text is for the log.
    #[error("database error: {0}")]
    Database(String),
}

impl StoreError {
    /// Converts the error of a failed commit: without an answer, the outcome of the transaction is unknown.
    pub(crate) fn into_commit_failure(self) -> Self {
        match self {
            Self::Unavailable(detail) => Self::Unanswered(detail),
            answered => answered,
        }
    }

    /// Returns whether the database rolled the transaction back because of another one, so that it may be repeated.
    pub(crate) fn is_contention(&self) -> bool {
        let Self::Unavailable(detail) = self else { return false };
        match sqlstate::code(detail) {
            Some(code) => matches!(code, "40001" | "40P01"),
            None => {
                ["deadlock detected", "could not serialize access"].iter().any(|text| detail.contains(text))
            }
        }
    }

    /// Returns whether the database can read but not write, such as on a full disk.
    pub(crate) fn is_unwritable(&self) -> bool {
        /// Messages of SQLite and, for errors without a SQLSTATE, of PostgreSQL.
        const UNWRITABLE: [&str; 5] = [
            "database or disk is full",
            "disk I/O error",
            "readonly database",
            "No space left on device",
            "could not extend file",
        ];
        let (Self::Unavailable(detail) | Self::Unanswered(detail)) = self else { return false };
        match sqlstate::code(detail) {
            // A full disk, a failed write, a read-only server.
            Some(code) => matches!(code, "53100" | "58030" | "25006"),
            None => UNWRITABLE.iter().any(|text| detail.contains(text)),
        }
    }

    /// Converts the failure of a whole transaction for a caller whose own write did not cause it.
    pub(crate) fn into_collateral(self) -> Self {
        match self {
            Self::Refused(_) | Self::Database(_) => Self::Unavailable(self.to_string()),
            away => away,
        }
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(error) => error,
            StoreError::Unavailable(detail) | StoreError::Unanswered(detail) => {
                Self::storage_unavailable(detail)
            }
            StoreError::Database(detail) => Self::storage(detail),
        }
    }
}

impl From<DieselError> for StoreError {
    fn from(error: DieselError) -> Self {
        let away = match &error {
            DieselError::BrokenTransactionManager => true,
            DieselError::DatabaseError(kind, information) => {
                matches!(
                    kind,
                    DatabaseErrorKind::ClosedConnection
                        | DatabaseErrorKind::UnableToSendCommand
                        | DatabaseErrorKind::ReadOnlyTransaction
                        | DatabaseErrorKind::SerializationFailure
                ) || is_away(information.message())
            }
            _ => false,
        };
        if away { Self::Unavailable(error.to_string()) } else { Self::Database(error.to_string()) }
    }
}

/// Classifies an error by its SQLSTATE. Apart from a few kinds, neither driver exposes the result code. Errors of
/// PostgreSQL carry their SQLSTATE before the text, except over a Unix socket: classes 08 (connection), 53
/// (insufficient resources), 57 (operator intervention) and 58 (system error), and the codes of a deadlock, a
/// serialization failure, an unavailable lock, and a read-only server.
fn is_away(message: &str) -> bool {
    match sqlstate::code(message) {
        Some(code) => {
            ["08", "53", "57", "58"].iter().any(|class| code.starts_with(class))
                || matches!(code, "25006" | "40001" | "40P01" | "55P03")
        }
        None => is_away_by_text(message),
    }
}

/// Classifies an error by its text: the messages of the SQLite result codes `BUSY`, `LOCKED`, `READONLY`, `CANTOPEN`,
/// `IOERR`, `FULL` and `NOMEM`, which are constants of the compiled-in library and exist in no other language. The
/// messages of PostgreSQL are for its errors without a SQLSTATE.
fn is_away_by_text(message: &str) -> bool {
    const AWAY: [&str; 18] = [
        "database is locked",
        "database table is locked",
        "readonly database",
        "unable to open database file",
        "disk I/O error",
        "database or disk is full",
        "out of memory",
        "out of shared memory",
        "No space left on device",
        "could not extend file",
        "terminating connection",
        "the database system is",
        "too many clients already",
        "too many connections for",
        "remaining connection slots are reserved",
        "server closed the connection",
        "canceling statement due to",
        "deadlock detected",
    ];
    AWAY.iter().any(|text| message.contains(text))
}

/// Returns an error with its causes, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raised(kind: DatabaseErrorKind, message: &str) -> StoreError {
        DieselError::DatabaseError(kind, Box::new(message.to_owned())).into()
    }

    #[test]
    fn what_time_can_heal_is_unavailable_and_the_rest_is_an_error() {
        for message in [
            "database is locked",
            "attempt to write a readonly database",
            "the database system is starting up",
            "could not extend file \"base/1/2\": No space left on device",
            "canceling statement due to statement timeout",
            "deadlock detected",
        ] {
            let error = raised(DatabaseErrorKind::Unknown, message);
            assert!(matches!(error, StoreError::Unavailable(_)), "{message}");
        }
        for message in [
            "SQLSTATE 40P01: Verklemmung entdeckt",
            "SQLSTATE 57P01: Verbindung wird abgebrochen",
            "SQLSTATE 53300: tut mir leid, schon zu viele Verbindungen",
        ] {
            let error = raised(DatabaseErrorKind::Unknown, message);
            assert!(matches!(error, StoreError::Unavailable(_)), "{message}");
        }
        for message in ["SQLSTATE 42P01: database is locked", "SQLSTATE 22001: deadlock detected"] {
            let error = raised(DatabaseErrorKind::Unknown, message);
            assert!(matches!(error, StoreError::Database(_)), "{message}: the code decides");
        }
        assert!(matches!(
            raised(DatabaseErrorKind::UnableToSendCommand, "closed"),
            StoreError::Unavailable(_)
        ));
        assert!(matches!(raised(DatabaseErrorKind::SerializationFailure, "x"), StoreError::Unavailable(_)));
        assert!(matches!(raised(DatabaseErrorKind::Unknown, "no such table: x"), StoreError::Database(_)));
        assert!(matches!(raised(DatabaseErrorKind::UniqueViolation, "x"), StoreError::Database(_)));
    }

    #[test]
    fn contention_is_told_by_its_code_in_any_language() {
        for (message, due) in [
            ("SQLSTATE 40P01: Verklemmung entdeckt", true),
            ("SQLSTATE 40001: Zugriff konnte nicht serialisiert werden", true),
            ("SQLSTATE 53100: deadlock detected", false),
        ] {
            let kind = DatabaseErrorKind::Unknown;
            assert_eq!(raised(kind, message).is_contention(), due, "{message}");
        }
    }

    #[test]
    fn full_disk_is_told_by_its_code_in_any_language() {
        for (message, expected) in [
            ("SQLSTATE 53100: konnte Datei nicht erweitern", true),
            ("SQLSTATE 25006: kann UPDATE nicht in einer Read-Only-Transaktion ausführen", true),
            ("SQLSTATE 53300: No space left on device", false),
            ("database or disk is full", true),
            ("database is locked", false),
        ] {
            assert_eq!(raised(DatabaseErrorKind::Unknown, message).is_unwritable(), expected, "{message}");
        }
    }

    #[test]
    fn a_caller_learns_the_kind_and_never_the_detail() {
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
