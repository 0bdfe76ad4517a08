//! Outages of the database.

use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::{join_all, join3};
use svc_store::{AlignOutcome, DatabaseStatus, OpenError, Store, StoreError};
use svc_testkit::gateway::Gateway;
use svc_testkit::postgres::Postgres;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::database::{TestDatabase, connect, on_url};
use super::traces::pending;
use super::{any_mutation, is_unavailable, ledger, workflow};

/// Longer than any wait in these tests takes.
const DEADLINE: Duration = Duration::from_secs(20);
/// Longest time from the moment at which another server takes over until a write is done.
const RECOVERY: Duration = Duration::from_secs(5);

async fn status_becomes(store: &Store, wanted: impl Fn(&DatabaseStatus) -> bool) {
    let wait = async {
        while !wanted(&store.status()) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, wait).await.expect("the status follows the database");
}

fn is_down(status: &DatabaseStatus) -> bool {
    matches!(status, DatabaseStatus::Down { .. })
}

pub(crate) async fn a_server_may_stop_and_start_again(db: TestDatabase, server: Postgres) {
    let store = db.store().await;
    let workflows = store.workflows();
    workflows.create(Some("before".into()), workflow("w"), any_mutation()).await.unwrap();
    server.stop().unwrap();
    let patience = db.config.acquire_timeout + Duration::from_secs(2);
    for _ in 0..2 {
        let begin = Instant::now();
        let write = workflows.create(Some("during".into()), workflow("w"), any_mutation()).await;
        assert!(is_unavailable(&write), "{write:?}");
        let read = workflows.latest("before").await;
        assert!(is_unavailable(&read), "{read:?}");
        assert!(begin.elapsed() < 2 * patience, "both were told in time, after {:?}", begin.elapsed());
    }
    status_becomes(&store, is_down).await;
    server.restart().unwrap();
    status_becomes(&store, |status| *status == DatabaseStatus::Ok).await;
    workflows.create(Some("after".into()), workflow("w"), any_mutation()).await.expect("writes work again");
    assert!(workflows.latest("before").await.expect("reads work again").is_some());
    assert!(workflows.latest("during").await.unwrap().is_none());
}

pub(crate) async fn waiting_rows_fail_when_the_server_ends(db: TestDatabase, server: Postgres) {
    let store = db.store().await;
    let traces = store.traces();
    traces.insert(pending("before")).await.unwrap();
    // The server dies during the writes.
    let rows: Vec<_> = (0..3000).map(|_| pending("during")).collect();
    let writes = join_all(rows.iter().map(|row| traces.insert(row.clone())));
    let (answers, _server) = futures_util::future::join(timeout(DEADLINE, writes), async {
        tokio::task::yield_now().await;
        let fall = move || {
            server.stop().unwrap();
            server.restart().unwrap();
            server
        };
        tokio::task::spawn_blocking(fall).await.unwrap()
    })
    .await;
    let answers = answers.expect("every caller is told");
    assert!(answers.iter().all(|answer| answer.is_ok() || is_unavailable(answer)));
    status_becomes(&store, |status| *status == DatabaseStatus::Ok).await;
    for (row, answer) in rows.iter().zip(&answers) {
        let stored = traces.get(&row.id.to_string()).await.unwrap().is_some();
        assert!(stored || answer.is_err(), "what was answered is stored");
    }
    traces.insert(pending("after")).await.expect("rows are written again");
}

pub(crate) async fn killed_connections_are_replaced_unnoticed(db: TestDatabase, _server: Postgres) {
    let workflows = db.store().await.workflows();
    workflows.create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    for round in 0..5 {
        db.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
            .await
            .unwrap();
        assert!(workflows.latest("w").await.expect("a read finds a new connection").is_some());
        workflows
            .create(Some(format!("w{round}")), workflow("w"), any_mutation())
            .await
            .expect("so does a write");
    }
}

