//! Migrations and the constraints of the database.

use std::sync::Barrier;
use std::thread;

use svc_model::{Page, Timestamp};
use svc_store::{EntityFilter, FileLock, OpenError, migrate};
use tokio::runtime::{Builder, Handle};

use super::database::{TestDatabase, connect};
use super::{any_mutation, workflow};

pub(crate) const MIGRATIONS: usize = 20;
/// Processes that start at the same time.
const STARTING: usize = 4;

/// Returns every object of the schema as text, in a fixed order.
pub(super) async fn dump(db: &TestDatabase) -> String {
    use diesel::prelude::*;
    if let Some(path) = db.config.url.strip_prefix("sqlite:") {
        #[derive(QueryableByName)]
        struct Object {
            #[diesel(sql_type = diesel::sql_types::Text)]
            sql: String,
        }
        let mut conn = connect(path);
        let objects = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name";
        let objects: Vec<Object> = diesel::sql_query(objects).load(&mut conn).unwrap();
        return objects.into_iter().map(|object| object.sql).collect::<Vec<_>>().join("\n");
    }
    let (client, connection) = tokio_postgres::connect(&db.config.url, tokio_postgres::NoTls).await.unwrap();
    Handle::current().spawn(connection);
    let mut text = String::new();
    for objects in [
        "SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '')
         FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname",
        "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname",
        "SELECT viewname || ' ' || definition FROM pg_views WHERE schemaname = 'public' ORDER BY viewname",
        "SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint ORDER BY conname, oid",
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname",
    ] {
        for row in client.query(objects, &[]).await.unwrap() {
            text.push_str(&row.get::<_, String>(0));
            text.push('\n');
        }
    }
    text
}

pub(crate) async fn migrations_run_once_and_back(db: TestDatabase) {
    assert_eq!(migrate::pending(&db.config).await.unwrap().len(), MIGRATIONS);
    assert_eq!(migrate::run(&db.config).await.unwrap().len(), MIGRATIONS);
    assert!(migrate::run(&db.config).await.unwrap().is_empty());
    assert!(migrate::pending(&db.config).await.unwrap().is_empty());
    for _ in 0..MIGRATIONS {
        assert_eq!(migrate::revert(&db.config).await.unwrap().len(), 1);
    }
    assert!(migrate::revert(&db.config).await.unwrap().is_empty());
    let left = dump(&db).await;
    assert!(!left.contains("definitions") && !left.contains("touch"), "{left}");
}

/// Several processes start on one database at the same time; each is a thread here, which takes the same locks. The
/// case that SQLite does not wait for by itself occurs only in some of the files.
pub(crate) async fn one_of_many_migrates_others_wait(db: TestDatabase) {
    let databases = if db.is_sqlite() { 10 } else { 1 };
    for n in 0..databases {
        let mut config = db.config.clone();
        if db.is_sqlite() {
            config.url.push_str(&n.to_string());
        }
        let start = Barrier::new(STARTING);
        let process = || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            start.wait();
            runtime.block_on(migrate::run(&config)).unwrap().len()
        };
        let mut run = thread::scope(|scope| {
            let processes = [(); STARTING].map(|()| scope.spawn(process));
            processes.map(|process| process.join().unwrap())
        });
        run.sort_unstable();
        assert_eq!(run, [0, 0, 0, MIGRATIONS]);
    }
}

pub(crate) async fn a_fresh_schema_equals_a_migrated_one(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let fresh = dump(&db).await;
    assert!(fresh.contains("definitions_latest") && fresh.contains("cron_singletons"));
    for reverted in 1..=MIGRATIONS {
        for _ in 0..reverted {
            migrate::revert(&db.config).await.unwrap();
        }
        migrate::run(&db.config).await.unwrap();
        assert_eq!(dump(&db).await, fresh, "after {reverted} migrations down and up");
    }
}

pub(crate) async fn a_newer_schema_is_refused_by_name(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    db.execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('29991231000000')").await.unwrap();
    let refused = migrate::run(&db.config).await.unwrap_err();
    assert!(matches!(&refused, OpenError::Newer { versions, .. } if versions.len() == 1), "{refused}");
    let line = refused.to_string();
    assert!(line.contains("29991231000000") && line.contains("newer") && !line.contains('\n'), "{line}");
}

