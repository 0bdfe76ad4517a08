//! Workflows.

use serde_json::json;
use svc_model::lifecycle::Rollout;
use svc_model::{
    ConnectorContent, ConnectorNeed, FieldCode, LifecycleStatus, Page, Precondition, ServiceError, Timestamp,
};
use svc_secrets::EnvelopeKeys;
use svc_store::{EntityFilter, ImportAction, Mutation, OnConflict, WorkflowRequirements};

use super::database::TestDatabase;
use super::{any_mutation, refusal, workflow};

fn open() -> WorkflowRequirements {
    WorkflowRequirements::default()
}

pub(crate) async fn a_workflow_is_stored_whole(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    let mut content = workflow("orders");
    content.condition = json!({ ">": [{ "var": "data.total" }, 1.5] });
    content.loop_ = Some(json!({ "max": 3 }));
    content.continue_on_error = true;
    content.priority = -7;
    let before = Timestamp::now();
    let created = workflows.create(Some("w".into()), content.clone(), any_mutation()).await.unwrap();
    assert_eq!(
        (created.version, created.status, created.rollout_percentage),
        (1, LifecycleStatus::Draft, 100)
    );
    assert_eq!(created.content, content);
    assert_eq!(created.content.content_hash(), content.content_hash());
    let late = (created.created_at.naive() - before.naive()).num_milliseconds();
    assert!((-1000..60_000).contains(&late), "the database's clock is UTC, {late} ms off");
    assert_eq!(workflows.latest("w").await.unwrap(), Some(created));
    assert_eq!(workflows.latest("x").await.unwrap(), None);
    let generated = workflows.create(None, workflow("other"), any_mutation()).await.unwrap();
    assert_eq!(generated.workflow_id.len(), 36);
}

pub(crate) async fn an_id_is_taken_once(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    let refused = refusal(workflows.create(Some("w".into()), workflow("two"), any_mutation()).await);
    assert_eq!(refused.status(), 409);
    assert_eq!(workflows.latest("w").await.unwrap().unwrap().content.name, "one");
}

pub(crate) async fn a_draft_is_edited_and_nothing_else(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    let edited = workflows
        .update(
            "w",
            Box::new(|stored| {
                let mut content = stored.clone();
                content.name = "two".into();
                content.description = None;
                Ok(content)
            }),
            any_mutation(),
        )
        .await
        .unwrap();
    assert_eq!((edited.version, edited.content.name.as_str(), edited.content.description), (1, "two", None));
    let problem = svc_model::FieldError::required("name");
    let refused = refusal(workflows.update("w", Box::new(move |_| Err(vec![problem])), any_mutation()).await);
    assert_eq!((refused.status(), refused.details().len()), (400, 1));
    workflows.set_status("w", LifecycleStatus::Active, None, open(), any_mutation()).await.unwrap();
    let refused = refusal(workflows.update("w", Box::new(|stored| Ok(stored.clone())), any_mutation()).await);
    assert_eq!(refused.status(), 404);
    assert_eq!(
        refusal(workflows.update("x", Box::new(|stored| Ok(stored.clone())), any_mutation()).await).status(),
        404
    );
}

pub(crate) async fn versions_follow_one_another(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    assert_eq!(refusal(workflows.new_version("w", any_mutation()).await).status(), 409);
    workflows.set_status("w", LifecycleStatus::Active, None, open(), any_mutation()).await.unwrap();
    let second = workflows.new_version("w", any_mutation()).await.unwrap();
    assert_eq!((second.version, second.status, second.rollout_percentage), (2, LifecycleStatus::Draft, 100));
    let (page, total) = workflows.versions("w", Page { limit: 1, offset: 1 }).await.unwrap();
    assert_eq!((page.len(), page[0].version, total), (1, 1, 2));
    let archived =
        workflows.set_status("w", LifecycleStatus::Archived, None, open(), any_mutation()).await.unwrap();
    assert_eq!((archived.version, archived.status), (1, LifecycleStatus::Archived));
    assert!(archived.updated_at >= archived.created_at);
    assert_eq!(
        refusal(workflows.set_status("w", LifecycleStatus::Archived, None, open(), any_mutation()).await)
            .status(),
        404
    );
    workflows.delete("w", any_mutation()).await.unwrap();
    assert_eq!(refusal(workflows.versions("w", Page::default()).await).status(), 404);
    assert_eq!(refusal(workflows.delete("w", any_mutation()).await).status(), 404);
    assert_eq!(refusal(workflows.new_version("w", any_mutation()).await).status(), 404);
}

