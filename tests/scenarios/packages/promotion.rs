//! Promotion: the verbs of `svc-server package` between real servers.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::ServerProcess;
use tempfile::TempDir;

use super::verbs::{Package, exit, hashes, stderr, stdout, verb};
use crate::support::{channel, echo, echo_workflow, launch, serve_with, start};

const ADMIN: &str = "/api/v1/admin";

/// Stores a connector, a workflow that uses it, one that calls a channel elsewhere, and their channels.
fn author(server: &ServerProcess) {
    let mut client = server.client();
    let connector = json!({"name": "rates", "connector_type": "http", "config": {"url": "https://rates.example.com",
        "auth": {"type": "bearer", "token": "env://RATES_TOKEN"}}});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    for id in ["orders", "refunds"] {
        let mut workflow = echo_workflow(id);
        workflow["tags"] = json!(["shop"]);
        if id == "refunds" {
            let tasks = workflow["tasks"].as_array_mut().unwrap();
            tasks
                .push(json!({"id": "rate", "name": "", "condition": false, "function": {"name": "http_call",
                "input": {"connector": "rates", "path": "/", "output": "data.rate"}}}));
            tasks.push(
                json!({"id": "log", "name": "", "condition": false, "function": {"name": "channel_call",
                "input": {"channel": "ledger", "data": {}, "output": "data.booked"}}}),
            );
        }
        create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
        let mut entry = channel(id, id, json!({}));
        entry["tags"] = json!(["shop"]);
        create_and_activate(&mut client, "channels", "channel_id", &entry).unwrap();
    }
}

fn export(server: &ServerProcess, directory: &Path, version: &str) -> PathBuf {
    let file = directory.join(format!("shop-{version}.json"));
    let arguments = ["--tag", "shop", "--name", "shop", "--version", version, "-o", file.to_str().unwrap()];
    let output = verb("export", server, &arguments);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    file
}

fn promote_to(target: &ServerProcess) {
    let (source, directory) = (start(), TempDir::new().unwrap());
    author(&source);
    let file = export(&source, directory.path(), "1.0");
    let artifact: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(artifact["requires"], json!({"channels": ["ledger"], "connectors": []}));
    assert_eq!(artifact["package"]["svc"], env!("CARGO_PKG_VERSION"));
    let with_file = ["-f", file.to_str().unwrap()];
    let blocked = verb("plan", target, &with_file);
    assert_eq!(exit(&blocked), 1);
    assert!(stderr(&blocked).contains("required channel 'ledger' is not active"), "{}", stderr(&blocked));
    crate::support::echo(&mut target.client(), "ledger", json!({}));
    let before = hashes(target);
    let planned = verb("plan", target, &with_file);
    assert_eq!(exit(&planned), 0, "{}{}", stdout(&planned), stderr(&planned));
    assert!(stdout(&planned).contains("workflow 'orders': created, then activate"), "{}", stdout(&planned));
    assert_eq!(hashes(target), before, "a plan writes nothing");
    assert_eq!(exit(&verb("diff", target, &with_file)), 1);
    let applied = verb("apply", target, &with_file);
    assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
    for (key, hash) in hashes(&source) {
        assert!(hashes(target).contains(&(key.clone(), hash)), "{key}");
    }
    let answer = target.client().json("POST", "/api/v1/data/orders", &json!({"n": 1})).unwrap();
    assert_eq!(answer.json()["data"]["input"], json!({"n": 1}), "{}", answer.text());
    let same = verb("diff", target, &with_file);
    assert_eq!((exit(&same), stdout(&same).lines().count()), (0, 5), "{}", stdout(&same));
    let again = verb("apply", target, &["-f", file.to_str().unwrap(), "--format", "json"]);
    let report: Value = serde_json::from_str(&stdout(&again)).unwrap();
    assert_eq!((exit(&again), &report["result"]), (0, &json!("unchanged")));
    let rows =
        target.client().get(&format!("{ADMIN}/audit-logs?action=status_active&limit=4")).unwrap().json();
    for row in rows["data"].as_array().unwrap() {
        assert!(row["details"].as_str().unwrap().contains("package=shop@1.0"), "{row}");
    }
}

