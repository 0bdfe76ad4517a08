//! Calls of a SQL database, for the functions that run SQL.

use svc_engine::{ErrorCode, TaskError};
use svc_model::config::connector::DatabaseKind;

use super::call::call_driver;
use crate::directory::ConnectorDirectory;
use crate::drivers::sql::{RunStatements, SqlDriver, SqlError, SqlSettings, StatementResult};

/// Runs what `run` makes of the settings of a connector.
///
/// # Errors
/// The connector is not loaded or is no SQL database, `run` fails, or the database does.
pub(crate) async fn run(
    connectors: &ConnectorDirectory,
    connector: &str,
    run: impl Fn(&SqlSettings) -> Result<RunStatements, TaskError>,
) -> Result<Vec<StatementResult>, TaskError> {
    if connectors.find(connector)?.settings.database() == Some(DatabaseKind::Mongo) {
        let text =
            format!("connector '{connector}' is MongoDB, which does not speak SQL: use the mongo functions");
        return Err(TaskError::validation(text));
    }
    let message = |driver: &SqlDriver| Ok((driver.address.clone(), run(&driver.settings)?));
    let (_, outcomes) = call_driver(connectors, connector, message).await?;
    outcomes.map_err(|error| task_error(connector, &error))
}

fn task_error(connector: &str, error: &SqlError) -> TaskError {
    let code = match error {
        SqlError::Input(_) | SqlError::TooManyRows(_) | SqlError::TooLarge(_) => ErrorCode::Validation,
        SqlError::Violation { kind, .. } => kind.error_code(),
        // A refusal begins with what it protects from.
        SqlError::Address(refused) if error.is_refusal() => {
            return TaskError::new(ErrorCode::Function, refused.to_string());
        }
        SqlError::Address(_) | SqlError::Unreachable(_) | SqlError::NotPrimary(_) => ErrorCode::Io,
        SqlError::Timeout(_) => ErrorCode::Timeout,
        SqlError::Refused(_) | SqlError::Unreadable { .. } => ErrorCode::Function,
    };
    TaskError::new(code, format!("connector '{connector}': {error}"))
}
