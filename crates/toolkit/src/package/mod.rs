//! `package`: commands over packages, which carry a tested project from one server to the next.
//!
//! A verb is a client procedure over the admin API. Nothing is kept between two runs but the receipt on the server: a
//! run that was killed is finished by the next one.

mod apply;
mod backtest;
mod boot;
mod confirmation;
mod degradation;
mod deployed_keys;
mod deployment;
mod diff;
mod error;
mod export;
mod impact;
mod lint;
mod plan;
mod plugins;
mod progress;
mod prune;
mod remote;
mod signature;
mod signed_file;
mod state;

use std::future::Future;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use svc_outbound::printable_json;
use svc_project::{PackageArtifact, read_packaged_plugins};

pub use self::boot::{BootFailure, BootNode, BootPackage, BootState};
pub use self::deployment::{DeployedProject, ProjectDeployment, ProjectUpdate};
use self::error::{PackageError, write_package_error};
use self::progress::StepProgress;
use self::remote::PackageServer;
use crate::backtest::{BacktestFormat, RecordedRunArgs};
use crate::exit;
use crate::plugins::{PluginArgs, package_engine};
use crate::project_files::{read_package_source, read_values};
use crate::report::{ReportFormat, TextStyle};

/// The arguments of `package`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PackageArgs {
    /// The command.
    #[command(subcommand)]
    pub command: PackageCommand,
}

/// The commands over packages.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum PackageCommand {
    /// Make a package of what a server has stored
    Export(PackageExportArgs),
    /// Check a package: its header, its hash and everything in it
    Lint(PackageLintArgs),
    /// Report what an apply would do, and what prevents it; changes nothing
    Plan(PlanArgs),
    /// Bring a server to the state of a package
    Apply(ApplyArgs),
    /// Compare a package with what a server has stored
    Diff(PackageDiffArgs),
    /// Run the workflows of a package, with the guards of its channels, over recorded runs; nothing is called
    Backtest(PackageBacktestArgs),
    /// Sign a package with a private key; the signature is a file of its own
    Sign(PackageSignArgs),
    /// Check that a package has a signature of a key; exit 1 if it has none that fits
    Verify(PackageVerifyArgs),
}

/// The server and the form of the output.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct RemoteArgs {
    /// Address of the server, such as `https://svc.example.com`; the key is taken from SVC_ADMIN_TOKEN
    #[arg(short, long, value_name = "URL")]
    pub server: String,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = PackageFormat::Text)]
    pub format: PackageFormat,
}

/// The form of the output of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PackageFormat {
    /// Lines for people
    Text,
    /// One JSON document
    Json,
}

/// The arguments of `package lint`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PackageLintArgs {
    /// The package
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
    /// Fail on warnings too
    #[arg(long)]
    pub deny_warnings: bool,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// The plugins that workflows may call.
    #[command(flatten)]
    pub plugins: PluginArgs,
}

/// The arguments of `package export`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
#[command(group(clap::ArgGroup::new("selector").required(true).multiple(true).args(["tag", "channels"])))]
pub struct PackageExportArgs {
    /// Address of the server; the key is taken from SVC_ADMIN_TOKEN
    #[arg(short, long, value_name = "URL")]
    pub server: String,
    /// Channels with this tag, with all they need
    #[arg(long)]
    pub tag: Option<String>,
    /// Channels of these ids or names, with all they need
    #[arg(long, value_delimiter = ',', value_name = "ID,…")]
    pub channels: Vec<String>,
    /// Name of the package
    #[arg(long)]
    pub name: String,
    /// Version of the package
    #[arg(long)]
    pub version: String,
    /// File of the package; standard output without it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The arguments of `package plan`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PlanArgs {
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// The package
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
    /// Let a canary take the place of another one
    #[arg(long)]
    pub replace_canary: bool,
    /// Check what the package reads against `values/NAME.yaml`, next to or above the package, or against a file
    #[arg(long, value_name = "NAME|FILE")]
    pub values: Option<String>,
    /// List what `apply --prune` would delete
    #[arg(long)]
    pub prune: bool,
    /// Let definitions through that this server cannot load, as `apply` does with it
    #[arg(long)]
    pub allow_degraded: bool,
    /// List the channels that each change touches, with their runs of the last 24 hours
    #[arg(long)]
    pub impact: bool,
}

/// The arguments of `package apply`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct ApplyArgs {
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// The package
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
    /// Let a canary take the place of another one
    #[arg(long)]
    pub replace_canary: bool,
    /// Delete what earlier versions of the package had and this one does not; asks first on a terminal
    #[arg(long)]
    pub prune: bool,
    /// Delete without a question
    #[arg(short, long)]
    pub yes: bool,
    /// Succeed, with a warning, if the server quarantines a channel or cannot load a connector of the package
    #[arg(long)]
    pub allow_degraded: bool,
    /// Report what would be done, as `plan` does, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// The arguments of `package diff`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PackageDiffArgs {
    /// The server.
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// The package
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
}

/// The arguments of `package backtest`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PackageBacktestArgs {
    /// The package, or a project directory
    #[arg(short, long, value_name = "PATH")]
    pub file: PathBuf,
    /// Address of the server of the recorded runs, whose channels made the recorded answers; the key is taken from
    /// SVC_ADMIN_TOKEN. Without it the recorded answers are those that the channels of the package make
    #[arg(short, long, value_name = "URL")]
    pub server: Option<String>,
    /// The recorded runs.
    #[command(flatten)]
    pub runs: RecordedRunArgs,
}

