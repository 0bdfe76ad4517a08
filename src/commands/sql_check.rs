//! `svc-server sql check`: prepares the statements of a project on the databases of its connectors.
//!
//! Connectors are resolved as the server does it, or replaced on the command line. Nothing is run and nothing is changed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use slog::{Discard, Logger, o};
use svc_connectors::{AuthoredStatement, StatementProblems, StatementSources, check_statements};
use svc_model::{EntityKind, nearest};
use svc_project::{AuthoredEntity, EnvironmentValues, Finding, Project, Severity, SourceFile, SourceFormat};
use tokio::runtime::Handle;

use crate::config::Config;
use crate::error::ServiceStartError;
use crate::exit::{self, EXIT_FAILURE, EXIT_OK, EXIT_USAGE};
use crate::settings;

/// The id of the findings.
const CHECK: &str = "sql.statement";
/// The functions whose statements are checked.
const FUNCTIONS: [&str; 2] = ["db_read", "db_write"];
/// Functions whose statements are made of a document.
const DOCUMENTS: [&str; 2] = ["data_query", "data_write"];
/// The folder of a project with the values of its environments.
const VALUES: &str = "values";

/// The commands of `sql`.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum SqlCommand {
    /// Prepare every statement of db_read and db_write of a project on the database of its connector
    Check(SqlCheckArgs),
}

/// The arguments of `sql check`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct SqlCheckArgs {
    /// Project directory
    pub directory: PathBuf,
    /// Values of an environment: a file, or the name of one below values/
    #[arg(long, value_name = "FILE")]
    pub values: Option<String>,
    /// Database of a connector, as NAME=URL, in place of its own
    #[arg(long = "connector", value_name = "NAME=URL", value_parser = parse_connector)]
    pub connectors: Vec<NamedDatabase>,
    /// Connector whose statements are left out
    #[arg(long = "skip-connector", value_name = "NAME")]
    pub skipped: Vec<String>,
}

/// A connector with the URL of its database, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct NamedDatabase {
    name: String,
    url: String,
}

impl std::fmt::Debug for NamedDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedDatabase").field("name", &self.name).finish_non_exhaustive()
    }
}

fn parse_connector(text: &str) -> Result<NamedDatabase, String> {
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() && !url.is_empty() => {
            Ok(NamedDatabase { name: name.to_owned(), url: url.to_owned() })
        }
        _ => Err("expected NAME=URL".to_owned()),
    }
}

/// A statement of a task.
struct TaskStatement<'p> {
    entity: &'p AuthoredEntity,
    /// The path of the query in the workflow.
    path: String,
    statement: AuthoredStatement,
}

/// The statements of a project by connector.
type ConnectorStatements<'p> = BTreeMap<String, Vec<TaskStatement<'p>>>;

/// Runs a command of `sql`.
pub(super) fn sql(
    command: &SqlCommand,
    config: &Config,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let SqlCommand::Check(args) = command;
    let project = match read_project(&args.directory) {
        Ok(project) => project,
        Err(problem) => return writeln!(err, "Error: {problem}").map(|()| EXIT_USAGE),
    };
    let values = args.values.as_ref().map(|name| read_values(name, &args.directory)).transpose();
    let vars = match values {
        Ok(values) => values.map_or_else(|| config.vars.0.clone(), |values| values.vars),
        Err(findings) => return write_findings(&findings, err).map(|()| EXIT_FAILURE),
    };
    let unreadable = errors_of(&project);
    if !unreadable.is_empty() {
        return write_findings(&unreadable, err).map(|()| EXIT_FAILURE);
    }
    let statements = collect_statements(&project);
    if let Some(problem) = find_unknown_connector(args, &project, &statements) {
        return writeln!(err, "Error: {problem}").map(|()| EXIT_USAGE);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let sources = build_sources(config, environment, vars)?;
        Ok::<_, ServiceStartError>(check_all(args, &project, &statements, &sources).await)
    });
    let report = match report {
        Ok(report) => report,
        Err(error) => return exit::write_error(&error, err).map(|()| error.exit_code()),
    };
    report.notes.iter().try_for_each(|note| writeln!(err, "note: {note}"))?;
    let workflows = project.entities(EntityKind::Workflow);
    let documents: usize = workflows.map(|entity| count_documents(&entity.document)).sum();
    if documents > 0 {
        writeln!(
            err,
            "note: {documents} task(s) of data_query and data_write are not checked: they have no statement"
        )?;
    }
    write_findings(&report.findings, err)?;
    let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let (checked, connectors) = (report.checked, statements.len());
    writeln!(
        out,
        "{checked} statement(s) of {connectors} connector(s) — {errors} error(s), {warnings} warning(s)"
    )?;
    Ok(if errors == 0 { EXIT_OK } else { EXIT_FAILURE })
}