pub(crate) async fn a_server_that_starts_late_is_waited_for(mut db: TestDatabase, server: Postgres) {
    server.stop().unwrap();
    let refused = db.open().await.err().expect("a single attempt is refused");
    assert!(matches!(refused, OpenError::Unreachable { .. }) && !refused.is_configuration(), "{refused}");
    db.config.connect_retry = DEADLINE;
    let (opened, ()) = futures_util::future::join(db.open(), async {
        server.restart().unwrap();
    })
    .await;
    opened.expect("it came in time");
}

/// A load of one kind of write: the next begins when the last has ended.
struct StoreLoad<'t> {
    /// Writes that were done, and those that were refused.
    counts: watch::Sender<(u64, u64)>,
    is_over: &'t Cell<bool>,
}

impl<'t> StoreLoad<'t> {
    fn new(is_over: &'t Cell<bool>) -> Self {
        Self { counts: watch::Sender::new((0, 0)), is_over }
    }

    async fn keep_writing(&self, write: impl AsyncFn() -> Result<(), StoreError>) {
        while !self.is_over.get() {
            let outcome = write().await;
            assert!(outcome.is_ok() || is_unavailable(&outcome), "{outcome:?}");
            self.counts.send_modify(|(done, refused)| match outcome {
                Ok(()) => *done += 1,
                Err(_) => *refused += 1,
            });
            tokio::task::yield_now().await;
        }
    }

    async fn reach(&self, is_reached: impl FnMut(&(u64, u64)) -> bool) {
        self.counts.subscribe().wait_for(is_reached).await.unwrap();
    }

    /// Waits for one more write that is done.
    async fn goes_on(&self) {
        let (before, _) = *self.counts.borrow();
        self.reach(|(done, _)| *done > before).await;
    }
}

/// Checks that neither the connection of the writer nor those of the pool stay with a server that became read-only.
pub(crate) fn writes_recover_after_failover_of_the_server() {
    let (Some(former), Some(next)) = (Postgres::own(), Postgres::own()) else { return };
    on_url(next.url(), async |db| drop(db.store().await));
    let [from, to] = [&former, &next].map(|server| -> SocketAddr {
        let (_, place) = server.url().rsplit_once('@').unwrap();
        place.split('/').next().unwrap().parse().unwrap()
    });
    let gateway = Gateway::start(from).unwrap();
    let url = former.url().replace(&from.to_string(), &gateway.address().to_string());
    let admin = former.database().unwrap();
    on_url(&url, async |db| {
        let store = db.store().await;
        let (leases, tokens) = (store.job_leases(), store.token_states());
        let is_over = Cell::new(false);
        let (writer, pool) = (StoreLoad::new(&is_over), StoreLoad::new(&is_over));
        let failover = async {
            writer.goes_on().await;
            pool.goes_on().await;
            admin.rows("ALTER SYSTEM SET default_transaction_read_only = on").unwrap();
            admin.rows("SELECT pg_reload_conf()").unwrap();
            writer.reach(|(_, refused)| *refused > 0).await;
            pool.reach(|(_, refused)| *refused > 0).await;
            status_becomes(&store, is_down).await;
            gateway.lead_to(to);
            let recovery = async {
                writer.goes_on().await;
                pool.goes_on().await;
                status_becomes(&store, |status| *status == DatabaseStatus::Ok).await;
            };
            assert!(timeout(RECOVERY, recovery).await.is_ok(), "{:?}", store.status());
            is_over.set(true);
        };
        join3(
            writer.keep_writing(async || leases.acquire("trace_cleanup", "a", DEADLINE).await.map(drop)),
            pool.keep_writing(async || tokens.release("nobody").await),
            failover,
        )
        .await;
    });
}

/// Sets the messages of the server to German in this database. Returns `false` if it has no German messages.
async fn speaks_german(db: &TestDatabase) -> bool {
    let (_, name) = db.config.url.rsplit_once('/').unwrap();
    let changed = db.execute(&format!("ALTER DATABASE {name} SET lc_messages = 'de_DE.UTF-8'")).await;
    if let Err(why) = &changed {
        svc_testkit::peer::report_missing("locale de_DE.UTF-8", why);
    }
    changed.is_ok()
}

