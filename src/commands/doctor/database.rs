//! The database: reachable, current, fast, writable; and the stored definitions, as `preflight` checks them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};
use svc_project::Severity;
use svc_store::inspect::{self, DatabaseProbe, DatabaseSummary, StoredDefinitions};
use svc_store::{OpenError, StoreConfig};
use tokio::time::timeout;

use super::clock;
use super::report::DoctorReport;
use crate::commands::preflight::scan_definitions;
use crate::commands::test_connectivity::ask_database;
use crate::config::Config;

const CHECK: &str = "database";
const KEY: &str = "storage.url";
/// Time of one statement from which on every request that is stored is slow.
const SLOW: Duration = Duration::from_millis(20);
/// Connections of a node in addition to those of `storage.max_connections`: the writer, and announcements.
const FURTHER_CONNECTIONS: i64 = 2;

/// Checks the database. Returns `true` if it exists and can be read.
pub(super) async fn check_database(config: &Config, store: &StoreConfig, report: &mut DoctorReport) -> bool {
    let summary = match ask_database(store).await {
        Ok(summary) => summary,
        Err(error) => {
            report.add_error(CHECK, KEY, error.to_string(), remedy_of(&error, store));
            return false;
        }
    };
    if !summary.exists {
        report.add_note(CHECK, KEY, format!("{} is made by the first start", summary.target));
        return false;
    }
    check_schema(config, &summary, report);
    let probed = timeout(store.acquire_timeout, inspect::probe(store)).await;
    match probed {
        Ok(Ok(probe)) => report_probe(config, &probe, report),
        Ok(Err(error)) => report.add_error(CHECK, KEY, error.to_string(), remedy_of(&error, store)),
        Err(_) => {
            let message = format!("no answer within {} s", store.acquire_timeout.as_secs());
            report.add_error(CHECK, KEY, message, "look at the load and at the locks of the database");
        }
    }
    if let Some(file) = store.file() {
        check_file(&file, report);
    }
    true
}

/// Checks what is stored as `preflight` does, and returns it.
pub(super) async fn check_definitions(
    config: &Config,
    environment: &[(String, String)],
    report: &mut DoctorReport,
) -> StoredDefinitions {
    match scan_definitions(config, environment).await {
        Ok(scan) => {
            report.extend(scan.findings);
            scan.stored
        }
        Err(error) => {
            let remedy = "run `svc-server preflight`, which does nothing else";
            report.add_error("definitions", KEY, error.to_string(), remedy);
            StoredDefinitions::default()
        }
    }
}

fn remedy_of(error: &OpenError, store: &StoreConfig) -> &'static str {
    match error {
        OpenError::Unreachable { .. } if !store.is_server() => {
            "make the directory, give this user the right to write there, or name another file"
        }
        OpenError::Unreachable { .. } => {
            "start the database, or correct host, port, user, password and name; `svc-server test-connectivity` asks it \
             alone"
        }
        OpenError::Url(_) => "correct the URL",
        _ => "run a version of the program that fits the database, or name another one",
    }
}

fn check_schema(config: &Config, summary: &DatabaseSummary, report: &mut DoctorReport) {
    const CHECK: &str = "migrations";
    let pending = &summary.pending;
    if pending.is_empty() {
        return report.add_note(CHECK, KEY, "the schema is current");
    }
    let (count, names) = (pending.len(), pending.join(", "));
    if config.storage.auto_migrate {
        let message = format!("{count} pending migration(s), which the next start applies: {names}");
        report.add_warning(
            CHECK,
            KEY,
            message,
            "make a backup, then run `svc-server migrate` before the start",
        );
    } else {
        let message = format!("{count} pending migration(s) prevent the start: {names}");
        report.add_error(CHECK, "storage.auto_migrate", message, "run `svc-server migrate`");
    }
}

