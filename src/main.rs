//! The daemon `svc-server`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use clap::Parser;
use mimalloc::MiMalloc;
use parking_lot::Mutex;
use svc::cli::{self, Cli, EXIT_CONFIG, EXIT_FAILURE, EXIT_OK};
use svc::config::{ConfigSource, LogFormat};
use svc::logging::Logs;
use svc::serve::{ServeOutcome, serve};
use svc::{Options, commands, config, exit, logging};

/// Requests consist of small allocations that one thread makes and another frees, which is slow in the C
/// library.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Time to write the log when the process is ended by force.
const LAST_LOG: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = config::process_environment();
    let path = cli.config.as_deref();
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let code = match cli.command {
        None => start(path, environment, &mut err),
        Some(command) => commands::run(&command, path, &environment, &mut out, &mut err),
    };
    ExitCode::from(exit::to_exit_code(code, &mut err))
}

/// Runs the service until it ends.
fn start(path: Option<&Path>, environment: Vec<(String, String)>, err: &mut dyn Write) -> io::Result<u8> {
    let loaded = match config::load(path, &environment) {
        Ok(loaded) => loaded,
        Err(error) => return cli::write_error(&error, err).map(|()| EXIT_CONFIG),
    };
    let rust_log = environment.iter().find(|(name, _)| name == "RUST_LOG").map(|(_, value)| value.as_str());
    let logs = logging::start(&loaded.config.logging, rust_log);
    logs.log_panics();
    logs.write_notes(&loaded.notes, err)?;
    // Without a choice an error of the start is for people, whoever reads the messages.
    let logs_errors = loaded.config.logging.format == Some(LogFormat::Json);
    let log = logs.log.clone();
    let source = |path: &Path| ConfigSource { path: path.to_owned(), environment: environment.clone() };
    let options = Options {
        log: logs.log.clone(),
        environment: environment.clone(),
        config_source: path.map(source),
        setting_origins: loaded.origins,
        log_level: Some(logs.level.clone()),
        ..Options::default()
    };
    let logs = Arc::new(Mutex::new(Some(logs)));
    let last = Arc::clone(&logs);
    let ended = actix_rt::System::new().block_on(serve(loaded.config, options, move || force_exit(&last)));
    if let (Err(error), true) = (&ended, logs_errors) {
        let causes = exit::causes(error).join(": ");
        slog::error!(log, "the service did not start"; "error" => %error, "causes" => causes);
    }
    drop((log, logs.lock().take()));
    match ended {
        Ok(ServeOutcome::Drained) => Ok(EXIT_OK),
        Ok(ServeOutcome::Failed) => Ok(EXIT_FAILURE),
        // At once, without waiting for any thread.
        Ok(ServeOutcome::Aborted) => std::process::exit(EXIT_FAILURE.into()),
        Err(error) if logs_errors => Ok(error.exit_code()),
        Err(error) => cli::write_error(&error, err).map(|()| error.exit_code()),
    }
}

/// Ends the process, whatever its threads do. A log that cannot be written in time is cut off.
fn force_exit(logs: &Arc<Mutex<Option<Logs>>>) {
    let (written, is_written) = mpsc::channel();
    let logs = Arc::clone(logs);
    let write = move || {
        drop(logs.lock().take());
        // Nobody may be waiting any more.
        let _ = written.send(());
    };
    if thread::Builder::new().name("svc-last-log".to_owned()).spawn(write).is_ok() {
        let _late = is_written.recv_timeout(LAST_LOG);
    }
    std::process::exit(EXIT_FAILURE.into());
}