/// Returns the problem of a connector of the command line that neither a statement nor the project names: its statements
/// would be checked on another database than its user believes.
fn find_unknown_connector(
    args: &SqlCheckArgs,
    project: &Project,
    statements: &ConnectorStatements<'_>,
) -> Option<String> {
    let own = project.entities(EntityKind::Connector).filter_map(|entity| entity.text("name"));
    let known: Vec<&str> = statements.keys().map(String::as_str).chain(own).collect();
    let replaced = args.connectors.iter().map(|named| ("--connector", named.name.as_str()));
    let skipped = args.skipped.iter().map(|name| ("--skip-connector", name.as_str()));
    let (option, name) = replaced.chain(skipped).find(|(_, name)| !known.contains(name))?;
    let meant = nearest(name, known).map(|meant| format!(", did you mean '{meant}'?")).unwrap_or_default();
    Some(format!("{option}: no statement of the project names a connector '{name}'{meant}"))
}

/// Returns the sources of what the configs of connectors name, as a server has them.
fn build_sources(
    config: &Config,
    environment: &[(String, String)],
    vars: Map<String, Value>,
) -> Result<StatementSources, ServiceStartError> {
    let outbound = settings::build_outbound(&Logger::root(Discard, o!()))?;
    let secrets = settings::build_keyring(config, environment, &outbound, Handle::current())?;
    Ok(StatementSources { environment: settings::variable_lookup(environment), secrets, vars, outbound })
}

/// The result of the check.
#[derive(Default)]
struct CheckReport {
    findings: Vec<Finding>,
    notes: Vec<String>,
    checked: usize,
}

async fn check_all(
    args: &SqlCheckArgs,
    project: &Project,
    statements: &ConnectorStatements<'_>,
    sources: &StatementSources,
) -> CheckReport {
    let mut report = CheckReport::default();
    for (connector, statements) in statements {
        if args.skipped.contains(connector) {
            report.notes.push(format!("connector '{connector}': {} statement(s) left out", statements.len()));
            continue;
        }
        let config = match connector_config(args, project, connector) {
            Ok(config) => config,
            Err(why) => {
                report.findings.push(connector_finding(connector, why));
                continue;
            }
        };
        let authored: Vec<_> = statements.iter().map(|one| one.statement.clone()).collect();
        match check_statements(&config, sources, &authored).await {
            Err(why) => report.findings.push(connector_finding(connector, why)),
            Ok(checked) => {
                report.checked += statements.len();
                if !checked.proves_rights {
                    report.notes.push(format!(
                        "connector '{connector}': the schema was checked, rights were not; PostgreSQL 16 and later checks both"
                    ));
                }
                for (statement, problems) in statements.iter().zip(checked.statements) {
                    report.findings.extend(statement.findings(problems));
                }
            }
        }
    }
    report
}

/// Returns the config of a connector: that of the command line, else that of the project.
fn connector_config(args: &SqlCheckArgs, project: &Project, name: &str) -> Result<Value, String> {
    if let Some(named) = args.connectors.iter().find(|named| named.name == name) {
        return Ok(json!({"connection_string": named.url, "allow_private_urls": true}));
    }
    let own = project.entities(EntityKind::Connector).find(|entity| entity.text("name") == Some(name));
    match own {
        Some(entity) => Ok(entity.document.get("config").cloned().unwrap_or_default()),
        None => Err("is not in the project".to_owned()),
    }
}

fn connector_finding(connector: &str, why: String) -> Finding {
    let fix = format!(
        "correct the connector, name a database with --connector {connector}=URL, or leave it out with \
         --skip-connector {connector}"
    );
    Finding {
        severity: Severity::Error,
        check: CHECK,
        entity: format!("connector '{connector}'"),
        message: why,
        fix: Some(fix),
        place: None,
    }
}

impl TaskStatement<'_> {
    fn findings(&self, problems: StatementProblems) -> Vec<Finding> {
        let origin = self.entity.expansion.origins.trace(&self.path);
        let finding = |severity, message: String| Finding {
            severity,
            check: CHECK,
            entity: self.entity.label.clone(),
            message: format!("{}: {message}", origin.path),
            fix: None,
            place: origin.place(),
        };
        let errors = problems.errors.into_iter().map(|message| finding(Severity::Error, message));
        let warnings = problems.warnings.into_iter().map(|message| finding(Severity::Warning, message));
        errors.chain(warnings).collect()
    }
}

