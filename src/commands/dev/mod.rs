//! `dev`: serves a project directory while its author works on it.
//!
//! It is the service itself, open on a loopback address, with a database of the project; and a thread that deploys the
//! directory to it over the admin API, as an author would with `package apply`.

mod args;
mod settings;
mod state_directory;
mod status;
mod terminal;
mod watch;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use svc_toolkit::ProjectDeployment;

pub use args::DevArgs;
pub(crate) use status::DevStatus;

use self::settings::{development_config, find_origins};
use self::state_directory::StateDirectory;
use self::terminal::{DevTerminal, list_pages};
use self::watch::{ProjectWatch, WatchParts};
use crate::config::LoadedConfig;
use crate::exit::{EXIT_CONFIG, EXIT_FAILURE, write_error};
use crate::{Options, Service, daemon};

/// Name of the program in the requests of the deployment.
const PROGRAM: &str = "svc-server";

/// The reason for which a project cannot be served.
#[derive(Debug, thiserror::Error)]
enum DevError {
    /// The directory is none, or its state cannot be written.
    #[error("{path} cannot be used as a project directory")]
    Directory {
        /// The directory.
        path: String,
        /// The reason.
        source: io::Error,
    },
}

/// Runs `dev` until a signal ends it, and returns the exit code.
pub(super) fn dev(
    args: &DevArgs,
    loaded: &LoadedConfig,
    environment: &[(String, String)],
    err: &mut dyn Write,
) -> io::Result<u8> {
    // Before anything is written: production is refused.
    let config =
        match development_config(&loaded.config, &StateDirectory::path_in(&args.directory), args.port) {
            Ok(config) => config,
            Err(error) => return write_error(&error, err).map(|()| EXIT_CONFIG),
        };
    let (directory, state) = match open_project(&args.directory) {
        Ok(opened) => opened,
        Err(error) => return write_error(&error, err).map(|()| EXIT_FAILURE),
    };
    let setting_origins = find_origins(loaded, &config, args.port);
    let options = Options { setting_origins, records_all_runs: true, ..Options::default() };
    let start_watch = |service: &Service, address: SocketAddr| {
        let status = Arc::new(DevStatus::new(&directory));
        // A process has one watch. Requests are answered already: from here on they know of the project.
        let _unset = service.state().process.dev.set(Arc::clone(&status));
        let base = format!("http://{address}");
        let terminal = DevTerminal::new(&directory, base.clone(), environment);
        terminal.show_start(&list_pages(&service.state().config));
        let deployment =
            ProjectDeployment::new(directory.clone(), state.keys(), &args.boundary, &base, PROGRAM);
        let watch = deployment.and_then(|deployment| {
            let service = service.clone();
            let directory = directory.clone();
            ProjectWatch::start(WatchParts { directory, deployment, status, terminal, service })
        });
        let log = &service.state().log;
        watch.inspect_err(|error| slog::error!(log, "the project is not watched"; "error" => %error))
    };
    daemon::run(config, &[], options, environment, start_watch, err)
}

/// Returns the whole path of a project directory, and the directory of its state, which is made.
fn open_project(directory: &Path) -> Result<(PathBuf, StateDirectory), DevError> {
    let failed = |source| DevError::Directory { path: directory.display().to_string(), source };
    let whole = directory.canonicalize().map_err(failed)?;
    let state = StateDirectory::create(&whole).map_err(failed)?;
    Ok((whole, state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn missing_project_is_refused_and_not_made() {
        let directory = tempfile::tempdir().unwrap();
        let args = DevArgs {
            directory: directory.path().join("none"),
            port: None,
            boundary: svc_toolkit::Boundaries::default(),
        };
        let loaded = config::load(None, &[]).unwrap();
        let mut err = Vec::new();
        let code = dev(&args, &loaded, &[], &mut err).unwrap();
        let err = String::from_utf8(err).unwrap();
        assert_eq!(code, EXIT_FAILURE, "{err}");
        assert!(err.contains("none cannot be used as a project directory"), "{err}");
        assert!(!args.directory.exists());
    }
}
