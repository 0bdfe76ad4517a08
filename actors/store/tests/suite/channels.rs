//! Channels and their requirements.

use std::sync::Arc;

use serde_json::json;
use svc_model::{LifecycleStatus, Page, Precondition, Protocol};
use svc_store::{ChannelRequirements, EntityFilter, Mutation, Store};

use super::database::TestDatabase;
use super::{Names, any_mutation, channel, refusal, requirements, workflow};

/// Returns a store whose workflow `w` is active.
async fn with_workflow(db: &TestDatabase) -> Store {
    let store = db.store().await;
    store.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    store
        .workflows()
        .set_status("w", LifecycleStatus::Active, None, Default::default(), any_mutation())
        .await
        .unwrap();
    store
}

pub(crate) async fn a_channel_is_stored_whole(db: TestDatabase) {
    let channels = db.store().await.channels();
    let mut content = channel("orders", Some("/orders/{id}"));
    content.config = json!({ "auth": { "type": "api_key", "keys": ["s3cret"] } });
    content.transport_config = json!({ "schedule": "0 0 * * *" });
    content.topic = Some("t".into());
    let created = channels.create(Some("c".into()), content.clone(), any_mutation()).await.unwrap();
    assert_eq!((created.version, created.status), (1, LifecycleStatus::Draft));
    assert_eq!(created.content, content);
    assert_eq!(channels.latest("c").await.unwrap(), Some(created));
    let cleared = channels
        .update(
            "c",
            Box::new(|stored| Ok(svc_model::ChannelContent { topic: None, ..stored.clone() })),
            any_mutation(),
        )
        .await
        .unwrap();
    assert_eq!(cleared.content.topic, None);
}