pub(crate) async fn errors_in_another_language_are_judged_by_their_codes(db: TestDatabase) {
    if !speaks_german(&db).await {
        return;
    }
    let workflows = db.store().await.workflows();
    workflows.create(Some("before".into()), workflow("w"), any_mutation()).await.unwrap();
    let (_, name) = db.config.url.rsplit_once('/').unwrap();
    db.execute(&format!("ALTER DATABASE {name} SET lock_timeout = '100ms'")).await.unwrap();
    // New connections of the store use the setting.
    db.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
        .await
        .unwrap();
    workflows
        .create(Some("between".into()), workflow("w"), any_mutation())
        .await
        .expect("a new connection is found");
    let (mut other, connection) =
        tokio_postgres::connect(&db.config.url, tokio_postgres::NoTls).await.unwrap();
    db.io.spawn(connection);
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE definitions IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let write = workflows.create(Some("during".into()), workflow("w"), any_mutation()).await;
    assert!(is_unavailable(&write), "{write:?}");
    let text = format!("{write:?}");
    assert!(text.contains("SQLSTATE 55P03") && text.contains("Zeit"), "it is told in German: {text}");
    lock.rollback().await.unwrap();
    workflows.create(Some("after".into()), workflow("w"), any_mutation()).await.expect("writes work again");
}

pub(crate) async fn unix_socket_errors_are_judged_by_code(mut db: TestDatabase) {
    let (server, connection) = tokio_postgres::connect(&db.config.url, tokio_postgres::NoTls).await.unwrap();
    db.io.spawn(connection);
    let settings = "SELECT current_setting('data_directory'), current_setting('port'), \
                    current_setting('unix_socket_directories')";
    let row = server.query_one(settings, &[]).await.unwrap();
    let (directory, port, sockets): (&str, &str, &str) = (row.get(0), row.get(1), row.get(2));
    if sockets != "." {
        return svc_testkit::peer::report_missing("PostgreSQL", "the running server offers no Unix socket");
    }
    let (_, name) = db.config.url.rsplit_once('/').unwrap();
    db.config.url = format!("postgres://svc@{}:{port}/{name}", directory.replace('/', "%2F"));
    errors_in_another_language_are_judged_by_their_codes(db).await;
}

/// Makes the server raise this error in the next transaction that begins a cursor, and in no later one.
async fn raise_once(db: &TestDatabase, code: &str, text: &str) {
    // A rollback does not take back the number of a sequence.
    db.execute(&format!(
        "CREATE SEQUENCE IF NOT EXISTS attempts;
         ALTER SEQUENCE attempts RESTART;
         CREATE OR REPLACE FUNCTION raise_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('attempts') = 1 THEN RAISE EXCEPTION '{text}' USING ERRCODE = '{code}'; END IF;
             RETURN NULL;
         END $$;
         DROP TRIGGER IF EXISTS raise_once ON cron_schedule_state;
         CREATE TRIGGER raise_once BEFORE INSERT ON cron_schedule_state EXECUTE FUNCTION raise_once()"
    ))
    .await
    .unwrap();
}

/// The errors of a server that speaks German, one that speaks English, and an error whose text alone reads like
/// contention.
pub(crate) async fn contention_in_another_language_is_tried_again(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let from = ledger::ago(&ledger, 10).await;
    let (server, connection) = tokio_postgres::connect(&db.config.url, tokio_postgres::NoTls).await.unwrap();
    db.io.spawn(connection);
    for (channel, code, text, expected_attempts) in [
        ("german", "40P01", "Verklemmung entdeckt", 2),
        ("serial", "40001", "konnte Zugriff nicht serialisieren", 2),
        ("english", "40P01", "deadlock detected", 2),
        ("other", "22001", "deadlock detected", 1),
    ] {
        raise_once(&db, code, text).await;
        db.execute(&format!(
            "INSERT INTO definitions (kind, id, version, name, type, protocol, status, content)
             VALUES ('channel', '{channel}', 1, '{channel}', 'async', 'cron', 'active', '{{}}')"
        ))
        .await
        .unwrap();
        let outcome = ledger.align(ledger::align(channel, from)).await;
        let row = server.query_one("SELECT last_value FROM attempts", &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), expected_attempts, "{code} {text}: {outcome:?}");
        match expected_attempts {
            1 => assert!(matches!(outcome, Err(StoreError::Database(_))), "{code} {text}: {outcome:?}"),
            _ => assert!(matches!(outcome, Ok(AlignOutcome::At(_))), "{code} {text}: {outcome:?}"),
        }
    }
}

