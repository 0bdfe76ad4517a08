//! Refusals and warnings for authors.

use serde_json::{Value, json};
use svc_engine::Engine;
use svc_engine::catalogue::{self, FunctionEntry};
use svc_model::{FieldCode, WorkflowChecks as _};

use crate::declared;
use crate::support::{compile, workflow};

struct Report {
    errors: Vec<(String, FieldCode)>,
    messages: Vec<String>,
    warnings: Vec<String>,
}

fn check(document: &Value) -> Report {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    declared::engine().check(&workflow(document).content, &mut errors, &mut warnings);
    Report {
        messages: errors.iter().map(|error| error.message.clone()).collect(),
        errors: errors.into_iter().map(|error| (error.path, error.code)).collect(),
        warnings: warnings.into_iter().map(|warning| warning.field).collect(),
    }
}

fn input(function: &str, input: Value) -> Report {
    check(&json!({"tasks": [{"id": "t", "name": "", "function": {"name": function, "input": input}}]}))
}

fn field_error(field: &str, code: FieldCode) -> (String, FieldCode) {
    (format!("tasks[0].function.input.{field}"), code)
}

#[test]
fn an_unknown_function_is_named_with_the_nearest_one() {
    let report = input("parse_jsn", json!({}));
    assert_eq!(report.errors, [("tasks[0].function.name".to_owned(), FieldCode::UnknownFunction)]);
    assert!(report.messages[0].contains("did you mean \"parse_json\""));
    assert!(!input("enrich", json!({})).messages[0].contains("did you mean"));
}

#[test]
fn function_without_built_driver_is_named() {
    let engine = Engine::builder().optional_functions("'kafka'", &["publish_kafka"]).build();
    let document = json!({"tasks": [
        {"id": "t", "name": "", "function": {"name": "publish_kafka", "input": {"connector": "k"}}}]});
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    engine.check(&workflow(&document).content, &mut errors, &mut warnings);
    let refused = errors.iter().find(|error| error.code == FieldCode::UnknownFunction).unwrap();
    assert!(refused.message.contains("compiled without the feature 'kafka'"), "{}", refused.message);
    let stored = compile(&engine, &document).unwrap_err().to_string();
    assert!(stored.contains("task \"t\"") && stored.contains("feature 'kafka'"), "{stored}");
}

#[test]
fn every_name_of_the_catalogue_is_known() {
    for name in declared::engine().catalogue().names() {
        let report = input(name, json!({}));
        assert!(report.errors.iter().all(|(_, code)| *code != FieldCode::UnknownFunction), "{name}");
    }
}

#[test]
fn inputs_are_checked_against_the_table_all_at_once() {
    let report = input("db_read", json!({"connector": 5, "params": {"a": 1}, "extra": 1}));
    assert_eq!(
        report.errors,
        [
            field_error("connector", FieldCode::TypeMismatch),
            field_error("query", FieldCode::Required),
            field_error("params", FieldCode::TypeMismatch),
            field_error("extra", FieldCode::UnknownField),
        ]
    );
}

#[test]
fn every_function_refuses_an_unknown_input() {
    for name in declared::engine().catalogue().names() {
        let report = input(name, json!({"outptu": "data.x"}));
        assert!(
            report.errors.contains(&field_error("outptu", FieldCode::UnknownField)),
            "{name}: {:?}",
            report.errors
        );
    }
    let message = &input("http_call", json!({"connector": "c", "headrs": {}})).messages[0];
    assert_eq!(message, "unknown field, did you mean 'headers'?");
}