pub(crate) async fn a_name_belongs_to_one_channel(db: TestDatabase) {
    let channels = with_workflow(&db).await.channels();
    channels.create(Some("a".into()), channel("orders", None), any_mutation()).await.unwrap();
    assert_eq!(
        refusal(channels.create(Some("b".into()), channel("orders", None), any_mutation()).await).status(),
        409
    );
    channels.create(Some("b".into()), channel("other", None), any_mutation()).await.unwrap();
    let rename = |stored: &svc_model::ChannelContent| {
        Ok(svc_model::ChannelContent { name: "orders".into(), ..stored.clone() })
    };
    assert_eq!(refusal(channels.update("b", Box::new(rename), any_mutation()).await).status(), 409);
    channels.set_status("a", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    channels.new_version("a", any_mutation()).await.unwrap();
    let give_up = |stored: &svc_model::ChannelContent| {
        Ok(svc_model::ChannelContent { name: "renamed".into(), ..stored.clone() })
    };
    channels.update("a", Box::new(give_up), any_mutation()).await.unwrap();
    channels
        .update("b", Box::new(rename), any_mutation())
        .await
        .expect("the latest version of 'a' has another name");
    let refused = refusal(
        channels.set_status("b", LifecycleStatus::Active, None, requirements(), any_mutation()).await,
    );
    assert_eq!(refused.status(), 409, "the active version of 'a' still holds the name");
    channels.set_status("a", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    channels.set_status("b", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
}

pub(crate) async fn a_route_belongs_to_one_active_channel(db: TestDatabase) {
    let channels = with_workflow(&db).await.channels();
    let add = async |id: &str, route: &str, priority: i64, method: &str| {
        let mut content = channel(id, Some(route));
        content.priority = priority;
        content.methods = Some(vec![method.into()]);
        channels.create(Some(id.into()), content, any_mutation()).await.unwrap();
        channels.set_status(id, LifecycleStatus::Active, None, requirements(), any_mutation()).await
    };
    add("a", "/orders/{id}", 0, "POST").await.unwrap();
    let refused = refusal(add("b", "/orders/{number}", 0, "POST").await);
    assert_eq!((refused.status(), refused.details()[0].path.as_str()), (400, "route_pattern"));
    assert!(refused.message().contains("'a'"), "{}", refused.message());
    add("c", "/orders/{number}", 1, "POST").await.expect("another priority overrides");
    add("d", "/orders/{number}", 0, "GET").await.expect("another method does not collide");
    add("e", "/orders/new", 0, "POST").await.expect("another shape does not collide");
    channels.new_version("a", any_mutation()).await.unwrap();
    channels
        .set_status("a", LifecycleStatus::Active, None, requirements(), any_mutation())
        .await
        .expect("a channel is no rival of itself");
    channels.set_status("a", LifecycleStatus::Archived, None, requirements(), any_mutation()).await.unwrap();
    channels
        .set_status("b", LifecycleStatus::Active, None, requirements(), any_mutation())
        .await
        .expect("the route is free again");
}

pub(crate) async fn a_channel_needs_an_active_workflow(db: TestDatabase) {
    let channels = with_workflow(&db).await.channels();
    for (id, workflow_id) in [("none", None), ("unknown", Some("x"))] {
        let mut content = channel(id, None);
        content.workflow_id = workflow_id.map(Into::into);
        channels.create(Some(id.into()), content, any_mutation()).await.unwrap();
        let refused = refusal(
            channels.set_status(id, LifecycleStatus::Active, None, requirements(), any_mutation()).await,
        );
        assert_eq!((refused.status(), refused.details()[0].path.as_str()), (400, "workflow_id"));
    }
    assert_eq!(
        refusal(
            channels.set_status("gone", LifecycleStatus::Active, None, requirements(), any_mutation()).await
        )
        .status(),
        404
    );
    let using = channels.active_using(&["w".into()]).await.unwrap();
    assert!(using.is_empty());
}

pub(crate) async fn a_dry_run_lists_every_objection(db: TestDatabase) {
    let channels = with_workflow(&db).await.channels();
    let mut content = channel("orders", Some("/health"));
    content.workflow_id = None;
    channels.create(Some("c".into()), content, any_mutation()).await.unwrap();
    let requirements = ChannelRequirements {
        cron_enabled: false,
        platform_route: Some(Arc::new(|pattern| (pattern == "/health").then(|| "/health".into()))),
    };
    let report = channels
        .check_status("c", LifecycleStatus::Active, None, requirements, Precondition::None)
        .await
        .unwrap();
    let fields: Vec<_> = report.errors.iter().map(|issue| issue.field.as_str()).collect();
    assert_eq!(fields, ["route_pattern", "workflow_id"]);
    let report = channels
        .check_status("gone", LifecycleStatus::Active, None, super::requirements(), Precondition::None)
        .await
        .unwrap();
    assert_eq!((report.valid(), report.errors.len()), (false, 1));
    let mut cron = channel("nightly", None);
    cron.protocol = Protocol::Cron;
    channels.create(Some("n".into()), cron, any_mutation()).await.unwrap();
    assert_eq!(
        refusal(
            channels
                .set_status("n", LifecycleStatus::Active, None, super::requirements(), any_mutation())
                .await
        )
        .status(),
        400
    );
    let on = ChannelRequirements { cron_enabled: true, platform_route: None };
    channels.set_status("n", LifecycleStatus::Active, None, on, any_mutation()).await.unwrap();
}

pub(crate) async fn callback_of_sign_in_claims_its_route(db: TestDatabase) {
    let channels = with_workflow(&db).await.channels();
    let mut other = channel("other", Some("/login/callback"));
    other.methods = Some(vec!["POST".into()]);
    let mut login = channel("login", Some("/login"));
    login.methods = Some(vec!["GET".into()]);
    login.config = json!({"oauth2_login": {"callback_path": "/login/callback"}});
    for (id, content) in [("other", other.clone()), ("login", login)] {
        channels.create(Some(id.into()), content, any_mutation()).await.unwrap();
        channels.set_status(id, LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    }
    other.name = "another".into();
    other.methods = Some(vec!["GET".into()]);
    other.priority += 1;
    channels.create(Some("another".into()), other, any_mutation()).await.unwrap();
    channels
        .set_status("another", LifecycleStatus::Active, None, requirements(), any_mutation())
        .await
        .expect("another priority decides");
    let mut second = channel("second", Some("/second"));
    second.priority += 1;
    second.config = json!({"oauth2_login": {"callback_path": "/login/callback"}});
    channels.create(Some("second".into()), second, any_mutation()).await.unwrap();
    let requirements = ChannelRequirements {
        cron_enabled: true,
        platform_route: Some(Arc::new(|pattern| (pattern == "/second").then(|| "/second".into()))),
    };
    let report = channels
        .check_status("second", LifecycleStatus::Active, None, requirements, Precondition::None)
        .await
        .unwrap();
    let fields: Vec<_> = report.errors.iter().map(|issue| issue.field.as_str()).collect();
    assert_eq!(fields, ["route_pattern", "config.oauth2_login.callback_path"]);
}

pub(crate) async fn a_deleted_channel_is_gone(db: TestDatabase) {
    let channels = with_workflow(&db).await.channels();
    channels.create(Some("c".into()), channel("orders", None), any_mutation()).await.unwrap();
    channels.set_status("c", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    assert_eq!(channels.active_using(&["w".into()]).await.unwrap().len(), 1);
    db.execute(
        "INSERT INTO cron_schedule_state (channel_id, channel_version, config_hash, next_fire_at)
         VALUES ('c', 1, 'h', '2026-01-01 00:00:00')",
    )
    .await
    .unwrap();
    channels.delete("c", any_mutation()).await.unwrap();
    assert!(channels.latest("c").await.unwrap().is_none());
    assert!(channels.active().await.unwrap().is_empty());
    let again = "INSERT INTO cron_schedule_state (channel_id, channel_version, config_hash, next_fire_at)
         VALUES ('c', 1, 'h', '2026-01-01 00:00:00')";
    db.execute(again).await.expect("the schedule went with the channel");
}

pub(crate) async fn lists_know_type_and_protocol(db: TestDatabase) {
    let channels = db.store().await.channels();
    channels.create(Some("a".into()), channel("a", None), any_mutation()).await.unwrap();
    let mut content = channel("b", None);
    content.protocol = Protocol::Kafka;
    channels.create(Some("b".into()), content, any_mutation()).await.unwrap();
    let kafka = EntityFilter { protocol: Some("KAFKA".into()), ..EntityFilter::default() };
    let (rows, total) = channels.list(kafka, Page::default()).await.unwrap();
    assert_eq!((rows[0].channel_id.as_str(), total), ("b", 1));
    let sync = EntityFilter { channel_type: Some("sync".into()), ..EntityFilter::default() };
    assert_eq!(channels.list(sync, Page::default()).await.unwrap().1, 2);
    let none = EntityFilter { channel_type: Some("async".into()), ..EntityFilter::default() };
    assert_eq!(channels.list(none, Page::default()).await.unwrap().1, 0);
}

pub(crate) async fn a_foreign_row_spoils_no_other(db: TestDatabase) {
    let channels = with_workflow(&db).await.channels();
    channels.create(Some("good".into()), channel("good", None), any_mutation()).await.unwrap();
    channels.set_status("good", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    db.execute(
        "INSERT INTO definitions (kind, id, version, name, status, content) VALUES
         ('channel', 'ftp', 1, 'ftp', 'active', '{\"name\": \"ftp\", \"channel_type\": \"sync\",
            \"protocol\": \"ftp\", \"workflow_id\": \"w\", \"config\": {\"timeout_ms\": 5}}'),
         ('channel', 'both', 1, 'both', 'active', '{\"name\": \"both\", \"channel_type\": \"both\",
            \"protocol\": \"rest\", \"workflow_id\": \"w\", \"config\": {}}'),
         ('channel', 'list', 1, 'list', 'active', '{\"name\": \"list\", \"channel_type\": \"both\",
            \"protocol\": \"ftp\", \"workflow_id\": \"w\", \"config\": []}'),
         ('channel', 'torn', 1, 'torn', 'active', '{')",
    )
    .await
    .unwrap();
    let active = channels.active().await.unwrap();
    let ids: Vec<_> = active.iter().map(|row| row.channel_id.as_str()).collect();
    assert_eq!(ids, ["both", "ftp", "good", "list", "torn"]);
    for (row, named) in [
        (&active[0], "unknown channel_type 'both'"),
        (&active[1], "unknown protocol 'ftp'"),
        (&active[3], "array"),
        (&active[4], "unreadable"),
    ] {
        let refused = svc_model::ChannelConfig::parse(&row.content.config).unwrap_err();
        assert!(format!("{refused:?}").contains(named), "{refused:?}");
    }
    assert_eq!(channels.list(EntityFilter::default(), Page::default()).await.unwrap().1, 5);
    assert!(channels.latest("ftp").await.unwrap().is_some());
}

pub(crate) async fn named_channel_is_deleted_only_by_force(db: TestDatabase) {
    let store = with_workflow(&db).await;
    let (workflows, channels, connectors) = (store.workflows(), store.channels(), store.connectors());
    channels.create(Some("c".into()), channel("orders", None), any_mutation()).await.unwrap();
    let content = svc_model::ConnectorContent {
        name: "crm".into(),
        connector_type: "http".into(),
        config: json!({}),
        enabled: true,
        tags: vec![],
    };
    connectors.create(Some("k".into()), content, any_mutation()).await.unwrap();
    let nobody = || Arc::new(());
    // A draft refers to nothing.
    let dry = || Mutation { dry_run: true, ..any_mutation() };
    workflows.delete_unused("w", nobody(), dry()).await.unwrap();
    channels.set_status("c", LifecycleStatus::Active, None, requirements(), any_mutation()).await.unwrap();
    let refused = refusal(workflows.delete_unused("w", nobody(), any_mutation()).await);
    assert_eq!(refused.status(), 409);
    assert!(refused.message().contains("channel 'orders'; "), "{}", refused.message());
    let refused = refusal(channels.delete_unused("c", Arc::new(Names("orders")), any_mutation()).await);
    assert_eq!(refused.status(), 409);
    assert!(refused.message().contains("workflow 'w'; "), "{}", refused.message());
    let refused = refusal(connectors.delete_unused("k", Arc::new(Names("crm")), any_mutation()).await);
    assert_eq!(refused.status(), 409);
    assert!(refused.message().contains("workflow 'w', channel 'orders'; "), "{}", refused.message());
    connectors.delete_unused("k", nobody(), any_mutation()).await.unwrap();
    channels.delete_unused("c", nobody(), any_mutation()).await.unwrap();
    workflows.delete_unused("w", nobody(), any_mutation()).await.unwrap();
    assert_eq!(refusal(workflows.delete_unused("w", nobody(), any_mutation()).await).status(), 404);
}
