use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn write_to(start: Value, path: &str, new: Value) -> Value {
    let mut root = start;
    write(&mut root, &segments(path).unwrap(), new);
    root
}

#[test]
fn missing_container_gets_kind_the_next_segment_needs() {
    assert_eq!(write_to(json!({}), "a.2", json!(7)), json!({"a": [null, null, 7]}));
    assert_eq!(write_to(json!({}), "a.b.c", json!(7)), json!({"a": {"b": {"c": 7}}}));
    assert_eq!(write_to(json!({"a": null}), "a.0.x", json!(1)), json!({"a": [{"x": 1}]}));
}

#[test]
fn a_hash_forces_an_object_key() {
    assert_eq!(write_to(json!({}), "#20", json!(1)), json!({"20": 1}));
    assert_eq!(write_to(json!({}), "##x", json!(1)), json!({"#x": 1}));
    assert_eq!(write_to(json!({}), "#.0", json!(1)), json!({"#": [1]}));
    let value = json!({"20": "key"});
    assert_eq!(read(&value, &segments("#20").unwrap()), Some(&json!("key")));
}

#[test]
fn container_has_the_path_before_the_last_segment() {
    for (path, container) in [
        ("data", "data"),
        ("data.a", "data"),
        ("data.a.7", "data.a"),
        ("data.a.#20", "data.a"),
        ("data.##x", "data"),
        ("data.#", "data"),
        ("notes.#.x", "notes.#"),
    ] {
        let expected = Path::parse(container).unwrap();
        assert_eq!(Path::parse(path).unwrap().container(), expected, "{path}");
    }
}

#[test]
fn digits_are_a_key_where_an_object_already_stands() {
    assert_eq!(write_to(json!({"a": {}}), "a.2", json!(1)), json!({"a": {"2": 1}}));
}

#[test]
fn walking_through_a_scalar_reads_and_writes_nothing() {
    assert_eq!(write_to(json!({"a": 5}), "a.b", json!(1)), json!({"a": 5}));
    assert_eq!(write_to(json!({"a": [1]}), "a.name", json!(1)), json!({"a": [1]}));
    assert_eq!(read(&json!({"a": 5}), &segments("a.b").unwrap()), None);
    assert_eq!(read(&json!({"a": [1]}), &segments("a.9").unwrap()), None);
}

#[test]
fn a_path_names_its_root() {
    assert_eq!(Path::parse("data.order.0").unwrap().root(), &Root::Data);
    assert_eq!(Path::parse("temp_data").unwrap().segments(), &[]);
    assert_eq!(Path::parse("vault.x").unwrap().root(), &Root::Other("vault".into()));
}

#[test]
fn malformed_paths_and_payload_targets_are_refused() {
    assert_eq!(Path::parse(""), Err(PathError::EmptySegment));
    assert_eq!(Path::parse("data."), Err(PathError::EmptySegment));
    assert_eq!(Path::parse("data..x"), Err(PathError::EmptySegment));
    assert_eq!(Path::parse("data.100000"), Err(PathError::IndexTooLarge("100000".into())));
    assert_eq!(Path::parse_target("payload.x"), Err(PathError::ReadOnly));
    assert!(Path::parse("payload.x").is_ok());
}

fn any_path() -> impl Strategy<Value = String> {
    let segment = prop_oneof!["[a-c]", "[0-4]", "#[0-4]"];
    prop::collection::vec(segment, 1..5).prop_map(|parts| parts.join("."))
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c0-4]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn written_path_is_read_back(start in any_json(), path in any_path(), new in any_json()) {
        let path = segments(&path).unwrap();
        let mut root = start.clone();
        if write(&mut root, &path, new.clone()) {
            prop_assert_eq!(read(&root, &path), Some(&new));
        } else {
            prop_assert_eq!(root, start, "a refused write changes nothing");
        }
    }

    #[test]
    fn writing_twice_is_writing_once(start in any_json(), path in any_path(), new in any_json()) {
        let path = segments(&path).unwrap();
        let mut once = start;
        write(&mut once, &path, new.clone());
        let mut twice = once.clone();
        write(&mut twice, &path, new);
        prop_assert_eq!(once, twice);
    }
}
