//! `svc-server migrate`: lists or applies the pending migrations.

use std::io::{self, Write};

use crate::config::Config;
use crate::exit::{self, EXIT_CONFIG, EXIT_FAILURE, EXIT_OK};
use crate::settings;

/// Lists or applies the pending migrations.
pub(super) fn migrate(
    config: &Config,
    dry_run: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let store = settings::store_config(config);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        if dry_run {
            return svc_store::migrate::pending(&store).await;
        }
        // No schema changes under a server that uses the file.
        let _file_lock = svc_store::FileLock::acquire(&store, "svc-server migrate")?;
        svc_store::migrate::run(&store).await
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
