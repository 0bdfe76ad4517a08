//! Suggestions for misspelt names.

/// Returns the candidate that `name` was probably meant to be.
///
/// In order of preference: a candidate that differs only in case and separators; the nearest one within an
/// edit distance of a third of its length (at least one, at most three edits), of several the one that has most of its
/// letters; the shortest one that contains it as a part, as `rollout_percentage` contains `rollout`.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<_> = candidates.into_iter().collect();
    let plain = bare(name);
    let same = candidates.iter().filter(|candidate| !plain.is_empty() && bare(candidate) == plain).min();
    let near = || {
        let length = name.chars().count();
        let allowed = (length / 3).clamp(1, 3);
        candidates
            .iter()
            .filter(|candidate| candidate.chars().count().abs_diff(length) <= allowed)
            .map(|candidate| {
                (strsim::osa_distance(name, candidate), foreign_letters(name, candidate), candidate)
            })
            // Of a name without a letter in common nothing is left.
            .filter(|(distance, foreign, _)| *distance <= allowed && *foreign < length)
            .min()
            .map(|(.., candidate)| candidate)
    };
    same.or_else(near).or_else(|| containing(name, &candidates)).copied()
}

/// Returns the edit distance of two names; a swap of two adjacent characters counts as one edit. Of names that are too
/// unlike in length to be meant for each other it is a lower bound: a message may have a name of megabytes.
pub fn distance(one: &str, other: &str) -> usize {
    // An edit changes the length by the four bytes of a character at most.
    let at_least = one.len().abs_diff(other.len()).div_ceil(4);
    if at_least > UNLIKE { at_least } else { strsim::osa_distance(one, other) }
}

/// Counts the letters of a name that a candidate lacks: a letter is left out more likely than it is replaced.
fn foreign_letters(name: &str, candidate: &str) -> usize {
    let mut letters: Vec<char> = candidate.chars().collect();
    let is_foreign = |letter: &char| match letters.iter().position(|own| own == letter) {
        Some(at) => {
            letters.swap_remove(at);
            false
        }
        None => true,
    };
    name.chars().filter(is_foreign).count()
}

/// Returns a name without case and separators.
fn bare(name: &str) -> String {
    let characters = name.chars().filter(|character| !matches!(character, '_' | '-' | ' '));
    characters.flat_map(char::to_lowercase).collect()
}

/// Returns the shortest candidate that starts with the name, or contains it as a word.
fn containing<'c, 'a>(name: &str, candidates: &'c [&'a str]) -> Option<&'c &'a str> {
    let holds =
        |candidate: &str| candidate.starts_with(name) || candidate.split('_').any(|word| word == name);
    let holding = candidates.iter().filter(|candidate| name.len() >= SHORTEST_PART && holds(candidate));
    holding.min_by_key(|candidate| (candidate.len(), **candidate))
}

/// Edits between names of which no author means one for the other.
const UNLIKE: usize = 16;

/// Minimum length of a name to be searched as a part; a shorter one would match too many names.
const SHORTEST_PART: usize = 3;

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn only_near_name_is_suggested() {
        let names = ["parse_json", "parse_xml", "map", "filter"];
        assert_eq!(nearest("parse_jsn", names), Some("parse_json"));
        assert_eq!(nearest("mapp", names), Some("map"));
        assert_eq!(nearest("enrich", names), None);
        assert_eq!(nearest("x", names), None);
        assert_eq!(nearest("fitler", names), Some("filter"), "a swap is one edit");
    }

    #[test]
    fn suggestion_ignores_case_and_finds_parts() {
        let names = ["rollout_percentage", "status", "workflow_id", "timeout_ms", "description"];
        for (name, meant) in [
            ("rollout", "rollout_percentage"),
            ("percentage", "rollout_percentage"),
            ("workflowId", "workflow_id"),
            ("Timeout-MS", "timeout_ms"),
            ("desc", "description"),
        ] {
            assert_eq!(nearest(name, names), Some(meant), "{name}");
        }
        assert_eq!(nearest("s", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn left_out_letter_is_nearer_than_replaced_one() {
        assert_eq!(nearest("taks", ["tags", "tasks"]), Some("tasks"));
        assert_eq!(nearest("tasg", ["tags", "task"]), Some("tags"), "a swap");
    }

    #[test]
    fn name_of_megabytes_is_near_to_none() {
        let long = "x".repeat(4_000_000);
        assert!(distance(&long, "var") > 900_000 && distance("var", &long) > 900_000);
        assert_eq!(nearest(&long, ["var", "x"]), None);
        assert_eq!((distance("vra", "var"), distance("", "überall")), (1, 7));
    }

    #[test]
    fn ties_go_to_the_first_in_the_alphabet() {
        assert_eq!(nearest("cat", ["hat", "bat"]), Some("bat"));
    }

    #[test]
    fn symbol_is_not_meant_for_another() {
        assert_eq!(nearest("x", ["!", "*"]), None);
        assert_eq!(nearest("=", ["!", "=="]), Some("=="));
    }
}
