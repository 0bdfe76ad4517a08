//! Each check, with a project that fires it and a neighbour that does not.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use svc_project::shared::SharedDefinitions;
use svc_project::{Check, SetForm, Severity};

use super::kit::{
    CHANNEL, CONNECTOR, ENGINE, Files, SHARED, WORKFLOW, channel, ids, note, read, schedule, source, task,
};

/// A check of directories: a project that fires it alone, and one that is nearly the same and fires nothing.
struct Row(Check, fn(Files) -> Files, fn(Files) -> Files);

fn kafka(files: Files, topic: Value) -> Files {
    let mut config = json!({"brokers": ["kafka.example:9092"]});
    if !topic.is_null() {
        config["topic"] = topic;
    }
    files
        .file("connectors/bus.json", json!({"name": "bus", "connector_type": "kafka", "config": config}))
        .tasks(json!([task("p", "publish_kafka", json!({"connector": "bus", "value": 1}))]))
}

fn call(files: Files, input: Value) -> Files {
    files.tasks(json!([task("c", "channel_call", input)]))
}

fn condition(files: Files, condition: Value) -> Files {
    let mut step = read("read");
    step["condition"] = condition;
    files.tasks(json!([step]))
}

fn secret(files: Files, function: &str, input: Value) -> Files {
    files.tasks(json!([task("s", function, input)]))
}

const SIGN: &str = "jwt_sign";

fn sign(key: &str) -> Value {
    json!({"algorithm": "HS256", "key": key, "claims": {"sub": "u"}, "expires_in": "5m", "output": "data.token"})
}