fn report_probe(config: &Config, probe: &DatabaseProbe, report: &mut DoctorReport) {
    let DatabaseProbe { backend, version, latency, .. } = probe;
    let micros = latency.as_micros();
    let message = format!("{backend} {version}, a statement takes {micros} µs");
    if *latency >= SLOW {
        let remedy =
            "put the nodes nearer to the database, or look at its load: every stored request waits for it";
        report.add_warning(CHECK, KEY, message, remedy);
    } else {
        report.add_note(CHECK, KEY, message);
    }
    if probe.is_replica {
        let remedy = "name the primary, or all servers with target_session_attrs=read-write";
        report.add_error(CHECK, KEY, "the server takes no writes: it is a replica", remedy);
    }
    if let Some(mode) = probe.journal_mode.as_deref().filter(|mode| *mode != "wal") {
        let message =
            format!("the journal mode of the file is '{mode}', readers and the writer wait for each other");
        let remedy = "start the server once, which sets wal; file systems of a network cannot have it";
        report.add_warning(CHECK, KEY, message, remedy);
    }
    let needed = i64::from(config.storage.max_connections) + FURTHER_CONNECTIONS;
    if let Some(limit) = probe.max_connections.filter(|limit| *limit < needed) {
        let message =
            format!("one node may open {needed} connections, the server takes {limit} from all nodes");
        let remedy = "lower it, or raise max_connections of the server, or put a pooler between";
        report.add_warning(CHECK, "storage.max_connections", message, remedy);
    }
    if probe.max_connections.is_some() {
        clock::report_difference(report, KEY, probe.clock_ahead_ms);
    }
}

/// Checks that this user, and no other, may use the file.
fn check_file(file: &Path, report: &mut DoctorReport) {
    const CHECK: &str = "permissions";
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let directory = file.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
    // SQLite makes its log next to the file.
    for path in [&file, &directory] {
        if access(path.as_path(), Access::WRITE_OK).is_err() {
            let message = format!("{} cannot be written by this user", path.display());
            let remedy =
                "give file and directory to the user of the service (chown), and run this as that user";
            report.add_error(CHECK, KEY, message, remedy);
        }
    }
    if let Some(mode) = shared_mode(&file) {
        let message = format!("others can use {} (mode {mode:o})", file.display());
        let remedy = "chmod 600 the file and what lies next to it under its name (-wal, -shm)";
        report.add(Severity::Warning, CHECK, KEY, message, Some(remedy));
    }
}

/// Returns the mode of a file that others than its owner can read or write.
#[cfg(unix)]
fn shared_mode(file: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(file).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn shared_mode(_: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use svc_store::Backend;

    use super::*;

    fn weigh(change: impl FnOnce(&mut DatabaseProbe)) -> Vec<Severity> {
        let mut probe = DatabaseProbe {
            backend: Backend::Postgres,
            version: "15.1".into(),
            latency: Duration::from_millis(1),
            clock_ahead_ms: 0,
            journal_mode: None,
            max_connections: Some(100),
            is_replica: false,
        };
        change(&mut probe);
        let mut report = DoctorReport::default();
        report_probe(&Config::default(), &probe, &mut report);
        let weights = report.findings().iter().map(|finding| finding.severity);
        weights.filter(|severity| *severity != Severity::Note).collect()
    }

    #[test]
    fn each_trouble_of_the_database_is_found() {
        assert_eq!(weigh(|_| ()), []);
        assert_eq!(weigh(|probe| probe.latency = SLOW), [Severity::Warning]);
        assert_eq!(weigh(|probe| probe.is_replica = true), [Severity::Error]);
        assert_eq!(weigh(|probe| probe.max_connections = Some(51)), [Severity::Warning]);
        assert_eq!(weigh(|probe| probe.clock_ahead_ms = -20_000), [Severity::Error]);
        assert_eq!(weigh(|probe| probe.journal_mode = Some("delete".into())), [Severity::Warning]);
    }

    #[cfg(unix)]
    #[test]
    fn file_that_others_read_is_a_warning() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("svc.db");
        std::fs::write(&file, "").unwrap();
        for (mode, expected) in [(0o600, 0), (0o644, 1)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let mut report = DoctorReport::default();
            check_file(&file, &mut report);
            assert_eq!(report.findings().len(), expected, "{:?}", report.findings());
        }
    }
}