#[test]
fn package_is_promoted_between_two_files() {
    promote_to(&launch().env("RATES_TOKEN", "t").start().unwrap());
}

#[test]
fn package_is_promoted_to_a_server_on_postgres() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database().unwrap();
    let target = launch().env("SVC_STORAGE__URL", database.url()).env("RATES_TOKEN", "t").start().unwrap();
    promote_to(&target);
}

#[test]
fn apply_of_an_older_version_is_the_rollback() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let old = Package::new(directory.path(), "1").echoing(&["a"], "old").write();
    let new = Package::new(directory.path(), "2").echoing(&["a"], "new").write();
    let answered = || {
        let answer = target.client().json("POST", "/api/v1/data/a", &json!({})).unwrap();
        answer.json()["data"]["version"].clone()
    };
    for (file, expected) in [(&old, "old"), (&new, "new"), (&old, "old"), (&new, "new")] {
        let applied = verb("apply", &target, &["-f", file.to_str().unwrap()]);
        assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
        assert_eq!(answered(), expected);
        assert_eq!(exit(&verb("diff", &target, &["-f", file.to_str().unwrap()])), 0);
    }
    let detail = target.client().get(&format!("{ADMIN}/packages/shop")).unwrap().json()["data"].clone();
    assert_eq!(
        (&detail["current"]["version"], detail["versions"].as_array().unwrap().len()),
        (&json!("2"), 2)
    );
}

#[test]
fn version_with_other_content_is_refused() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let first = Package::new(directory.path(), "1").echoing(&["a"], "one").write();
    assert_eq!(exit(&verb("apply", &target, &["-f", first.to_str().unwrap()])), 0);
    let other = Package::new(directory.path(), "1").echoing(&["a"], "two").write();
    let before = hashes(&target);
    for name in ["plan", "apply"] {
        let refused = verb(name, &target, &["-f", other.to_str().unwrap()]);
        assert_eq!(exit(&refused), 1);
        assert!(stderr(&refused).contains("was applied with other content"), "{}", stderr(&refused));
        assert!(!stderr(&refused).contains("run the same command again"), "{}", stderr(&refused));
    }
    assert_eq!(hashes(&target), before);
}

#[test]
fn package_changed_by_hand_is_refused_before_a_request() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let file = Package::new(directory.path(), "1").echoing(&["a"], "one").write();
    let text = std::fs::read_to_string(&file).unwrap().replace("\"one\"", "\"two\"");
    std::fs::write(&file, text).unwrap();
    for name in ["plan", "apply", "diff"] {
        let refused = verb(name, &target, &["-f", file.to_str().unwrap()]);
        assert_eq!((exit(&refused), stdout(&refused).as_str()), (1, ""));
        assert!(stderr(&refused).contains("package.content_hash names"), "{}", stderr(&refused));
    }
    assert_eq!(target.client().get(&format!("{ADMIN}/packages")).unwrap().json()["total"], 0);
}

#[test]
fn prune_deletes_what_the_package_no_longer_has() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    crate::support::echo(&mut target.client(), "bystander", json!({}));
    let full = Package::new(directory.path(), "1").echoing(&["a", "b"], "one").write();
    let less = Package::new(directory.path(), "2").echoing(&["a"], "one").write();
    let apply = |arguments: &[&str]| -> Output {
        let output = verb("apply", &target, arguments);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        output
    };
    apply(&["-f", full.to_str().unwrap()]);
    let before = hashes(&target);
    let shown = apply(&["-f", less.to_str().unwrap(), "--prune", "--dry-run", "--format", "json"]);
    let shown: Value = serde_json::from_str(&stdout(&shown)).unwrap();
    let stale = json!([{"kind": "channel", "key": "b"}, {"kind": "workflow", "key": "b"}]);
    assert_eq!(shown["prune"], stale);
    assert_eq!(hashes(&target), before, "a dry run deletes nothing");
    let unasked = verb("apply", &target, &["-f", less.to_str().unwrap(), "--prune"]);
    assert_eq!((exit(&unasked), stdout(&unasked).as_str()), (1, ""));
    let told = stderr(&unasked);
    assert!(told.contains("to be deleted: channel 'b'\nto be deleted: workflow 'b'\n"), "{told}");
    assert!(told.contains("pass --yes") && !told.contains("what was done"), "{told}");
    assert_eq!(hashes(&target), before, "nobody could be asked");
    let pruned = apply(&["-f", less.to_str().unwrap(), "--prune", "--yes", "--format", "json"]);
    assert!(stderr(&pruned).contains("to be deleted: channel 'b'"), "{}", stderr(&pruned));
    assert_eq!(serde_json::from_str::<Value>(&stdout(&pruned)).unwrap()["pruned"], stale);
    let left = hashes(&target);
    let left: Vec<_> = left.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(left, ["channels/a", "channels/bystander", "workflows/a", "workflows/bystander"]);
    apply(&["-f", full.to_str().unwrap()]);
    assert_eq!(hashes(&target), before, "the older version brings back what was pruned");
}