#[test]
fn built_in_table_matches_its_compiler() {
    let engine = declared::engine();
    let built_in = |entry: &&FunctionEntry| entry.source == catalogue::FunctionSource::Engine;
    for entry in engine.catalogue().entries().filter(built_in) {
        let empty = input(entry.name, json!({})).errors;
        for field in entry.fields {
            let missing = empty.contains(&field_error(field.name, FieldCode::Required));
            assert_eq!(missing, field.required, "{}.{}", entry.name, field.name);
            let wrong = input(entry.name, json!({field.name: 1})).errors;
            let refused = wrong.contains(&field_error(field.name, FieldCode::TypeMismatch));
            assert_eq!(refused, field.kind != catalogue::InputKind::Any, "{}.{}", entry.name, field.name);
            let other = input(entry.name, json!({field.name: "zzz"})).errors;
            let refused = other.contains(&field_error(field.name, FieldCode::Invalid));
            assert!(refused || field.one_of.is_empty(), "{}.{}", entry.name, field.name);
            for member in field.members {
                let path = format!("{}[0].{}", field.name, member.name);
                let missing = input(entry.name, json!({field.name: [{}]}))
                    .errors
                    .contains(&field_error(&path, FieldCode::Required));
                assert_eq!(missing, member.required, "{}.{path}", entry.name);
            }
        }
    }
}

#[test]
fn unknown_task_key_is_refused_with_suggestion() {
    let map = json!({"name": "map", "mappings": [], "input": {"mappings": [{"pth": "data.x", "path": "data.x", "logic": 1}]}});
    let document = json!({"loop": {"max": 2, "incremnt": 1}, "tasks": [
        {"id": "a", "name": "", "conditon": true, "x-note": 1, "input": {}, "function": map},
        {"id": "g", "continue_on_error": true, "loop": {"max": 1}, "tasks": [{"id": "b", "nam": "", "task": [], "function": {"name": "log"}}]},
    ]});
    let report = check(&document);
    let mut lines: Vec<_> =
        report.errors.iter().map(|(path, _)| path.as_str()).zip(&report.messages).collect();
    lines.sort_unstable();
    let due = [
        ("loop.incremnt", "unknown field, did you mean 'increment'?"),
        ("tasks[0].conditon", "unknown field, did you mean 'condition'?"),
        ("tasks[0].function.input.mappings[0].pth", "unknown field, did you mean 'path'?"),
        ("tasks[0].function.mappings", "unknown field, did you mean 'input.mappings'?"),
        ("tasks[0].input", "unknown field, did you mean 'function.input'?"),
        (
            "tasks[1].continue_on_error",
            "unknown field, known: condition, description, finally, for_each, id, name, on_error, parallel, tasks, terminal, timeout_ms",
        ),
        (
            "tasks[1].loop",
            "only a workflow loops: put 'loop' beside its 'tasks', and what repeats into a workflow of its own",
        ),
        ("tasks[1].tasks[0].nam", "unknown field, did you mean 'name'?"),
        ("tasks[1].tasks[0].task", "unknown field, did you mean 'tasks'?"),
    ];
    assert_eq!(lines.iter().map(|(path, message)| (*path, message.as_str())).collect::<Vec<_>>(), due);
}

#[test]
fn unknown_operator_is_refused_only_in_conditions() {
    let deep = |name: &str| json!({"and": [true, {"if": [{"!": [{name: [1, 2]}]}, false, true]}]});
    let document = json!({"condition": deep("=="), "tasks": [
        {"id": "a", "name": "", "condition": deep("equals"), "function": {"name": "filter", "input": {"condition": deep("inn")}}},
        {"id": "b", "name": "", "function": {"name": "validation", "input": {"rules": [{"logic": deep("lenght"), "message": ""}]}}},
        {"id": "c", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"conct": ["a"]}}, {"path": "data.y", "logic": {"uper": "a"}},
            {"path": "data.z", "logic": {"customer": {"throw": {"nothing": 1}}}}]}}},
    ]});
    let report = check(&document);
    let below = |at: &str, name: &str| (format!("{at}.and[1].if[0].![0].{name}"), FieldCode::UnknownOperator);
    assert_eq!(
        report.errors,
        [
            below("tasks[0].condition", "equals"),
            below("tasks[0].function.input.condition", "inn"),
            below("tasks[1].function.input.rules[0].logic", "lenght"),
        ]
    );
    assert_eq!(report.messages[0], "no operator has the name 'equals', did you mean '=='?");
    let at = |n: usize, name: &str| format!("tasks[2].function.input.mappings[{n}].logic.{name}");
    assert_eq!(report.warnings, [at(0, "conct"), at(1, "uper")]);
}