const ROWS: &[Row] = &[
    Row(
        Check::ParseConnector,
        |files| files.set(CONNECTOR, "/tags", json!("a")),
        |files| files.set(CONNECTOR, "/tags", json!(["a"])),
    ),
    Row(
        Check::ParseWorkflow,
        |files| files.set(WORKFLOW, "/priority", json!("1")),
        |files| files.set(WORKFLOW, "/priority", json!(1)),
    ),
    Row(
        Check::ParseWorkflow,
        |files| files.set(WORKFLOW, "/loop", json!([])),
        |files| files.set(WORKFLOW, "/loop", json!({"max": 2})),
    ),
    Row(
        Check::ParseChannel,
        |files| files.set(CHANNEL, "/config", json!([])),
        |files| files.set(CHANNEL, "/config", json!({})),
    ),
    Row(
        Check::SchemaConnector,
        |files| files.set(CONNECTOR, "/config/connection_string", json!("ftp://x")),
        |files| files.set(CONNECTOR, "/config/connection_string", json!("sqlite:other.db")),
    ),
    Row(
        Check::SchemaWorkflow,
        |files| files.tasks(json!([read("a"), read("a")])),
        |files| files.tasks(json!([read("a"), read("b")])),
    ),
    Row(Check::SchemaWorkflow, |files| kafka(files, Value::Null), |files| kafka(files, json!("orders"))),
    Row(
        Check::SchemaWorkflow,
        |files| files.set(WORKFLOW, "/rollout", json!({"step": [10]})),
        |files| files.set(WORKFLOW, "/rollout", json!({"steps": [10]})),
    ),
    Row(
        Check::SchemaWorkflow,
        |files| files.set(WORKFLOW, "/rollout_percentage", json!(101)),
        |files| files.set(WORKFLOW, "/rollout_percentage", json!(100)),
    ),
    Row(
        Check::SchemaChannel,
        |files| files.set(CHANNEL, "/route_pattern", json!("orders")),
        |files| files.set(CHANNEL, "/route_pattern", json!("/orders/{id}")),
    ),
    Row(
        Check::DuplicateConnectorName,
        |files| {
            let twin = files.0[CONNECTOR].clone();
            files.file("connectors/twin.json", twin)
        },
        |files| {
            let twin = files.0[CONNECTOR].clone();
            files.file("connectors/twin.json", twin).set("connectors/twin.json", "/name", json!("Shop"))
        },
    ),
    Row(
        Check::DuplicateWorkflowId,
        |files| {
            let twin = files.0[WORKFLOW].clone();
            files.file("workflows/twin.json", twin)
        },
        |files| {
            let twin = files.0[WORKFLOW].clone();
            files.file("workflows/twin.json", twin).without("workflows/twin.json", "workflow_id")
        },
    ),
    Row(
        Check::DuplicateChannelId,
        |files| {
            files.file("channels/b.json", channel("b")).set("channels/b.json", "/channel_id", json!("orders"))
        },
        |files| files.file("channels/b.json", channel("b")),
    ),
    Row(
        Check::DuplicateChannelName,
        |files| files.file("channels/b.json", channel("b")).set("channels/b.json", "/name", json!("orders")),
        |files| files.file("channels/b.json", channel("b")).without("channels/b.json", "channel_id"),
    ),
    Row(
        Check::DuplicateRoutePattern,
        |files| {
            let files = files.set(CHANNEL, "/route_pattern", json!("/o/{id}"));
            files.file("channels/b.json", channel("b")).set(
                "channels/b.json",
                "/route_pattern",
                json!("/o/{key}"),
            )
        },
        |files| {
            let files = files.set(CHANNEL, "/route_pattern", json!("/o/{id}"));
            let files =
                files.file("channels/b.json", channel("b")).set("channels/b.json", "/priority", json!(1));
            files.set("channels/b.json", "/route_pattern", json!("/o/{key}"))
        },
    ),
    Row(
        Check::DuplicateRoutePattern,
        |files| {
            files.file("channels/b.json", channel("b")).set(
                "channels/b.json",
                "/route_pattern",
                json!("/orders"),
            )
        },
        |files| {
            let files = files.file("channels/b.json", channel("b")).set(
                "channels/b.json",
                "/methods",
                json!(["POST"]),
            );
            files.set("channels/b.json", "/route_pattern", json!("/orders"))
        },
    ),
    Row(
        Check::MissingWorkflowIdRef,
        |files| files.without(CHANNEL, "workflow_id"),
        |files| files.set(CHANNEL, "/workflow_id", json!("orders")),
    ),
    Row(
        Check::ClosureWorkflow,
        |files| files.set(CHANNEL, "/workflow_id", json!("order")),
        |files| files.set(CHANNEL, "/workflow_id", json!("orders")),
    ),
    Row(
        Check::ClosureConnector,
        |files| files.set(WORKFLOW, "/tasks/0/function/input/connector", json!("shops")),
        |files| files.set(WORKFLOW, "/tasks/0/function/input/connector", json!("shop")),
    ),
    Row(
        Check::ClosureConnector,
        |files| {
            let block = json!({"header": "x-id", "window_secs": 60, "connector": "kv"});
            files.set(CHANNEL, "/config", json!({"deduplication": block}))
        },
        |files| {
            files.set(CHANNEL, "/config", json!({"deduplication": {"header": "x-id", "window_secs": 60}}))
        },
    ),
    Row(
        Check::ClosureChannelCall,
        |files| call(files, json!({"channel": "ordes", "output": "data.o"})),
        |files| call(files, json!({"channel": "orders", "output": "data.o"})),
    ),
    Row(
        Check::ClosureChannelCall,
        |files| files.set(WORKFLOW, "/rollout", json!({"steps": [10], "on_rollback": "ordes"})),
        |files| files.set(WORKFLOW, "/rollout", json!({"steps": [10], "on_rollback": "orders"})),
    ),
    Row(
        Check::ClosureChannelCallDynamic,
        |files| call(files, json!({"channel_logic": {"var": "payload.c"}, "output": "data.o"})),
        |files| call(files, json!({"channel": "orders", "output": "data.o"})),
    ),
    Row(
        Check::TypeConnector,
        |files| {
            let api =
                json!({"name": "shop", "connector_type": "http", "config": {"url": "https://api.example"}});
            files.file(CONNECTOR, api)
        },
        |files| {
            let api =
                json!({"name": "api", "connector_type": "http", "config": {"url": "https://api.example"}});
            files.file("connectors/api.json", api)
        },
    ),
    Row(
        Check::TypeConnector,
        |files| files.set(CONNECTOR, "/config/connection_string", json!("mongodb://db.example/shop")),
        |files| files.set(CONNECTOR, "/config/connection_string", json!("postgres://db.example/shop")),
    ),
    Row(
        Check::EnvUnresolved,
        |files| files.tasks(json!([note("n", &json!("env://TOKEN"))])),
        |files| files.tasks(json!([note("n", &json!("see env: TOKEN"))])),
    ),
    Row(
        Check::EnvUnresolved,
        |files| {
            let nightly = schedule("nightly", &json!({"policy": "allow"}));
            let files = files.file("channels/nightly.json", nightly);
            files.set("channels/nightly.json", "/transport_config/payload", json!({"key": "vault://a#b"}))
        },
        |files| files.file("channels/nightly.json", schedule("nightly", &json!({"policy": "allow"}))),
    ),
    Row(
        Check::LogicUnresolvable,
        |files| files.set(WORKFLOW, "/tasks/0/function/input/params", json!([{"+": [1, 2]}])),
        |files| files.set(WORKFLOW, "/tasks/0/function/input/params", json!([{"var": "payload.x"}])),
    ),
    Row(
        Check::LogicUnresolvable,
        |files| {
            files.set(WORKFLOW, "/tasks/0/function/input/params", json!([{"length": {"var": "payload.x"}}]))
        },
        |files| files.set(WORKFLOW, "/tasks/0/function/input/params", json!([{"length": 3}])),
    ),
    Row(
        Check::EnvEmbedded,
        |files| files.tasks(json!([note("n", &json!("see env://TOKEN"))])),
        |files| files.tasks(json!([note("n", &json!("see the environment"))])),
    ),
    Row(
        Check::SuspectConnector,
        |files| files.set(CONNECTOR, "/config/timeout", json!(5)),
        |files| files.set(CONNECTOR, "/config/query_timeout_ms", json!(5)),
    ),
    Row(
        Check::SuspectWorkflow,
        |files| files.set(WORKFLOW, "/tasks/0/function/input/params", json!([{"var": "data.x"}])),
        |files| files.set(WORKFLOW, "/tasks/0/function/input/params", json!([{"var": "payload.x"}])),
    ),
    Row(
        Check::SuspectChannel,
        |files| files.set(CHANNEL, "/config", json!({"validation_logic": {"!!": {"var": "body.x"}}})),
        |files| files.set(CHANNEL, "/config", json!({"validation_logic": {"!!": {"var": "data.x"}}})),
    ),
    Row(
        Check::ProjectUnknownShape,
        |files| files.file("workflows/b.json", json!({"name": "b", "taks": []})),
        |files| files.file("workflows/b.json", json!({"name": "b"})),
    ),
    Row(
        Check::LogicUnknownOperator,
        |files| files.tasks(json!([note("n", &json!({"uper": "x"}))])),
        |files| files.tasks(json!([note("n", &json!({"upper": "x"}))])),
    ),
    Row(
        Check::PathRoot,
        |files| files.set(WORKFLOW, "/tasks/0/function/input/output", json!("orders.rows")),
        |files| files.set(WORKFLOW, "/tasks/0/function/input/output", json!("temp_data.rows")),
    ),
    Row(
        Check::OutputDefault,
        |files| {
            files.set(WORKFLOW, "/tasks/0/function/input", json!({"connector": "shop", "query": "SELECT 1"}))
        },
        |files| files.set(WORKFLOW, "/tasks/0/function/input/output", json!("data")),
    ),
    Row(
        Check::ClosureFragment,
        |files| files.tasks(json!([{"id": "c", "use": "notes"}])),
        |files| files.tasks(json!([{"id": "c", "use": "note"}])),
    ),
    Row(
        Check::ClosureSharedValue,
        |files| files.set(WORKFLOW, "/tasks/0/function/input", json!({"$from": "constants.shp"})),
        |files| files.set(WORKFLOW, "/tasks/0/function/input", json!({"$from": "constants.shop"})),
    ),
    Row(
        Check::ClosureSharedValue,
        |files| files.set(SHARED, "/constants/b", json!({"$from": "constants.shop"})),
        |files| files.set(SHARED, "/constants/b", json!({"from": "constants.shop"})),
    ),
    Row(
        Check::SharedNamespace,
        |files| files.set(SHARED, "/limits", json!(3)),
        |files| files.set(SHARED, "/limits", json!({"n": 3})),
    ),
    Row(
        Check::SharedFragment,
        |files| files.set(SHARED, "/fragments/empty", json!({"params": {}})),
        |files| files.set(SHARED, "/fragments/empty", json!({"params": {}, "tasks": []})),
    ),
    Row(
        Check::SharedDuplicate,
        |files| files.file("shared/more.json", json!({"constants": {"shop": 1}})),
        |files| files.file("shared/more.json", json!({"constants": {"shops": 1}, "limits": {"shop": 1}})),
    ),
    Row(
        Check::SharedFragmentParam,
        |files| files.tasks(json!([{"id": "c", "use": "note", "with": {"what": 1}}])),
        |files| files.tasks(json!([{"id": "c", "use": "note", "with": {"why": 1}}])),
    ),
    Row(
        Check::SharedFragmentNested,
        |files| files.tasks(json!([{"id": "g", "tasks": [read("a"), {"id": "c", "use": "note"}]}])),
        |files| files.tasks(json!([{"id": "g", "tasks": [read("a")]}, {"id": "c", "use": "note"}])),
    ),
    Row(
        Check::CronSlotsMismatch,
        |files| {
            let slots = |slots: u32| json!({"policy": "forbid", "key": "k", "slots": slots});
            let files = files.file("channels/a.json", schedule("a", &slots(1)));
            files.file("channels/b.json", schedule("b", &slots(2)))
        },
        |files| {
            let slots = |key: &str, slots: u32| json!({"policy": "forbid", "key": key, "slots": slots});
            let files = files.file("channels/a.json", schedule("a", &slots("k", 1)));
            files.file("channels/b.json", schedule("b", &slots("l", 2)))
        },
    ),
];

