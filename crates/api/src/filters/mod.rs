//! The words by which lists are filtered: each is declared once, with the lists that take it.

#[cfg(test)]
mod tests;

use crate::names::{OCCURRENCE_STATUSES, TRACE_MODES, TRACE_STATUSES};
use crate::parameter::ParameterKind::{Boolean, Moment, Natural, Naturals, OneOf, SeveralOf, Text, Texts};
use crate::parameter::{ParameterKind, QueryParameter};

/// A list with filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilteredList {
    /// Traces.
    Traces,
    /// Dead letters.
    DeadLetters,
    /// Occurrences of schedules.
    Occurrences,
    /// The audit log.
    Audit,
    /// Groups of errors.
    Errors,
    /// Channels.
    Channels,
    /// Workflows.
    Workflows,
    /// Connectors.
    Connectors,
}

use FilteredList::{Audit, Channels, Connectors, DeadLetters, Errors, Occurrences, Traces, Workflows};

/// A word of filters. One that differs between lists has a row for each.
#[derive(Clone, Copy, Debug)]
pub struct FilterWord {
    /// The parameter.
    pub parameter: QueryParameter,
    /// The lists that take it.
    pub lists: &'static [FilteredList],
}

const fn declare(
    name: &'static str,
    kind: ParameterKind,
    lists: &'static [FilteredList],
    description: &'static str,
) -> FilterWord {
    FilterWord { parameter: QueryParameter::new(name, kind, description), lists }
}

/// Lists of runs and their failures.
const RUNS: &[FilteredList] = &[Traces, DeadLetters, Occurrences, Errors];

/// All words, in the order of the document.
pub const FILTER_WORDS: &[FilterWord] = &[
    declare("status", SeveralOf(TRACE_STATUSES), &[Traces], "Only traces of these statuses"),
    declare("status", SeveralOf(OCCURRENCE_STATUSES), &[Occurrences], "Only occurrences of these statuses"),
    declare("channel", Texts, RUNS, "Only rows of the channels of these names"),
    declare("tag", Texts, RUNS, "Only rows of channels with one of exactly these labels"),
    declare("workflow", Texts, RUNS, "Only rows of these workflows"),
    declare("version", Naturals, &[Traces, DeadLetters], "Only runs of these versions of the workflow"),
    declare("version", Naturals, &[Occurrences], "Only occurrences that these versions of the channel ran"),
    declare("version", Naturals, &[Errors], "Only failures in these versions of the workflow count"),
    declare("task", Texts, RUNS, "Only failures by an error of these tasks"),
    declare("error_code", Texts, RUNS, "Only rows with these codes of errors"),
    declare("error_group", Texts, RUNS, "Only failures of these groups, as the list of errors names them"),
    declare("trace_id", Texts, &[Traces, DeadLetters, Occurrences], "Only rows of these traces"),
    declare(
        "run_key",
        Texts,
        &[Traces, DeadLetters, Occurrences],
        "Only runs with these keys, `metadata.run.key`",
    ),
    declare("request_id", Texts, &[Traces], "Only the runs of these requests; of failed ones fast"),
    declare("rerun_of", Texts, &[Traces], "Only reruns of these traces"),
    declare("mode", SeveralOf(TRACE_MODES), &[Traces], "Only runs of these origins"),
    declare("min_duration_ms", Natural, &[Traces], "Only runs that took so many milliseconds or longer"),
    declare("since", Moment, &[Traces, DeadLetters, Audit], "Only rows created at this instant or later"),
    declare("since", Moment, &[Occurrences], "Only occurrences due at this instant or later"),
    declare("since", Moment, &[Errors], "Only failures at this instant or later count"),
    declare("until", Moment, &[Traces, DeadLetters, Audit], "Only rows created before this instant"),
    declare("until", Moment, &[Occurrences], "Only occurrences due at this instant or earlier"),
    declare("until", Moment, &[Errors], "Only failures before this instant count"),
    declare("q", Text, &[Errors], "Only groups with this text in their message, in whatever case"),
    declare(
        "order",
        OneOf(&["asc", "desc"]),
        &[Traces, DeadLetters, Occurrences, Audit, Channels, Workflows, Connectors],
        "The direction of the default order of the list; goes with no `sort_by`",
    ),
    declare(
        "cursor",
        Text,
        &[Traces, DeadLetters, Occurrences, Audit],
        "`next_cursor` of the page before, of the same list and `order`",
    ),
    declare(
        "include_counts",
        Boolean,
        &[Traces, DeadLetters, Occurrences],
        "`true` adds the number of rows by status, whichever `status` selects; one of 10000 means as many or more. With a \
         range of time or words other than `channel`, and of dead letters, the newest 20000 rows of the range count",
    ),
];

impl FilterWord {
    /// Returns whether a list takes the word.
    pub const fn is_of(&self, list: FilteredList) -> bool {
        let mut index = 0;
        while index < self.lists.len() {
            if self.lists[index] as u8 == list as u8 {
                return true;
            }
            index += 1;
        }
        false
    }
}

/// Returns the number of parameters of a list with these of its own.
pub(crate) const fn count_parameters(list: FilteredList, own: &[QueryParameter]) -> usize {
    let (mut count, mut index) = (own.len(), 0);
    while index < FILTER_WORDS.len() {
        if FILTER_WORDS[index].is_of(list) {
            count += 1;
        }
        index += 1;
    }
    count
}

/// Returns the parameters of a list: the words that it takes, then those of its own.
pub(crate) const fn list_parameters<const COUNT: usize>(
    list: FilteredList,
    own: &[QueryParameter],
) -> [QueryParameter; COUNT] {
    let mut all = [QueryParameter::new("", Text, ""); COUNT];
    let (mut place, mut index) = (0, 0);
    while index < FILTER_WORDS.len() {
        if FILTER_WORDS[index].is_of(list) {
            all[place] = FILTER_WORDS[index].parameter;
            place += 1;
        }
        index += 1;
    }
    index = 0;
    while index < own.len() {
        all[place] = own[index];
        place += 1;
        index += 1;
    }
    all
}

/// Declares the parameters of a list: its words, then `$own`.
macro_rules! parameters_of {
    ($list:expr, $own:expr) => {{
        const COUNT: usize = $crate::filters::count_parameters($list, $own);
        const ALL: [QueryParameter; COUNT] = $crate::filters::list_parameters::<COUNT>($list, $own);
        &ALL
    }};
}
pub(crate) use parameters_of;
