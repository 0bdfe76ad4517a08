//! `svc-server migrate-storage`: moves the SQLite database to PostgreSQL.

use std::io::{self, Write};

use clap::Args;
use svc_secrets::Reference;
use svc_store::{OpenError, StoreConfig, TransferError, TransferredTable};

use crate::config::Config;
use crate::exit::{self, EXIT_CONFIG, EXIT_FAILURE, EXIT_OK};
use crate::settings;

/// The arguments of `migrate-storage`.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub struct MigrateStorageArgs {
    /// The empty PostgreSQL database: postgres://…, or env://NAME for a URL with a password
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

/// Returns the URL itself, or that of the variable it names.
fn read_url(text: &str, environment: &[(String, String)]) -> Result<String, String> {
    match svc_secrets::parse(text) {
        Ok(Some(Reference::Env { var })) => {
            let variable = environment.iter().find(|(name, value)| *name == var && !value.is_empty());
            variable.map(|(_, value)| value.clone()).ok_or_else(|| format!("the variable {var} is not set"))
        }
        Ok(Some(_)) => Err("name a URL, or a variable as env://NAME".to_owned()),
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
}