/// Compiles a project of one connector, one workflow that uses a declared secret and two channels, one of which
/// authenticates by a variable.
fn write_demanding(directory: &Path, workflow_extra: Option<Value>) -> PathBuf {
    let connector = json!({"name": "partner", "connector_type": "http", "config": {"url": "${PARTNER_URL}",
        "headers": {"x-url": "${PARTNER_URL}"}, "auth": {"type": "bearer", "token": "env://PARTNER_TOKEN"}}});
    let mut workflow = echo_workflow("calls");
    workflow["tasks"].as_array_mut().unwrap().extend(workflow_extra);
    let mut guarded = channel("guarded", "calls", json!({}));
    guarded["config"] = json!({"auth": {"mode": "api_key", "keys": ["env://CALLER_KEY"]}});
    let open = channel("calls", "calls", json!({}));
    compile_documents(directory, &[("c", connector), ("w", workflow), ("g", guarded), ("o", open)])
}

/// Compiles a package `shop` of documents.
fn compile_documents(directory: &Path, documents: &[(&str, Value)]) -> PathBuf {
    let sources = TempDir::new().unwrap();
    for (name, document) in documents {
        std::fs::write(sources.path().join(format!("{name}.json")), document.to_string()).unwrap();
    }
    let file = directory.join("demanding.json");
    let arguments = [
        "compile",
        sources.path().to_str().unwrap(),
        "--name",
        "shop",
        "--version",
        "1",
        "-o",
        file.to_str().unwrap(),
    ];
    let output = launch().args(&arguments).output().unwrap();
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    file
}

