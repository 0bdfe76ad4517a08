//! The toolkit of authors: the commands over files, projects and packages, which `svc-server` and `svc-cli` both have.
//!
//! A program adds [`AuthorCommand`] to its own commands and passes what it has parsed to [`run`]. So words, output and
//! exit codes are those of one library. Machine output goes to `out`; findings, notes and warnings go to `err`.
//! `package` alone talks to a server, over its HTTP API, as a [`ProjectDeployment`] does for `svc-server dev` and,
//! without a connection, a [`BootPackage`] for a node that starts; the others read and write files.

mod analyze;
mod backtest;
mod case;
mod command;
mod compile;
mod contract;
mod definitions;
mod dry_run;
pub mod exit;
mod fmt;
mod lint;
mod new;
pub mod offline;
mod offline_files;
mod output;
mod package;
mod plugins;
mod project_files;
pub mod report;
mod schema;
mod test;

pub use analyze::AnalyzeArgs;
pub use backtest::{
    BacktestArgs, BacktestFormat, RecordedRunArgs, write_backtest_junit, write_recorded_case,
};
pub use case::CaseArgs;
pub use command::{AuthorCommand, run};
pub use compile::{CompileArgs, CompileFormat};
pub use contract::{ContractArgs, OpenapiArgs};
pub use dry_run::DryRunArgs;
pub use fmt::FmtArgs;
pub use lint::LintArgs;
pub use new::NewArgs;
pub use package::{
    ApplyArgs, BootFailure, BootNode, BootPackage, BootState, DeployedProject, PackageArgs,
    PackageBacktestArgs, PackageCommand, PackageDiffArgs, PackageExportArgs, PackageFormat, PackageLintArgs,
    PackageSignArgs, PackageVerifyArgs, PlanArgs, ProjectDeployment, ProjectUpdate, RemoteArgs,
};
pub use plugins::{PluginArgs, PluginUpload};
pub use project_files::Boundaries;
pub use schema::SchemaArgs;
/// A server in the process of its caller, as a [`BootNode`] has it.
pub use svc_client::{LocalAnswer, LocalRequest, LocalResponse, LocalServer};
pub use test::TestArgs;

/// The version of the toolkit, which is that of the service.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
