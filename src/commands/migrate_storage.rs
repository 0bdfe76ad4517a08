//! `svc-server migrate-storage`: moves the SQLite database to PostgreSQL.

use std::io::{self, Write};

use clap::Args;
use svc_secrets::{Reference, ReferenceError};
use svc_store::{OpenError, StoreConfig, TransferError, TransferredTable};
use svc_vault::read_secret_file;

use crate::config::Config;
use crate::exit::{self, EXIT_CONFIG, EXIT_FAILURE, EXIT_OK};
use crate::settings;

/// The arguments of `migrate-storage`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct MigrateStorageArgs {
    /// The empty PostgreSQL database: postgres://…, or env://NAME or file://… for a URL with a password
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// The SQLite file, such as sqlite:copy.db for a backup [default: storage.url]
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
}

/// Moves all tables in one transaction, and prints each with the number and the digest of its rows.
pub(super) fn migrate_storage(
    args: &MigrateStorageArgs,
    config: &Config,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let usable = |url: String| match svc_store::check_url(&url) {
        Ok(()) => Ok(url),
        Err(OpenError::Url(why)) => Err(why),
        Err(other) => Err(other.to_string()),
    };
    let to = match read_url(&args.to, environment).and_then(usable) {
        Ok(url) => url,
        Err(problem) => {
            writeln!(err, "Error: --to: {problem}")?;
            return Ok(EXIT_CONFIG);
        }
    };
    let stored = settings::store_config(config);
    let source =
        StoreConfig { url: args.from.clone().unwrap_or_else(|| stored.url.clone()), ..stored.clone() };
    let target = StoreConfig { url: to, ..stored };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut written = Ok(());
    let mut report = |moved: &TransferredTable| {
        if written.is_ok() {
            let TransferredTable { table, rows, digest } = moved;
            written = writeln!(out, "{table}: {rows} row(s), sha256 sum {digest}");
        }
    };
    let outcome = runtime.block_on(svc_store::transfer(&source, &target, &mut report));
    written?;
    match outcome {
        Ok(tables) => {
            let rows: u64 = tables.iter().map(|table| table.rows).sum();
            writeln!(err, "note: {} tables, {rows} rows, equal on both sides", tables.len())?;
            writeln!(err, "note: set storage.url to the new database, and keep the encryption key as it is")?;
            Ok(EXIT_OK)
        }
        Err(error) => exit::write_error(&error, err).map(|()| exit_code(&error)),
    }
}

/// Returns the URL itself, or that of the variable or the file it names.
fn read_url(text: &str, environment: &[(String, String)]) -> Result<String, String> {
    match svc_secrets::parse(text) {
        Ok(Some(Reference::Env { var })) => {
            let variable = environment.iter().find(|(name, value)| *name == var && !value.is_empty());
            variable.map(|(_, value)| value.clone()).ok_or_else(|| format!("the variable {var} is not set"))
        }
        Ok(Some(Reference::File { place })) => {
            let lookup = |wanted: &str| {
                environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
            };
            let url = read_secret_file(&place, lookup).map_err(|error| error.to_string())?;
            Ok(url.expose().to_owned())
        }
        Ok(Some(Reference::Vault { .. })) => {
            Err("name a URL, a variable as env://NAME, or a file as file://<absolute path>".to_owned())
        }
        Err(error @ (ReferenceError::Env { .. } | ReferenceError::File { .. })) => Err(error.to_string()),
        Ok(None) | Err(_) => Ok(text.to_owned()),
    }
}

fn exit_code(error: &TransferError) -> u8 {
    match error {
        TransferError::NoSource { .. } | TransferError::NoServer { .. } => EXIT_CONFIG,
        TransferError::Open(error) if error.is_configuration() => EXIT_CONFIG,
        _ => EXIT_FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_may_come_from_a_variable() {
        let environment = [("TARGET".to_owned(), "postgres://u:p@db/svc".to_owned())];
        assert_eq!(read_url("env://TARGET", &environment), Ok("postgres://u:p@db/svc".to_owned()));
        assert_eq!(read_url("postgres://db/svc", &environment), Ok("postgres://db/svc".to_owned()));
        assert!(read_url("env://OTHER", &environment).unwrap_err().contains("OTHER"));
        assert!(read_url("vault://a#b", &environment).is_err());
    }

    #[test]
    fn url_may_come_from_a_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("url");
        std::fs::write(&file, "postgres://u:p@db/svc\n").unwrap();
        let reference = format!("file://{}", file.display());
        for (mode, is_read) in [(0o600, true), (0o644, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_url(&reference, &[]).is_ok_and(|url| url == "postgres://u:p@db/svc"), is_read);
        }
        for malformed in ["file://url", "env://A-B"] {
            assert!(read_url(malformed, &[]).unwrap_err().contains(malformed));
        }
    }
}
