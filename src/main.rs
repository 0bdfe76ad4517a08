//! The daemon `svc-server`.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use svc::cli::Cli;
use svc::{commands, config, daemon, exit};

/// Requests consist of small allocations that one thread makes and another frees, which is slow in the C
/// library.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = config::process_environment();
    let path = cli.config.as_deref();
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let code = match cli.command {
        None => daemon::start(path, &environment, &mut err),
        Some(command) => commands::run(&command, path, &environment, &mut out, &mut err),
    };
    ExitCode::from(exit::to_exit_code(code, &mut err))
}
