//! The process of the daemon: the log, the service, and the exit code.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use crate::config::{self, Config, ConfigSource, LogFormat};
use crate::exit::{EXIT_CONFIG, EXIT_FAILURE, EXIT_OK, write_error};
use crate::logging::{self, Logs};
use crate::serve::{ServeOutcome, serve_with};
use crate::{Options, PassedSockets, Service, exit};

/// Time to write the log when the process is ended by force.
const LAST_LOG: Duration = Duration::from_millis(200);

/// Runs the service until it ends, and returns the exit code. `file` is the configuration file that was named.
///
/// # Errors
/// The output cannot be written.
pub fn start(file: Option<&Path>, environment: &[(String, String)], err: &mut dyn Write) -> io::Result<u8> {
    let loaded = match config::load(file, environment) {
        Ok(loaded) => loaded,
        Err(error) => return write_error(&error, err).map(|()| EXIT_CONFIG),
    };
    // Before any thread is started.
    let sockets = match PassedSockets::take(environment) {
        Ok(sockets) => sockets,
        Err(reason) => return writeln!(err, "Error: {reason}").map(|()| EXIT_CONFIG),
    };
    let source = |file: &Path| ConfigSource { path: file.to_owned(), environment: environment.to_owned() };
    let options = Options {
        config_source: file.map(source),
        setting_origins: loaded.origins,
        sockets,
        ..Options::default()
    };
    run(loaded.config, &loaded.notes, options, environment, |_, _| (), err)
}

/// Runs the service with its log and its environment. Once it listens, `start_companion` is called with its address;
/// what it returns is dropped when the service has ended.
pub(crate) fn run<C>(
    config: Config,
    notes: &[String],
    options: Options,
    environment: &[(String, String)],
    start_companion: impl FnOnce(&Service, SocketAddr) -> C,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let rust_log = environment.iter().find(|(name, _)| name == "RUST_LOG").map(|(_, value)| value.as_str());
    let logs = logging::start(&config.logging, rust_log);
    logs.log_panics();
    logs.write_notes(notes, err)?;
    // Without a choice an error of the start is for people, whoever reads the messages.
    let logs_errors = config.logging.format == Some(LogFormat::Json);
    let log = logs.log.clone();
    let options = Options {
        log: logs.log.clone(),
        environment: environment.to_owned(),
        log_level: Some(logs.level.clone()),
        dropped_messages: Some(logs.dropped.clone()),
        log_tap: Some(logs.tap.clone()),
        ..options
    };
    let logs = Arc::new(Mutex::new(Some(logs)));
    let last = Arc::clone(&logs);
    let service = serve_with(config, options, move || force_exit(&last), start_companion);
    let ended = actix_rt::System::new().block_on(service);
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
        Err(error) => write_error(&error, err).map(|()| error.exit_code()),
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