#[test]
fn multi_member_object_as_condition_is_refused() {
    let two = json!({"==": [{"var": "payload.scope"}, "admin"], "in": [{"var": "payload.sub"}, ["boss"]]});
    let guarded = json!({"and": [{"!!": {"var": "payload.sub"}}, two]});
    let map = |logic: &Value| json!({"mappings": [{"path": "data.x", "logic": logic}]});
    let function =
        |name: &str, input: Value| json!({"id": "t", "name": "", "function": {"name": name, "input": input}});
    let documents = [
        (json!({"condition": guarded, "tasks": [function("map", map(&json!(1)))]}), "condition.and[1]"),
        (
            json!({"tasks": [{"id": "t", "name": "", "condition": two, "function": {"name": "map", "input": map(&json!(1))}}]}),
            "tasks[0].condition",
        ),
        (
            json!({"tasks": [function("filter", json!({"condition": guarded}))]}),
            "tasks[0].function.input.condition.and[1]",
        ),
        (
            json!({"tasks": [function("validation", json!({"rules": [{"logic": {"!!": two}, "message": "m"}]}))]}),
            "tasks[0].function.input.rules[0].logic.!!",
        ),
        (
            json!({"tasks": [function("map", map(&json!({"if": [two, "gold", "basic"]})))]}),
            "tasks[0].function.input.mappings[0].logic.if[0]",
        ),
        (
            json!({"tasks": [function("http_call", json!({"connector": "c", "body_logic": {"filter": [[1], two]}}))]}),
            "tasks[0].function.input.body_logic.filter[1]",
        ),
    ];
    for (document, path) in documents {
        let report = check(&document);
        assert_eq!(report.errors, [(path.to_owned(), FieldCode::NotAnExpression)], "{document}");
        assert!(report.messages[0].contains("'and' or 'or'"), "{:?}", report.messages);
        if document["tasks"][0]["function"]["name"] != "http_call" {
            let stored = compile(&declared::engine(), &document).unwrap_err().to_string();
            assert!(stored.contains("calls no operator"), "{stored}");
        }
    }
    let built = check(&json!({"tasks": [function("map", map(&two))]}));
    assert_eq!(built.errors, [], "an object is built of several members");
}

#[test]
fn both_spellings_of_one_field_are_refused() {
    let fields = json!({"connector": "c", "output": "data.x", "response_path": "data.y"});
    assert_eq!(input("http_call", fields).errors, [field_error("response_path", FieldCode::DuplicateField)]);
    assert_eq!(
        input("channel_call", json!({"channel": "c", "channel_logic": "c", "output": "data.x"})).errors,
        [field_error("channel_logic", FieldCode::DuplicateField)]
    );
    assert_eq!(
        input("channel_call", json!({"output": "data.x"})).errors,
        [field_error("channel", FieldCode::Required)]
    );
}

#[test]
fn every_alias_but_those_that_win_excludes_its_field() {
    let pairs = [
        ("channel_call", "channel", "channel_logic"),
        ("channel_call", "output", "response_path"),
        ("http_call", "output", "response_path"),
        ("publish_kafka", "key", "key_logic"),
        ("publish_kafka", "value", "value_logic"),
    ];
    for (function, field, alias) in pairs {
        let twice = input(function, json!({field: "data.x", alias: "data.x"})).errors;
        assert!(
            twice.contains(&field_error(alias, FieldCode::DuplicateField)),
            "{function}: {field} and {alias}"
        );
        for one in [field, alias] {
            let once = input(function, json!({one: "data.x"})).errors;
            assert!(once.iter().all(|(path, _)| !path.ends_with(one)), "{function}: {one} alone: {once:?}");
        }
    }
}

