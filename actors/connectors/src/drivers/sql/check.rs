//! The check of statements against a live database: each is prepared, none is run.

use std::time::Duration;

use bb8::ManageConnection;
use slog::{Discard, Logger, o};
use svc_model::config::connector::DatabaseKind;
use svc_outbound::Outbound;

use super::error::SqlError;
use super::messages::PreparedShape;
use super::pool::PoolError;
use super::settings::{DialContext, SqlSettings, SqlTarget};
use super::{mysql, postgres, sqlite};

/// Longest time for each address of a server.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The statements of one database, prepared.
pub(crate) struct PreparedStatements {
    /// The result for each statement, in their order.
    pub(crate) shapes: Vec<Result<PreparedShape, SqlError>>,
    /// True if the rights of the user were checked too, and not the schema alone.
    pub(crate) proves_rights: bool,
    pub(crate) database: DatabaseKind,
}

/// Prepares statements over a connection of its own, which can only read.
///
/// # Errors
/// The database cannot be reached, or refuses the connection.
pub(crate) async fn prepare_statements(
    settings: &SqlSettings,
    outbound: &Outbound,
    statements: Vec<String>,
) -> Result<PreparedStatements, SqlError> {
    let dial = DialContext {
        outbound: outbound.clone(),
        allow_private: settings.allow_private,
        limit: settings.connect_timeout.min(CONNECT_LIMIT),
        log: Logger::root(Discard, o!()),
    };
    let failed = |error: PoolError| match error {
        PoolError::Failed(error) => error,
        PoolError::Stale => SqlError::Unreachable("the connection broke off".to_owned()),
    };
    let (shapes, proves_rights) = match &settings.target {
        SqlTarget::Postgres(target) => {
            let manager = postgres::PostgresManager::new(target, dial);
            let mut session = manager.connect().await.map_err(failed)?;
            session.prepare_all(&statements).await?
        }
        SqlTarget::MySql(target) => {
            let manager = mysql::MySqlManager::new(target, dial);
            let mut session = manager.connect().await.map_err(failed)?;
            (session.prepare_all(&statements).await?, false)
        }
        SqlTarget::Sqlite(target) => (sqlite::prepare_all(target, statements).await?, false),
    };
    Ok(PreparedStatements { shapes, proves_rights, database: settings.kind() })
}
