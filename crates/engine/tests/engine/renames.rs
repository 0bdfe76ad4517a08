//! A document with one name written another way is refused, warned of, or means the same.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use svc_engine::{Engine, catalogue};
use svc_model::validate_workflow;

use crate::support::{message, run};

/// Members that a document names itself; nothing is known of their spelling.
const FREE: &str = "free_";

/// An expression over what the tasks before have written. Loops read below their element, which is the
/// message's business.
fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(json!({"var": "data.order.total"})),
        Just(json!({"var": ["data.lines", []]})),
        Just(json!({"var": "temp_data.count"})),
        Just(json!({"val": ["data", "order", "total"]})),
        Just(json!({"var": "metadata.channel"})),
        Just(json!({"now": []})).prop_map(|now| json!({"type": now})),
        (0..9_i64).prop_map(|n| json!(n)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"cat": [a, " ", b]})),
            (condition_of(inner.clone()), inner.clone(), inner.clone())
                .prop_map(|(c, a, b)| json!({"if": [c, a, b]})),
            inner.clone().prop_map(|a| json!({"length": {"cat": [a]}})),
            inner.clone().prop_map(|a| json!({"try": [{"/": [a, 2]}, 0]})),
            inner.clone().prop_map(|a| json!({"??": [a, "none"]})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"free_a": a, "free_b": b})),
            inner.prop_map(|a| json!({"map": [{"var": "data.lines"}, {"cat": [{"var": ""}, a]}]})),
        ]
    })
    .boxed()
}

