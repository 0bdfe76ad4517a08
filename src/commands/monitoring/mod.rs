//! `svc-server monitoring`: the alert rules of Prometheus and the dashboards of Grafana, made from the declarations of this
//! folder. `deploy/monitoring` has what this version writes.

mod alerts;
mod dashboards;
mod grafana;
mod rules;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use svc_outbound::describe_cause;

use crate::exit::{EXIT_FAILURE, EXIT_OK, write_error};

/// Place of the page of alerts, to which every alert has a link.
const RUNBOOKS: &str = "https://example.invalid/svc/docs/alerts.md";
/// Name of the file of rules.
const RULES_FILE: &str = "alerts.yaml";

/// The commands of `monitoring`.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum MonitoringCommand {
    /// Print the alert rules of Prometheus, whose scrape job is svc
    Rules(RulesArgs),
    /// Write the dashboards of Grafana, a file each
    Dashboards(DashboardsArgs),
}

/// The arguments of `monitoring rules`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct RulesArgs {
    /// Directory to write alerts.yaml into, in place of printing it
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Address of the page of alerts, to which every alert has a link
    #[arg(long, value_name = "URL", default_value = RUNBOOKS)]
    pub runbooks: String,
}

/// The arguments of `monitoring dashboards`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct DashboardsArgs {
    /// Directory to write the files into
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Prints or writes what a command is about, and prints the paths of what it wrote.
pub(super) fn monitoring(
    command: &MonitoringCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let written = match command {
        MonitoringCommand::Rules(RulesArgs { out: None, runbooks }) => {
            out.write_all(rules::render(runbooks).as_bytes())?;
            return Ok(EXIT_OK);
        }
        MonitoringCommand::Rules(RulesArgs { out: Some(directory), runbooks }) => {
            write_files(directory, [(RULES_FILE.to_owned(), rules::render(runbooks))])
        }
        MonitoringCommand::Dashboards(DashboardsArgs { out: directory }) => {
            let files = dashboards::DASHBOARDS.into_iter().map(|dashboard| {
                (format!("{}.json", dashboard.uid), format!("{:#}\n", grafana::render(&dashboard)))
            });
            write_files(directory, files)
        }
    };
    match written {
        Ok(paths) => {
            paths.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?;
            Ok(EXIT_OK)
        }
        Err(error) => write_error(&error, err).map(|()| EXIT_FAILURE),
    }
}

/// Writes files into a directory, which is made if it is missing, and returns their paths.
fn write_files(
    directory: &Path,
    files: impl IntoIterator<Item = (String, String)>,
) -> io::Result<Vec<PathBuf>> {
    let named = |path: &Path, error: &io::Error| {
        io::Error::new(error.kind(), format!("cannot write {}: {}", path.display(), describe_cause(error)))
    };
    fs::create_dir_all(directory).map_err(|error| named(directory, &error))?;
    let written = files.into_iter().map(|(name, text)| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|error| named(&path, &error))?;
        Ok(path)
    });
    written.collect()
}
