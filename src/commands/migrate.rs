//! `svc-server migrate`: lists or applies the pending migrations.

use std::io::{self, Write};

use clap::Args;
use slog::{Discard, Logger, o};
use svc_store::StoreConfig;
use tokio::runtime::Handle;

use super::wait::{DatabaseWaitArgs, away_database};
use crate::config::Config;
use crate::error::ServiceStartError;
use crate::exit::{self, EXIT_CONFIG, EXIT_FAILURE, EXIT_OK};
use crate::settings;

/// The arguments of `migrate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args)]
pub struct MigrateArgs {
    /// Only list them
    #[arg(long)]
    pub dry_run: bool,
    /// The wait for the database.
    #[command(flatten)]
    pub wait: DatabaseWaitArgs,
}

/// Lists or applies the pending migrations. Waits for a database server that is not there yet.
pub(super) fn migrate(
    config: &Config,
    args: MigrateArgs,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let MigrateArgs { dry_run, wait } = args;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let store = match dry_run {
        true => Ok(settings::store_config(config)),
        false => runtime.block_on(read_keys(config, environment)),
    };
    let store = match store {
        Ok(store) => store,
        Err(error) => return exit::write_error(&error, err).map(|()| error.exit_code()),
    };
    let outcome = runtime.block_on(async {
        let mut wait = wait.begin(&store);
        if dry_run {
            let list = async || svc_store::migrate::pending(&store).await;
            return wait.attempt(err, away_database(&store), list).await;
        }
        // No schema changes under a server that uses the file.
        let _file_lock = svc_store::FileLock::acquire(&store, "svc-server migrate")?;
        let run = async || svc_store::migrate::run(&store).await;
        wait.attempt(err, away_database(&store), run).await
    });
    match outcome {
        Ok(migrations) => {
            for name in &migrations {
                let line = svc_store::migrate::describe(&store, name).unwrap_or_else(|_| name.clone());
                writeln!(out, "{line}")?;
            }
            let did = if dry_run { "pending" } else { "applied" };
            writeln!(err, "note: {} migrations {did}", migrations.len())?;
            Ok(EXIT_OK)
        }
        Err(error) => {
            let code = if error.is_configuration() { EXIT_CONFIG } else { EXIT_FAILURE };
            exit::write_error(&error, err).map(|()| code)
        }
    }
}

/// Returns the settings of the store with the keys of its secrets, which a database of a build before 0.1.0 needs.
async fn read_keys(
    config: &Config,
    environment: &[(String, String)],
) -> Result<StoreConfig, ServiceStartError> {
    let outbound = settings::build_outbound(&Logger::root(Discard, o!()))?;
    let keyring = settings::build_keyring(config, environment, &outbound, Handle::current())?;
    let connector_keys = settings::connector_keys(config, &keyring).await?;
    Ok(StoreConfig { connector_keys, ..settings::store_config(config) })
}