/// The arguments of `package sign`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PackageSignArgs {
    /// File of the private key: Ed25519, PKCS#8 in PEM, as `openssl genpkey -algorithm ed25519` writes it
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// The package
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
    /// File of the signature; the name of the package with `.sig` behind it without this option
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The arguments of `package verify`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct PackageVerifyArgs {
    /// File of a public key: Ed25519, in PEM, as `openssl pkey -pubout` writes it; may be repeated, one must fit
    #[arg(long, value_name = "FILE", required = true)]
    pub key: Vec<PathBuf>,
    /// The package
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,
    /// File of the signature; the name of the package with `.sig` behind it without this option
    #[arg(long, value_name = "FILE")]
    pub signature: Option<PathBuf>,
}

/// Standard output and standard error of a verb.
struct Streams<'s> {
    out: &'s mut dyn Write,
    err: &'s mut dyn Write,
    style: TextStyle,
    /// Name of the program, for the server.
    program: &'s str,
    environment: &'s [(String, String)],
}

/// Runs a command over packages and returns the exit code.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn package(
    args: &PackageArgs,
    style: TextStyle,
    program: &str,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let mut streams = Streams { out, err, style, program, environment };
    match &args.command {
        PackageCommand::Lint(args) => lint::lint(args, &mut streams),
        PackageCommand::Export(args) => export::export(args, &mut streams),
        PackageCommand::Plan(args) => plan::plan(args, &mut streams),
        PackageCommand::Apply(args) if args.dry_run => plan::plan(&args.to_plan(), &mut streams),
        PackageCommand::Apply(args) => apply::apply(args, &mut streams),
        PackageCommand::Diff(args) => diff::diff(args, &mut streams),
        PackageCommand::Backtest(args) => backtest::backtest(args, &mut streams),
        PackageCommand::Sign(args) => signature::sign(args, streams.out, streams.err),
        PackageCommand::Verify(args) => signature::verify(args, streams.out, streams.err),
    }
}

impl PackageArgs {
    /// Returns `true` if standard output is a document.
    pub(crate) fn writes_document(&self) -> bool {
        match &self.command {
            PackageCommand::Export(_) => true,
            PackageCommand::Lint(args) => args.format != ReportFormat::Text,
            PackageCommand::Backtest(args) => args.runs.format != BacktestFormat::Text,
            PackageCommand::Sign(_) | PackageCommand::Verify(_) => false,
            PackageCommand::Plan(PlanArgs { remote, .. })
            | PackageCommand::Apply(ApplyArgs { remote, .. })
            | PackageCommand::Diff(PackageDiffArgs { remote, .. }) => remote.format != PackageFormat::Text,
        }
    }
}

impl ApplyArgs {
    fn to_plan(&self) -> PlanArgs {
        let Self { remote, file, replace_canary, prune, yes: _, allow_degraded, dry_run: _ } = self.clone();
        PlanArgs { remote, file, replace_canary, values: None, prune, allow_degraded, impact: false }
    }
}

impl Streams<'_> {
    /// Reads a package and checks its hash; `None` for one that cannot be used, which is reported.
    fn read_artifact(&mut self, file: &Path) -> io::Result<Option<PackageArtifact>> {
        let Ok(source) = read_package_source(file, self.style, self.err)? else { return Ok(None) };
        match PackageArtifact::read(&source, package_engine) {
            Ok(artifact) => Ok(Some(artifact)),
            Err(error) => {
                writeln!(self.err, "Error: {}: {error}", file.display())?;
                Ok(None)
            }
        }
    }

    /// Returns the problems of a package with the values of an environment; `None` if they cannot be read, which is
    /// reported.
    fn value_problems(&mut self, file: &Path, name: &str) -> io::Result<Option<Vec<String>>> {
        let Ok(values) = read_values(name, file, self.style, self.err)? else { return Ok(None) };
        let Ok(source) = read_package_source(file, self.style, self.err)? else { return Ok(None) };
        let engine = package_engine(&read_packaged_plugins(&source.value).unwrap_or_default());
        let findings = svc_project::check_package_values(&source, &engine, &values).into_iter();
        Ok(Some(findings.map(|finding| format!("{}: {}", finding.entity, finding.message)).collect()))
    }

    /// Connects to a server. The label is in the audit rows of all that the verb does.
    fn connect(&mut self, address: &str, change_context: &str) -> io::Result<Option<PackageServer>> {
        match PackageServer::new(address, change_context, self.program, self.environment) {
            Ok((server, warning)) => {
                if let Some(warning) = warning {
                    writeln!(self.err, "warning: {warning}")?;
                }
                Ok(Some(server))
            }
            Err(error) => {
                exit::write_error(&error, self.err)?;
                Ok(None)
            }
        }
    }

    /// Runs a verb to its end. A failure is reported, and is `None`.
    fn run<T>(&mut self, verb: impl Future<Output = Result<T, PackageError>>) -> io::Result<Option<T>> {
        match self.run_verb(verb)? {
            Ok(done) => Ok(Some(done)),
            Err(error) => write_package_error(&error, self.err).map(|()| None),
        }
    }

    /// Runs a verb to its end.
    fn run_verb<T>(
        &self,
        verb: impl Future<Output = Result<T, PackageError>>,
    ) -> io::Result<Result<T, PackageError>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(verb))
    }

    /// Writes a report as one JSON document.
    fn write_json(&mut self, report: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(report).map_err(io::Error::other)?;
        writeln!(self.out, "{}", printable_json(text))
    }
}

/// Returns the progress of a verb, shown on standard error.
fn progress() -> StepProgress {
    StepProgress::new(io::stderr().is_terminal())
}