#[test]
fn the_project_of_these_tests_has_no_finding() {
    let (findings, summary) = Files::default().lint(SetForm::Package);
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(
        summary.to_string(),
        "1 connector(s), 1 workflow(s), 1 channel(s), 1 shared value(s), 1 fragment(s) — 0 error(s), 0 warning(s)"
    );
}

#[test]
fn each_directory_check_fires_alone() {
    for Row(check, fires, passes) in ROWS {
        let (findings, summary) = fires(Files::default()).lint(SetForm::Directory);
        assert_eq!(ids(&findings), [check.id()], "{findings:#?}");
        let counted = if check.severity() == Severity::Error { summary.errors } else { summary.warnings };
        assert_eq!(counted, 1, "{}", check.id());
        let (findings, _) = passes(Files::default()).lint(SetForm::Directory);
        assert!(ids(&findings).is_empty(), "the neighbour of {}: {findings:#?}", check.id());
    }
}

#[test]
fn each_check_of_the_table_is_tested() {
    let elsewhere = [
        Check::MissingWorkflowId,
        Check::MissingChannelId,
        Check::SharedUnparseable,
        Check::ProjectUnreadable,
        Check::PackageName,
        Check::PackageVersion,
        Check::PackageContentHash,
        Check::PackagePlugin,
        Check::PackageRequires,
        Check::ValuesForm,
        Check::ValuesUndeclared,
        Check::ValuesType,
        Check::CronExcludedInstants,
        Check::EnvReference,
        Check::SecretsReference,
        Check::ProjectStatement,
    ];
    let tested: BTreeSet<_> = ROWS.iter().map(|row| row.0).chain(elsewhere).collect();
    assert_eq!(tested, Check::ALL.iter().copied().collect());
}

