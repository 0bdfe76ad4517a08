//! Findings about one authored element that several definitions use.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::finding::Finding;

/// Merges the findings that differ in their entity alone: a fault of a fragment is one fault, however often the fragment is
/// called.
pub(super) fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<(Finding, HashSet<String>)> = Vec::with_capacity(findings.len());
    let mut indices = HashMap::new();
    for finding in findings {
        let Some(place) = &finding.place else {
            merged.push((finding, HashSet::new()));
            continue;
        };
        let key = (finding.check, place.file.clone(), place.span.clone(), finding.message.clone());
        match indices.entry(key) {
            Entry::Vacant(slot) => {
                slot.insert(merged.len());
                merged.push((finding, HashSet::new()));
            }
            Entry::Occupied(slot) => {
                let (first, others) = &mut merged[*slot.get()];
                if first.entity != finding.entity {
                    others.insert(finding.entity);
                }
            }
        }
    }
    merged.into_iter().map(|(finding, others)| with_others(finding, others.len())).collect()
}

/// Adds to the message how many other definitions have the same fault.
fn with_others(finding: Finding, others: usize) -> Finding {
    match others {
        0 => finding,
        others => Finding { message: format!("{} (and in {others} more)", finding.message), ..finding },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Check;
    use crate::finding::SourcePlace;

    #[test]
    fn one_fault_of_many_users_is_told_once() {
        let finding = |entity: &str, message: &str, start: usize| {
            let place =
                SourcePlace { file: "s.json".into(), line: 1, column: start + 1, span: start..start + 1 };
            Finding { place: Some(place), ..Check::SchemaWorkflow.finding(entity, message) }
        };
        let merged = merge(vec![
            finding("a", "m", 0),
            finding("b", "m", 0),
            finding("b", "m", 0),
            finding("c", "m", 0),
            finding("a", "n", 0),
            finding("a", "m", 5),
            Check::SchemaWorkflow.finding("a", "m"),
            Check::SchemaWorkflow.finding("b", "m"),
        ]);
        let told: Vec<_> = merged.iter().map(|one| (one.entity.as_str(), one.message.as_str())).collect();
        let expected = [("a", "m (and in 2 more)"), ("a", "n"), ("a", "m"), ("a", "m"), ("b", "m")];
        assert_eq!(told, expected);
    }
}
