//! The check of authored statements against the databases of their connectors. Nothing is run and nothing is changed.

use serde_json::{Map, Value};
use svc_outbound::Outbound;
use svc_secrets::Keyring;
#[cfg(feature = "sql")]
use {
    crate::drivers::sql::{PreparedShape, SqlSettings, prepare_statements},
    crate::load::resolve_config,
    svc_model::ConnectorType,
    svc_model::config::connector::{ConnectorConfig, DatabaseKind},
};

use crate::settings::VariableLookup;

/// The sources of the values that the config of a connector names.
#[derive(Clone)]
pub struct StatementSources {
    /// The source of `${VAR}` placeholders.
    pub environment: VariableLookup,
    /// The source of secret references.
    pub secrets: Keyring,
    /// The declared values of `var://` references.
    pub vars: Map<String, Value>,
    /// The factory of outbound clients.
    pub outbound: Outbound,
}

/// A statement as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthoredStatement {
    /// The text.
    pub sql: String,
    /// The number of its parameters; `None` if it comes with the message.
    pub params: Option<usize>,
}

/// The problems of one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementProblems {
    /// Problems with which the statement cannot run.
    pub errors: Vec<String>,
    /// Probable problems.
    pub warnings: Vec<String>,
}

/// The statements of one connector after their check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedStatements {
    /// The problems of each statement, in their order.
    pub statements: Vec<StatementProblems>,
    /// True if the rights of the user were checked too, and not the schema alone.
    pub proves_rights: bool,
}

/// Prepares statements on the database that a config leads to.
///
/// # Errors
/// The reason: the config cannot be resolved, or the database cannot be reached.
#[cfg(feature = "sql")]
pub async fn check_statements(
    config: &Value,
    sources: &StatementSources,
    statements: &[AuthoredStatement],
) -> Result<CheckedStatements, String> {
    let StatementSources { environment, secrets, vars, outbound } = sources;
    let config = resolve_config(&config.to_string(), environment, secrets, vars).await;
    let config = config.map_err(|error| error.to_string())?;
    let config = ConnectorConfig::parse(ConnectorType::Db, &config).map_err(|errors| {
        let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
        reasons.join("; ")
    })?;
    let ConnectorConfig::Db(config) = config else { return Err("not a SQL database".to_owned()) };
    let settings = SqlSettings::new(&config)?;
    let texts = statements.iter().map(|statement| statement.sql.clone()).collect();
    let prepared = prepare_statements(&settings, outbound, texts).await.map_err(|error| error.to_string())?;
    let problems = statements.iter().zip(prepared.shapes).map(|(statement, shape)| match shape {
        Ok(shape) => judge(statement, shape, prepared.database),
        Err(error) => StatementProblems { errors: vec![error.to_string()], ..StatementProblems::default() },
    });
    Ok(CheckedStatements { statements: problems.collect(), proves_rights: prepared.proves_rights })
}

/// Compares the placeholders of a prepared statement with its parameters.
#[cfg(feature = "sql")]
fn judge(statement: &AuthoredStatement, shape: PreparedShape, database: DatabaseKind) -> StatementProblems {
    let mut problems =
        StatementProblems { warnings: shape.warning.into_iter().collect(), errors: Vec::new() };
    if let (Some(placeholders), Some(params)) = (shape.placeholders, statement.params)
        && placeholders != params
    {
        let text = format!("the query has {placeholders} placeholder(s), and params has {params} value(s)");
        // SQLite counts the highest number of a placeholder.
        match database {
            DatabaseKind::Sqlite => problems.warnings.push(text),
            _ => problems.errors.push(text),
        }
    }
    problems
}

/// Fails: this build has no driver for SQL databases.
///
/// # Errors
/// Always.
#[cfg(not(feature = "sql"))]
pub async fn check_statements(
    _config: &Value,
    _sources: &StatementSources,
    _statements: &[AuthoredStatement],
) -> Result<CheckedStatements, String> {
    Err("this build has no driver for SQL databases: it was compiled without the feature 'sql'".to_owned())
}
