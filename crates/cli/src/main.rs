//! The client `svc-cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let environment = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    ExitCode::from(svc_cli::run(std::env::args_os(), environment.collect()))
}
