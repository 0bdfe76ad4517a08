//! The nearest known name to a misspelt one.

/// The candidate nearest to `name`, when it is near enough to be meant: at most a third of its length in edits, at
/// least one and at most three.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let allowed = (length / 3).clamp(1, 3);
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= allowed)
        .map(|candidate| (strsim::levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

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
    }

    #[test]
    fn ties_go_to_the_first_in_the_alphabet() {
        assert_eq!(nearest("cat", ["hat", "bat"]), Some("bat"));
    }
}