#[test]
fn literal_and_winning_expression_are_both_checked() {
    let call = json!({"channel": "c", "output": "data.x"});
    for (function, common, field, alias) in [
        ("channel_call", call, "data", "data_logic"),
        ("http_call", json!({"connector": "c"}), "path", "path_logic"),
        ("http_call", json!({"connector": "c"}), "body", "body_logic"),
    ] {
        let given = |logic: Value| {
            let mut given = common.clone();
            (given[field], given[alias]) = (json!("x"), logic);
            input(function, given).errors
        };
        assert_eq!(given(json!({"var": "data"})), [], "{function}: {alias}");
        let deep = (0..300).fold(json!(1), |inner, _| json!({"!": [inner]}));
        assert_eq!(given(deep), [field_error(alias, FieldCode::Invalid)], "{function}: {alias}");
    }
    let wrong = json!({"connector": "c", "path": 5, "path_logic": {"var": "data"}});
    assert_eq!(input("http_call", wrong).errors, [field_error("path", FieldCode::TypeMismatch)]);
}

#[test]
fn an_alias_for_logic_is_an_expression() {
    let body = json!({"connector": "c", "body_logic": {"length": {"secret": 1}}});
    assert_eq!(input("http_call", body).errors, []);
    let deep = (0..300).fold(json!(1), |inner, _| json!({"!": [inner]}));
    assert_eq!(
        input("http_call", json!({"connector": "c", "body_logic": deep})).errors,
        [field_error("body_logic", FieldCode::Invalid)]
    );
}

#[test]
fn unfolded_field_is_not_type_checked() {
    let fields =
        json!({"connector": "c", "query": "q", "params": {"var": "data.params"}, "output": "data.x"});
    assert_eq!(input("db_read", fields).errors, []);
}

#[test]
fn an_operator_where_only_var_folds_is_warned_about() {
    let fields = json!({"connector": "c", "query": "q", "params": [{"upper": ["a"]}, {"var": "data.x"}], "output": "data.x"});
    let report = input("db_read", fields);
    assert_eq!(report.errors, []);
    assert!(report.warnings.contains(&"tasks[0].function.input.params[0]".to_owned()));
    let dialect =
        json!({"connector": "c", "query": {"filter": {"==": [{"field": "a"}, 1]}}, "output": "data.x"});
    assert!(!input("data_query", dialect).warnings.iter().any(|field| field.contains("input")));
    let stored =
        json!({"connector": "c", "write": {"op": "insert", "target": "t", "values": {"a": {"+": [1, 2]}}}});
    let warned = input("data_write", stored).warnings;
    assert!(warned.contains(&"tasks[0].function.input.write.values.a".to_owned()), "{warned:?}");
}

#[test]
fn wrong_values_and_write_targets_are_invalid() {
    let report = input("http_call", json!({"connector": "c", "method": "FETCH", "output": "payload.x"}));
    assert_eq!(
        report.errors,
        [field_error("method", FieldCode::Invalid), field_error("output", FieldCode::Invalid)]
    );
    let mapping = json!({"mappings": [{"path": "payload.x", "logic": 1}, {"path": "data..x", "logic": 1}]});
    assert_eq!(
        input("map", mapping).errors,
        [
            field_error("mappings[0].path", FieldCode::Invalid),
            field_error("mappings[1].path", FieldCode::Invalid)
        ]
    );
}

#[test]
fn built_ins_name_every_problem_at_its_path() {
    let report = input("map", json!({"mappings": [{"path": 5}, {"logic": 1}]}));
    assert_eq!(
        report.errors,
        [
            field_error("mappings[0].path", FieldCode::TypeMismatch),
            field_error("mappings[0].logic", FieldCode::Required),
            field_error("mappings[1].path", FieldCode::Required),
        ]
    );
    assert_eq!(input("validation", json!({})).errors, [field_error("rules", FieldCode::Required)]);
    assert_eq!(
        input("parse_json", json!({"source": "payload"})).errors,
        [field_error("target", FieldCode::Required)]
    );
    let filter = json!({"condition": true, "on_reject": "explode"});
    assert_eq!(input("filter", filter).errors, [field_error("on_reject", FieldCode::Invalid)]);
    let log = json!({"level": "loud", "fields": []});
    let log = input("log", log).errors;
    assert_eq!(
        log,
        [field_error("level", FieldCode::Invalid), field_error("fields", FieldCode::TypeMismatch)]
    );
}

