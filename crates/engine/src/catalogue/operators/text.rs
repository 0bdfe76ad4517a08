//! Operators over texts and instants.

use super::{MANY, Operator};

pub(super) static TEXT: [Operator; 14] = [
    Operator::new(
        "cat",
        (0, MANY),
        "Joins the texts of its operands; null is nothing, an array its elements, an object its JSON",
    )
    .shows(r#"{"cat": ["order ", {"var": "data.id"}]}"#, r#""order 7""#)
    .over(r#"{"id": 7}"#),
    Operator::new("substr", (2, 3), "A part of a text: start and length; negative ones count from the end")
        .shows(r#"{"substr": ["invoice-17", -2]}"#, r#""17""#),
    Operator::new(
        "length",
        (1, 1),
        "The characters of a text, or the elements of an array",
    )
    .strict()
    .shows(r#"{"length": [{"var": "data.items"}]}"#, "2")
    .over(r#"{"items": ["a", "b"]}"#),
    Operator::new("starts_with", (2, MANY), "Tells whether the first text begins with the second")
        .strict()
        .shows(r#"{"starts_with": ["invoice-17", "invoice"]}"#, "true"),
    Operator::new("ends_with", (2, MANY), "Tells whether the first text ends with the second")
        .strict()
        .shows(r#"{"ends_with": ["report.csv", ".csv"]}"#, "true"),
    Operator::new("upper", (1, MANY), "The text in upper case").shows(r#"{"upper": "eur"}"#, r#""EUR""#),
    Operator::new("lower", (1, MANY), "The text in lower case").shows(r#"{"lower": "EUR"}"#, r#""eur""#),
    Operator::new("trim", (1, MANY), "The text without blanks around it")
        .shows(r#"{"trim": "  x "}"#, r#""x""#),
    Operator::new(
        "split",
        (2, MANY),
        "The parts of a text between separators; a literal pattern with named groups gives an object of what they matched",
    )
    .strict()
    .shows(r#"{"split": ["a,b", ","]}"#, r#"["a", "b"]"#),
    Operator::new("join", (2, 2), "The elements of an array as one text with a separator between them")
        .strict()
        .shows(r#"{"join": [["a", 1, null], "-"]}"#, r#""a-1-""#),
    Operator::new("replace", (3, 3), "The text with every occurrence of a literal text replaced by another")
        .strict()
        .shows(r#"{"replace": ["a.b.c", ".", "/"]}"#, r#""a/b/c""#),
    Operator::new(
        "matches",
        (2, 2),
        "Tells whether a literal regular expression matches a part of the text; false for null",
    )
    .strict()
    .shows(r#"{"matches": [{"var": "data.code"}, "^[A-Z]{2}-[0-9]+$"]}"#, "true")
    .over(r#"{"code": "DE-17"}"#),
    Operator::new(
        "capture",
        (2, 2),
        "The named groups of the first match of a literal regular expression, or a list of the match and its groups; null without a match",
    )
    .strict()
    .shows(
        r#"{"capture": [{"var": "data.code"}, "^(?P<country>[A-Z]{2})-(?P<number>[0-9]+)$"]}"#,
        r#"{"country": "DE", "number": "17"}"#,
    )
    .over(r#"{"code": "DE-17"}"#),
    Operator::new(
        "format_number",
        (1, 4),
        "A number for readers: with so many decimals, a separator of thousands and a point of its own",
    )
    .strict()
    .shows(r#"{"format_number": [1234567.5, 2, ".", ","]}"#, r#""1.234.567,50""#),
];

pub(super) static ENCODING: [Operator; 9] = [
    Operator::new("base64_encode", (1, 1), "Base64 of a text, or of the JSON of another value")
        .strict()
        .shows(r#"{"base64_encode": "key"}"#, r#""a2V5""#),
    Operator::new("base64_decode", (1, 1), "The text that base64 stands for, padded or not")
        .strict()
        .shows(r#"{"base64_decode": "a2V5"}"#, r#""key""#),
    Operator::new("base64url_encode", (1, 1), "Base64 in the alphabet of URLs, without padding")
        .strict()
        .shows(r#"{"base64url_encode": "é?>"}"#, r#""w6k_Pg""#),
    Operator::new("base64url_decode", (1, 1), "The text that base64 in the alphabet of URLs stands for")
        .strict()
        .shows(r#"{"base64url_decode": "w6k_Pg"}"#, r#""é?>""#),
    Operator::new("hex_encode", (1, 1), "Hexadecimal digits of a text, or of the JSON of another value")
        .strict()
        .shows(r#"{"hex_encode": "AB"}"#, r#""4142""#),
    Operator::new("hex_decode", (1, 1), "The text that hexadecimal digits stand for")
        .strict()
        .shows(r#"{"hex_decode": "4142"}"#, r#""AB""#),
    Operator::new("url_encode", (1, 1), "Percent-encodes a text for a part of a URL")
        .strict()
        .shows(r#"{"url_encode": "a b&c"}"#, r#""a%20b%26c""#),
    Operator::new("url_decode", (1, 1), "Undoes percent-encoding")
        .strict()
        .shows(r#"{"url_decode": "a%20b"}"#, r#""a b""#),
    Operator::new(
        "hash",
        (2, 3),
        "The digest of a text, or of the JSON of another value: sha256, sha512, sha1 or md5, in hex or base64",
    )
    .strict()
    .shows(
        r#"{"hash": ["abc", "sha256"]}"#,
        r#""ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad""#,
    ),
];

pub(super) static TIME: [Operator; 6] = [
    Operator::new("now", (0, 0), "The instant of the evaluation").shows(r#"{"now": []}"#, ""),
    Operator::new("datetime", (1, 1), "Reads an instant, RFC 3339")
        .shows(r#"{"<": [{"datetime": "2026-01-01T00:00:00Z"}, {"datetime": "2026-01-01T01:00:00Z"}]}"#, "true"),
    Operator::new("timestamp", (1, 1), "Reads a duration such as 2h or 1d:30m, to add to an instant")
        .shows(
            r#"{"+": [{"datetime": "2026-01-01T00:00:00Z"}, {"timestamp": "2h"}]}"#,
            r#""2026-01-01T02:00:00Z""#,
        ),
    Operator::new(
        "parse_date",
        (2, MANY),
        "Reads an instant in a format, yyyy MM dd HH mm ss or codes of strftime; a third operand names its time zone",
    )
    .strict()
    .shows(r#"{"parse_date": ["06.07.2026", "dd.MM.yyyy"]}"#, r#""2026-07-06T00:00:00Z""#),
    Operator::new("format_date", (2, MANY), "Writes an instant in a format, in a time zone where a third operand names one")
        .strict()
        .shows(
            r#"{"format_date": [{"datetime": "2026-08-17T18:30:00Z"}, "yyyy-MM-dd HH:mm", "Asia/Kolkata"]}"#,
            r#""2026-08-18 00:00""#,
        ),
    Operator::new(
        "date_diff",
        (3, MANY),
        "The whole days, hours, minutes, seconds or milliseconds from the second instant to the first",
    )
    .strict()
    .shows(
        r#"{"date_diff": [{"datetime": "2026-01-03T00:00:00Z"}, {"datetime": "2026-01-01T00:00:00Z"}, "days"]}"#,
        "2",
    ),
];