pub(crate) async fn second_canary_is_refused_unless_it_replaces_the_first(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    for share in [None, Some(20.into())] {
        workflows.set_status("w", LifecycleStatus::Active, share, open(), any_mutation()).await.unwrap();
        workflows.new_version("w", any_mutation()).await.unwrap();
    }
    let shares = async || {
        let active = workflows.active_of(&["w".into()]).await.unwrap();
        active.iter().map(|w| (w.version, w.rollout_percentage)).collect::<Vec<_>>()
    };
    let activate =
        |rollout| workflows.set_status("w", LifecycleStatus::Active, Some(rollout), open(), any_mutation());
    let refused = refusal(activate(30.into()).await);
    assert_eq!(refused.status(), 409);
    assert!(refused.message().contains("2 at 20 percent and 1 at 80"), "{}", refused.message());
    assert_eq!(shares().await, [(2, 20), (1, 80)], "nothing was written");
    activate(Rollout { percentage: 30, replace_canary: true }).await.unwrap();
    assert_eq!(shares().await, [(3, 30), (1, 70)]);
    let workflow = workflows.set_rollout("w", 0, any_mutation()).await.unwrap();
    assert_eq!((workflow.version, workflow.rollout_percentage), (1, 100));
    assert_eq!(shares().await, [(1, 100)]);
    workflows.new_version("w", any_mutation()).await.unwrap();
    assert_eq!(refusal(activate(101.into()).await).status(), 400);
    activate(100.into()).await.unwrap();
    assert_eq!(shares().await, [(4, 100)]);
}

pub(crate) async fn rollback_makes_a_version_of_the_one_active_before(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    for name in ["one", "two", "three"] {
        if name == "one" {
            workflows.create(Some("w".into()), workflow(name), any_mutation()).await.unwrap();
        } else {
            workflows.new_version("w", any_mutation()).await.unwrap();
            let rename = move |stored: &svc_model::WorkflowContent| {
                Ok(svc_model::WorkflowContent { name: name.into(), ..stored.clone() })
            };
            workflows.update("w", Box::new(rename), any_mutation()).await.unwrap();
        }
        workflows.set_status("w", LifecycleStatus::Active, None, open(), any_mutation()).await.unwrap();
    }
    let back = async |to_version| {
        let source = workflows.rollback_source("w", to_version).await?;
        workflows.rollback("w", source, open(), any_mutation()).await
    };
    let serving = async || {
        let active = workflows.active_of(&["w".into()]).await.unwrap();
        active.iter().map(|w| (w.version, w.content.name.clone())).collect::<Vec<_>>()
    };
    let restored = back(None).await.unwrap();
    assert_eq!((restored.version, restored.status), (4, LifecycleStatus::Active));
    assert_eq!(serving().await, [(4, "two".to_owned())]);
    back(None).await.unwrap();
    assert_eq!(serving().await, [(5, "three".to_owned())], "the one before is the one rolled back from");
    back(Some(1)).await.unwrap();
    assert_eq!(serving().await, [(6, "one".to_owned())]);
    assert_eq!(refusal(back(Some(6)).await).status(), 409, "it is active");
    assert_eq!(refusal(back(Some(9)).await).status(), 404);
    // A canary that ended is newer than the serving version, and is never its predecessor.
    workflows.new_version("w", any_mutation()).await.unwrap();
    assert_eq!(refusal(back(None).await).status(), 409, "there is a draft");
    workflows
        .set_status("w", LifecycleStatus::Active, Some(10.into()), open(), any_mutation())
        .await
        .unwrap();
    assert_eq!(refusal(back(None).await).status(), 409, "two versions are active");
    workflows.set_rollout("w", 0, any_mutation()).await.unwrap();
    back(None).await.unwrap();
    assert_eq!(serving().await, [(8, "three".to_owned())]);
    let copy = workflows.copy_version("w", Some(2), any_mutation()).await.unwrap();
    assert_eq!((copy.version, copy.status, copy.content.name.as_str()), (9, LifecycleStatus::Draft, "two"));
    assert_eq!(refusal(back(None).await).status(), 409);
    assert_eq!(refusal(workflows.copy_version("w", Some(1), any_mutation()).await).status(), 409);
    assert_eq!(refusal(workflows.rollback_source("x", None).await).status(), 404);
}

