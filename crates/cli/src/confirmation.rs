//! The question before something is destroyed.

use std::io::{self, BufRead as _, Write as _};

use crate::error::CliError;

/// Asks a question on standard error and reads the answer from standard input. Anything but a yes declines, the end of
/// the input too.
pub(crate) fn ask(question: &str) -> Result<(), CliError> {
    let mut err = io::stderr();
    // Without standard error there is nobody to ask; the answer decides all the same.
    let _unwritten = write!(err, "{question} [y/N] ").and_then(|()| err.flush());
    let mut answer = String::new();
    let source = |source| CliError::File { path: "standard input".into(), source };
    let length = io::stdin().lock().read_line(&mut answer).map_err(source)?;
    if is_yes(&answer) {
        return Ok(());
    }
    if length == 0 {
        let _unwritten = writeln!(err);
        return Err(CliError::Declined(
            "nothing was changed: the input ended; pass --yes to go ahead".to_owned(),
        ));
    }
    Err(CliError::Declined("nothing was changed".to_owned()))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for answer in ["y\n", "Y\r\n", "yes", " YES "] {
            assert!(is_yes(answer), "{answer:?}");
        }
        for answer in ["", "\n", "n\n", "no", "yy", "ye", "ja"] {
            assert!(!is_yes(answer), "{answer:?}");
        }
    }
}
