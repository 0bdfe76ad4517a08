//! Metrics of the store.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use svc_model::Page;
use svc_store::{AuditFilter, TraceQuery};

use super::database::TestDatabase;
use super::traces::pending;
use super::{any_mutation, refusal, workflow};

pub(crate) async fn every_query_is_timed_and_the_pool_is_counted(db: TestDatabase) {
    let store = db.store().await;
    let mut registry = Registry::with_prefix("svc");
    store.metrics().register(&mut registry);
    let workflows = store.workflows();
    workflows.create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    refusal(workflows.create(Some("w".into()), workflow("w"), any_mutation()).await);
    store.channels().latest("c").await.unwrap();
    store.audit().list(AuditFilter::default(), Page::default()).await.unwrap();
    store.epoch().current().await.unwrap();
    let traces = store.traces();
    traces.insert_all((0..5).map(|_| pending("a")).collect()).await.unwrap();
    traces.list(TraceQuery::default()).await.unwrap();
    store.dead_letters().depth().await.unwrap();
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    for (operation, count) in [
        ("workflows.create", 2),
        ("channels.latest", 1),
        ("audit.list", 1),
        ("epoch.current", 1),
        ("traces.insert", 5),
        ("traces.list", 1),
        ("dead_letters.depth", 1),
    ] {
        let line = format!("svc_db_query_duration_seconds_count{{operation=\"{operation}\"}} {count}\n");
        assert!(text.contains(&line), "{text}");
    }
    let gauge = |name: &str| -> u32 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    };
    let (size, idle) = (gauge("svc_db_pool_size"), gauge("svc_db_pool_idle"));
    assert!((1..=4).contains(&size) && idle <= size, "{text}");
}
