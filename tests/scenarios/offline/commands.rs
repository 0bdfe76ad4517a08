//! `dry-run` and `test` as their users call them.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{command, write};

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": function, "input": input}})
}

/// Loads a basket, signs its number and sends the result to another channel.
fn checkout() -> Value {
    json!({"workflow_id": "checkout", "name": "Checkout", "tasks": [
        task("load", "db_read", json!({"connector": "shop", "query": "SELECT 1", "params": [{"var": "payload.basket"}],
            "output": "data.rows"})),
        task("sign", "crypto", json!({"op": "hmac", "algorithm": "sha256", "key": "env://SIGN_KEY",
            "data": {"var": "payload.basket"}, "output": "data.signature"})),
        task("send", "http_call", json!({"connector": "bank", "method": "POST",
            "body_logic": {"token": {"secret": "token"}, "paid": {"var": "data.rows.0.paid"}}})),
        task("tell", "channel_call", json!({"channel": "audit", "output": "data.noted"})),
    ]})
}

fn project() -> TempDir {
    let project = TempDir::new().unwrap();
    let root = project.path();
    write(root, "workflows/checkout.json", &checkout());
    write(root, "input.json", &json!({"basket": "b7"}));
    write(
        root,
        "stubs.json",
        &json!({"db_read": {"shop": [{"paid": true}]}, "http_call": {"*": 1},
        "channel_call": {"audit": {"noted": 1}}}),
    );
    write(root, "secrets.json", &json!({"SIGN_KEY": "canary-sign-key", "token": "canary-token"}));
    project
}

const DRY_RUN: [&str; 5] = ["dry-run", "-w", "workflows/checkout.json", "-i", "input.json"];

#[test]
fn a_dry_run_prints_one_document_without_secrets() {
    let project = project();
    let arguments = [&DRY_RUN[..], &["-s", "stubs.json", "--secrets", "secrets.json"]].concat();
    let run = command(project.path(), &arguments);
    assert_eq!((run.code(), run.err()), (Some(0), String::new()));
    let document = run.json();
    let keys: Vec<_> = document.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        ["matched", "trace", "output", "data", "metadata", "temp_data", "calls", "audit_trail", "errors"];
    assert_eq!(keys, expected);
    assert_eq!((&document["matched"], &document["output"]), (&json!(true), &document["data"]));
    assert_eq!(document["data"]["noted"], json!({"noted": 1}));
    // echo -n b7 | openssl dgst -sha256 -hmac canary-sign-key
    assert_eq!(document["data"]["signature"].as_str().map(str::len), Some(64), "computed for real");
    let call = json!({"seq": 1, "task_id": "send", "function": "http_call", "stub_target": "bank",
        "input": {"connector": "bank", "method": "POST", "body": {"token": "******", "paid": true}}});
    assert_eq!(document["calls"]["http_call"], json!([call]));
    assert_eq!(
        document["calls"]["channel_call"][0]["input"],
        json!({"channel": "audit", "data": {"basket": "b7"}})
    );
    assert_eq!(document["calls"].get("crypto"), None, "never recorded");
    assert!(!run.stdout_text().contains("canary"), "{}", run.stdout_text());
}

#[test]
fn failed_dry_run_prints_document_and_exits_1() {
    let project = project();
    let run = command(project.path(), &[&DRY_RUN[..], &["--secrets", "secrets.json"]].concat());
    assert_eq!(run.code(), Some(1));
    let document = run.json();
    assert!(document["error"].as_str().unwrap().contains("no stub answers db_read of 'shop'"), "{document}");
    assert_eq!(document["errors"][0]["code"], "FUNCTION_ERROR");
    assert_eq!(document["calls"]["db_read"][0]["input"]["params"], json!(["b7"]), "recorded all the same");
    assert_eq!(document["trace"]["steps"][0]["result"], "failed");
}

#[test]
fn expression_without_memory_is_no_panic() {
    let project = TempDir::new().unwrap();
    // Forty doublings of a text.
    let double = json!({"cat": [{"var": "accumulator"}, {"var": "accumulator"}]});
    let logic = json!({"reduce": [{"var": "payload.items"}, double, "x"]});
    let input = json!({"mappings": [{"path": "data.text", "logic": logic}]});
    let workflow =
        json!({"workflow_id": "double", "name": "Double", "tasks": [task("double", "map", input)]});
    write(project.path(), "double.json", &workflow);
    write(project.path(), "input.json", &json!({"items": vec![1; 40]}));
    let run = command(project.path(), &["dry-run", "-w", "double.json", "-i", "input.json"]);
    assert_eq!(run.code(), Some(1));
    let error = run.json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("the expression takes more than"), "{error}");
    assert!(!run.err().contains("panicked"), "{}", run.err());
}

