use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn json(text: &str) -> String {
    format_text("a", SourceFormat::Json, text).unwrap()
}

fn yaml(text: &str) -> String {
    format_text("a", SourceFormat::Yaml, text).unwrap()
}

#[test]
fn json_is_ordered_and_short_values_stay_inline() {
    let text = "\u{FEFF}{\"tasks\":[{\"function\":{\"input\":{\"z\":1.0,\"a\":1e2},\"name\":\"map\"},\"name\":\"n\",\"id\":\"a\"},\r\n{\"tasks\":[],\"id\":\"g\"}],\"x-note\":\"\\u00e9\",\"name\":\"W\",\n\n\"workflow_id\":\"w\", \"tags\": [ ]}";
    assert_eq!(
        json(text),
        r#"{
  "workflow_id": "w",
  "name": "W",
  "tags": [],
  "tasks": [
    {"id": "a", "name": "n", "function": {"name": "map", "input": {"z": 1.0, "a": 1e2}}},
    {"id": "g", "tasks": []}
  ],
  "x-note": "\u00e9"
}
"#
    );
}

#[test]
fn json_is_broken_where_it_does_not_fit() {
    let long = "x".repeat(100);
    let text = json!({"name": "c", "connector_type": "http", "config": {"url": long, "headers": {"b": "1", "a": "2"}}});
    assert_eq!(
        json(&text.to_string()),
        format!(
            "{{\n  \"name\": \"c\",\n  \"connector_type\": \"http\",\n  \"config\": {{\n    \"url\": \"{long}\",\n    \"headers\": {{\"b\": \"1\", \"a\": \"2\"}}\n  }}\n}}\n"
        )
    );
}

#[test]
fn steps_of_loops_and_groups_are_ordered() {
    let step = r#"{"function": {"name": "map"}, "id": "a"}"#;
    let text = format!(
        r#"{{"workflow_id": "w", "name": "W", "loop": {{"over": [], "as": "x", "setup": [{step}]}},
        "tasks": [{{"finally": [{step}], "tasks": [], "id": "g"}}]}}"#
    );
    let formatted = json(&text);
    let ordered = r#"{"id": "a", "function": {"name": "map"}}"#;
    assert_eq!(formatted.matches(ordered).count(), 2, "{formatted}");
    assert!(formatted.find("\"over\"") < formatted.find("\"as\""), "{formatted}");
}

#[test]
fn other_documents_keep_their_order() {
    assert_eq!(
        json("{\"b\": 1, \"a\": {\"z\": 1, \"name\": 2}}"),
        "{\n  \"b\": 1,\n  \"a\": {\"z\": 1, \"name\": 2}\n}\n"
    );
    assert_eq!(
        (json("[]"), json(" 1 "), json("{}")),
        ("[]\n".to_owned(), "1\n".to_owned(), "{}\n".to_owned())
    );
}

#[test]
fn yaml_entries_move_with_their_comments() {
    let text = "\n# The head of the file.\nname: Orders # shown in lists\n\n\n# What it does.   \n# In order.\ntasks:\n  # First.\n  - function:\n      input:\n        b: 1\n        a: 2\n      # The name.\n      name: map\n    # Its id.\n    id: one   \n    name: One\n  - {id: two, name: Two}\n# Its id.\nworkflow_id: orders\n# The end.\n";
    assert_eq!(
        yaml(&text.replace('\n', "\r\n")),
        "# The head of the file.\n# Its id.\nworkflow_id: orders\nname: Orders # shown in lists\n\n# What it does.\n# In order.\ntasks:\n  # First.\n    # Its id.\n  - id: one\n    name: One\n    function:\n      # The name.\n      name: map\n      input:\n        b: 1\n        a: 2\n  - {id: two, name: Two}\n# The end.\n"
    );
}

#[test]
fn texts_of_several_lines_keep_their_blanks() {
    let text = "name: c\nconfig:\n  sql: |\n    a  \n\n\n    b\n  other: \"x\n\n\n    y\"\n\n\n  # end\n  last: |+\n    z\n\n\nconnector_type: db\n";
    let formatted = yaml(text);
    assert!(formatted.contains("  sql: |\n    a  \n\n\n    b\n"), "{formatted}");
    assert!(formatted.starts_with("name: c\nconnector_type: db\nconfig:\n"), "{formatted}");
    assert!(formatted.contains("    y\"\n\n  # end\n"), "{formatted}");
}