#[test]
fn conditions_are_compiled_wherever_they_stand() {
    let deep = (0..300).fold(json!(1), |inner, _| json!({"!": [inner]}));
    let report = check(&json!({"condition": deep, "loop": {"max": 99_999}, "tasks": [
        {"id": "g", "condition": deep, "tasks": [
            {"id": "t", "name": "", "condition": deep, "function": {"name": "log"}}]}]}));
    let paths: Vec<_> = report.errors.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["condition", "loop.max", "tasks[0].condition", "tasks[0].tasks[0].condition"]);
}

#[test]
fn secrets_an_instance_would_refuse_are_warned_about() {
    let report = input("map", json!({"mappings": [{"path": "data.x", "logic": {"secret": "token"}}]}));
    assert_eq!(report.errors, []);
    assert_eq!(report.warnings.len(), 2, "undeclared, and recorded");
}

#[test]
fn a_read_nothing_prepares_is_warned_about() {
    let document = json!({"tasks": [
        {"id": "p", "name": "", "function": {"name": "parse_json", "input": {"source": "payload", "target": "order"}}},
        {"id": "m", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.total", "logic": {"+": [{"var": "data.order.n"}, {"var": "data.ordr.n"}, {"var": ["data.opt", 0]}]}}]}}},
    ]});
    let report = check(&document);
    let at = "tasks[1].function.input.mappings[0].logic";
    assert_eq!(
        report.warnings,
        [format!("{at}.+[1]"), format!("{at}.+[2]")],
        "a default hides a misspelt path"
    );
}

/// Returns the warnings about a workflow of one `map`, without the path of its mappings.
fn mapped(mappings: Value) -> Vec<String> {
    let warnings = input("map", json!({"mappings": mappings})).warnings;
    let at = "tasks[0].function.input.mappings";
    warnings.iter().map(|field| field.strip_prefix(at).unwrap_or(field).to_owned()).collect()
}

#[test]
fn computed_path_of_folded_var_is_warned_of() {
    let params = json!([{"var": [{"cat": ["data.", "x"]}, 1]}, {"var": ["payload.x", 1]}]);
    let fields = json!({"connector": "c", "query": "q", "params": params, "output": "data.x"});
    let report = input("db_read", fields);
    assert_eq!(report.errors, []);
    let inside: Vec<_> = report.warnings.iter().filter(|field| field.contains(".input.")).collect();
    assert_eq!(inside, ["tasks[0].function.input.params[0]"]);
}

#[test]
fn scalar_refuses_misspelt_operators_and_secrets() {
    let topic = |topic: Value| input("publish_kafka", json!({"connector": "k", "topic": topic}));
    let report = topic(json!({"ct": ["orders-", {"var": "data.region"}]}));
    assert_eq!(report.errors, [field_error("topic.ct", FieldCode::UnknownOperator)]);
    assert!(report.messages[0].contains("did you mean 'cat'?"), "{}", report.messages[0]);
    assert_eq!(topic(json!({"cat": ["orders-", {"var": "data.region"}]})).errors, []);
    let report = topic(json!({"cat": [], "more": 1}));
    assert_eq!(report.errors, [field_error("topic", FieldCode::TypeMismatch)]);
    let report = topic(json!({"cat": ["orders-", {"secret": "region"}]}));
    assert_eq!(report.errors, [field_error("topic", FieldCode::Invalid)]);
}

#[test]
fn answer_without_effect_is_warned_of() {
    let warned = |path: &str, logic: Value| mapped(json!([{"path": path, "logic": logic}]));
    let at = "data._svc.response";
    assert_eq!(warned(at, json!({"status": 201, "headers": {}, "raw": true})), Vec::<String>::new());
    assert_eq!(warned(at, json!({"if": [true, {"status": 201}, null]})), Vec::<String>::new());
    assert_eq!(warned(at, json!({"status": "created"})), ["[0].logic.status"]);
    assert_eq!(warned(at, json!({"stauts": 201})), ["[0].logic.stauts"]);
    assert_eq!(warned(at, json!({"body_path": "page"})), ["[0].logic.body_path"]);
    assert_eq!(warned("data._svc.response.body_pth", json!("page")), ["[0].path"]);
    assert_eq!(warned("data._svc.response.status", json!("created")), ["[0].logic"]);
    assert_eq!(warned("data._svc.responce.status", json!(201)), ["[0].path"]);
    assert_eq!(warned("data.svc.response.status", json!(201)), ["[0].path"]);
    assert_eq!(warned("data._svc.own", json!(201)), Vec::<String>::new());
    let page = json!({"path": "data.page", "logic": 1});
    for body in ["page", "data.page", "page.items", "data"] {
        let answer = json!({"path": at, "logic": {"body_path": body}});
        assert_eq!(mapped(json!([page, answer])), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn index_in_brackets_is_warned_of() {
    let mappings = json!([
        {"path": "data.rows[0].id", "logic": 1},
        {"path": "data.id", "logic": {"var": "payload.rows[0].id"}},
        {"path": "data.key", "logic": {"var": "payload.#rows[0].id"}}]);
    assert_eq!(mapped(mappings), ["[0].path", "[1].logic"]);
}

#[test]
fn nearly_known_metadata_is_warned_of() {
    let read = |path: &str| mapped(json!([{"path": "data.x", "logic": {"var": path}}]));
    assert_eq!(read("metadata.header.x-id"), ["[0].logic"]);
    for path in ["metadata.headers.x-id", "metadata.tenant", "metadata._svc_errors.0.code", "metadata"] {
        assert_eq!(read(path), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn pattern_without_named_groups_is_warned_of() {
    let split = |by: &str| mapped(json!([{"path": "data.x", "logic": {"split": [{"var": "payload"}, by]}}]));
    assert_eq!(split("^([^;]+);"), ["[0].logic.split[1]"]);
    for by in [";", "^(?P<id>[^;]+);", "(?<id>[0-9]+)", " (a) "] {
        assert_eq!(split(by), Vec::<String>::new(), "{by}");
    }
}

#[test]
fn literal_as_condition_is_warned_of() {
    let report = check(&json!({"condition": "payload.id", "tasks": [
        {"id": "t", "name": "", "condition": 1, "function": {"name": "log"}},
        {"id": "u", "name": "", "condition": false, "function": {"name": "log"}}]}));
    assert_eq!(report.warnings, ["condition", "tasks[0].condition"]);
}

#[test]
fn collected_path_without_a_write_is_suspected() {
    let group = |collect: &str| {
        let task = json!({"id": "t", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "temp_data.kept.id", "logic": {"var": "temp_data.item"}}]}}});
        check(&json!({"tasks": [{"id": "g", "tasks": [task],
            "for_each": {"over": [1], "collect": collect, "into": "data.list"}}]}))
    };
    for collect in ["temp_data.kept", "temp_data.kept.id", "temp_data.item", "payload.x"] {
        assert_eq!(group(collect).warnings, [""; 0], "{collect}");
    }
    assert_eq!(group("temp_data.kpt").warnings, ["tasks[0].for_each.collect"]);
}

#[test]
fn secrets_are_refused_in_lists() {
    let task = json!({"id": "t", "name": "", "function": {"name": "log", "input": {"message": "m"}}});
    let over = json!([{"secret": "token"}]);
    let looping = json!({"loop": {"over": over}, "tasks": [task]});
    let mut each = task.clone();
    each["for_each"] = json!({"over": over, "into": "data.list", "collect": "temp_data.item"});
    for (document, at) in [(looping, "loop.over"), (json!({"tasks": [each]}), "tasks[0].for_each.over")] {
        assert_eq!(check(&document).errors, [(at.to_owned(), FieldCode::Invalid)], "{document}");
    }
}

#[test]
fn idempotency_key_of_every_message_is_warned_of() {
    let key = |key: Value| input("http_call", json!({"connector": "c", "idempotency_key": key})).warnings;
    assert_eq!(key(json!("true")), ["tasks[0].function.input.idempotency_key"]);
    assert_eq!(key(json!(true)), [""; 0]);
}
