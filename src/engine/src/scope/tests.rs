use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn a_scope_follows_writes_as_the_message_does() {
    let mut message = Message::new(json!(null), Map::new());
    message.data = json!({"b": {"x": 1}, "list": [1]});
    let arena = Arena::lease();
    let mut scope = Scope::new(arena.bump());
    scope.context(&message, Reads::ALL);
    for (path, new) in [
        ("data.a.2.z", json!("deep")),
        ("data.list.3", json!(4.5)),
        ("data.b.x.y", json!("through a scalar")),
        ("data.b.#7", json!({"k": [1, 2]})),
        ("temp_data.n", json!(9)),
        ("metadata.note", json!("stamp")),
    ] {
        let path = Path::parse(path).unwrap();
        message.put(&path, new.clone());
        scope.follow(&path, &new);
    }
    let followed = scope.context(&message, Reads::ALL).to_serde_value();
    let rebuilt = Scope::new(arena.bump()).context(&message, Reads::ALL).to_serde_value();
    assert_eq!(followed, rebuilt);
}

#[test]
fn a_key_is_found_in_an_object_in_any_order() {
    let arena = Arena::lease();
    let pairs = [("c", DataValue::Null), ("b", DataValue::Null), ("a", DataValue::Null)];
    for (key, expected) in
        [("a", r#"{"c":null,"b":null,"a":true}"#), ("c", r#"{"c":true,"b":null,"a":null}"#)]
    {
        let pairs = arena.bump().alloc_slice_copy(&pairs);
        let written = insert(arena.bump(), pairs, key, &[], DataValue::Bool(true));
        assert_eq!(written.to_string(), expected);
    }
}

proptest! {
    #[test]
    fn following_equals_rebuilding(paths in prop::collection::vec("data(\\.([a-c]|[0-3]|#[0-3])){1,4}", 1..12)) {
        let mut message = Message::new(json!(null), Map::new());
        let arena = Arena::lease();
        let mut scope = Scope::new(arena.bump());
        scope.context(&message, Reads::ALL);
        for (n, path) in paths.iter().enumerate() {
            let path = Path::parse(path).unwrap();
            let new = json!(n);
            message.put(&path, new.clone());
            scope.follow(&path, &new);
        }
        let followed = scope.context(&message, Reads::ALL).to_string();
        let rebuilt = Scope::new(arena.bump()).context(&message, Reads::ALL).to_string();
        prop_assert_eq!(followed, rebuilt);
    }
}
