//! The start of nodes: preconditions of cluster mode, rights in the database, many at once.

use svc_testkit::redis::Redis;
use svc_testkit::server::{ServerCommand, free_port};

use super::{database, node};
use crate::support::launch;

/// Runs a command that must end with this code. Returns its errors.
fn refused_start(launch: ServerCommand, code: i32) -> String {
    let output = launch.run_to_end().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

#[test]
fn cluster_mode_needs_postgres_and_a_redis_that_answers() {
    let Some((_postgres, database)) = database() else { return };
    let cluster = |url: &str| {
        node(&database)
            .env("SVC_CLUSTER__ENABLED", "true")
            .env("SVC_CLUSTER__REDIS_URL", url)
            .env("SVC_STORAGE__CONNECT_RETRY_SECS", "1")
    };
    let away = format!("redis://:swordfish@127.0.0.1:{}", free_port().unwrap());
    let stderr = refused_start(cluster(&away), 1);
    assert!(stderr.contains("cluster.redis_url") && stderr.contains("127.0.0.1"), "{stderr}");
    assert!(!stderr.contains("swordfish"), "{stderr}");
    assert!(refused_start(cluster("http://h"), 78).contains("cluster.redis_url"));
    assert!(refused_start(cluster(""), 78).contains("cluster.redis_url"));
    let on_a_file = launch().env("SVC_CLUSTER__ENABLED", "true").env("SVC_CLUSTER__REDIS_URL", &away);
    assert!(refused_start(on_a_file, 78).contains("storage.url"));
}

#[test]
fn metrics_of_a_cluster_node_name_it() {
    let Some((_postgres, database)) = database() else { return };
    let Some(redis) = Redis::own() else { return };
    let server = node(&database)
        .env("SVC_CLUSTER__ENABLED", "true")
        .env("SVC_CLUSTER__REDIS_URL", redis.url())
        .env("SVC_CLUSTER__INSTANCE_ID", "eu-1")
        .env("SVC_METRICS__ENABLED", "true")
        .start()
        .unwrap();
    let metrics = server.client().get("/metrics").unwrap().text();
    let samples: Vec<_> = metrics.lines().filter(|line| !line.starts_with('#')).collect();
    let unnamed: Vec<_> =
        samples.iter().filter(|line| !line.contains("instance=\"eu-1\",node=\"eu-1\"")).collect();
    assert!(unnamed.is_empty() && samples.len() > 50, "{unnamed:?}");
    assert!(metrics.contains("svc_config_epoch_applied{"), "{metrics}");
}

#[test]
fn concurrent_nodes_start_on_an_empty_database() {
    let Some((_postgres, database)) = database() else { return };
    let starting: Vec<_> = (0..4).map(|_| node(&database).spawn().unwrap()).collect();
    for mut server in starting {
        server.wait_until_ready().unwrap();
    }
}

#[test]
fn non_migrating_node_needs_no_schema_rights() {
    let Some((_postgres, database)) = database() else { return };
    let migrated = node(&database).args(&["migrate"]).run_to_end().unwrap();
    assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
    let role = format!("plain_{}", std::process::id());
    database
        .rows(&format!(
            "DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN PASSWORD 'plain'; \
             REVOKE CREATE ON SCHEMA public FROM PUBLIC; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
        ))
        .unwrap();
    let (_, place) = database.url().rsplit_once('@').unwrap();
    let url = format!("postgres://{role}:plain@{place}");
    let server = node(&database)
        .env("SVC_STORAGE__URL", &url)
        .env("SVC_STORAGE__AUTO_MIGRATE", "false")
        .start()
        .unwrap();
    crate::support::echo(&mut server.client(), "orders", serde_json::json!({}));
    assert_eq!(super::post(&mut server.client(), "orders"), 200);
    drop(server);
    database.rows(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).unwrap();
}
