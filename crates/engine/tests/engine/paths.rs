//! Writes and reads of paths against a model that says what the table of the path syntax says, and no more.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use svc_engine::{Engine, Flow, RunOptions};

use crate::support::{block_on, compile, message};

/// One segment, as the table reads it.
enum Read<'p> {
    Index(usize, &'p str),
    Key(&'p str),
}

fn segment(text: &str) -> Read<'_> {
    match text.strip_prefix('#').filter(|key| !key.is_empty()) {
        Some(key) => Read::Key(key),
        None if text.chars().all(|c| c.is_ascii_digit()) => Read::Index(text.parse().unwrap(), text),
        None => Read::Key(text),
    }
}

/// The value after a write: rebuilt along the path, unchanged if the path walks through a scalar.
fn write(value: &Value, path: &[&str], new: &Value) -> Value {
    let Some((first, rest)) = path.split_first() else { return new.clone() };
    match (value, segment(first)) {
        (Value::Null, Read::Index(..)) => write(&json!([]), path, new),
        (Value::Null, Read::Key(_)) => write(&json!({}), path, new),
        (Value::Array(items), Read::Index(index, _)) => {
            let mut items = items.clone();
            while items.len() <= index {
                items.push(Value::Null);
            }
            items[index] = write(&items[index], rest, new);
            items.into()
        }
        (Value::Object(members), Read::Index(_, key) | Read::Key(key)) => {
            let mut members = members.clone();
            let below = write(members.get(key).unwrap_or(&Value::Null), rest, new);
            members.insert(key.to_owned(), below);
            members.into()
        }
        (unchanged, _) => unchanged.clone(),
    }
}

/// Returns the result of a read; null if the path leads nowhere.
fn read(value: &Value, path: &[&str]) -> Value {
    let Some((first, rest)) = path.split_first() else { return value.clone() };
    match (value, segment(first)) {
        (Value::Array(items), Read::Index(index, _)) => items.get(index).map(|item| read(item, rest)),
        (Value::Object(members), Read::Index(_, key) | Read::Key(key)) => {
            members.get(key).map(|member| read(member, rest))
        }
        _ => None,
    }
    .unwrap_or_default()
}

/// Returns the result of a mapping: an object is merged into an object at a bare root.
fn run_map(data: &Value, path: &[&str], new: &Value) -> Value {
    match (data, new) {
        (Value::Object(old), Value::Object(new)) if path.is_empty() => {
            let mut merged = old.clone();
            merged.extend(new.clone());
            merged.into()
        }
        _ => write(data, path, new),
    }
}

fn any_segment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "b", "0", "1", "3", "07", "#0", "#a", "##", "##a", "#", "+1", "-1", "1e0", " ", "a b", "é",
        "length", "$x",
    ])
}

fn any_path() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(any_segment(), 0..5)
}

/// Values worth writing; a mapping leaves null alone.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[a-z0]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let inner = prop_oneof![4 => inner, 1 => Just(Value::Null)];
        let members = prop::collection::vec(
            (prop::sample::select(vec!["a", "b", "0", "#a", "#", "+1", "1e0"]), inner.clone()),
            0..3,
        );
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// A write, whether its value goes through the expression engine, and a read after it.
type Step = (Vec<&'static str>, Value, bool, Vec<&'static str>);

fn below_data(path: &[&str]) -> String {
    path.iter().fold("data".to_owned(), |path, segment| format!("{path}.{segment}"))
}

/// For every step the write, then what three kinds of reads see: a copy, an expression, and the whole of
/// `data`.
fn mappings(steps: &[Step]) -> Value {
    let mut mappings = Vec::new();
    for (n, (target, _, computed, source)) in steps.iter().enumerate() {
        let value = json!({"var": format!("payload.{n}")});
        let logic = if *computed { json!({"if": [true, value, 0]}) } else { value };
        mappings.push(json!({"path": below_data(target), "logic": logic}));
        let source = json!({"var": below_data(source)});
        mappings.push(json!({"path": format!("temp_data.copied.{n}"), "logic": source}));
        mappings.push(json!({"path": format!("temp_data.evaluated.{n}"), "logic": [source]}));
        mappings.push(json!({"path": format!("temp_data.whole.{n}"), "logic": [{"var": "data"}]}));
    }
    mappings.into()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn writes_and_reads_match_the_path_table(
        steps in prop::collection::vec((any_path(), any_value(), any::<bool>(), any_path()), 1..6),
    ) {
        let document = json!({"tasks": [{"id": "m", "function": {"name": "map", "input": {"mappings": mappings(&steps)}}}]});
        let engine = Engine::builder().build();
        let flow = Flow::single(compile(&engine, &document).unwrap());
        let payload: Value = steps.iter().map(|(_, value, ..)| value.clone()).collect();
        let outcome = block_on(engine.run(&flow, message(payload), RunOptions::default()));
        prop_assert!(outcome.failure.is_none());
        let seen = &outcome.message.temp_data;
        let mut data = Value::Object(Map::new());
        for (n, (target, value, _, source)) in steps.iter().enumerate() {
            data = run_map(&data, target, value);
            let expected = read(&data, source);
            prop_assert_eq!(&seen["whole"][n], &json!([data]), "after step {}", n);
            prop_assert_eq!(&seen["evaluated"][n], &json!([expected]), "evaluated in step {}", n);
            let copied = seen["copied"].get(n).unwrap_or(&Value::Null);
            prop_assert_eq!(copied, &expected, "copied in step {}", n);
        }
        prop_assert_eq!(outcome.message.data, data);
    }
}