#[test]
fn yaml_in_braces_or_with_aliases_keeps_its_order() {
    for text in [
        "{\n  \"tasks\": [],\n  \"name\": \"x\"\n}\n",
        "tasks: &t\n  - id: a\nname: x\ncopy: *t\n",
        "tasks:\n  - {name: a,\n     id: b}\n",
    ] {
        assert_eq!(yaml(text), text);
    }
}

#[test]
fn file_without_a_value_is_refused_with_place() {
    let error = format_text("a.json", SourceFormat::Json, "{\"a\": 1,}").unwrap_err();
    assert_eq!(error.to_string(), "trailing comma at line 1 column 9");
}

/// Makes workflows whose keys are in any order, as values.
fn workflows() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("a"),
        Just("no"),
        Just("x: y # z"),
        Just("é\n two\n"),
        Just(""),
        Just(" lead"),
        Just("- 'q\"")
    ];
    let leaf = prop_oneof![
        text.prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!(1.0)),
        Just(Value::Null)
    ];
    let data = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map("[a-z ]{1,4}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    });
    let task = (data.clone(), data.clone(), any::<bool>(), "[a-z]{1,3}").prop_map(|(input, condition, flag, id)| match flag {
        true => json!({"function": {"input": {"x": input}, "name": "map"}, "condition": condition, "id": id, "name": "n"}),
        false => json!({"tasks": [{"name": id, "id": "i", "x-y": input}], "id": id}),
    });
    (proptest::collection::vec(task, 0..4), data, any::<bool>()).prop_map(|(tasks, loop_, flag)| match flag {
        true => json!({"tasks": tasks, "name": "w", "loop": loop_, "workflow_id": "i", "other": 1}),
        false => json!({"constants": {"x": loop_}, "fragments": {"f": {"tasks": tasks, "params": {}}}, "$schema": "s"}),
    })
}

/// Writes a value as block YAML with a comment above each entry.
fn block_yaml(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (index, (key, value)) in map.iter().enumerate() {
                let _ = write!(out, "\n{pad}# about {index}\n{pad}{}:", Value::from(key.as_str()));
                block_yaml(value, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let _ = write!(out, "\n{pad}-");
                match item {
                    Value::Object(map) if !map.is_empty() => {
                        let mut text = String::new();
                        block_yaml(item, indent + 2, &mut text);
                        let head = format!("\n{pad}  # about 0\n{pad}  ");
                        out.push(' ');
                        out.push_str(text.strip_prefix(&head).unwrap());
                    }
                    _ => block_yaml(item, indent + 2, out),
                }
            }
        }
        Value::String(text) if text.ends_with('\n') => {
            let _ = write!(out, " |");
            text.lines().for_each(|line| {
                let _ = write!(out, "\n{pad}{line}");
            });
        }
        _ => {
            let _ = write!(out, " {value}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn formatting_keeps_the_meaning_and_is_its_own_result(value in workflows()) {
        let mut block = String::new();
        block_yaml(&value, 0, &mut block);
        for (format, text) in [
            (SourceFormat::Json, value.to_string()),
            (SourceFormat::Json, serde_json::to_string_pretty(&value).unwrap()),
            (SourceFormat::Yaml, block.clone()),
            (SourceFormat::Yaml, value.to_string()),
        ] {
            let formatted = format_text("a", format, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let read = |text: &str| SourceFile::parse("a", format, text.to_owned()).unwrap().value;
            prop_assert_eq!(read(&formatted), read(&text));
            prop_assert_eq!(format_text("a", format, &formatted).unwrap(), formatted);
        }
    }

    #[test]
    fn any_text_is_formatted_or_refused(text in "[a-b:{}\\[\\]\" \n#|>'*&!0-1,-]{0,40}") {
        for format in [SourceFormat::Json, SourceFormat::Yaml] {
            if let Ok(formatted) = format_text("a", format, &text) {
                let read = |text: &str| SourceFile::parse("a", format, text.replace("\r\n", "\n")).unwrap().value;
                prop_assert_eq!(read(&formatted), read(&text));
            }
        }
    }
}
