//! JSON: values, places and refusals.

use serde_json::json;

use super::*;

fn json(text: &str) -> Result<Value, String> {
    read(SourceFormat::Json, text)
}

const WORKFLOW: &str = r#"{
  "workflow_id": "w",
  "tasks": [
    {"id": "a"},
    {"id": "b", "function": {"name": "map", "input": {"odd key": [1, "zwölf"], "a.b": {"c": true}}}}
  ]
}
"#;

#[test]
fn a_path_leads_to_its_element() {
    let file = parse(SourceFormat::Json, WORKFLOW).unwrap();
    for (path, expected) in [
        ("workflow_id", (2, 18, "\"w\"")),
        ("workflow.workflow_id", (2, 18, "\"w\"")),
        ("body.workflow_id", (2, 18, "\"w\"")),
        ("tasks[0].id", (4, 12, "\"a\"")),
        ("tasks.1.id", (5, 12, "\"b\"")),
        ("tasks[1].function.input[\"odd key\"][1]", (5, 70, "\"zwölf\"")),
        ("tasks[1].function.input.odd key[0]", (5, 67, "1")),
        ("tasks[1].function.input.a.b.c", (5, 93, "true")),
        ("tasks[1].function", (5, 17, "\"function\"")),
        ("tasks", (3, 3, "\"tasks\"")),
        ("tasks[0]", (4, 5, "{\"id\": \"a\"}")),
    ] {
        assert_eq!(locate(&file, path), expected, "{path}");
    }
}

#[test]
fn missing_path_leads_to_its_nearest_ancestor() {
    let file = parse(SourceFormat::Json, WORKFLOW).unwrap();
    for (path, expected) in [
        ("tasks[7].id", (3, 3, "\"tasks\"")),
        ("tasks[1].function.nam", (5, 17, "\"function\"")),
        ("tasks[0].id.x", (4, 12, "\"a\"")),
        ("", (1, 1, "{")),
        ("(root)", (1, 1, "{")),
        ("channel.protocol", (1, 1, "{")),
        ("tasks[\"unterminated", (3, 3, "\"tasks\"")),
    ] {
        assert_eq!(locate(&file, path), expected, "{path}");
    }
}

#[test]
fn numbers_are_those_of_serde_json() {
    let text = "[0, -0, 1.0, 1e2, 18446744073709551615, 123456789012345678901234567890, 0.1]";
    assert_eq!(json(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(json("[1e999]").unwrap_err(), "number out of range at line 1 column 6");
}

#[test]
fn extensions_of_json_are_refused_with_their_place() {
    for (text, expected) in [
        ("{\"a\": 1,}", "trailing comma at line 1 column 9"),
        ("{a: 1}", "key must be a string at line 1 column 2"),
        ("// c\n{}", "expected value at line 1 column 1"),
        ("{'a': 1}", "key must be a string at line 1 column 2"),
        ("[1] [2]", "trailing characters at line 1 column 5"),
        ("[0x1]", "expected `,` or `]` at line 1 column 3"),
        ("[01]", "invalid number at line 1 column 3"),
        ("[+1]", "expected value at line 1 column 2"),
        ("[NaN]", "expected value at line 1 column 2"),
        ("{\"a\"\n  1}", "expected `:` at line 2 column 3"),
        ("[\"a\tb\"]", "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 4"),
        ("[\"\\ud800\"]", "unexpected end of hex escape at line 1 column 9"),
        ("{\"a\": ", "EOF while parsing a value at line 1 column 6"),
        ("", "the file is empty at line 1 column 1"),
        (" \n", "the file is empty at line 1 column 1"),
    ] {
        assert_eq!(json(text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn each_refusal_names_a_remedy_that_fits() {
    for (text, expected) in [
        ("{\"a\": 1,}", "remove the comma"),
        ("{a: 1}", "in double quotes"),
        ("// c\n{}", "JSON has no comments"),
        ("[1] [2]", "one value"),
        ("[1 2]", "separate the items with a comma"),
        ("{\"a\": 1 \"b\": 2}", "separate the members with a comma"),
        ("{\"a\"\n  1}", "write a colon"),
        ("[NaN]", "a text in double quotes, a number"),
        ("[tru]", "true, false or null"),
        ("[01]", "without a leading zero"),
        ("[1e999]", "below 1.8e308"),
        ("[\"\\x\"]", r"write \\ for a backslash"),
        ("[\"a\tb\"]", r"such as \n or \t"),
        ("[\"\\ud800\"]", r"twice for a character above \uFFFF"),
        ("", "write a definition into it"),
    ] {
        let fix = parse(SourceFormat::Json, text).unwrap_err().fix;
        assert!(fix.contains(expected), "{text}: {fix}");
    }
}

#[test]
fn truncated_text_names_the_open_bracket_or_quote() {
    for (text, expected) in [
        ("{\n  \"tasks\": [{\"id\": \"a\"}", "close the list that begins at line 2 column 12 with ]"),
        ("{\"tasks\": [], \"a\": ", "close the object that begins at line 1 column 1 with }"),
        ("{\"a\": \"[\\\"", "close the text that begins at line 1 column 7 with \""),
        ("[\"a]\"", "close the list that begins at line 1 column 1 with ]"),
        ("tru", "write the whole value"),
    ] {
        let error = parse(SourceFormat::Json, text).unwrap_err();
        assert!(error.message.starts_with("EOF"), "{text}: {error}");
        assert!(error.fix.starts_with(expected), "{text}: {}", error.fix);
        assert!(error.fix.ends_with("if the file was cut off, restore the rest of it"), "{}", error.fix);
    }
}

#[test]
fn columns_of_a_long_line_count_its_characters() {
    let items = (0..3_000).map(|index| format!("\"ä{index}😀\"")).collect::<Vec<_>>();
    let file = parse(SourceFormat::Json, &format!("[0,\n{}]", items.join(","))).unwrap();
    assert!(file.text.len() > 30_000);
    for index in [0, 1, 511, 1_024, 2_047, 2_999] {
        let before = items[..index].join(",").chars().count() + usize::from(index > 0);
        let place = file.place(&format!("[{}]", index + 1)).unwrap();
        assert_eq!((place.line, place.column), (2, before + 1), "{index}");
    }
}

#[test]
fn a_duplicate_key_is_refused_with_both_places() {
    let error = parse(SourceFormat::Json, "{\n \"x\": {\"a\": 1,\n  \"b\": 2, \"\\u0061\": 3}}").unwrap_err();
    assert_eq!(error.to_string(), "duplicate key \"a\" (first at line 2 column 8) at line 3 column 11");
    assert_eq!(error.fix, "keep one of the two");
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let file = SourceFile::from_bytes("a", SourceFormat::Json, b"\xEF\xBB\xBF{\"a\": 1}".to_vec()).unwrap();
    assert_eq!((file.value.clone(), locate(&file, "a")), (json!({"a": 1}), (1, 7, "1")));
}

#[test]
fn columns_count_characters_with_either_line_end() {
    let file = parse(SourceFormat::Json, "{\r\n  \"ä😀\": 1, \"b\": 2\r\n}").unwrap();
    assert_eq!((file.place("b").unwrap().line, file.place("b").unwrap().column), (2, 17));
}
