//! Input that means harm, and input without a plan.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const FORMATS: [SourceFormat; 2] = [SourceFormat::Json, SourceFormat::Yaml];

#[test]
fn nesting_is_bounded_in_both_notations() {
    for format in FORMATS {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(format, &nested(127)).is_ok(), "{format:?}");
        let refused = read(format, &nested(200)).unwrap_err();
        assert!(refused.starts_with("is nested deeper than 128 levels at line 1 column 12"), "{refused}");
        // So deep that the stack of a recursive reader would not hold it.
        for text in [nested(100_000), "[".repeat(100_000)] {
            assert!(read(format, &text).unwrap_err().starts_with("is nested deeper than 128 levels"));
        }
        assert!(read(format, &"{\"a\":".repeat(100_000)).is_err(), "{format:?}");
    }
    let block = (0..300).fold(String::new(), |mut text, depth| {
        let _ = writeln!(text, "{}a:", " ".repeat(depth));
        text
    });
    assert!(read(SourceFormat::Yaml, &block).is_err());
    assert!(read(SourceFormat::Yaml, &"- ".repeat(10_000)).is_err());
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        let _ = writeln!(text, "a{level}: &a{level} [{aliases}]");
    }
    let refused = read(SourceFormat::Yaml, &text).unwrap_err();
    assert!(refused.starts_with("the aliases of the file repeat too much at line 6"), "{refused}");
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 1000].join(", "));
    assert!(read(SourceFormat::Yaml, &long).unwrap_err().contains("repeat too much"));
    let deep = (1..300).fold("a0: &a0 [x]\n".to_owned(), |mut text, level| {
        let _ = writeln!(text, "a{level}: &a{level} [*a{}]", level - 1);
        text
    });
    assert!(read(SourceFormat::Yaml, &deep).unwrap_err().contains("deeper than 128"));
}

#[test]
fn oversized_file_is_refused_without_reading_it_whole() {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    file.as_file().set_len(100 << 20).unwrap();
    let error = SourceFile::read("big.json", file.path()).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.place), ("is larger than 16 MiB", None));
    assert!(read(SourceFormat::Json, &" ".repeat(MAX_FILE_BYTES + 1)).is_err());
    let full = format!("\"{}\"", "x".repeat(MAX_FILE_BYTES - 2));
    assert!(read(SourceFormat::Json, &full).is_ok());
}

#[test]
fn other_encodings_are_refused_with_their_place() {
    let refused = |bytes: &[u8]| {
        SourceFile::from_bytes("a", SourceFormat::Json, bytes.to_vec()).unwrap_err().to_string()
    };
    assert_eq!(refused(b"{\n\"\xC3\xA4\xff\": 1}"), "is not UTF-8 at line 2 column 3");
    assert_eq!(refused(b"\xff\xfe{\0}\0"), "is UTF-16, not UTF-8");
    assert_eq!(refused(b"{\"a\": 1}\0"), "trailing characters at line 1 column 9");
}

#[test]
fn nul_is_refused_foreign_line_ends_are_read() {
    assert_eq!(read(SourceFormat::Yaml, "a: 1\r\nb:\r\n  - x\r\n"), Ok(json!({"a": 1, "b": ["x"]})));
    assert!(read(SourceFormat::Yaml, "a: \0\n").is_err());
    assert!(read(SourceFormat::Json, "\0").is_err());
}

#[test]
fn many_keys_and_many_comments_take_linear_time() {
    let object = (0..200_000).map(|index| format!("\"k{index}\": {index}")).collect::<Vec<_>>().join(",\n");
    let text = format!("{{{object}}}");
    for format in FORMATS {
        let file = parse(format, &text).unwrap();
        assert_eq!(file.place("k199999").unwrap().line, 200_000);
    }
    let text = format!("{}a: 1\n", "# comment\n".repeat(50_000));
    assert_eq!(read(SourceFormat::Yaml, &text), Ok(json!({"a": 1})));
}

/// Makes texts of the pieces that both notations consist of.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just(": "),
        Just("\""),
        Just("'"),
        Just("- "),
        Just("\n"),
        Just("\r\n"),
        Just("  "),
        Just("\t"),
        Just("#"),
        Just("&a "),
        Just("*a"),
        Just("|\n"),
        Just(">-\n"),
        Just("!!str "),
        Just("!x "),
        Just("---\n"),
        Just("...\n"),
        Just("%YAML 1.2\n"),
        Just("<<"),
        Just("? "),
        Just("a"),
        Just("k: "),
        Just("12"),
        Just("-0.5e3"),
        Just("null"),
        Just("\\u00"),
        Just("\\"),
        Just("\u{FEFF}"),
        Just("ä"),
        Just("\0"),
        Just("😀"),
        Just("@"),
        Just("`"),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(".{0,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Compares the places with the value: as many members at every level, each span within the text.
fn assert_mirrors(value: &Value, element: &Element, text: &str) {
    assert!(text.get(element.span()).is_some(), "{element:?}");
    match value {
        Value::Array(items) => {
            assert_eq!(items.len(), element.members.len());
            items
                .iter()
                .zip(&element.members)
                .for_each(|(value, element)| assert_mirrors(value, element, text));
        }
        Value::Object(map) => {
            assert_eq!(map.len(), element.members.len());
            for ((_, value), element) in map.iter().zip(&element.members) {
                assert!(text.get(element.key().unwrap()).is_some());
                assert_mirrors(value, element, text);
            }
        }
        _ => assert!(element.members.is_empty()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_give_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for format in FORMATS {
            let _either = SourceFile::from_bytes("a", format, bytes.clone());
        }
    }

    #[test]
    fn any_text_gives_located_value_or_error(text in texts()) {
        for format in FORMATS {
            match parse(format, &text) {
                Ok(file) => assert_mirrors(&file.value, &file.root, &file.text),
                Err(error) => {
                    assert!(!error.message.is_empty() && error.place.is_some(), "{error:?}");
                    assert!(!error.fix.is_empty(), "{error:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_json_value_round_trips_with_places(value in values()) {
        for text in [serde_json::to_string(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap()] {
            let file = parse(SourceFormat::Json, &text).unwrap();
            assert_eq!(file.value, serde_json::from_str::<Value>(&text).unwrap());
            assert_mirrors(&file.value, &file.root, &file.text);
        }
    }
}
