//! No connector opens the database of the service itself, nor a backup of it.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{config, read, write};
use crate::kit::run;

#[test]
fn own_database_is_refused_by_every_name() {
    run(async |world| {
        let own = world.own_database();
        let beside = own.with_file_name("beside");
        std::fs::create_dir(&beside).unwrap();
        symlink(&own, beside.join("link.db")).unwrap();
        std::fs::hard_link(&own, beside.join("hard.db")).unwrap();
        let backups = world.backup_dir();
        std::fs::create_dir_all(&backups).unwrap();
        world.back_up(backups.join("svc_backup_1.db")).await;
        std::fs::hard_link(backups.join("svc_backup_1.db"), beside.join("copy.db")).unwrap();
        let backups = backups.display();
        let (own, beside) = (own.display().to_string(), beside.display().to_string());
        for place in [
            own.clone(),
            format!("//{own}"),
            format!("{own}?mode=ro"),
            own.replace("svc.db", "svc%2Edb"),
            own.replace("svc.db", "./beside/../svc.db"),
            format!("{beside}/link.db"),
            format!("{beside}/hard.db?mode=rw"),
            format!("{own}-wal"),
            format!("{own}-shm"),
            format!("{own}-journal"),
            format!("{own}.replaced-20260102_030405"),
            format!("{backups}/svc_backup_1.db?mode=ro"),
            format!("{backups}/../backups/new.db"),
            format!("{beside}/copy.db"),
        ] {
            world.put("c", "db", true, config(&format!("sqlite:{place}"), json!({}))).await;
            for (function, query) in
                [("db_read", "SELECT * FROM connectors"), ("db_write", "DELETE FROM audit_logs")]
            {
                let input = json!({"connector": "c", "query": query});
                let error = world.task_error(function, input, Value::Null).await;
                assert_eq!(
                    (error.code.name(), error.retryable()),
                    ("FUNCTION_ERROR", false),
                    "{place}: {error:?}"
                );
                assert!(error.message.contains("the service itself"), "{place}: {}", error.message);
            }
            assert!(!world.probe("c").await.reachable, "{place}");
        }
        // A URI would be read by SQLite, with parameters of its own.
        for place in [format!("file:{own}"), format!("file:{own}%3Fimmutable=1"), format!("FILE://{own}")] {
            world.put("c", "db", true, config(&format!("sqlite:{place}"), json!({}))).await;
            let error = read(world, "SELECT 1", json!([])).await.unwrap_err();
            assert!(format!("{error:?}").contains("file: URI"), "{place}: {error:?}");
        }
        // Another file is opened, and does not attach this one.
        world.put("c", "db", true, config(&format!("sqlite:{beside}/app.db"), json!({}))).await;
        for query in [format!("ATTACH '{own}' AS x"), format!("ATTACH 'file:{own}?mode=rw' AS x")] {
            assert!(write(world, &query, json!([])).await.is_err(), "{query}");
        }
        assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
    });
}