#[test]
fn a_package_needs_ids_and_a_directory_does_not() {
    let files = Files::default().without(WORKFLOW, "workflow_id");
    let files = files.without(CHANNEL, "channel_id").set(CHANNEL, "/workflow_id", json!("orders"));
    let all = ids(&files.lint(SetForm::Directory).0);
    assert_eq!(all, ["closure.workflow"]);
    let mut all = ids(&files.lint(SetForm::Package).0);
    all.sort_unstable();
    assert_eq!(all, ["closure.workflow", "missing.channel_id", "missing.workflow_id"]);
}

#[test]
fn boundary_names_may_be_outside_the_set() {
    let files = call(Files::default(), json!({"channel": "billing", "output": "data.o"}));
    let files = files.set(CHANNEL, "/config", json!({"on_failure": "alerts"}));
    let files = files.file(
        "workflows/b.json",
        json!({"name": "b", "tasks": [task("k", "cache_read",
        json!({"connector": "kv", "key": "k", "output": "data.k"}))]}),
    );
    let boundary = |channels: &[&str], connectors: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let boundary = svc_project::Boundary::new(owned(channels), owned(connectors));
        let project = files.project();
        ids(&svc_project::lint(&project, &ENGINE, &boundary, SetForm::Directory).findings).len()
    };
    assert_eq!(boundary(&[], &[]), 3);
    assert_eq!(boundary(&["billing"], &["kv"]), 1);
    assert_eq!(boundary(&["billing", "alerts"], &["kv"]), 0);
}

