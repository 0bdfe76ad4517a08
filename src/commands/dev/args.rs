//! The arguments of `dev`.

use std::path::PathBuf;

use clap::Args;
use svc_toolkit::Boundaries;

/// The arguments of `dev`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct DevArgs {
    /// Project directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Port on 127.0.0.1; 0 takes a free one [default: server.port]
    #[arg(long)]
    pub port: Option<u16>,
    /// The boundary of the project.
    #[command(flatten)]
    pub boundary: Boundaries,
}