fn condition_of(value: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Value> {
    prop_oneof![
        (value.clone(), value.clone()).prop_map(|(a, b)| json!({"===": [a, b]})),
        value.clone().prop_map(|a| json!({"!": [length_of(a)]})),
        value.clone().prop_map(|a| json!({"and": [{"!!": [length_of(a)]}, {"exists": ["data", "order"]}]})),
        Just(json!({"some": [{"var": "data.lines"}, {">": [{"var": ""}, 1]}]})),
        Just(json!({"missing": ["data.order"]})).prop_map(|missing| json!({"!": [missing]})),
    ]
}

/// A value whose truth may be asked for: an object that is built has none.
fn length_of(value: Value) -> Value {
    json!({"length": {"cat": [value]}})
}

fn condition() -> BoxedStrategy<Value> {
    condition_of(value()).boxed()
}

fn task(function: Value) -> Value {
    json!({"id": "", "name": "", "function": function})
}

fn step() -> impl Strategy<Value = Value> {
    let function = prop_oneof![
        (value(), value()).prop_map(|(a, b)| json!({"name": "map", "input": {"mappings": [
            {"path": "data.sum", "logic": a}, {"path": "temp_data.count", "logic": b}]}})),
        (condition(), prop_oneof![Just("halt"), Just("skip")]).prop_map(|(condition, on_reject)| json!({"name": "filter",
            "input": {"condition": condition, "on_reject": on_reject}})),
        condition().prop_map(|logic| json!({"name": "validation", "input": {"rules": [{"logic": logic, "message": "no"}]}})),
        value().prop_map(|logic| json!({"name": "log", "input": {"level": "warn", "message": logic, "fields": {"free_x": 1}}})),
        Just(json!({"name": "publish_json", "input": {"source": "order", "target": "text", "pretty": true}})),
    ];
    let task = (function, proptest::option::of(condition()), any::<bool>())
        .prop_map(|(function, condition, terminal)| {
            let mut task = task(function);
            if let Some(condition) = condition {
                task["condition"] = condition;
            }
            if terminal {
                task["continue_on_error"] = json!(true);
            }
            task
        })
        .boxed();
    prop_oneof![
        3 => task.clone(),
        1 => (proptest::collection::vec(task, 1..3), condition()).prop_map(|(tasks, condition)| {
            json!({"id": "", "condition": condition, "terminal": true, "tasks": tasks})
        }),
    ]
}

/// A workflow in which everything that is written is read, so that every name of its own occurs at least
/// twice.
fn document() -> impl Strategy<Value = Value> {
    (proptest::collection::vec(step(), 1..4), condition_of(Just(json!({"var": "payload.on"}))), any::<bool>()).prop_map(
        |(steps, condition, looping)| {
            let mut tasks = vec![
                task(json!({"name": "parse_json", "input": {"source": "payload", "target": "order"}})),
                task(json!({"name": "map", "input": {"mappings": [
                    {"path": "data.lines", "logic": {"var": "payload.lines"}}, {"path": "temp_data.count", "logic": 1},
                    {"path": "data.sum", "logic": 0}, {"path": "data.text", "logic": "-"}]}})),
            ];
            tasks.extend(steps);
            tasks.push(task(json!({"name": "map", "input": {"mappings": [{"path": "data.all", "logic": {"merge": [
                {"var": "data.order"}, {"var": "data.sum"}, {"var": "data.text"}, {"var": "temp_data.count"}, {"var": "data.lines"}]}},
                {"path": "data.last", "logic": {"var": "data.all"}}]}})));
            tasks.push(task(json!({"name": "filter", "input": {"condition": {"!!": [{"var": "data.last"}]}}})));
            number(&mut tasks, &mut 0);
            let mut document = json!({"name": "w", "tasks": tasks, "priority": 1, "tags": []});
            document["condition"] = json!({"or": [condition, true]});
            if looping {
                document["loop"] = json!({"init": 0, "increment": 1, "max": 2});
            }
            document
        },
    )
}

fn number(tasks: &mut [Value], next: &mut usize) {
    for task in tasks {
        task["id"] = json!(format!("t{next}"));
        *next += 1;
        if let Some(members) = task.get_mut("tasks").and_then(Value::as_array_mut) {
            number(members, next);
        }
    }
}

/// A name in a document: the pointer of the object, or of the string, that holds it, and what may be edited
/// of it.
#[derive(Debug, Clone)]
enum Site {
    Key {
        object: String,
        key: String,
    },
    /// One segment of a text that names something.
    Segment {
        text: String,
        n: usize,
    },
}

fn sites(document: &Value) -> Vec<Site> {
    let mut places = Vec::new();
    walk(document, "", "", &mut places);
    let mut written = Vec::new();
    collect_written(document, &mut written);
    // Where two tasks write one path, nothing tells that one of them was meant to write another.
    let once = |path: String| written.iter().filter(|other| **other == path).count() == 1;
    places.retain(|site| match site {
        Site::Segment { text, n } => {
            let path = document.pointer(text).and_then(Value::as_str).unwrap_or_default();
            match text.rsplit('/').next() {
                Some("path") if *n > 0 => once(path.to_owned()),
                Some("target") => once(format!("data.{path}")),
                _ => true,
            }
        }
        Site::Key { .. } => true,
    });
    places
}

fn collect_written(value: &Value, written: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            written.extend(members.get("path").and_then(Value::as_str).map(str::to_owned));
            written
                .extend(members.get("target").and_then(Value::as_str).map(|target| format!("data.{target}")));
            members.values().for_each(|member| collect_written(member, written));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_written(item, written)),
        _ => {}
    }
}