fn read_project(directory: &Path) -> Result<Project, String> {
    let walked = svc_project::walk(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut project = Project::read(walked.files.into_iter().map(Arc::new).collect());
    project.findings.extend(walked.unreadable);
    match project.entities.is_empty() {
        true => Err(format!("{} holds no workflow, connector or channel", directory.display())),
        false => Ok(project),
    }
}

/// Returns the errors of files and of their expansion.
fn errors_of(project: &Project) -> Vec<Finding> {
    let expanded = project.entities.iter().flat_map(|entity| &entity.expansion.findings);
    let all = project.findings.iter().chain(expanded);
    all.filter(|finding| finding.severity == Severity::Error).cloned().collect()
}

fn read_values(name: &str, directory: &Path) -> Result<EnvironmentValues, Vec<Finding>> {
    let path = match SourceFormat::from_path(Path::new(name)) {
        Some(_) => PathBuf::from(name),
        None => directory.join(VALUES).join(format!("{name}.yaml")),
    };
    let shown = path.display().to_string();
    let source = SourceFile::read(&shown, &path)
        .map_err(|error| vec![error.to_finding(Severity::Error, svc_project::UNREADABLE, &shown)])?;
    EnvironmentValues::read(&Arc::new(source))
}

fn write_findings(findings: &[Finding], err: &mut dyn Write) -> io::Result<()> {
    findings.iter().try_for_each(|finding| match &finding.place {
        Some(place) => writeln!(err, "{}:{}:{}: {finding}", place.file, place.line, place.column),
        None => writeln!(err, "{finding}"),
    })
}

/// Returns the statements of all workflows that are written and not computed.
fn collect_statements(project: &Project) -> ConnectorStatements<'_> {
    let mut statements = ConnectorStatements::new();
    for entity in project.entities(EntityKind::Workflow) {
        find_statements(entity, &entity.document, "", &mut statements);
    }
    statements
}

fn find_statements<'p>(
    entity: &'p AuthoredEntity,
    value: &Value,
    at: &str,
    statements: &mut ConnectorStatements<'p>,
) {
    match value {
        Value::Object(members) => {
            if let Some((connector, statement)) = members.get("function").and_then(task_statement) {
                let path = join(at, "function.input.query");
                statements.entry(connector).or_default().push(TaskStatement { entity, path, statement });
            }
            for (key, member) in members {
                find_statements(entity, member, &join(at, key), statements);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_statements(entity, item, &format!("{at}[{index}]"), statements);
            }
        }
        _ => {}
    }
}

/// Returns the number of tasks below a value whose statement is made of a document.
fn count_documents(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            let name = members.get("function").and_then(|function| function.get("name")?.as_str());
            let own = usize::from(name.is_some_and(|name| DOCUMENTS.contains(&name)));
            own + members.values().map(count_documents).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count_documents).sum(),
        _ => 0,
    }
}

/// Returns the connector and the statement of the function of a task.
fn task_statement(function: &Value) -> Option<(String, AuthoredStatement)> {
    let is_checked = FUNCTIONS.contains(&function.get("name")?.as_str()?);
    let input = function.get("input").filter(|_| is_checked)?;
    let (connector, sql) = (input.get("connector")?.as_str()?, input.get("query")?.as_str()?);
    let params = match input.get("params") {
        None => Some(0),
        Some(params) => params.as_array().map(Vec::len),
    };
    Some((connector.to_owned(), AuthoredStatement { sql: sql.to_owned(), params }))
}

fn join(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_without_a_statement_are_counted() {
        let task = |name: &str| json!({"id": "t", "function": {"name": name, "input": {}}});
        let group = json!({"id": "g", "tasks": [task("data_query"), task("db_read")], "finally": [task("data_write")]});
        assert_eq!(count_documents(&json!({"tasks": [task("map"), group]})), 2);
    }

    #[test]
    fn statement_has_its_connector_and_number_of_parameters() {
        let statement = |input: Value| task_statement(&json!({"name": "db_write", "input": input}));
        let authored =
            |params| Some(("c".to_owned(), AuthoredStatement { sql: "DELETE FROM t".to_owned(), params }));
        let input = json!({"connector": "c", "query": "DELETE FROM t"});
        assert_eq!(statement(input.clone()), authored(Some(0)));
        for (params, expected) in [(json!([1, 2]), Some(2)), (json!({"var": "data.all"}), None)] {
            let mut input = input.clone();
            input["params"] = params;
            assert_eq!(statement(input), authored(expected));
        }
        assert_eq!(statement(json!({"connector": "c"})), None);
        assert_eq!(task_statement(&json!({"name": "log", "input": input})), None);
    }

    #[test]
    fn url_of_a_connector_is_not_printable() {
        let named = parse_connector("shop=postgres://u:swordfish@db/app?a=b").unwrap();
        assert_eq!((named.name.as_str(), named.url.as_str()), ("shop", "postgres://u:swordfish@db/app?a=b"));
        assert!(!format!("{named:?}").contains("swordfish"));
        for wrong in ["shop", "=url", "shop="] {
            assert!(parse_connector(wrong).is_err(), "{wrong}");
        }
    }
}
