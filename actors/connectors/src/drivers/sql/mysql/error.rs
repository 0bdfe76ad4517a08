//! Errors of MySQL and its driver.

use mysql_async::{DriverError, Error, IoError, ServerError};
use svc_outbound::describe_cause;

use crate::drivers::integrity::Integrity;
use crate::drivers::sql::encryption::{Encryption, REMEDIES};
use crate::drivers::sql::error::SqlError;
use crate::drivers::sql::messages::BoundStatement;

/// Converts an error of opening a connection.
pub(super) fn connecting(error: &Error, wanted: Encryption) -> SqlError {
    if matches!(error, Error::Io(IoError::Tls(_))) && wanted == Encryption::Preferred {
        let cause = cause(error);
        return SqlError::Unreachable(format!("no connection to the database ({cause}): {REMEDIES}"));
    }
    let Error::Server(told) = error else {
        return SqlError::Unreachable(format!("no connection to the database ({})", cause(error)));
    };
    // The server's text repeats the user and the database.
    let code = told.code;
    match code {
        1044 | 1045 | 1698 => SqlError::Refused(format!("the database refuses the credentials ({code})")),
        1049 => SqlError::Refused(format!("the server has no database of this name ({code})")),
        _ if is_unavailable(told) => {
            SqlError::Unreachable(format!("the database takes no connections now ({code})"))
        }
        _ => SqlError::Refused(format!("the database refuses the connection ({code})")),
    }
}

/// Converts an error of running a statement. For one made of a document, a value that does not fit names its
/// column.
pub(super) fn running(error: &Error, statement: Option<&BoundStatement>) -> SqlError {
    let server_error = match error {
        Error::Server(server_error) => server_error,
        Error::Driver(DriverError::StmtParamsMismatch { required, supplied }) => {
            let text = format!("params: the query has {required} placeholders, {supplied} values were given");
            return SqlError::Input(text);
        }
        Error::Driver(DriverError::PacketTooLarge) => {
            return SqlError::Input(
                "the values are larger than the database takes (max_allowed_packet)".to_owned(),
            );
        }
        _ => {
            let text = format!("the connection to the database broke off ({})", cause(error));
            return SqlError::Unreachable(text);
        }
    };
    let code = server_error.code;
    match code {
        // Interrupted, or over a limit of the server's own.
        1317 | 1969 | 3024 => SqlError::Timeout(format!("the database gave the statement up ({code})")),
        _ if is_unavailable(server_error) => {
            SqlError::Unreachable(format!("the database is going away ({code})"))
        }
        1792 => SqlError::writes_in_read_only(code),
        _ if is_not_primary(server_error) => SqlError::NotPrimary(code.to_string()),
        _ if let Some(kind) = integrity(code) => {
            // The constraint is named only in the server's text, beside the values.
            SqlError::Violation { kind, constraint: None, code: code.to_string() }
        }
        // The server's text repeats the user.
        1142..=1143 | 1227 | 1370 => {
            SqlError::Refused(format!("the user of the connection may not do this ({code})"))
        }
        _ if MISFITS.contains(&code) && statement.is_some_and(|made| made.origin.is_document()) => {
            SqlError::Input(match column(&server_error.message) {
                Some(column) => {
                    format!("a value of the document does not fit the column '{column}' ({code})")
                }
                None => format!("a value of the document does not fit its column ({code})"),
            })
        }
        _ => SqlError::Refused(format!(
            "the database refuses the statement ({code}): {}",
            server_error.message
        )),
    }
}

/// The kind of constraint that a code is about, of MySQL or of MariaDB.
fn integrity(code: u16) -> Option<Integrity> {
    match code {
        1022 | 1062 | 1169 | 1586 | 1859 => Some(Integrity::Unique),
        1216 | 1217 | 1451 | 1452 | 1557 | 1761 | 1762 => Some(Integrity::ForeignKey),
        1048 | 1138 | 1263 | 1364 => Some(Integrity::NotNull),
        3819 | 4025 => Some(Integrity::Check),
        _ => None,
    }
}

/// The column that a message names last; the words before it may repeat the value.
fn column(message: &str) -> Option<&str> {
    let (_, behind) = message.rsplit_once("column ")?;
    let named = behind.split_once(" at row").map_or(behind, |(named, _)| named);
    let name = named.rsplit('.').next()?.trim_matches(['`', '\'']);
    (!name.is_empty() && !name.contains(['`', '\'', ' '])).then_some(name)
}

/// Codes of a value that is out of range, of another type, or too long.
const MISFITS: [u16; 4] = [1264, 1292, 1366, 1406];

/// A server that takes no writes: a replica, one that was made read-only or offline, or a node of a cluster that lost
/// its majority. Of the options that 1290 is about, the text names the one that is in the way.
fn is_not_primary(told: &ServerError) -> bool {
    match told.code {
        1290 => ["read-only", "read_only"].iter().any(|option| told.message.contains(option)),
        1047 => told.message.contains("WSREP"),
        code => matches!(code, 1836 | 1874 | 3032),
    }
}

/// A server that ends, or has no room.
fn is_unavailable(told: &ServerError) -> bool {
    matches!(told.code, 1040 | 1053 | 1077 | 1079 | 1129 | 1203 | 1226 | 1927 | 4031)
}

fn cause(error: &Error) -> String {
    match error {
        Error::Io(IoError::Io(error)) => describe_cause(error),
        Error::Io(IoError::Tls(error)) => format!("TLS: {error}"),
        Error::Driver(DriverError::ConnectionClosed) => "it was closed".to_owned(),
        Error::Driver(DriverError::NoClientSslFlagFromServer) => "the server offers no TLS".to_owned(),
        // Others may repeat what was sent.
        _ => "the driver and the server do not understand each other".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_server_is_recognised_among_option_errors() {
        let told = |code, message: &str| {
            let (message, state) = (message.to_owned(), "HY000".to_owned());
            let error = Error::Server(ServerError { code, message, state });
            matches!(running(&error, None), SqlError::NotPrimary(_))
        };
        let option = |name| {
            format!(
                "The MariaDB server is running with the --{name} option so it cannot execute this statement"
            )
        };
        assert!(told(1290, &option("read-only")) && told(1290, &option("super-read-only")));
        assert!(!told(1290, &option("secure-file-priv")));
        assert!(told(1047, "WSREP has not yet prepared node for application use"));
        assert!(!told(1047, "Unknown command"));
        assert!(told(1836, "Running in read-only mode") && !told(1792, "Cannot execute statement"));
    }

    #[test]
    fn column_of_a_message_is_named_without_the_value() {
        for (message, expected) in [
            ("Incorrect integer value: 'column x' for column `svc`.`t`.`qty` at row 1", Some("qty")),
            ("Out of range value for column 'small' at row 1", Some("small")),
            ("Data too long for column 'name' at row 3", Some("name")),
            ("Truncated incorrect DOUBLE value: 'many'", None),
        ] {
            assert_eq!(column(message), expected, "{message}");
        }
    }
}