pub(crate) async fn newer_schema_with_only_additions_is_accepted(mut db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    for statement in [
        "INSERT INTO __diesel_schema_migrations (version) VALUES ('29991231000000')",
        "INSERT INTO migration_checksums (version, checksum) VALUES ('29991231000000', 'x')",
        "ALTER TABLE packages ADD COLUMN of_the_newer_program TEXT",
    ] {
        db.execute(statement).await.unwrap();
    }
    for auto_migrate in [true, false] {
        db.config.auto_migrate = auto_migrate;
        db.open().await.unwrap();
    }
    assert!(migrate::run(&db.config).await.unwrap().is_empty());
    let refused = migrate::revert(&db.config).await.unwrap_err();
    assert!(matches!(refused, OpenError::Newer { .. }), "the newer program reverts its own: {refused}");
    let requires =
        |version: &str| format!("UPDATE migration_checksums SET requires = '{version}' WHERE checksum = 'x'");
    db.execute(&requires("20261128000020")).await.unwrap();
    assert!(db.open().await.is_ok(), "this program knows what the schema requires");
    db.execute(&requires("29991230000000")).await.unwrap();
    assert!(matches!(db.open().await.err().unwrap(), OpenError::Newer { .. }));
}

pub(crate) async fn only_new_file_has_large_pages(mut db: TestDatabase) {
    use diesel::prelude::*;
    #[derive(QueryableByName)]
    struct Pages {
        #[diesel(sql_type = diesel::sql_types::BigInt)]
        page_size: i64,
    }
    let page_size = |db: &TestDatabase| {
        let path = db.config.url.strip_prefix("sqlite:").unwrap();
        let pages: Pages = diesel::sql_query("PRAGMA page_size").get_result(&mut connect(path)).unwrap();
        pages.page_size
    };
    let _new = db.store().await;
    assert_eq!(page_size(&db), 8192);
    db.config.url = format!("sqlite:{}", db.directory().join("older.db").display());
    db.execute("PRAGMA page_size = 4096; VACUUM").await.unwrap();
    let _older = db.store().await;
    assert_eq!(page_size(&db), 4096);
}

#[cfg(unix)]
pub(crate) async fn database_files_are_readable_by_owner_only(db: TestDatabase) {
    use std::os::unix::fs::PermissionsExt as _;
    let _lock = FileLock::acquire(&db.config, "n").unwrap();
    let store = db.store().await;
    store.workflows().create(None, workflow("w"), any_mutation()).await.unwrap();
    let mut migrated = db.config.clone();
    migrated.url = format!("sqlite:{}", db.directory().join("migrated.db").display());
    migrate::run(&migrated).await.unwrap();
    let mut names: Vec<_> =
        std::fs::read_dir(db.directory()).unwrap().map(|file| file.unwrap().path()).collect();
    names.sort_unstable();
    assert!(names.iter().any(|name| name.ends_with("svc.db-wal")), "{names:?}");
    for name in names {
        let mode = std::fs::metadata(&name).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", name.display());
    }
}

pub(crate) async fn an_altered_migration_refuses_the_start_by_name(mut db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let altered =
        "UPDATE migration_checksums SET checksum = 'of another text' WHERE version = '20261128000020'";
    db.execute(altered).await.unwrap();
    for auto_migrate in [true, false] {
        db.config.auto_migrate = auto_migrate;
        let refused = db.open().await.err().unwrap();
        assert!(
            matches!(&refused, OpenError::Altered { migrations, .. } if migrations.len() == 1),
            "{refused}"
        );
        assert!(refused.is_configuration());
        let line = refused.to_string();
        assert!(line.contains("2026-11-28-000020_schema") && line.contains("checksum"), "{line}");
    }
    assert!(matches!(migrate::revert(&db.config).await, Err(OpenError::Altered { .. })));
}

pub(crate) async fn pending_migrations_are_refused_when_they_must_not_run(mut db: TestDatabase) {
    db.config.auto_migrate = false;
    let refused = db.open().await.err().unwrap();
    let line = refused.to_string();
    assert!(line.contains("2026-11-28-000020_schema") && line.contains("auto_migrate"), "{line}");
    assert!(!dump(&db).await.contains("definitions"), "nothing was run");
}

/// One statement per table names every column, so a different name or type fails.
pub(crate) async fn the_tables_are_those_the_queries_know(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let source =
        [include_str!("../../src/schema.rs"), include_str!("../../src/schema/customers.rs")].concat();
    let mut tables = 0;
    for table in source.split("table! {").skip(1) {
        let mut lines =
            table.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("///"));
        let name = lines.next().unwrap().split(' ').next().unwrap();
        let (mut columns, mut renamed) = (Vec::new(), None);
        for line in lines.take_while(|line| *line != "}") {
            if let Some(name) = line.strip_prefix("#[sql_name = ") {
                renamed = Some(name.trim_end_matches(']').to_owned());
            } else if let Some((column, _)) = line.split_once(" -> ") {
                columns.push(renamed.take().unwrap_or_else(|| column.to_owned()));
            }
        }
        db.execute(&format!("SELECT {} FROM {name} WHERE 1 = 0", columns.join(", "))).await.unwrap();
        let width = format!(
            "SELECT 1 FROM {name} UNION SELECT 2 FROM (SELECT * FROM {name} WHERE 1 = 0) x WHERE 1 = 0"
        );
        db.execute(&width).await.unwrap();
        tables += 1;
    }
    assert_eq!(tables, 37);
}

