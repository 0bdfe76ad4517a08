//! `svc-server validate-config`: checks the configuration and prints all of it, secrets struck out.

use std::io::{self, Write};

use crate::config::{self, ConfigFormat, LoadedConfig};
use crate::exit::EXIT_OK;

/// Prints a configuration that was checked when it was loaded. Returns the exit code.
///
/// # Errors
/// The output cannot be written.
pub(super) fn validate_config(
    loaded: &LoadedConfig,
    format: ConfigFormat,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    loaded.notes.iter().try_for_each(|note| writeln!(err, "warning: {note}"))?;
    out.write_all(config::render(&loaded.config, format).as_bytes())?;
    writeln!(err, "note: the configuration is valid")?;
    Ok(EXIT_OK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{CliCommand, OperatorCommand};
    use crate::commands;
    use crate::exit::EXIT_CONFIG;

    fn validate(text: &str, format: ConfigFormat) -> (u8, String, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let command = CliCommand::Operator(OperatorCommand::ValidateConfig { format });
        let code = commands::run(&command, Some(file.path()), &[], &mut out, &mut err).unwrap();
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_valid_configuration_is_printed_and_called_valid() {
        let (code, out, err) = validate("server.port = 9000", ConfigFormat::Toml);
        assert_eq!(code, EXIT_OK);
        assert!(out.contains("port = 9000"), "{out}");
        assert!(err.ends_with("note: the configuration is valid\n"), "{err}");
    }

    #[test]
    fn invalid_configuration_exits_78_without_output() {
        let (code, out, err) = validate("server.prot = 9000\nserver.host = ''", ConfigFormat::Json);
        assert_eq!((code, out.as_str()), (EXIT_CONFIG, ""));
        assert_eq!(
            err,
            "Error: the configuration has 2 problems\n  server.prot: unknown key; did you mean server.port?\n  \
             server.host: must not be empty\n"
        );
    }
}