pub(crate) async fn a_locked_file_is_unavailable_and_then_fine(mut db: TestDatabase) {
    use diesel::connection::SimpleConnection;
    db.config.busy_timeout_ms = 100;
    let store = db.store().await;
    let workflows = store.workflows();
    workflows.create(Some("before".into()), workflow("w"), any_mutation()).await.unwrap();
    let path = db.config.url.strip_prefix("sqlite:").unwrap();
    let mut other = connect(path);
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    let write = workflows.create(Some("during".into()), workflow("w"), any_mutation()).await;
    assert!(is_unavailable(&write), "{write:?}");
    assert!(workflows.latest("before").await.expect("reads go on beside a lock").is_some());
    assert!(is_down(&store.status()));
    other.batch_execute("ROLLBACK").unwrap();
    // Another write of the store itself may take longer than this one waits.
    let after = async {
        loop {
            let write = workflows.create(Some("after".into()), workflow("w"), any_mutation()).await;
            if !is_unavailable(&write) {
                return write;
            }
        }
    };
    timeout(DEADLINE, after).await.unwrap().expect("the lock is gone");
    assert_eq!(store.status(), DatabaseStatus::Ok);
}

/// The lock is held far longer than a check may take.
pub(crate) async fn late_health_check_marks_database_away(mut db: TestDatabase) {
    use diesel::connection::SimpleConnection;
    db.config.busy_timeout_ms = 600_000;
    db.config.health_check_timeout = Duration::from_millis(50);
    let store = db.store().await;
    status_becomes(&store, |status| *status == DatabaseStatus::Ok).await;
    let path = db.config.url.strip_prefix("sqlite:").unwrap().to_owned();
    let mut other = connect(&path);
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    status_becomes(&store, is_down).await;
    other.batch_execute("ROLLBACK").unwrap();
    status_becomes(&store, |status| *status == DatabaseStatus::Ok).await;
}

/// The server refuses some texts of every kind of row there.
pub(crate) async fn new_database_of_narrow_encoding_is_refused(mut db: TestDatabase) {
    let (server, name) = db.config.url.rsplit_once('/').expect("the URL names a database");
    let (narrow, wide) = (format!("{name}00"), db.config.url.clone());
    let make = format!("CREATE DATABASE {narrow} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    db.execute(&make).await.unwrap();
    db.config.url = format!("{server}/{narrow}");
    let line = db.open().await.err().expect("it is refused").to_string();
    db.config.url = wide;
    db.execute(&format!("DROP DATABASE {narrow} WITH (FORCE)")).await.unwrap();
    assert!(line.contains("LATIN1") && line.contains("UTF8") && !line.contains('\n'), "{line}");
}

pub(crate) async fn unopenable_database_is_reported_in_one_line(mut db: TestDatabase) {
    db.config.url = if db.is_sqlite() {
        format!("sqlite:{}", db.directory().join("missing/svc.db").display())
    } else {
        "postgres://svc:hunter2@127.0.0.1:1/svc".into()
    };
    let line = db.open().await.err().expect("it is refused").to_string();
    assert!(line.starts_with("cannot open ") && !line.contains('\n') && !line.contains("hunter2"), "{line}");
    if db.is_sqlite() {
        let text = db.directory().join("text");
        std::fs::write(&text, "this is no database, however long it may be; it goes on and on").unwrap();
        db.config.url = format!("sqlite:{}", text.display());
        let line = db.open().await.err().expect("a text file is refused").to_string();
        assert!(line.contains("not a database"), "{line}");
    }
}