#[test]
fn unrunnable_case_is_refused_with_its_file() {
    let project = project();
    let root = project.path();
    let refused = |arguments: &[&str], expected: &str| {
        let run = command(root, arguments);
        assert_eq!((run.code(), run.stdout_text()), (Some(1), String::new()), "{}", run.err());
        assert!(
            run.err().starts_with("Error: ") && run.err().contains(expected),
            "{expected}: {}",
            run.err()
        );
        assert!(!run.err().contains("canary"), "{}", run.err());
    };
    refused(&DRY_RUN, "workflows/checkout.json: tasks[2].function.input");
    write(root, "bad-secrets.json", &json!({"token": {"pin": "canary"}}));
    refused(&[&DRY_RUN[..], &["--secrets", "bad-secrets.json"]].concat(), "bad-secrets.json: secrets.token");
    write(root, "bad-stubs.json", &json!({"db_raed": {}}));
    let stubbed = [&DRY_RUN[..], &["--secrets", "secrets.json", "-s", "bad-stubs.json"]].concat();
    refused(&stubbed, "did you mean db_read?");
    write(root, "bad-metadata.json", &json!({"auth": {"token": "canary"}}));
    refused(
        &[&DRY_RUN[..], &["--secrets", "secrets.json", "-m", "bad-metadata.json"]].concat(),
        "metadata.auth.token",
    );
    refused(&["dry-run", "-w", "gone.json", "-i", "input.json"], "gone.json: ");
    let mut misspelt = checkout();
    misspelt["tasks"][0]["function"]["name"] = "db_raed".into();
    write(root, "misspelt.json", &misspelt);
    refused(&["dry-run", "-w", "misspelt.json", "-i", "input.json"], "[UNKNOWN_FUNCTION]");
    assert_eq!(command(root, &["dry-run", "-w", "workflows/checkout.json"]).code(), Some(2), "usage");
}

#[test]
fn cases_are_reported_in_order_with_their_differences() {
    let project = project();
    let root = project.path();
    let secrets = json!({"SIGN_KEY": "canary-sign-key", "token": "canary-token"});
    let stubs =
        json!({"db_read": {"shop": [{"paid": true}]}, "http_call": {"*": 1}, "channel_call": {"*": 1}});
    let case = |expected: &str| {
        json!({"workflow": "../workflows/checkout.json", "input": {"basket": "b7"}, "secrets": secrets, "stubs": stubs,
            "expect": {"data.rows[0].paid": expected == "paid"},
            "expect_calls": {"http_call": [{"body": {"token": "******"}}]}})
    };
    write(root, "tests/b.case.json", &case("unpaid"));
    write(root, "tests/a.case.json", &case("paid"));
    let run = command(root, &["test", "tests"]);
    assert_eq!(
        run.stdout_text(),
        "  ok    a\n  FAIL  b\n        data.rows[0].paid: expected false, got true\n1 passed, 1 failed (2 case(s))\n"
    );
    assert_eq!((run.code(), run.err()), (Some(1), String::new()));
    let machine = command(root, &["test", "tests", "--format", "json"]);
    assert_eq!(machine.code(), Some(1));
    assert_eq!(
        machine.json()["summary"],
        json!({"passed": 1, "failed": 1, "cases": 2}),
        "{}",
        machine.stdout_text()
    );
    let failure = &machine.json()["cases"][1]["failures"][0];
    assert_eq!(failure["message"], "data.rows[0].paid: expected false, got true");
    assert_eq!(failure["place"]["file"], "tests/b.case.json", "{failure}");
    let junit = command(root, &["test", "tests", "--format", "junit"]).stdout_text();
    assert!(junit.starts_with("<?xml") && junit.contains("data.rows[0].paid: expected false"), "{junit}");
    let one = command(root, &["test", "tests/a.case.json"]);
    assert_eq!(
        (one.code(), one.stdout_text()),
        (Some(0), "  ok    a\n1 passed, 0 failed (1 case(s))\n".to_owned())
    );
    let none = command(root, &["test", "."]);
    assert_eq!((none.code(), none.stdout_text()), (Some(1), "0 passed, 0 failed (0 case(s))\n".to_owned()));
    assert!(none.err().contains("did you mean") && none.err().contains("tests"), "{}", none.err());
    write(
        root,
        "tests/c.case.json",
        &json!({"workflow": "../workflows/checkout.json", "input": 1, "expct": {}}),
    );
    let unknown = command(root, &["test", "tests/c.case.json"]);
    assert!(
        unknown.stdout_text().contains("expct [UNKNOWN_FIELD]: unknown field, did you mean 'expect'?"),
        "{}",
        unknown.stdout_text()
    );
}

