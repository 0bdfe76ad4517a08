use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::reads::ReadExtent;

#[test]
fn a_scope_follows_writes_as_the_message_does() {
    let mut message = Message::new(json!(null), Map::new());
    message.data = json!({"b": {"x": 1}, "list": [1]});
    let all = Reads::all();
    let arena = Arena::lease();
    let mut scope = EvaluationScope::new(&arena, &all);
    scope.context(&message, &all);
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
    let followed = scope.context(&message, &all).to_serde_value();
    let rebuilt = EvaluationScope::new(&arena, &all).context(&message, &all).to_serde_value();
    assert_eq!(followed, rebuilt);
}

const PATH: &str = "data(\\.([a-c]|[0-3]|00|#[0-3])){0,4}";

proptest! {
    #[test]
    fn following_equals_rebuilding(
        read in prop::collection::vec(PATH, 1..5),
        measured in prop::option::of(PATH),
        written in prop::collection::vec(PATH, 1..12),
    ) {
        let mut reads = Reads::default();
        read.iter().for_each(|path| reads.mark(path));
        measured.iter().for_each(|path| reads.mark_length(path));
        let mut message = Message::new(json!(null), Map::new());
        let arena = Arena::lease();
        let mut scope = EvaluationScope::new(&arena, &reads);
        for (n, path) in written.iter().enumerate() {
            let path = Path::parse(path).unwrap();
            let new = if n % 3 == 0 { json!([{"a": n}, [n]]) } else { json!({"a": n, "0": {"b": "x".repeat(300)}}) };
            message.put(&path, new.clone());
            scope.follow(&path, &new);
            // Where only some members are read nothing sees their order.
            let shown = |context: &DataValue<'_>| match reads.data == ReadExtent::Whole {
                true => json!(context.to_string()),
                false => context.to_serde_value(),
            };
            let followed = shown(scope.context(&message, &reads));
            let rebuilt = shown(EvaluationScope::new(&arena, &reads).context(&message, &reads));
            prop_assert_eq!(followed, rebuilt);
        }
    }
}
