//! The decision whether a program runs on a schema that a newer one has migrated: pure, no clock, no I/O.
//!
//! Nodes are replaced one after the other, so a program has to start on the schema of the release after it. A migration
//! that only adds leaves everything there that earlier programs use. One that takes away records the migration that a
//! program must know, because from that one on nothing uses what is taken away.

/// A recorded migration with what it requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) version: String,
    /// The version of the migration that a program must know to run on the schema; `None` if any program can.
    pub(crate) requires: Option<String>,
}

/// Returns whether a program that knows the versions `known`, all of them applied, runs on a schema on which the versions
/// `unknown` were applied too. Each of those must follow all known ones and be recorded.
pub(crate) fn is_compatible(known: &[String], unknown: &[String], recorded: &[Requirement]) -> bool {
    let latest = known.iter().max();
    unknown.iter().all(|version| {
        let follows = latest.is_some_and(|latest| version > latest);
        let requirement = recorded.iter().find(|requirement| requirement.version == *version);
        let is_met = |requirement: &Requirement| {
            requirement.requires.as_ref().is_none_or(|required| known.contains(required))
        };
        follows && requirement.is_some_and(is_met)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(versions: &[&str]) -> Vec<String> {
        versions.iter().map(|version| (*version).to_owned()).collect()
    }

    fn judge(unknown: &[&str], recorded: &[(&str, Option<&str>)]) -> bool {
        let requirement = |(version, requires): &(&str, Option<&str>)| Requirement {
            version: (*version).to_owned(),
            requires: requires.map(str::to_owned),
        };
        let recorded: Vec<_> = recorded.iter().map(requirement).collect();
        is_compatible(&versions(&["20260101000001", "20260301000002"]), &versions(unknown), &recorded)
    }

    #[test]
    fn migrations_that_add_are_compatible() {
        assert!(judge(&[], &[]));
        assert!(judge(&["20260302000003"], &[("20260302000003", None)]));
        let two = [("20260302000003", None), ("20260401000004", None)];
        assert!(judge(&["20260302000003", "20260401000004"], &two));
    }

    #[test]
    fn removing_migration_needs_program_knowing_its_requirement() {
        assert!(judge(&["20260302000003"], &[("20260302000003", Some("20260301000002"))]));
        assert!(!judge(&["20260401000004"], &[("20260401000004", Some("20260302000003"))]));
    }

    #[test]
    fn interposed_or_unrecorded_migration_is_incompatible() {
        assert!(!judge(&["20260201000003"], &[("20260201000003", None)]));
        assert!(!judge(&["20260302000003"], &[]));
        assert!(!judge(
            &["20260302000003", "20260201000004"],
            &[("20260302000003", None), ("20260201000004", None)]
        ));
    }
}
