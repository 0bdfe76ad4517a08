//! The rules of the analysis in one table: their stable ids, levels, conditions, remedies and reasons.

use std::collections::BTreeMap;

use svc_model::nearest;

use crate::finding::Severity;

/// The beginning of the ids.
const PREFIX: &str = "analyze.";

/// The levels of the settings, the one that switches a rule off first.
const LEVELS: [(&str, Option<Severity>); 4] = [
    ("off", None),
    ("note", Some(Severity::Note)),
    ("warning", Some(Severity::Warning)),
    ("error", Some(Severity::Error)),
];

macro_rules! rules {
    ($($name:ident = $id:literal, $level:ident, $fires:literal, $fix:literal, $reason:literal;)*) => {
        /// A rule of the analysis.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum AnalysisRule {
            $(#[doc = $fires] $name,)*
        }

        impl AnalysisRule {
            /// All rules, in the order of the manual.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the stable id.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// Returns the level of a project without settings.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$level,)* }
            }

            /// Returns the condition under which the rule fires.
            pub const fn condition(self) -> &'static str {
                match self { $(Self::$name => $fires,)* }
            }

            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$name => $fix,)* }
            }

            /// Returns the reason for which it is a mistake.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason,)* }
            }
        }
    };
}

rules! {
    TaskNeverRuns = "analyze.task_never_runs", Warning,
        "The condition of a task, a group or the workflow is never true, whatever the message holds.",
        "remove the task, or correct the condition",
        "Only `true` itself passes a condition. One that reads nothing of the message has the same result every time.";
    UnreachableStep = "analyze.unreachable_step", Warning,
        "A step comes after one that always ends the workflow.",
        "give the terminal step a condition, or remove what comes after it",
        "A terminal step without a condition ends the workflow whenever it is reached.";
    UnconditionalCallCycle = "analyze.unconditional_call_cycle", Error,
        "Channels call each other in a circle, and no condition ends it.",
        "call the channel under a condition, or remove the call",
        "The call chain of a run refuses a channel that is in it already, so that every such run fails.";
    SecretUndeclared = "analyze.secret_undeclared", Error,
        "An expression reads a secret that the values of the environment do not declare.",
        "add the name to `secrets` of the values, or correct it",
        "A channel whose workflow reads an undeclared secret is quarantined. The rule needs --values.";
    UnorderedPage = "analyze.unordered_page", Warning,
        "A query takes a part of the rows and names no order.",
        "name the order in `sort`, and end it with a column that tells rows apart",
        "Without an order a database returns any rows, and two pages may overlap or leave rows out.";
    MappingAlwaysNull = "analyze.mapping_always_null", Warning,
        "The result of a mapping is always null, so that it writes nothing.",
        "remove the mapping; `\"unset\": true` removes a path, `\"on_null\": \"set\"` writes null",
        "A null leaves the path of a mapping alone.";
    MappingOverwritten = "analyze.mapping_overwritten", Warning,
        "A later mapping of the same task always overwrites what a mapping writes, and nothing reads it before.",
        "remove one of the two, or correct its path",
        "The mappings of a task run in order. Of two values at one path only the later stays.";
    SqlBindCount = "analyze.sql_bind_count", Error,
        "A statement has another number of placeholders than `params` has values.",
        "give each placeholder its value",
        "The database refuses such a statement whenever the task runs.";
    EmbeddedReference = "analyze.embedded_reference", Warning,
        "A reference is only a part of a text, where it is not replaced.",
        "let the reference be the whole text; use ${VAR} for a part of a text of a connector",
        "`env://`, `vault://` and `var://` name a value where they are the whole of a text. Elsewhere they are sent as they are.";
    RedundantCondition = "analyze.redundant_condition", Note,
        "A condition is always true, or that of the group once more.",
        "remove the condition; --fix does it where the condition is `true`",
        "A step without a condition runs whenever it is reached.";
    RaceInParallel = "analyze.race_in_parallel", Warning,
        "A member of a parallel group reads what another member writes.",
        "move the reader behind the group, or make the group sequential",
        "Each member of a parallel group begins with the message from before the group.";
}

impl AnalysisRule {
    /// Returns the rule of an id, with or without its beginning.
    ///
    /// # Errors
    /// A text that names the nearest rule.
    pub fn find(id: &str) -> Result<Self, String> {
        let name = id.strip_prefix(PREFIX).unwrap_or(id);
        let rule = Self::ALL.iter().find(|rule| rule.name() == name);
        rule.copied().ok_or_else(|| {
            let meant = nearest(name, Self::ALL.iter().map(|rule| rule.name()));
            let hint = meant.map(|meant| format!(", did you mean '{meant}'?")).unwrap_or_default();
            format!("no rule has the id '{id}'{hint}")
        })
    }

    /// Returns the id without its beginning.
    pub fn name(self) -> &'static str {
        self.id().strip_prefix(PREFIX).unwrap_or(self.id())
    }
}

/// The levels of the rules in a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnalysisLevels(BTreeMap<AnalysisRule, Option<Severity>>);

impl AnalysisLevels {
    /// Sets the level of a rule.
    ///
    /// # Errors
    /// A text that names what does not exist, and the nearest name.
    pub fn set(&mut self, rule: &str, level: &str) -> Result<(), String> {
        let rule = AnalysisRule::find(rule)?;
        let Some((_, level)) = LEVELS.iter().find(|(name, _)| *name == level) else {
            let names = LEVELS.map(|(name, _)| name).join(", ");
            return Err(format!("{}: '{level}' is none of {names}", rule.name()));
        };
        self.0.insert(rule, *level);
        Ok(())
    }

    /// Returns the level of a rule; `None` if it is off.
    pub fn level(&self, rule: AnalysisRule) -> Option<Severity> {
        self.0.get(&rule).copied().unwrap_or(Some(rule.severity()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_set_by_the_names_of_rules() {
        let mut levels = AnalysisLevels::default();
        assert_eq!(levels.level(AnalysisRule::UnorderedPage), Some(Severity::Warning));
        levels.set("unordered_page", "off").unwrap();
        levels.set("analyze.task_never_runs", "error").unwrap();
        assert_eq!(levels.level(AnalysisRule::UnorderedPage), None);
        assert_eq!(levels.level(AnalysisRule::TaskNeverRuns), Some(Severity::Error));
        let refused = levels.set("unorderd_page", "off").unwrap_err();
        assert!(refused.contains("did you mean 'unordered_page'?"), "{refused}");
        assert!(levels.set("unordered_page", "fatal").unwrap_err().contains("off, note, warning, error"));
    }

    #[test]
    fn ids_are_unique_and_begin_alike() {
        for rule in AnalysisRule::ALL {
            assert_eq!(AnalysisRule::find(rule.id()), Ok(*rule));
            assert!(rule.id().starts_with(PREFIX), "{rule:?}");
        }
    }
}
