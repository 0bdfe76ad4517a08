//! The question before a prune deletes something.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use svc_outbound::printable;

use super::error::PackageError;
use super::prune::StaleEntity;

/// Names on standard error what is about to be deleted, and asks on a terminal. `yes` is the answer.
///
/// # Errors
/// The answer is no, or there is no terminal to ask at.
pub(super) fn confirm_deletion(stale: &[StaleEntity], yes: bool) -> Result<(), PackageError> {
    if stale.is_empty() {
        return Ok(());
    }
    let line = |entity: &StaleEntity| format!("to be deleted: {}\n", printable(&entity.to_string()));
    let lines: String = stale.iter().map(line).collect();
    let mut err = io::stderr();
    // Without standard error there is nobody to tell; the answer decides all the same.
    let _unwritten = err.write_all(lines.as_bytes());
    if yes {
        return Ok(());
    }
    let count = stale.len();
    if !io::stdin().is_terminal() {
        return Err(PackageError::Declined(format!(
            "--prune would delete {count} definition(s), and nobody can be asked; pass --yes to let it"
        )));
    }
    let _unwritten = write!(err, "delete {count} definition(s) once the package serves? [y/N] ");
    let _unwritten = err.flush();
    let mut answer = String::new();
    // An answer that cannot be read is none.
    let _unread = io::stdin().lock().read_line(&mut answer);
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(PackageError::Declined("nothing was changed".to_owned())),
    }
}