#[test]
fn inventory_names_variables_and_secrets_with_users() {
    let files = Files::default()
        .set(CONNECTOR, "/config/connection_string", json!("postgres://db.example/${SHOP_DB:-shop}"))
        .file(
            "connectors/api.json",
            json!({"name": "api", "connector_type": "http", "config":
            {"url": "https://api.example", "auth": {"type": "bearer", "token": "env://API_TOKEN"}}}),
        )
        .set(CHANNEL, "/config", json!({"auth": {"mode": "api_key", "keys": ["env://API_TOKEN"]}}));
    let files = secret(files, SIGN, sign("vault://kv/jwt#key"));
    let mut second = task("t", SIGN, sign("x"));
    second["function"]["input"]["key"] = json!({"secret": "signing"});
    let files = files.file("workflows/b.json", json!({"name": "b", "tasks": [second]}));
    let (findings, _) = files.lint(SetForm::Directory);
    let notes: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Note).collect();
    let lines: Vec<_> =
        notes.iter().map(|note| (note.check, note.entity.as_str(), note.message.as_str())).collect();
    let orders = "read by workflow 'orders' (workflows/orders.json)";
    let both = "read by channel 'orders' (channels/orders.json), connector 'api' (connectors/api.json)";
    assert_eq!(
        lines,
        [
            ("env.reference", "API_TOKEN", both),
            ("env.reference", "SHOP_DB", "read by connector 'shop' (connectors/shop.json)"),
            ("env.reference", "vault://kv/jwt#key", orders),
            ("secrets.reference", "signing", "read by workflow 'b' (workflows/b.json)"),
        ],
        "{findings:#?}"
    );
    assert!(ids(&findings).is_empty(), "{findings:#?}");
}

#[test]
fn conditions_are_held_to_operators_that_exist() {
    let (findings, _) = condition(Files::default(), json!({"eqals": [1, 1]})).lint(SetForm::Directory);
    assert_eq!(ids(&findings), ["schema.workflow"]);
    assert!(findings[0].message.starts_with("tasks[0].condition"), "{findings:?}");
    assert!(findings[0].message.ends_with("(UNKNOWN_OPERATOR)"), "{findings:?}");
}

#[test]
fn fragment_finding_points_at_the_fragment() {
    let files = Files::default().tasks(json!([read("a"), {"id": "c", "use": "note"}]));
    let files = files.set(SHARED, "/fragments/note/tasks/0/function/name", json!("mapp"));
    let (findings, _) = files.lint(SetForm::Directory);
    assert_eq!(ids(&findings), ["schema.workflow"], "{findings:#?}");
    let start = "fragments.note.tasks[0].function.name in shared/common.json: ";
    assert!(findings[0].message.starts_with(start), "{}", findings[0].message);
    assert_eq!(findings[0].entity, "workflow 'orders' (workflows/orders.json)");
    let files = files.file("workflows/b.json", json!({"name": "b", "tasks": [{"id": "d", "use": "note"}]}));
    let (findings, summary) = files.lint(SetForm::Directory);
    assert_eq!((ids(&findings), summary.errors), (vec!["schema.workflow"], 1), "{findings:#?}");
    assert!(findings[0].message.ends_with(" (and in 1 more)"), "{}", findings[0].message);
    let files = Files::default().tasks(json!([{"id": "c", "use": "note"}, {"id": "c", "use": "note"}]));
    let (findings, _) = files.lint(SetForm::Directory);
    assert!(findings[0].message.starts_with("tasks[1]: "), "{}", findings[0].message);
}

#[test]
fn search_for_nearest_name_is_bounded() {
    let files = (0..150).fold(Files::default(), |files, index| {
        let name = format!("channels/c{index}.json");
        let files = files.file(&name, channel(&format!("c{index}")));
        files.set(&name, "/workflow_id", json!(format!("order{}", index % 100)))
    });
    let (findings, summary) = files.lint(SetForm::Directory);
    assert_eq!(summary.errors, 150, "{summary}");
    let suggested = findings.iter().filter(|finding| finding.message.contains("did you mean 'orders'?"));
    assert_eq!(suggested.count(), 100);
}

#[test]
fn unreadable_definitions_are_warned_of() {
    let finding = Check::SharedUnparseable.finding("shared/a.json", "expected a value");
    assert_eq!(finding.severity, Severity::Warning);
    let shared = source("s.json", &json!({"constants": {"shop": 1}}).to_string());
    let (shared, faults) = SharedDefinitions::collect(&[Arc::new(shared)]);
    assert_eq!((shared.value_count(), faults.len()), (1, 0));
}
