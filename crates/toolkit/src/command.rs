//! The commands, and the one place that runs them.

use std::io::{self, IsTerminal as _, Write};

use clap::Subcommand;
use svc_outbound::PrintableWriter;

use crate::analyze::{self, AnalyzeArgs};
use crate::backtest::{self, BacktestArgs, BacktestFormat};
use crate::case::{self, CaseArgs};
use crate::compile::{self, CompileArgs};
use crate::contract::{self, ContractArgs, OpenapiArgs};
use crate::dry_run::{self, DryRunArgs};
use crate::fmt::{self, FmtArgs};
use crate::lint::{self, LintArgs};
use crate::new::{self, NewArgs};
use crate::package::{self, PackageArgs};
use crate::report::{ReportFormat, TestFormat, TextStyle};
use crate::schema::{self, SchemaArgs};
use crate::test::{self, TestArgs};

/// The commands of authors.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum AuthorCommand {
    /// Look for probable mistakes of a project that lint does not refuse
    Analyze(AnalyzeArgs),
    /// Print the AsyncAPI document of the channels of a project that read topics
    Asyncapi(ContractArgs),
    /// Run a workflow over recorded runs, offline, and name the differences
    Backtest(BacktestArgs),
    /// Make a test case of the trace of a run
    Case(CaseArgs),
    /// Make a package, or documents to import, of a project directory
    Compile(CompileArgs),
    /// Run a workflow once, offline, and print all that happened
    DryRun(DryRunArgs),
    /// Put authored files into their canonical order and layout
    Fmt(FmtArgs),
    /// Check a definition, or a project directory as a whole
    Lint(LintArgs),
    /// Make a small project that lints, tests and runs, or a plugin
    New(NewArgs),
    /// Print the OpenAPI document of the channels of a project that take requests
    Openapi(OpenapiArgs),
    /// Work with packages
    Package(PackageArgs),
    /// Print the JSON Schema of a kind of document, or of all, for editors
    Schema(SchemaArgs),
    /// Run test cases offline
    Test(TestArgs),
}

/// Runs a command and returns its exit code. `program` is the name of the program in the requests of `package`.
///
/// # Errors
/// The output cannot be written.
pub fn run(
    command: &AuthorCommand,
    program: &str,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let style = TextStyle::detect(io::stderr().is_terminal(), environment);
    let may_color = style == TextStyle::Excerpt { color: true };
    let (mut printable_err, mut printable_out) = (PrintableWriter::new(err, may_color), None);
    let out: &mut dyn Write = match command.writes_document() {
        true => out,
        false => printable_out.insert(PrintableWriter::new(out, false)),
    };
    let err = &mut printable_err;
    let code = match command {
        AuthorCommand::Analyze(args) => analyze::analyze(args, style, out, err),
        AuthorCommand::Asyncapi(args) => contract::asyncapi(args, style, out, err),
        AuthorCommand::Backtest(args) => backtest::backtest(args, out, err),
        AuthorCommand::Case(args) => case::case(args, out, err),
        AuthorCommand::Compile(args) => compile::compile(args, style, out, err),
        AuthorCommand::DryRun(args) => dry_run::dry_run(args, out, err),
        AuthorCommand::Fmt(args) => fmt::fmt(args, out, err),
        AuthorCommand::Lint(args) => lint::lint(args, style, out, err),
        AuthorCommand::New(args) => new::new(args, out, err),
        AuthorCommand::Openapi(args) => contract::openapi(args, style, out, err),
        AuthorCommand::Package(args) => package::package(args, style, program, environment, out, err),
        AuthorCommand::Schema(args) => schema::schema(args, out, err),
        AuthorCommand::Test(args) => test::test(args, out, err),
    }?;
    out.flush()?;
    err.flush()?;
    Ok(code)
}

impl AuthorCommand {
    /// Returns `true` for a command whose standard output is a document, which no escape may change; the others write
    /// lines for people.
    fn writes_document(&self) -> bool {
        match self {
            Self::Asyncapi(_)
            | Self::Case(_)
            | Self::Compile(_)
            | Self::DryRun(_)
            | Self::Openapi(_)
            | Self::Schema(_) => true,
            Self::Analyze(args) => args.format != ReportFormat::Text,
            Self::Lint(args) => args.format != ReportFormat::Text,
            Self::Test(args) => args.format != TestFormat::Text,
            Self::Backtest(args) => args.runs.format != BacktestFormat::Text,
            Self::Package(args) => args.writes_document(),
            Self::Fmt(_) | Self::New(_) => false,
        }
    }
}