pub(crate) async fn database_keeps_one_draft_and_frozen_versions(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    for kind in ["workflow", "channel"] {
        let insert = |version: i64| {
            format!(
                "INSERT INTO definitions (kind, id, version, name, status, content)
                 VALUES ('{kind}', 'a', {version}, 'n', 'draft', '{{}}')"
            )
        };
        let update = async |columns: &str| {
            db.execute(&format!("UPDATE definitions SET {columns} WHERE kind = '{kind}'")).await
        };
        db.execute(&insert(1)).await.unwrap();
        db.execute(&insert(2)).await.expect_err("a second draft is refused");
        update("name = 'm', status = 'active'").await.unwrap();
        let frozen = update("content = '[1]'").await.expect_err("content is frozen");
        assert!(frozen.contains("immutable"), "{frozen}");
        update("priority = 3").await.expect_err("the order of a route is content");
        update("tags = '[1]'").await.expect_err("tags are content");
        update("rollout = 40").await.expect("the rollout is not");
        update("status = 'archived'").await.expect("the status is not");
    }
}

pub(crate) async fn connector_names_are_unique(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let insert = |kind: &str, id: &str| {
        format!(
            "INSERT INTO definitions (kind, id, version, name, content) VALUES ('{kind}', '{id}', 1, 'n', '{{}}')"
        )
    };
    db.execute(&insert("connector", "a")).await.unwrap();
    db.execute(&insert("connector", "b")).await.expect_err("another connector has the name");
    db.execute(&insert("workflow", "b")).await.expect("a workflow may have it");
}

pub(crate) async fn database_marks_the_latest_version_of_every_program(db: TestDatabase) {
    let insert = async |version: i64, status: &str| {
        for kind in ["workflow", "channel"] {
            let content = r#"{"name": "n", "channel_type": "sync", "protocol": "rest"}"#;
            db.execute(&format!(
                "INSERT INTO definitions (kind, id, version, status, updated_at, name, content)
                 VALUES ('{kind}', 'a', {version}, '{status}', '2020-01-01 00:00:00', 'n', '{content}')"
            ))
            .await
            .unwrap();
        }
    };
    let store = db.store().await;
    insert(1, "archived").await;
    insert(2, "active").await;
    let page = Page { limit: 10, offset: 0 };
    for version in [2, 3] {
        let (channels, total) = store.channels().list(EntityFilter::default(), page).await.unwrap();
        let (workflows, workflows_total) =
            store.workflows().list(EntityFilter::default(), page).await.unwrap();
        assert_eq!(
            (total, workflows_total, channels[0].version, workflows[0].version),
            (1, 1, version, version)
        );
        insert(version + 1, "draft").await;
        db.execute("UPDATE definitions SET status = 'archived' WHERE status = 'draft'").await.unwrap();
    }
    let earlier = Timestamp::parse("2020-01-01T00:00:00");
    let channel = store.channels().versions("a", page).await.unwrap().0.swap_remove(2);
    let workflow = store.workflows().versions("a", page).await.unwrap().0.swap_remove(2);
    assert_eq!(
        (channel.version, Some(channel.updated_at)),
        (2, earlier),
        "the mark is no change of a version"
    );
    assert_eq!((workflow.version, Some(workflow.updated_at)), (2, earlier));
}

/// SQLite plans without statistics here, as in production.
pub(crate) async fn activation_checks_use_an_index(db: TestDatabase) {
    use diesel::prelude::*;
    #[derive(QueryableByName)]
    struct Step {
        #[diesel(sql_type = diesel::sql_types::Text)]
        detail: String,
    }
    migrate::run(&db.config).await.unwrap();
    let mut conn = connect(db.config.url.strip_prefix("sqlite:").unwrap());
    for (condition, index) in [
        ("route_shape = ? AND status = ? AND priority = ? AND id <> ?", "route_shape=? AND status=?"),
        ("name = ? AND status = ? AND id <> ?", "name=? AND status=?"),
        ("is_latest AND name = ? AND id <> ?", "name=?"),
        ("workflow_id IN (?, ?) AND status = ?", "workflow_id=? AND status=?"),
        ("status = ? AND id IN (?, ?) ORDER BY id, version DESC", "status=? AND id=?"),
        ("id = ? AND status = ?", "status=? AND id=?"),
        ("id = ? ORDER BY version DESC LIMIT 1", "kind=? AND id=?"),
    ] {
        let query = format!("SELECT * FROM definitions WHERE kind = ? AND {condition}");
        let plan = diesel::sql_query(format!("EXPLAIN QUERY PLAN {query}")).load::<Step>(&mut conn).unwrap();
        assert!(plan[0].detail.contains(index), "{query}: {}", plan[0].detail);
    }
}