#[test]
fn coverage_lists_parts_that_no_case_reached() {
    let project = project();
    let root = project.path();
    let set = |id: &str| task(id, "map", json!({"mappings": [{"path": format!("data.{id}"), "logic": 1}]}));
    let when = |mut step: Value, path: &str| {
        step["condition"] = json!({"==": [{"var": path}, true]});
        step
    };
    let group = json!({"id": "refund", "name": "Refund",
        "tasks": [set("credit"), when(set("letter"), "payload.letter")]});
    let workflow = json!({"workflow_id": "orders", "name": "Orders",
        "tasks": [set("always"), when(set("gift"), "payload.gift"), when(group, "payload.refund")]});
    write(root, "workflows/orders.json", &workflow);
    let case = |input: Value| json!({"workflow": "../workflows/orders.json", "input": input});
    write(root, "tests/plain.case.json", &case(json!({})));
    let first = command(root, &["test", "tests", "--coverage", "--min", "50"]);
    let expected = "  ok    plain\n1 passed, 0 failed (1 case(s))\n\
        coverage: 37% — 1 of 4 task(s), 2 of 4 branch(es)\n  orders: 1 of 4 task(s), 2 of 4 branch(es)\n        \
        task 'gift' never ran\n        group 'refund' was never entered\n        task 'credit' never ran\n        \
        task 'letter' never ran\n        task 'letter' was never skipped\n";
    assert_eq!(first.stdout_text(), expected);
    assert_eq!(first.code(), Some(1));
    assert!(first.err().contains("37%") && first.err().contains("--min asks for 50%"), "{}", first.err());
    write(root, "tests/gift.case.json", &case(json!({"gift": true, "refund": true})));
    write(root, "tests/letter.case.json", &case(json!({"refund": true, "letter": true})));
    let all = command(root, &["test", "tests", "--coverage", "--min", "100", "--format", "json"]);
    assert_eq!((all.code(), all.err()), (Some(0), String::new()));
    let count = json!({"covered": 4, "total": 4});
    let workflow = json!({"workflow": "orders", "tasks": count, "branches": count, "missing": []});
    let expected = json!({"percent": 100, "tasks": count, "branches": count, "workflows": [workflow]});
    assert_eq!(all.json()["coverage"], expected);
    let with_others = command(root, &["test", "tests", "--coverage", "--definitions", "."]);
    assert!(with_others.stdout_text().contains("checkout: 0 of 4 task(s)"), "{}", with_others.stdout_text());
    assert_eq!(command(root, &["test", "tests", "--min", "50"]).code(), Some(2), "usage");
}

#[test]
fn expected_secret_is_printed_as_mask() {
    let project = project();
    let root = project.path();
    let case = json!({"workflow": "../workflows/checkout.json", "input": {"basket": "b7"},
        "secrets": {"SIGN_KEY": "canary-sign-key", "token": "canary-token"},
        "stubs": {"db_read": {"*": []}, "http_call": {"*": 1}, "channel_call": {"*": 1}},
        "expect": {"calls.http_call[0].input.body.token": "canary-token"}});
    write(root, "tests/a.case.json", &case);
    let run = command(root, &["test", "tests"]);
    assert_eq!(run.code(), Some(1), "{}", run.stdout_text());
    assert!(run.stdout_text().contains("is shown as \"******\"; expect this text"), "{}", run.stdout_text());
    assert!(!run.stdout_text().contains("canary"), "{}", run.stdout_text());
}

#[test]
fn shared_definitions_are_expanded_before_a_workflow_is_checked() {
    let project = project();
    let root = project.path();
    write(
        root,
        "shared/all.json",
        &json!({"constants": {"region": "eu"}, "fragments": {"guard": {
        "params": {"why": {"default": "no"}},
        "tasks": [task("check", "map", json!({"mappings": [{"path": "data.why", "logic": {"$param": "why"}},
            {"path": "data.region", "logic": {"$from": "constants.region"}}]}))]}}}),
    );
    write(
        root,
        "workflows/guarded.json",
        &json!({"name": "w", "tasks": [{"id": "g", "use": "guard", "with": {"why": "late"}}]}),
    );
    write(
        root,
        "tests/guarded.case.json",
        &json!({"workflow": "../workflows/guarded.json", "input": null,
        "expect": {"data": {"why": "late", "region": "eu"}}, "expect_tasks": ["g.check"]}),
    );
    let expanded = command(root, &["test", "tests", "--definitions", "shared"]);
    assert_eq!(expanded.code(), Some(0), "{}{}", expanded.stdout_text(), expanded.err());
    let unexpanded = command(root, &["test", "tests"]);
    assert!(
        unexpanded.stdout_text().contains("[UNCOMPILED_SOURCE]")
            && unexpanded.stdout_text().contains("guard"),
        "{}",
        unexpanded.stdout_text()
    );
    let run = command(
        root,
        &["dry-run", "-w", "workflows/guarded.json", "-i", "input.json", "--definitions", "shared"],
    );
    assert_eq!(run.json()["data"], json!({"why": "late", "region": "eu"}));
}