pub(crate) async fn change_based_on_another_state_is_refused(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    let first = workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    let expecting = |tag: String| Mutation {
        precondition: Precondition::parse([tag.as_bytes()]).unwrap(),
        ..any_mutation()
    };
    let stale = || expecting("\"1-sha256:0\"".to_owned());
    let keep = || Box::new(|stored: &svc_model::WorkflowContent| Ok(stored.clone()));
    assert_eq!(refusal(workflows.update("w", keep(), stale()).await).status(), 412);
    assert_eq!(refusal(workflows.delete("w", stale()).await).status(), 412);
    let activate = |mutation| workflows.set_status("w", LifecycleStatus::Active, None, open(), mutation);
    assert_eq!(refusal(activate(stale()).await).status(), 412);
    assert_eq!(refusal(workflows.update("x", keep(), stale()).await).status(), 404, "it does not exist");
    let current = || expecting(first.entity_tag().to_string());
    workflows.update("w", keep(), current()).await.unwrap();
    activate(current()).await.unwrap();
    assert_eq!(refusal(workflows.set_rollout("w", 100, stale()).await).status(), 412);
    workflows.set_rollout("w", 100, current()).await.unwrap();
    workflows.delete("w", expecting("*".to_owned())).await.unwrap();
}

pub(crate) async fn a_rollout_moves_the_split(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    assert_eq!(refusal(workflows.set_rollout("w", 50, any_mutation()).await).status(), 400);
    workflows.set_status("w", LifecycleStatus::Active, None, open(), any_mutation()).await.unwrap();
    assert_eq!(refusal(workflows.set_rollout("w", 50, any_mutation()).await).status(), 400);
    workflows.new_version("w", any_mutation()).await.unwrap();
    workflows
        .set_status("w", LifecycleStatus::Active, Some(10.into()), open(), any_mutation())
        .await
        .unwrap();
    let newer = workflows.set_rollout("w", 60, any_mutation()).await.unwrap();
    assert_eq!((newer.version, newer.rollout_percentage), (2, 60));
    let active = workflows.active().await.unwrap();
    let mut shares: Vec<_> = active.iter().map(|row| (row.version, row.rollout_percentage)).collect();
    shares.sort_unstable();
    assert_eq!(shares, [(1, 40), (2, 60)]);
    workflows.set_rollout("w", 100, any_mutation()).await.unwrap();
    assert_eq!(workflows.active().await.unwrap().len(), 1);
}

pub(crate) async fn encrypted_settings_are_judged_at_activation(mut db: TestDatabase) {
    db.config.connector_keys = EnvelopeKeys::new(Some(&"01".repeat(32)), []).unwrap();
    let store = db.store().await;
    let documents = ConnectorContent {
        name: "mongo".into(),
        connector_type: "db".into(),
        config: json!({"type": "db", "connection_string": "mongodb://h"}),
        enabled: false,
        tags: Vec::new(),
    };
    store.connectors().create(None, documents, any_mutation()).await.unwrap();
    let workflows = store.workflows();
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    let speaks_sql = ConnectorNeed { speaks_sql: true, ..need("mongo", "db") };
    let requirements = WorkflowRequirements { connectors: vec![speaks_sql] };
    let refused =
        refusal(workflows.set_status("w", LifecycleStatus::Active, None, requirements, any_mutation()).await);
    let message = refused.details()[0].message.as_str();
    assert!(refused.status() == 400 && message.contains("is MongoDB"), "{message}");
}

fn need(connector: &str, accepts: &str) -> ConnectorNeed {
    ConnectorNeed {
        field: format!("tasks.{connector}"),
        connector: connector.into(),
        accepts: vec![accepts.into()],
        speaks_sql: false,
        speaks_mongodb: false,
        names_database: false,
        computes_address: false,
        is_mongodb: None,
        objection: None,
    }
}