fn walk(value: &Value, at: &str, under: &str, found: &mut Vec<Site>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if !key.starts_with(FREE) {
                    found.push(Site::Key { object: at.to_owned(), key: key.clone() });
                }
                walk(member, &format!("{at}/{}", key.replace('/', "~1")), key, found);
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                // Of `var` the path alone, of `val` and `exists` the root and what stands below it.
                let names = match under {
                    "var" => n == 0,
                    "val" | "exists" => n < 2,
                    "missing" => true,
                    _ => false,
                };
                walk(item, &format!("{at}/{n}"), if names && item.is_string() { "var" } else { "" }, found);
            }
        }
        Value::String(text) => {
            let segments: Vec<_> = text.split('.').collect();
            let is_function = under == "name" && at.ends_with("/function/name");
            let count = match under {
                "on_reject" | "level" | "source" | "target" | "path" => segments.len(),
                _ if is_function => 1,
                "var" if matches!(segments[0], "payload" | "metadata") => 1,
                "var" if !text.is_empty() => segments.len().min(2),
                _ => 0,
            };
            let free = |segment: &str| segment.is_empty();
            for n in (0..count).filter(|n| !free(segments[*n])) {
                found.push(Site::Segment { text: at.to_owned(), n });
            }
        }
        _ => {}
    }
}

/// Writes a name another way: a letter more, less, other, or two of them swapped.
fn edit_name(name: &str, edit: u8, at: usize, letter: char) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let at = at % letters.len();
    match edit {
        0 => letters.insert(at, letter),
        1 if letters.len() > 1 => drop(letters.remove(at)),
        2 if at + 1 < letters.len() => letters.swap(at, at + 1),
        _ => letters[at] = letter,
    }
    letters.into_iter().collect()
}

/// The document with the name edited; `None` if that makes another name that exists.
fn rename(document: &Value, site: &Site, edit: impl Fn(&str) -> String) -> Option<Value> {
    const NAMES: [&str; 12] = [
        "order",
        "lines",
        "sum",
        "text",
        "count",
        "all",
        "last",
        "data",
        "metadata",
        "temp_data",
        "payload",
        "total",
    ];
    let mut changed = document.clone();
    match site {
        Site::Key { object, key } => {
            let new = edit(key);
            let members = changed.pointer_mut(object)?.as_object_mut()?;
            let exists =
                new == *key || members.contains_key(&new) || catalogue::operators::find(&new).is_some();
            let renamed: Map<_, _> = std::mem::take(members)
                .into_iter()
                .map(|(name, value)| if name == *key { (new.clone(), value) } else { (name, value) })
                .collect();
            *members = renamed;
            (!exists).then_some(changed)
        }
        Site::Segment { text, n } => {
            let old = changed.pointer(text)?.as_str()?.to_owned();
            let mut segments: Vec<_> = old.split('.').map(str::to_owned).collect();
            let new = edit(&segments[*n]);
            let exists = new == segments[*n] || NAMES.contains(&new.as_str());
            segments[*n] = new;
            *changed.pointer_mut(text)? = json!(segments.join("."));
            (!exists).then_some(changed)
        }
    }
}

/// The part of a run that a caller sees.
fn meaning(engine: &Engine, document: &Value) -> (Value, Vec<(String, String)>, bool) {
    let outcome = run(engine, document, message(json!({"on": 1, "total": 4, "lines": [1, 2]})));
    let errors = outcome.errors.iter().map(|error| (error.code.name().to_owned(), error.message.clone()));
    (outcome.message.data.clone(), errors.collect(), outcome.matched)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn respelt_name_is_refused_warned_of_or_equal(
        document in document(),
        (pick, edit, at, letter) in (any::<prop::sample::Index>(), 0..4_u8, 0..40_usize, prop::char::range('a', 'z')),
    ) {
        let engine = Engine::builder().build();
        let report = validate_workflow(&document, &engine);
        prop_assert!(report.valid() && report.warnings.is_empty(), "{document}: {report:?}");
        let sites = sites(&document);
        let site = &sites[pick.index(sites.len())];
        let changed = rename(&document, site, |name| edit_name(name, edit, at, letter));
        prop_assume!(changed.is_some());
        let changed = changed.unwrap();
        let report = validate_workflow(&changed, &engine);
        let is_told = !report.errors.is_empty() || !report.warnings.is_empty();
        prop_assert!(is_told || meaning(&engine, &changed) == meaning(&engine, &document), "{site:?} {changed}");
    }
}
