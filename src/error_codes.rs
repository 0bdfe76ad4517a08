//! Every stable error code of the service, for the reference of errors.

use svc_engine::ErrorCode;
use svc_model::{Code, CodeEntry, FieldCode};

/// The codes of answers: `error.code`.
pub fn response_codes() -> impl Iterator<Item = CodeEntry> {
    Code::ALL.iter().map(|code| code.entry())
}

/// The codes of task errors: `errors[].code` and `metadata._svc_errors[].code`. The status is that of a run
/// which the error stopped.
pub fn task_error_codes() -> impl Iterator<Item = CodeEntry> {
    ErrorCode::ALL.iter().map(|code| code.entry())
}

/// The codes of problems that name a field: `error.details[].code`.
pub fn field_error_codes() -> impl Iterator<Item = CodeEntry> {
    FieldCode::ALL.iter().map(|code| code.entry())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_has_cause_and_remedy_as_sentences() {
        for entry in response_codes().chain(task_error_codes()).chain(field_error_codes()) {
            for text in [entry.cause, entry.remedy] {
                assert!(text.ends_with('.') && text.len() > 15, "{}: {text}", entry.name);
                assert!(
                    text.starts_with(|first: char| first.is_uppercase() || first == '`'),
                    "{}: {text}",
                    entry.name
                );
            }
            assert!((400..600).contains(&entry.status), "{}", entry.name);
        }
    }

    #[test]
    fn names_are_distinct_within_each_table() {
        for names in [
            response_codes().map(|entry| entry.name).collect::<Vec<_>>(),
            task_error_codes().map(|entry| entry.name).collect(),
            field_error_codes().map(|entry| entry.name).collect(),
        ] {
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
        }
    }
}
