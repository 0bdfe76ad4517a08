//! The nearest known name to a misspelt one.

/// The candidate that `name` was likely meant to be: one that differs in case and separators alone, else the nearest within
/// a third of its length in edits, at least one and at most three, else the shortest of which it is a part, as `rollout` is
/// of `rollout_percentage`. A swap of two neighbours is one edit.
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
            .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
            .filter(|(distance, _)| *distance <= allowed)
            .min()
            .map(|(_, candidate)| candidate)
    };
    same.or_else(near).or_else(|| containing(name, &candidates)).copied()
}

/// Edits between two names; a swap of two neighbours is one.
pub fn distance(one: &str, other: &str) -> usize {
    strsim::osa_distance(one, other)
}

/// A name without case and separators.
fn bare(name: &str) -> String {
    let kept = name.chars().filter(|character| !matches!(character, '_' | '-' | ' '));
    kept.flat_map(char::to_lowercase).collect()
}

/// The shortest candidate that begins with the name, or has it for one of its words.
fn containing<'c, 'a>(name: &str, candidates: &'c [&'a str]) -> Option<&'c &'a str> {
    let holds =
        |candidate: &str| candidate.starts_with(name) || candidate.split('_').any(|word| word == name);
    let holding = candidates.iter().filter(|candidate| name.len() >= SHORTEST_PART && holds(candidate));
    holding.min_by_key(|candidate| (candidate.len(), **candidate))
}

/// Shorter names are part of too much.
const SHORTEST_PART: usize = 3;

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["parse_json", "parse_xml", "map", "filter"];
        assert_eq!(nearest("parse_jsn", known), Some("parse_json"));
        assert_eq!(nearest("mapp", known), Some("map"));
        assert_eq!(nearest("enrich", known), None);
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("fitler", known), Some("filter"), "a swap is one edit");
    }

    #[test]
    fn a_name_in_another_case_or_a_part_of_one_is_meant() {
        let known = ["rollout_percentage", "status", "workflow_id", "timeout_ms", "description"];
        for (name, meant) in [
            ("rollout", "rollout_percentage"),
            ("percentage", "rollout_percentage"),
            ("workflowId", "workflow_id"),
            ("Timeout-MS", "timeout_ms"),
            ("desc", "description"),
        ] {
            assert_eq!(nearest(name, known), Some(meant), "{name}");
        }
        assert_eq!(nearest("s", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn ties_go_to_the_first_in_the_alphabet() {
        assert_eq!(nearest("cat", ["hat", "bat"]), Some("bat"));
    }
}