/// SQLite plans without statistics here, as in production.
pub(crate) async fn page_of_definitions_follows_an_index(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let order = "ORDER BY priority DESC, name, id LIMIT 50";
    let index =
        |name: &str, keys: &str| format!("SEARCH definitions USING INDEX definitions_{name} ({keys})");
    for (condition, step) in [
        ("", index("latest", "kind=?")),
        ("AND status = 'active'", index("latest_status", "kind=? AND status=?")),
    ] {
        for select in ["*", "COUNT(*)"] {
            let query = format!(
                "SELECT {select} FROM definitions WHERE kind = 'channel' AND is_latest {condition} {order}"
            );
            let plan = explain(&db, &query).await;
            // A count may read either index of the latest versions.
            let reads_latest = plan.starts_with("SEARCH definitions USING INDEX definitions_latest");
            assert!(plan == step || (select != "*" && reads_latest), "{query}: {plan}");
        }
    }
}

/// Returns the query plan as the database explains it.
async fn explain(db: &TestDatabase, query: &str) -> String {
    use diesel::prelude::*;
    #[derive(QueryableByName)]
    struct Step {
        #[diesel(sql_type = diesel::sql_types::Text)]
        detail: String,
    }
    if let Some(path) = db.config.url.strip_prefix("sqlite:") {
        let mut conn = connect(path);
        let query = format!("EXPLAIN QUERY PLAN {query}");
        let steps = diesel::sql_query(query).load::<Step>(&mut conn).unwrap();
        return steps.into_iter().map(|step| step.detail).collect::<Vec<_>>().join("\n");
    }
    let (client, connection) = tokio_postgres::connect(&db.config.url, tokio_postgres::NoTls).await.unwrap();
    Handle::current().spawn(connection);
    let steps = client.query(&format!("EXPLAIN {query}"), &[]).await.unwrap();
    steps.into_iter().map(|step| step.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

pub(crate) async fn page_of_traces_is_read_from_an_index(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let many = if db.is_sqlite() {
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
         INSERT INTO traces (id, channel, status) SELECT n, 'orders', 'completed' FROM n"
    } else {
        "INSERT INTO traces (id, channel, status) SELECT n, 'orders', 'completed' FROM generate_series(1, 5000) n;
         ANALYZE traces"
    };
    db.execute(many).await.unwrap();
    let newest = "ORDER BY created_at DESC, id DESC LIMIT 51";
    for query in [
        format!("SELECT * FROM traces {newest}"),
        format!("SELECT * FROM traces WHERE (created_at, id) < ('2100-01-01 00:00:00.000', 'x') {newest}"),
        "SELECT id FROM traces WHERE created_at < '2000-01-01' ORDER BY created_at, id LIMIT 500".into(),
    ] {
        let plan = explain(&db, &query).await;
        let sorts = plan.contains("TEMP B-TREE") || plan.contains("Sort");
        assert!(plan.contains("traces_created") && !sorts, "{query}:\n{plan}");
    }
    let due = "SELECT id FROM trace_dlq WHERE next_retry_at <= '2100-01-01' ORDER BY next_retry_at LIMIT 20";
    if db.is_sqlite() {
        let walked = format!("SELECT * FROM traces WHERE +status = 'completed' {newest}");
        let plan = explain(&db, &walked).await;
        assert!(plan.contains("traces_created") && !plan.contains("TEMP B-TREE"), "{plan}");
        for (condition, index) in [("", "traces_failed"), (" AND request_id = 'r'", "traces_failed_requests")]
        {
            let failed = format!("SELECT * FROM traces WHERE status = 'failed'{condition} {newest}");
            let plan = explain(&db, &failed).await;
            let is_used = plan.contains(&format!("{index} ("));
            assert!(is_used && !plan.contains("TEMP B-TREE"), "{plan}");
        }
        let grouped = format!("SELECT * FROM traces WHERE +status = 'failed' AND error_group = 'g' {newest}");
        let plan = explain(&db, &grouped).await;
        assert!(plan.contains("traces_error_groups (") && !plan.contains("TEMP B-TREE"), "{plan}");
        let plan = explain(&db, due).await;
        assert!(plan.contains("trace_dlq_retry"), "{plan}");
    }
}

pub(crate) async fn claim_finds_waiting_rows_among_ended_ones(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let row =
        "INSERT INTO cron_occurrences (id, channel_id, channel_name, channel_version, scheduled_for, status)";
    let many = if db.is_sqlite() {
        format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
             {row} SELECT n, 'c' || n, 'c', 1, '2026-01-01 00:00:00', 'completed' FROM n"
        )
    } else {
        format!(
            "{row} SELECT n, 'c' || n, 'c', 1, '2026-01-01', 'completed' FROM generate_series(1, 5000) n; ANALYZE"
        )
    };
    db.execute(&many).await.unwrap();
    let oldest = "SELECT * FROM cron_occurrences WHERE status = 'pending' AND scheduled_for <= '2100-01-01'
        ORDER BY scheduled_for, id LIMIT 20";
    let count = "SELECT count(*) FROM cron_occurrences WHERE status = 'pending'";
    let abandoned = "SELECT * FROM cron_occurrences WHERE status IN ('claimed', 'running')
        AND claimed_until < '2100-01-01' ORDER BY scheduled_for, id LIMIT 20";
    for statistics in [false, true] {
        if statistics {
            db.execute("ANALYZE").await.unwrap();
        }
        for (query, index) in [(oldest, "pending"), (count, "pending"), (abandoned, "leased")] {
            let plan = explain(&db, query).await;
            assert!(plan.contains(&format!("cron_occurrences_{index}")), "{query}:\n{plan}");
            let sorts = plan.contains("TEMP B-TREE") || plan.contains("Sort");
            // SQLite merges the rows of the two states.
            assert!(!sorts || (db.is_sqlite() && index == "leased"), "{query}:\n{plan}");
        }
    }
    let row = row.replace("status)", "status, awaited_channel)");
    let resting =
        "SELECT 'r' || id, 'r' || id, 'r', 1, scheduled_for, 'pending', 'bank' FROM cron_occurrences";
    db.execute(&format!("{row} {resting}; ANALYZE")).await.unwrap();
    let plan = explain(&db, &oldest.replace("ORDER", "AND awaited_channel IS NULL ORDER")).await;
    assert!(plan.contains("cron_occurrences_due"), "rows that rest are passed over:\n{plan}");
}

pub(crate) async fn waiting_work_is_found_by_an_index(db: TestDatabase) {
    migrate::run(&db.config).await.unwrap();
    let many = if db.is_sqlite() {
        "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
         INSERT INTO traces (id, channel, status) SELECT n, 'orders', 'completed' FROM n"
    } else {
        "INSERT INTO traces (id, channel, status) SELECT n, 'orders', 'completed' FROM generate_series(1, 5000) n;
         INSERT INTO traces (id, channel, status, waiting, queue_channel, queue_key)
             SELECT 'w' || n, 'other', 'waiting', 'share', 'o', n FROM generate_series(1, 50) n;
         ANALYZE traces"
    };
    db.execute(many).await.unwrap();
    let in_line = "traces.waiting = 'share' AND traces.waits_until IS NULL AND traces.status = 'waiting'
        AND queue_channel = 'c'";
    for (query, index) in [
        (
            "SELECT id FROM traces WHERE waits_until <= '2100-01-01' ORDER BY waits_until, id LIMIT 9".into(),
            "due",
        ),
        (
            "SELECT id FROM traces WHERE waits_until IS NOT NULL ORDER BY waits_until, id LIMIT 1".into(),
            "due",
        ),
        (
            format!(
                "SELECT queue_key FROM traces WHERE {in_line} AND queue_key > 'k' ORDER BY queue_key LIMIT 1"
            ),
            "lines",
        ),
        (
            format!(
                "SELECT id FROM traces WHERE {in_line} AND queue_key = 'k' ORDER BY created_at, id LIMIT 9"
            ),
            "lines",
        ),
        (
            "SELECT queue_key, count(*) FROM traces WHERE (traces.queue_channel IS NOT NULL
             AND traces.status IN ('pending', 'running')) AND queue_channel = 'c' GROUP BY queue_key"
                .into(),
            "shares",
        ),
        (
            "SELECT waiting, channel_id, count(*) FROM traces WHERE waiting IS NOT NULL
             GROUP BY waiting, channel_id"
                .into(),
            "waiting",
        ),
    ] {
        let plan = explain(&db, &query).await;
        assert!(plan.contains(&format!("traces_{index}")), "{query}:\n{plan}");
    }
}
