//! A million rows of each kind, written by few statements.

/// Rows of traces, occurrences and the audit log; every tenth trace failed and has a dead letter.
pub(super) const ROWS: usize = 1_000_000;

/// The dialect of the statements.
#[derive(Clone, Copy)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Returns the table of the numbers `n` from one on.
    fn numbers(self, count: usize) -> String {
        match self {
            Self::Sqlite => format!(
                "(WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < {count}) SELECT n FROM i)"
            ),
            Self::Postgres => format!("generate_series(1, {count}) n"),
        }
    }

    /// Returns the numbers `n`, each with the instant `at`: fifty a second, the first is the newest.
    fn instants(self) -> String {
        let at = match self {
            Self::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (n / 50.0) || ' seconds')",
            Self::Postgres => "(now() AT TIME ZONE 'utc') - n * interval '20 milliseconds'",
        };
        format!("(SELECT n, {at} AS at FROM {}) instants", self.numbers(ROWS))
    }

    /// Returns the instant of a retry that is not due for long.
    const fn tomorrow(self) -> &'static str {
        match self {
            Self::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', 'now', '+1 day')",
            Self::Postgres => "(now() AT TIME ZONE 'utc') + interval '1 day'",
        }
    }
}

/// The group of a failed row, of three hundred.
const GROUP: &str = "'group-' || ((n / 10) % 300)";

/// The channel of a row, of as many.
fn channel(count: usize) -> String {
    format!("CASE WHEN n % 50000 = 17 THEN 'rare' ELSE 'c' || (n % {count}) END")
}

/// The workflow of a row, of seven; one has ten of the oldest rows alone.
const WORKFLOW: &str = "CASE WHEN n > 990000 AND n % 1000 = 500 THEN 'rare' ELSE 'w' || (n % 7) END";

/// Returns the statements that write all rows. None is due, so that the service leaves them alone. On SQLite nothing is
/// analysed, as in service; PostgreSQL does that by itself, sooner or later.
pub(super) fn all(dialect: Dialect) -> Vec<String> {
    let rows =
        [definitions(dialect), groups(dialect), traces(dialect), letters(dialect), occurrences(dialect)];
    let rows = rows.into_iter().chain([audit(dialect)]);
    match dialect {
        Dialect::Sqlite => std::iter::once("PRAGMA synchronous = OFF".to_owned())
            .chain(rows)
            .chain(["PRAGMA wal_checkpoint(TRUNCATE)".to_owned()])
            .collect(),
        Dialect::Postgres => rows.chain(["VACUUM ANALYZE".to_owned()]).collect(),
    }
}

/// The channels of the occurrences, archived.
fn definitions(dialect: Dialect) -> String {
    format!(
        "INSERT INTO definitions (kind, id, version, status, name, content)
         SELECT 'channel', name, 1, 'archived', name, '{{}}'
         FROM (SELECT 'rare' AS name UNION ALL SELECT 'c' || (n - 1) FROM {}) names",
        dialect.numbers(100)
    )
}

fn groups(dialect: Dialect) -> String {
    format!(
        "INSERT INTO error_groups (id, channel, workflow_id, task_id, code, message)
         SELECT 'group-' || (n - 1), 'c' || (n % 50), 'w' || (n % 7), 't' || (n % 5), 'E' || (n % 5), 'message ' || n
         FROM {}",
        dialect.numbers(300)
    )
}

fn traces(dialect: Dialect) -> String {
    format!(
        r#"INSERT INTO traces (id, channel, mode, status, workflow_id, workflow_version, request_id, run_key, error_code,
            error_group, error_message, duration_ms, result_json, started_at, completed_at, created_at, updated_at)
         SELECT 't' || n, {}, CASE n % 20 WHEN 0 THEN 'async' WHEN 10 THEN 'async' WHEN 5 THEN 'cron' ELSE 'sync' END,
            CASE WHEN n % 10 = 0 THEN 'failed' WHEN n % 1000 = 1 THEN 'cancelled' ELSE 'completed' END,
            {WORKFLOW}, 1 + n % 3, 'r' || n, CASE WHEN n % 20 = 5 THEN 'k' || n END,
            CASE n % 10 WHEN 0 THEN 'E' || ((n / 10) % 5) END, CASE n % 10 WHEN 0 THEN {GROUP} END,
            CASE n % 10 WHEN 0 THEN 'the call failed' END, n % 100,
            '{{"data": {{"text": "a result of some length, as results are", "total": 150, "items": [1, 2, 3, 4, 5, 6]}}}}',
            at, at, at, at
         FROM {}"#,
        channel(50),
        dialect.instants()
    )
}

fn letters(dialect: Dialect) -> String {
    format!(
        "INSERT INTO trace_dlq (id, trace_id, channel, payload_json, error_message, retry_count, next_retry_at, error_group,
            created_at)
         SELECT 'l' || id, id, channel, '{{}}', error_message, CASE WHEN length(error_group) = 9 THEN 5 ELSE 1 END, {},
            error_group, created_at
         FROM traces WHERE status = 'failed'",
        dialect.tomorrow()
    )
}

fn occurrences(dialect: Dialect) -> String {
    let channel = channel(100);
    format!(
        "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, executing_version, workflow_id,
            scheduled_for, status, attempt, error_group, created_at)
         SELECT 'o' || n, {channel}, {channel}, 1 + n % 3, 1 + n % 3, {WORKFLOW}, at,
            CASE WHEN n % 50 = 0 THEN 'failed' WHEN n % 1000 = 1 THEN 'cancelled' ELSE 'completed' END, 1,
            CASE n % 50 WHEN 0 THEN {GROUP} END, at
         FROM {}",
        dialect.instants()
    )
}

fn audit(dialect: Dialect) -> String {
    format!(
        "INSERT INTO audit_logs (id, principal, action, resource_type, resource_id, details, created_at)
         SELECT 'a' || n, 'p' || (n % 20), CASE n % 4 WHEN 0 THEN 'create' WHEN 1 THEN 'update' ELSE 'status_active' END,
            CASE n % 3 WHEN 0 THEN 'channel' WHEN 1 THEN 'workflow' ELSE 'connector' END, 'r' || (n % 1000),
            '{{\"version\": 1}}', at
         FROM {}",
        dialect.instants()
    )
}