#[test]
fn plan_names_unservable_package_and_apply_fails() {
    let (poor, directory) = (start(), TempDir::new().unwrap());
    let file = write_demanding(directory.path(), None);
    let with_file = ["-f", file.to_str().unwrap()];
    let degraded_file = ["-f", file.to_str().unwrap(), "--allow-degraded"];
    let planned = verb("plan", &poor, &with_file);
    let told = stderr(&planned);
    assert_eq!(exit(&planned), 1, "{}", stdout(&planned));
    for part in [
        "connector 'partner'",
        "PARTNER_URL is not set",
        "env://PARTNER_TOKEN",
        "channel 'guarded'",
        "env://CALLER_KEY",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(told.matches("PARTNER_URL is not set").count(), 1, "{told}");
    let planned = verb("plan", &poor, &degraded_file);
    assert_eq!(exit(&planned), 0, "{}", stderr(&planned));
    assert!(
        stderr(&planned).contains("warning: connector 'partner' could not be loaded"),
        "{}",
        stderr(&planned)
    );

    let applied = verb("apply", &poor, &with_file);
    let told = stderr(&applied);
    assert_eq!((exit(&applied), stdout(&applied).as_str()), (1, ""), "{told}");
    for part in
        ["- channel 'guarded' is quarantined: ", "- connector 'partner' is not loaded: ", "--allow-degraded"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(told.matches("PARTNER_URL is not set").count(), 1, "{told}");
    let receipt = |server: &ServerProcess| {
        let detail = server.client().get(&format!("{ADMIN}/packages/shop")).unwrap().json();
        detail["data"]["versions"][0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(receipt(&poor), "staged");
    let applied = verb("apply", &poor, &degraded_file);
    assert_eq!((exit(&applied), receipt(&poor).as_str()), (0, "applied"), "{}", stderr(&applied));
    assert!(
        stderr(&applied).contains("warning: connector 'partner' is not loaded: "),
        "{}",
        stderr(&applied)
    );
    let again = verb("apply", &poor, &with_file);
    let told = stderr(&again);
    assert_eq!(exit(&again), 1, "{}", stdout(&again));
    assert!(
        told.contains("- channel 'guarded' is quarantined: ") && told.contains("- connector 'partner'"),
        "{told}"
    );

    let rich = launch()
        .env("PARTNER_URL", "https://partner.example.com")
        .env("PARTNER_TOKEN", "t")
        .env("CALLER_KEY", "a-key-of-a-caller-0123456789abcdef")
        .start()
        .unwrap();
    let planned = verb("plan", &rich, &with_file);
    assert_eq!((exit(&planned), stderr(&planned).contains("blocking")), (0, false), "{}", stderr(&planned));
    assert!(stdout(&planned).ends_with("nothing stands in the way\n"), "{}", stdout(&planned));
    assert!(!stdout(&planned).contains("does not exist"), "{}", stdout(&planned));
    assert_eq!(exit(&verb("apply", &rich, &with_file)), 0);
    assert_eq!(receipt(&rich), "applied");
    let planned = verb("plan", &rich, &with_file);
    assert!(stdout(&planned).contains("workflow 'calls': unchanged\n"), "{}", stdout(&planned));
}

#[test]
fn plan_names_route_of_another_channel() {
    let (server, directory) = (start(), TempDir::new().unwrap());
    echo(&mut server.client(), "taken", json!({}));
    let mut rival = channel("rival", "calls", json!({}));
    rival["route_pattern"] = json!("/taken");
    let file = compile_documents(directory.path(), &[("w", echo_workflow("calls")), ("c", rival)]);
    let told = "channel 'rival': active channel 'taken' claims '/taken' at the same priority";
    for verb_arguments in
        [&["-f", file.to_str().unwrap()][..], &["-f", file.to_str().unwrap(), "--allow-degraded"]]
    {
        let planned = verb("plan", &server, verb_arguments);
        assert_eq!(exit(&planned), 1, "{}", stdout(&planned));
        assert_eq!(stderr(&planned).matches(told).count(), 1, "{}", stderr(&planned));
    }
}

#[test]
fn name_that_package_frees_is_taken() {
    let (server, directory) = (start(), TempDir::new().unwrap());
    let mut client = server.client();
    let named = |id: &str, name: &str| {
        let mut document = channel(id, "calls", json!({}));
        (document["name"], document["route_pattern"]) = (json!(name), json!(format!("/{name}")));
        document
    };
    let workflow = echo_workflow("calls");
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &named("z-first", "taken")).unwrap();
    let documents = [("w", workflow), ("c", named("z-first", "moved")), ("d", named("a-second", "taken"))];
    let file = compile_documents(directory.path(), &documents);
    let run = |command: &str| {
        let output = verb(command, &server, &["-f", file.to_str().unwrap()]);
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
    };
    run("plan");
    // Drafts of an apply that did not end.
    let import = format!("{ADMIN}/channels/import?on_conflict=new_version");
    for draft in [named("z-first", "moved"), named("a-second", "taken")] {
        let imported = client.json("POST", &import, &json!([draft])).unwrap();
        assert_eq!(imported.json()["data"]["imported"], 1, "{}", imported.text());
        run("plan");
    }
    run("apply");
    for name in ["taken", "moved"] {
        let answer = client.json("POST", &format!("/api/v1/data/{name}"), &json!({})).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    // A channel that the package leaves alone stays in the way.
    let other =
        compile_documents(directory.path(), &[("w", echo_workflow("calls")), ("c", named("third", "moved"))]);
    let planned = verb("plan", &server, &["-f", other.to_str().unwrap()]);
    assert_eq!(exit(&planned), 1, "{}", stdout(&planned));
}

#[test]
fn plan_names_undeclared_secret_of_workflow() {
    let (poor, directory) = (start(), TempDir::new().unwrap());
    let signs = json!({"id": "sign", "name": "", "condition": false, "function": {"name": "crypto", "input":
        {"op": "hmac", "data": "x", "key": {"secret": "signing"}, "output": "data.s"}}});
    let file = write_demanding(directory.path(), Some(signs));
    let planned = verb("plan", &poor, &["-f", file.to_str().unwrap()]);
    let told = stderr(&planned);
    assert_eq!(exit(&planned), 1, "{}", stdout(&planned));
    assert!(
        told.contains("blocking: workflow 'calls' could not be loaded on this server: ")
            && told.contains("signing"),
        "{told}"
    );
}

#[test]
fn apply_names_unloadable_workflow_without_channels() {
    let (poor, directory) = (start(), TempDir::new().unwrap());
    let mut workflow = echo_workflow("signs");
    workflow["tasks"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "sign", "name": "", "function": {"name": "crypto",
        "input": {"op": "hmac", "data": "x", "key": {"secret": "signing"}, "output": "data.s"}}}));
    let file = compile_documents(directory.path(), &[("w", workflow)]);
    let applied = verb("apply", &poor, &["-f", file.to_str().unwrap()]);
    let told = stderr(&applied);
    assert_eq!((exit(&applied), stdout(&applied).as_str()), (1, ""), "{told}");
    assert!(told.contains("- workflow 'signs' is not loaded: ") && told.contains("signing"), "{told}");
    let applied = verb("apply", &poor, &["-f", file.to_str().unwrap(), "--allow-degraded"]);
    assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
}

#[test]
fn second_canary_blocks_unless_it_replaces_the_first() {
    let (target, directory) = (start(), TempDir::new().unwrap());
    let package = |version: &str, share: Option<i64>| {
        Package::new(directory.path(), version).echoing(&["a"], version).with_rollout(share).write()
    };
    let shares = || {
        let rows = target.client().get(&format!("{ADMIN}/workflows/a/versions")).unwrap().json();
        let rows = rows["data"].as_array().unwrap().clone();
        let active = rows.into_iter().filter(|row| row["status"] == "active");
        active.map(|row| row["rollout_percentage"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    let apply = |file: &Path, more: &[&str]| {
        let arguments: Vec<_> =
            ["-f", file.to_str().unwrap()].into_iter().chain(more.iter().copied()).collect();
        verb("apply", &target, &arguments)
    };
    assert_eq!(exit(&apply(&package("1", None), &[])), 0);
    assert_eq!(exit(&apply(&package("2", Some(10)), &[])), 0);
    assert_eq!(shares(), [10, 90]);
    let third = package("3", Some(20));
    let planned = verb("plan", &target, &["-f", third.to_str().unwrap(), "--impact"]);
    assert_eq!(exit(&planned), 1);
    assert!(stdout(&planned).contains("a change of workflow 'a' touches:"), "{}", stdout(&planned));
    assert!(stderr(&planned).contains("--replace-canary"), "{}", stderr(&planned));
    let refused = apply(&third, &[]);
    assert_eq!(exit(&refused), 1);
    assert!(stderr(&refused).contains("two active versions"), "{}", stderr(&refused));
    assert_eq!(exit(&apply(&third, &["--replace-canary"])), 0);
    assert_eq!(shares(), [20, 80]);
    let detail = target.client().get(&format!("{ADMIN}/packages/shop")).unwrap().json();
    assert_eq!(detail["data"]["current"]["version"], "3");
}

#[test]
fn backtest_compares_answers_with_the_serving_channel() {
    let (server, project) = (start(), TempDir::new().unwrap());
    let control = json!({"status": 201, "headers": {"etag": "e1"}, "body_path": "a"});
    let tasks = json!([{"id": "take", "name": "Take", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.a", "logic": 7}, {"path": "data._svc.response", "logic": control}]}}}]);
    let shaped = |headers: &[&str]| json!({"response": {"mode": "shaped", "allowed_headers": headers}});
    serve_with(&mut server.client(), "order", shaped(&["etag"]), tasks.clone());
    let write =
        |name: &str, text: &Value| std::fs::write(project.path().join(name), text.to_string()).unwrap();
    write("workflow.json", &json!({"workflow_id": "order", "name": "order", "tasks": tasks}));
    write("channel.json", &channel("order", "order", shaped(&[])));
    let end = json!({"matched": true, "tasks": ["take"], "errors": [],
        "data": {"a": 7, "_svc": {"response": control}}});
    let recording = json!({"started_at": "2026-01-02T03:04:05.000000Z", "payload": {}, "metadata": {},
        "drawn": [], "calls": [], "end": end});
    let traces = TempDir::new().unwrap();
    let file = traces.path().join("runs.jsonl");
    let line = json!({"id": "r", "run_key": "k", "workflow_id": "order", "channel": "order", "source": "sync",
        "recording": recording});
    std::fs::write(&file, format!("{line}\n")).unwrap();
    let arguments =
        ["-f", project.path().to_str().unwrap(), "--traces", file.to_str().unwrap(), "--format", "json"];
    let alone = launch().args(&[&["package", "backtest"][..], &arguments].concat()).output().unwrap();
    assert_eq!(exit(&alone), 0, "{}", stderr(&alone));
    let report = |output: &Output| serde_json::from_str::<Value>(&stdout(output)).unwrap();
    assert_eq!(report(&alone)["kinds"]["same"], 1, "{}", stdout(&alone));
    let compared = verb("backtest", &server, &arguments);
    assert_eq!(exit(&compared), 0, "{}", stderr(&compared));
    assert_eq!(report(&compared)["groups"][0]["subject"], "order: headers.etag", "{}", stdout(&compared));
}

#[test]
fn masked_values_are_named_then_refused_at_apply() {
    let (source, directory) = (start(), TempDir::new().unwrap());
    let mut client = source.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("a")).unwrap();
    let keys = json!({"auth": {"mode": "api_key", "keys": ["a-literal-key-of-some-length"]}});
    create_and_activate(&mut client, "channels", "channel_id", &channel("a", "a", keys)).unwrap();
    let file = directory.path().join("masked.json");
    let arguments = ["--channels", "a", "--name", "p", "--version", "1", "-o", file.to_str().unwrap()];
    let exported = verb("export", &source, &arguments);
    assert_eq!(exit(&exported), 0);
    assert!(stderr(&exported).contains("is masked and cannot be applied"), "{}", stderr(&exported));
    let refused = verb("apply", &start(), &["-f", file.to_str().unwrap()]);
    assert_eq!(exit(&refused), 1);
    assert!(stderr(&refused).contains("channel 'a': channel.config.auth.keys"), "{}", stderr(&refused));
}

#[test]
fn key_is_sent_and_a_wrong_one_is_told() {
    let key = "0123456789abcdef0123456789abcdef";
    let server =
        launch().env("SVC_ADMIN_AUTH__ENABLED", "true").env("SVC_ADMIN_AUTH__API_KEYS", key).start().unwrap();
    let directory = TempDir::new().unwrap();
    let file = Package::new(directory.path(), "1").echoing(&["a"], "one").write();
    let apply = |token: &str| {
        let url = format!("http://{}", server.address());
        let arguments = ["package", "apply", "-s", &url, "-f", file.to_str().unwrap()];
        launch().env("SVC_ADMIN_TOKEN", token).args(&arguments).output().unwrap()
    };
    let refused = apply("wrong");
    assert_eq!(exit(&refused), 1);
    let told = stderr(&refused);
    assert!(told.contains("[UNAUTHORIZED]") && told.contains("from SVC_ADMIN_TOKEN"), "{told}");
    let applied = apply(key);
    assert_eq!(exit(&applied), 0, "{}", stderr(&applied));
    assert!(!stderr(&applied).contains(key) && !stderr(&applied).contains("without TLS"));
}

#[test]
fn unreachable_server_and_missing_selector_are_told() {
    let directory = TempDir::new().unwrap();
    let file = Package::new(directory.path(), "1").echoing(&["a"], "one").write();
    let run = |arguments: &[&str]| launch().args(arguments).output().unwrap();
    let away = run(&["package", "diff", "-s", "http://127.0.0.1:1", "-f", file.to_str().unwrap()]);
    assert_eq!(exit(&away), 1);
    assert!(stderr(&away).starts_with("Error: no connection to http://127.0.0.1:1"), "{}", stderr(&away));
    let bare = run(&["package", "export", "-s", "http://127.0.0.1:1", "--name", "p", "--version", "1"]);
    assert_eq!(exit(&bare), 2, "{}", stderr(&bare));
}
