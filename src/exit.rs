//! Exit codes of `svc-server`, and errors as its commands write them.

pub use svc_toolkit::exit::{EXIT_FAILURE, EXIT_OK, EXIT_USAGE, causes, to_exit_code, write_error};

/// Exit code of a configuration that is refused (`EX_CONFIG` of sysexits).
pub const EXIT_CONFIG: u8 = 78;