pub(crate) async fn an_activation_names_every_connector_that_is_missing(db: TestDatabase) {
    let store = db.store().await;
    let workflows = store.workflows();
    for (name, kind, config) in [
        ("api", "http", json!({})),
        ("mongo", "db", json!({"connection_string": "mongodb://h"})),
        ("sql", "db", json!({"connection_string": "postgres://h/d"})),
        ("open", "db", json!({"connection_string": "env://URL"})),
    ] {
        let content = json!({"name": name, "connector_type": kind, "config": config});
        db.execute(&format!(
            "INSERT INTO definitions (kind, id, version, name, type, content)
             VALUES ('connector', '{name}', 1, '{name}', '{kind}', '{content}')"
        ))
        .await
        .unwrap();
    }
    let requirements = |connectors| WorkflowRequirements { connectors };
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    let wrong =
        requirements(vec![need("api", "http"), need("gone", "http"), need("mongo", "db"), need("api", "db")]);
    let report = workflows
        .check_status("w", LifecycleStatus::Active, None, wrong.clone(), Precondition::None)
        .await
        .unwrap();
    let fields: Vec<_> = report.errors.iter().map(|issue| issue.field.as_str()).collect();
    assert_eq!(fields, ["tasks.gone", "tasks.mongo", "tasks.api"]);
    let refused =
        refusal(workflows.set_status("w", LifecycleStatus::Active, None, wrong, any_mutation()).await);
    assert_eq!((refused.status(), refused.details()[0].path.as_str()), (400, "tasks.gone"));
    let named = ConnectorNeed { names_database: true, ..need("mongo", "db") };
    let open = workflows
        .check_status(
            "w",
            LifecycleStatus::Active,
            None,
            requirements(vec![named.clone()]),
            Precondition::None,
        )
        .await
        .unwrap();
    assert_eq!(open.errors, []);
    // A function that uses SQL cannot use it, and the stored settings do not always reveal the kind.
    let speaks_sql = ConnectorNeed { speaks_sql: true, ..named };
    let hidden = ConnectorNeed { is_mongodb: Some(true), ..need("api", "http") };
    let documents = |connector| ConnectorNeed { speaks_mongodb: true, ..need(connector, "db") };
    let loaded = ConnectorNeed { is_mongodb: Some(false), ..documents("open") };
    let objected = ConnectorNeed { objection: Some("no topic".into()), ..need("api", "http") };
    let report = workflows
        .check_status("w", LifecycleStatus::Active, None, requirements(vec![objected]), Precondition::None)
        .await
        .unwrap();
    assert_eq!(
        (report.errors[0].field.as_str(), report.errors[0].message.as_str()),
        ("tasks.api", "no topic")
    );
    let wrong = requirements(vec![speaks_sql, hidden, documents("sql"), documents("open"), loaded]);
    let report =
        workflows.check_status("w", LifecycleStatus::Active, None, wrong, Precondition::None).await.unwrap();
    let fields: Vec<_> = report.errors.iter().map(|issue| issue.field.as_str()).collect();
    assert_eq!(
        fields,
        ["tasks.mongo", "tasks.api", "tasks.sql", "tasks.open"],
        "of the open one once: where it is loaded"
    );
    let right = requirements(vec![need("api", "http")]);
    workflows.set_status("w", LifecycleStatus::Active, None, right, any_mutation()).await.unwrap();
    let (connectors, total) =
        store.connectors().list(EntityFilter::default(), Page::default()).await.unwrap();
    assert_eq!((connectors[0].content.name.as_str(), connectors.len(), total), ("api", 4, 4));
    assert_eq!(store.connectors().get("mongo").await.unwrap().unwrap().content.connector_type, "db");
}

pub(crate) async fn lists_filter_sort_and_page(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    for (id, name, priority, tag) in [("1", "b", 0, "x"), ("2", "a", 0, "y"), ("3", "c", 5, "x\",\"y")] {
        let mut content = workflow(name);
        content.priority = priority;
        content.tags = vec![tag.into()];
        workflows.create(Some(id.into()), content, any_mutation()).await.unwrap();
    }
    workflows.set_status("2", LifecycleStatus::Active, None, open(), any_mutation()).await.unwrap();
    let ids = async |filter: EntityFilter, page| {
        let (rows, total) = workflows.list(filter, page).await.unwrap();
        (rows.into_iter().map(|w| w.workflow_id).collect::<Vec<_>>(), total)
    };
    let all = Page::default();
    let filter = EntityFilter::default;
    assert_eq!(ids(filter(), all).await, (vec!["3".into(), "2".into(), "1".into()], 3));
    assert_eq!(ids(filter(), Page { limit: 1, offset: 1 }).await, (vec!["2".into()], 3));
    let by_name = |order: &str| EntityFilter {
        sort_by: Some("name".into()),
        sort_order: Some(order.into()),
        ..filter()
    };
    assert_eq!(ids(by_name("asc"), all).await.0, ["2", "1", "3"]);
    assert_eq!(ids(by_name("desc"), all).await.0, ["3", "1", "2"]);
    assert_eq!(ids(by_name("sideways"), all).await.0, ["3", "1", "2"]);
    assert_eq!(
        ids(EntityFilter { sort_by: Some("nonsense".into()), ..filter() }, all).await.0,
        ["3", "2", "1"]
    );
    assert_eq!(
        ids(EntityFilter { status: Some("active".into()), ..filter() }, all).await,
        (vec!["2".into()], 1)
    );
    assert_eq!(ids(EntityFilter { status: Some("nonsense".into()), ..filter() }, all).await.1, 0);
    assert_eq!(ids(EntityFilter { tag: Some("x".into()), ..filter() }, all).await, (vec!["1".into()], 1));
    assert_eq!(
        ids(EntityFilter { tag: Some("x\",\"y".into()), ..filter() }, all).await,
        (vec!["3".into()], 1)
    );
    workflows.new_version("2", any_mutation()).await.unwrap();
    let drafts = workflows.export(EntityFilter { status: Some("draft".into()), ..filter() }).await.unwrap();
    assert_eq!(drafts.len(), 3, "a list shows the latest version of each id");
    assert_eq!(drafts[1].version, 2);
}

