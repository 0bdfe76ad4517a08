//! The texts of errors: they speak to users of the service, not to its authors.

use crate::files_with;

/// Makers of errors whose text somebody reads outside of the service.
const MAKERS: [&str; 8] = [
    "#[error(",
    "ServiceError::",
    "FieldError::",
    "TaskError::",
    "TaskError ",
    "Issue::",
    "JobFailure::",
    "InputError::",
];

/// Words of the implementation.
const INTERNAL: [&str; 21] = [
    "panicked",
    "unwrap",
    "Option<",
    "Some(",
    "Result<",
    "Err(",
    "&str",
    "serde",
    "tokio",
    "actix",
    "diesel",
    "Mutex",
    "poisoned",
    "engine error",
    "struct ",
    "enum ",
    "dyn ",
    "ServiceError",
    "TaskError",
    "NaN",
    "deserialize",
];

#[test]
fn error_texts_hold_no_implementation_words() {
    let mut count = 0;
    for (path, text) in files_with(&[".rs"]) {
        let is_code = ["src/", "crates/", "actors/"].iter().any(|folder| path.starts_with(folder));
        let is_test = path.contains("/tests/") || path.ends_with("tests.rs") || path.contains("/examples/");
        // The kernel knows nothing of the service: its errors are mapped before anybody reads them.
        if !is_code || is_test || path.starts_with("actors/supervision/") {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for literal in error_literals(code) {
            count += 1;
            assert!(!literal.contains(":?}"), "{path}: debug output in {literal:?}");
            let word = INTERNAL.iter().find(|word| literal.contains(**word));
            assert!(word.is_none(), "{path}: {word:?} in {literal:?}");
        }
    }
    assert!(count > 300, "the check saw {count} texts only");
}

#[test]
fn check_finds_only_literals_of_the_call() {
    let code = r#"
        #[error("cannot {0:?}")]
        let error = ServiceError::validation(format!("a \"quoted\" {x:?}"));
        let other = "panicked";
    "#;
    assert_eq!(error_literals(code), ["cannot {0:?}", "a \\\"quoted\\\" {x:?}"]);
}

/// The literals inside the calls and attributes that make errors.
fn error_literals(code: &str) -> Vec<&str> {
    let mut literals = Vec::new();
    for maker in MAKERS {
        for (at, _) in code.match_indices(maker) {
            let rest = &code[at + maker.len()..];
            // A path without a call, such as an import, has no text.
            let Some(open) = rest.find(['(', '{', ';', '"']) else { continue };
            let arguments = match rest.as_bytes().get(open) {
                Some(b'"') => rest,
                Some(b'(' | b'{') => &rest[open + 1..],
                _ => continue,
            };
            literals.extend(literals_until_closed(arguments));
        }
    }
    literals
}

/// The literals up to the bracket that closes the call.
fn literals_until_closed(arguments: &str) -> Vec<&str> {
    let (mut depth, mut begun, mut escaped) = (1_i32, None, false);
    let mut literals = Vec::new();
    for (at, character) in arguments.char_indices() {
        match (begun, character) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(start), '"') => {
                literals.push(&arguments[start..at]);
                begun = None;
            }
            (None, '"') => begun = Some(at + 1),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ';') => depth = 0,
            _ => {}
        }
        if depth <= 0 {
            break;
        }
    }
    literals
}
