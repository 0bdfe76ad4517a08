//! YAML: types of scalars, places and refusals.

use serde_json::json;

use super::*;

fn yaml(text: &str) -> Result<Value, String> {
    read(SourceFormat::Yaml, text)
}

#[test]
fn only_what_json_types_is_typed() {
    for text in [
        "no",
        "No",
        "yes",
        "on",
        "off",
        "y",
        "n",
        "012",
        "0x1F",
        "0o17",
        "0b1",
        "1_000",
        "+1",
        ".5",
        "5.",
        ".inf",
        ".nan",
        "2026-11-23",
        "2026-11-23T07:00:00Z",
        "12:30:45",
        "1e",
        "1.2.3",
        "nULL",
        "tRUE",
        "=",
        "Infinity",
    ] {
        assert_eq!(yaml(&format!("x: {text}\ny: [{text}]\n")), Ok(json!({"x": text, "y": [text]})), "{text}");
    }
    for (text, expected) in [
        ("true", json!(true)),
        ("True", json!(true)),
        ("FALSE", json!(false)),
        ("null", json!(null)),
        ("~", json!(null)),
        ("", json!(null)),
        ("0", json!(0)),
        ("-17", json!(-17)),
        ("1.0", json!(1.0)),
        ("-1.5e-3", json!(-1.5e-3)),
        ("\"12\"", json!("12")),
        ("'true'", json!("true")),
        ("!!str 12", json!("12")),
        ("! 12", json!("12")),
        ("!!int 12", json!(12)),
        ("!!map {a: 1}", json!({"a": 1})),
    ] {
        assert_eq!(yaml(&format!("x: {text}\n")), Ok(json!({"x": expected})), "{text}");
    }
}

#[test]
fn multi_line_text_and_comments_are_read() {
    let text =
        "# about\nquery: |\n  select *\n  from t\nfolded: >-\n  one\n  two # text\nplain: a\n  b # comment\n";
    assert_eq!(
        yaml(text),
        Ok(json!({"query": "select *\nfrom t\n", "folded": "one two # text", "plain": "a b"}))
    );
}

#[test]
fn scalars_as_keys_are_their_text() {
    let text = "401: a\ntrue: b\n~: c\n1.50: d\n1e999: e\n2026-01-01: f\n&n 7: *n\n";
    let expected =
        json!({"401": "a", "true": "b", "~": "c", "1.50": "d", "1e999": "e", "2026-01-01": "f", "7": 7});
    assert_eq!(yaml(text), Ok(expected));
    assert_eq!(
        yaml("1: a\n\"1\": b\n"),
        Err("duplicate key \"1\" (first at line 1 column 1) at line 2 column 1".into())
    );
}

#[test]
fn json_is_yaml() {
    let text = "{\"a\": [1, 2.50, \"\\u00e9\\ud83d\\ude00\", null], \"b\": {\"!\": [{\"var\": \"x\"}]}}";
    assert_eq!(yaml(text), read(SourceFormat::Json, text));
}

#[test]
fn yaml_beyond_json_is_refused_at_its_position() {
    for (text, expected) in [
        ("a: 1\n---\nb: 2\n", "a second document begins at line 2 column 1"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "merge keys are not supported at line 3 column 3"),
        ("? [a]\n: x\n", "a key is not text at line 1 column 3"),
        ("a: 1\nb: 2\na: 3\n", "duplicate key \"a\" (first at line 1 column 1) at line 3 column 1"),
        ("a: !local 1\n", "the tag !local is not supported at line 1 column 11"),
        ("a: !!binary aGk=\n", "the tag !!binary is not supported at line 1 column 13"),
        ("a: !!int x\n", "\"x\" is no int at line 1 column 10"),
        ("a: !!seq {}\n", "the tag !!seq is not supported at line 1 column 10"),
        ("a: 1e999\n", "the number 1e999 is out of range at line 1 column 4"),
        ("a: &x [*x]\n", "the alias is part of the value it names at line 1 column 8"),
        ("", "the file is empty at line 1 column 1"),
        ("# only a comment\n", "the file is empty at line 1 column 1"),
    ] {
        assert_eq!(yaml(text).unwrap_err(), expected, "{text}");
    }
    for text in [
        "a: *x\n",
        "%YAML 1.1\n---\na: 1\n",
        "a: [1\nb: 2\n",
        "a: b: c\n",
        "a:\n\t- 1\n  - 2\n",
        "a: \"\\q\"\n",
        "a: \u{1}\n",
    ] {
        let error = parse(SourceFormat::Yaml, text).unwrap_err();
        assert!(error.place.is_some() && !error.message.is_empty(), "{text}: {error:?}");
    }
}

#[test]
fn aliases_repeat_values_at_the_original_places() {
    let file = parse(SourceFormat::Yaml, "base: &b\n  k: [1, 2]\nuse: *b\n").unwrap();
    assert_eq!(file.value, json!({"base": {"k": [1, 2]}, "use": {"k": [1, 2]}}));
    assert_eq!(locate(&file, "use.k[1]"), (2, 10, "2"));
}

#[test]
fn places_are_those_of_the_source() {
    let text = "# about\nworkflow_id: w\ntasks:\n  - id: a\n  - id: b\n    function:\n      name: map\n      input: {mappings: [{path: data.ä, logic: 1}]}\n";
    let file = parse(SourceFormat::Yaml, text).unwrap();
    for (path, expected) in [
        ("workflow_id", (2, 14, "w")),
        ("tasks[1].id", (5, 9, "b")),
        ("tasks[1].function.name", (7, 13, "map")),
        ("tasks[1].function.input.mappings[0].path", (8, 33, "data.ä")),
        ("tasks[1].function.input.mappings[0].logic", (8, 48, "1")),
        ("tasks[1].function.output", (6, 5, "function")),
        ("tasks[0]", (4, 5, "id: a")),
        ("", (2, 1, "workflow_id: w")),
    ] {
        assert_eq!(locate(&file, path), expected, "{path}");
    }
}

#[test]
fn each_refusal_names_a_remedy_that_fits() {
    for (text, expected) in [
        ("a: [1, 2", "close the bracket; if the file was cut off"),
        ("a: {b: 1", "close the bracket; if the file was cut off"),
        ("a: \"x", "end the text with the quote"),
        ("a: 'x", "end the text with the quote"),
        ("a: [1}", "close each bracket with its counterpart"),
        ("a:\n\t- b", "indent with blanks"),
        ("a: b: c", "a text that holds a colon in quotes"),
        ("a: 1\n b: 2", "indent the keys of an object alike"),
        ("- a\nb: 1", "indent the members of a list or object alike"),
        ("a: *x", "define the anchor above"),
        ("a: &x [*x]", "write the value out"),
        ("a: @x", "begins with this character in quotes"),
        ("a: \"\\q\"", "single quotes"),
        ("a: !foo x", "remove the tag"),
        ("a: {!: [1]}", "an operator that begins with ! in quotes"),
        ("a: {!!: [1]}", "an operator that begins with ! in quotes"),
        ("a: !!int x", "remove the tag"),
        ("a: 1e999", "below 1.8e308"),
        ("%YAML 1.1\n---\na: 1", "begins with %"),
        ("? [a]\n: b", "write the key in quotes"),
        ("a: 1\n---\nb: 1", "a file of its own"),
        ("", "write a definition into it"),
    ] {
        let error = parse(SourceFormat::Yaml, text).unwrap_err();
        assert!(error.fix.contains(expected), "{text}: {error}: {}", error.fix);
    }
}
