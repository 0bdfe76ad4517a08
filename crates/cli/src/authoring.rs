//! The commands of authors, which need no server and no setting of this client.

use std::io::{self, Write as _};

use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches as _};
use svc_toolkit::AuthorCommand;
use svc_toolkit::exit::{EXIT_USAGE, to_exit_code};

/// Name of this program in the requests of `package`.
const PROGRAM: &str = "svc-cli";

/// Runs a command of authors and returns its exit code.
pub(crate) fn run(matches: &ArgMatches, environment: &[(String, String)]) -> u8 {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    if has_client_option(matches) {
        // Nothing can be reported when standard error is closed.
        let _unwritten = writeln!(
            err,
            "error: an option before a command of authors; they take their own options alone, behind the command"
        );
        return EXIT_USAGE;
    }
    let command = AuthorCommand::from_arg_matches(matches).unwrap_or_else(|error| error.exit());
    let result = svc_toolkit::run(&command, PROGRAM, environment, &mut out, &mut err);
    to_exit_code(result, &mut err)
}

/// Returns `true` if an option of the client was given, which the command would ignore.
fn has_client_option(matches: &ArgMatches) -> bool {
    matches.ids().any(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine))
}
