//! Allow lists of the environment variables and the files that stored definitions may read.

use std::sync::Arc;

use svc_model::mask::is_file_place;

/// Names and patterns of variables. In a pattern, `*` matches any number of characters, including none. Cheap
/// to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedVariables(Option<Arc<[String]>>);

impl AllowedVariables {
    /// Allows every variable.
    pub fn all() -> Self {
        Self(None)
    }

    /// Allows the variables that match one of the patterns.
    pub fn only(patterns: impl IntoIterator<Item = String>) -> Self {
        Self(Some(patterns.into_iter().collect()))
    }

    /// Returns true if the variable may be read.
    #[must_use]
    pub fn allows(&self, variable: &str) -> bool {
        match &self.0 {
            None => true,
            Some(patterns) => patterns.iter().any(|pattern| matches(pattern, variable)),
        }
    }
}

/// Places of files, and patterns of them, as they are written behind `file://`. In a pattern, `*` matches any number of
/// characters, including `/`. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedFiles(Option<Arc<[String]>>);

impl AllowedFiles {
    /// Allows every file.
    pub fn all() -> Self {
        Self(None)
    }

    /// Allows the files that match one of the patterns.
    pub fn only(patterns: impl IntoIterator<Item = String>) -> Self {
        Self(Some(patterns.into_iter().collect()))
    }

    /// Returns true if the file at this place may be read.
    #[must_use]
    pub fn allows(&self, place: &str) -> bool {
        match &self.0 {
            None => true,
            Some(patterns) => patterns.iter().any(|pattern| matches(pattern, place)),
        }
    }
}

/// Returns true if the text is a valid pattern of files: the place of one, with `*` for any characters.
#[must_use]
pub fn is_file_pattern(text: &str) -> bool {
    text == "*" || is_file_place(text)
}

/// Returns true if the text is a valid pattern: letters, digits, underscores and `*`.
#[must_use]
pub fn is_variable_pattern(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'*')
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return name.ends_with(part);
        }
        // The leftmost match leaves the most text for the remaining parts.
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_whole_names_and_its_star_any_characters() {
        let matching = [
            ("PARTNER", "PARTNER"),
            ("PARTNER_*", "PARTNER_KEY"),
            ("PARTNER_*", "PARTNER_"),
            ("*_KEY", "A_KEY"),
            ("A*B*C", "A1B2C"),
            ("A*B*C", "ABBC"),
            ("*", "ANY"),
            ("**", "ANY"),
        ];
        let other = [
            ("PARTNER", "PARTNER_KEY"),
            ("PARTNER", "MY_PARTNER"),
            ("PARTNER_*", "PARTNER"),
            ("*_KEY", "A_KEYS"),
            ("A*B*C", "A1C2B"),
            ("A*A", "A"),
            ("partner", "PARTNER"),
        ];
        for (pattern, name) in matching {
            assert!(AllowedVariables::only([pattern.to_owned()]).allows(name), "{pattern} {name}");
        }
        for (pattern, name) in other {
            assert!(!AllowedVariables::only([pattern.to_owned()]).allows(name), "{pattern} {name}");
        }
    }

    #[test]
    fn empty_list_allows_nothing_missing_list_everything() {
        assert!(!AllowedVariables::only([]).allows("A"));
        assert!(AllowedVariables::all().allows("A") && AllowedVariables::default().allows("A"));
    }

    #[test]
    fn file_pattern_matches_places_below_it() {
        let allowed =
            AllowedFiles::only(["/etc/partners/*".to_owned(), "$CREDENTIALS_DIRECTORY/p-*".to_owned()]);
        for place in ["/etc/partners/a", "/etc/partners/a/b", "$CREDENTIALS_DIRECTORY/p-1"] {
            assert!(allowed.allows(place), "{place}");
        }
        for place in ["/etc/partners", "/etc/partners2/a", "$CREDENTIALS_DIRECTORY/admin"] {
            assert!(!allowed.allows(place), "{place}");
        }
        assert!(AllowedFiles::all().allows("/any") && !AllowedFiles::only([]).allows("/any"));
        assert!(is_file_pattern("*") && is_file_pattern("/a/*") && !is_file_pattern("a/*"));
    }

    #[test]
    fn pattern_is_made_of_letters_digits_underscores_and_stars() {
        assert!(is_variable_pattern("A_1*") && is_variable_pattern("*"));
        for text in ["", "A-B", "A B", "env://A", "A?"] {
            assert!(!is_variable_pattern(text), "{text:?}");
        }
    }
}