pub(crate) async fn an_import_follows_its_conflict_rule(db: TestDatabase) {
    use ImportAction::*;
    let workflows = db.store().await.workflows();
    let key = || Some("w".to_owned());
    let import = async |content: &str, rule| {
        workflows
            .import_item(key(), workflow(content), rule, any_mutation())
            .await
            .map(|imported| imported.action)
    };
    assert_eq!(import("one", OnConflict::Fail).await.unwrap(), Created);
    assert_eq!(refusal(import("one", OnConflict::Fail).await).status(), 409);
    assert_eq!(import("two", OnConflict::Skip).await.unwrap(), Skipped);
    assert_eq!(import("one", OnConflict::NewVersion).await.unwrap(), Unchanged);
    assert_eq!(import("two", OnConflict::NewVersion).await.unwrap(), UpdatedDraft);
    workflows.set_status("w", LifecycleStatus::Active, None, open(), any_mutation()).await.unwrap();
    assert_eq!(import("two", OnConflict::NewVersion).await.unwrap(), Unchanged);
    assert_eq!(import("three", OnConflict::NewVersion).await.unwrap(), NewVersion);
    workflows.set_status("w", LifecycleStatus::Active, None, open(), any_mutation()).await.unwrap();
    workflows.set_status("w", LifecycleStatus::Archived, None, open(), any_mutation()).await.unwrap();
    assert_eq!(import("three", OnConflict::NewVersion).await.unwrap(), NewVersion);
    assert_eq!(workflows.latest("w").await.unwrap().unwrap().version, 3);
    let keyless =
        workflows.import_item(None, workflow("four"), OnConflict::Skip, any_mutation()).await.unwrap();
    assert_eq!(keyless.action, Created);
    assert!(workflows.latest(&keyless.id).await.unwrap().is_some());
}

pub(crate) async fn a_dry_run_leaves_nothing(db: TestDatabase) {
    let store = db.store().await;
    let workflows = store.workflows();
    let dry = || svc_store::Mutation { dry_run: true, epoch: true, ..any_mutation() };
    let shown = workflows.create(Some("w".into()), workflow("one"), dry()).await.unwrap();
    assert_eq!(shown.version, 1);
    assert!(workflows.latest("w").await.unwrap().is_none());
    let (_, records) = store.audit().list(svc_store::AuditFilter::default(), Page::default()).await.unwrap();
    assert_eq!((records, store.epoch().current().await.unwrap()), (0, 0));
    let report = workflows
        .check_status("w", LifecycleStatus::Active, Some(40.into()), open(), Precondition::None)
        .await
        .unwrap();
    assert_eq!((report.valid(), report.errors[0].code), (false, Some(FieldCode::NotFound)));
    workflows.create(Some("w".into()), workflow("one"), any_mutation()).await.unwrap();
    let report = workflows
        .check_status("w", LifecycleStatus::Active, Some(40.into()), open(), Precondition::None)
        .await
        .unwrap();
    assert_eq!((report.valid(), report.warnings.len()), (true, 1), "nobody serves the other 60 percent");
    assert_eq!(workflows.latest("w").await.unwrap().unwrap().status, LifecycleStatus::Draft);
    let refused: ServiceError = refusal(workflows.create(Some("w".into()), workflow("x"), dry()).await);
    assert_eq!(refused.status(), 409, "a dry run meets the same requirements");
}

pub(crate) async fn only_what_is_active_is_loaded(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    let ids: Vec<String> = (0..30).map(|n| format!("w{n:02}")).collect();
    for id in &ids {
        workflows.create(Some(id.clone()), workflow(id), any_mutation()).await.unwrap();
    }
    for id in &ids[..20] {
        workflows.set_status(id, LifecycleStatus::Active, None, open(), any_mutation()).await.unwrap();
    }
    let names = |rows: Vec<svc_model::Workflow>| rows.into_iter().map(|w| w.workflow_id).collect::<Vec<_>>();
    assert_eq!(names(workflows.active().await.unwrap()), ids[..20]);
    assert_eq!(names(workflows.active_of(&ids[18..25]).await.unwrap()), ids[18..20]);
    assert!(workflows.active_of(&[]).await.unwrap().is_empty());
}
