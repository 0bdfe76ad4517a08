//! The rows of a bulk run: the words of the lists as a filter, narrowed to the rows that the action can change.

use std::collections::HashMap;

use serde_json::{Map, Value};
use svc_api::{QueryParameter, endpoints};
use svc_model::{FieldError, Page, ServiceError, Timestamp, unknown_keys};
use svc_store::{
    AnyOf, BulkAction, BulkKind, DeadLetterFilter, DeadLetterRow, OccurrenceFilter, OccurrenceRow, Store,
    StoreError, TraceQuery, TraceRow, TraceStatus,
};

use crate::admin::{
    QueryParameters, read_dead_letter_filter, read_occurrence_filter, read_trace_query, unknown_value,
};

/// The parameters of lists that select no rows.
const NO_FILTERS: [&str; 9] = [
    "limit",
    "offset",
    "cursor",
    "order",
    "sort_by",
    "sort_order",
    "include_total",
    "include_counts",
    "attempts",
];

/// Values of all words of a filter at most: each is a variable of a statement, of which databases take some ten thousand.
const MOST_VALUES: usize = 10_000;

/// The words that are instants, or times ago.
const MOMENTS: [&str; 2] = ["since", "until"];

/// The rows that a bulk run acts on.
#[derive(Clone, Debug)]
pub(crate) enum BulkSelection {
    /// Dead letters.
    DeadLetters(Box<DeadLetterFilter>),
    /// Occurrences.
    Occurrences(Box<OccurrenceFilter>),
    /// Traces.
    Traces(Box<TraceQuery>),
}

/// A row as a dry run shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectedRow {
    pub(crate) id: String,
    /// Name of the channel.
    pub(crate) channel: String,
    /// Id of the channel, if the list has it.
    pub(crate) channel_id: Option<String>,
    /// Its status; `None` for a dead letter.
    pub(crate) status: Option<String>,
    /// Reason of its failure, if the list has it.
    pub(crate) error: Option<String>,
    pub(crate) created_at: Timestamp,
}

/// A page of the rows, the oldest first.
#[derive(Clone, Debug)]
pub(crate) struct SelectedPage {
    pub(crate) rows: Vec<SelectedRow>,
    /// Number of all rows, if it was counted.
    pub(crate) total: Option<i64>,
    /// Cursor of the next page; `None` on the last one.
    pub(crate) next: Option<String>,
}

impl BulkSelection {
    /// Reads a filter. An empty one selects every row that the action can change.
    ///
    /// # Errors
    /// 400 for an action that the kind does not have, an unknown word, a value without a meaning, and statuses of which
    /// none allows the action.
    pub(crate) fn read(
        kind: BulkKind,
        action: BulkAction,
        words: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<Self, ServiceError> {
        let actions = actions_of(kind);
        if !actions.contains(&action) {
            let names: Vec<_> = actions.iter().map(|action| action.name()).collect();
            let message = format!("{} have the actions {}", kind.name(), names.join(" and "));
            return Err(FieldError::invalid("body.action", message).with_got(action.name()).into());
        }
        let query = read_words(kind, words)?;
        Ok(match kind {
            BulkKind::DeadLetters => {
                let filter = read_dead_letter_filter(&query, now)?;
                Self::DeadLetters(Box::new(DeadLetterFilter { oldest_first: true, ..filter }))
            }
            BulkKind::Occurrences => {
                let mut filter = read_occurrence_filter(&query, now)?;
                filter.status = Some(narrow("status", filter.status, statuses_of(kind, action))?);
                Self::Occurrences(Box::new(OccurrenceFilter { oldest_first: true, ..filter }))
            }
            BulkKind::Traces => {
                let mut filter = read_trace_query(&query, Page::default(), now)?;
                filter.status = Some(narrow("status", filter.status, statuses_of(kind, action))?);
                if action == BulkAction::Cancel {
                    filter.mode = Some(narrow("mode", filter.mode, &["async"])?);
                }
                Self::Traces(Box::new(TraceQuery { order: Some("asc".to_owned()), ..filter }))
            }
        })
    }

    /// Narrows traces to those of one channel.
    pub(super) fn narrow_to_channel(self, channel: &str) -> Self {
        match self {
            Self::Traces(filter) => {
                let channel = Some(AnyOf::new(vec![channel.to_owned()]));
                Self::Traces(Box::new(TraceQuery { channel, ..*filter }))
            }
            other => other,
        }
    }

    /// Returns a page of the rows.
    pub(crate) async fn list(
        &self,
        store: &Store,
        cursor: Option<String>,
        limit: i64,
    ) -> Result<SelectedPage, StoreError> {
        self.load(store, cursor, limit, false).await
    }

    /// Returns the first rows, and the number of all.
    pub(crate) async fn sample(&self, store: &Store, limit: i64) -> Result<SelectedPage, StoreError> {
        let mut sample = self.load(store, None, limit, true).await?;
        let expected = sample.total.map_or(limit, |total| limit.min(total));
        loop {
            let missing = expected.saturating_sub(i64::try_from(sample.rows.len()).unwrap_or(i64::MAX));
            // A page that found less than it holds may have been as many rows as a call may read.
            let Some(cursor) = sample.next.take().filter(|_| missing > 0) else { return Ok(sample) };
            let page = self.load(store, Some(cursor), missing, false).await?;
            sample.rows.extend(page.rows);
            sample.next = page.next;
        }
    }

    async fn load(
        &self,
        store: &Store,
        cursor: Option<String>,
        limit: i64,
        is_counted: bool,
    ) -> Result<SelectedPage, StoreError> {
        let page = Page { limit, offset: 0 };
        Ok(match self {
            Self::DeadLetters(filter) => {
                let without_total = !is_counted;
                let filter = DeadLetterFilter { cursor, without_total, ..DeadLetterFilter::clone(filter) };
                let letters = store.dead_letters().list_page(filter, page).await?;
                let rows = letters.rows.into_iter().map(SelectedRow::from).collect();
                SelectedPage { rows, total: letters.total, next: letters.next_cursor }
            }
            Self::Occurrences(filter) => {
                let without_total = !is_counted;
                let filter = OccurrenceFilter { without_total, ..OccurrenceFilter::clone(filter) };
                let occurrences = store.ledger().list(filter, page, cursor.as_deref()).await?;
                let rows = occurrences.rows.into_iter().map(SelectedRow::from).collect();
                SelectedPage { rows, total: occurrences.total, next: occurrences.next_cursor }
            }
            Self::Traces(filter) => {
                let include_total = is_counted;
                let filter = TraceQuery { page, cursor, include_total, ..TraceQuery::clone(filter) };
                let traces = store.traces().list(filter).await?;
                let rows = traces.rows.into_iter().map(SelectedRow::from).collect();
                SelectedPage { rows, total: traces.total, next: traces.next_cursor }
            }
        })
    }
}

/// Returns the words with instants in place of times ago, which would mean others for each page.
///
/// # Errors
/// 400 for an instant that the list does not take, and for a range that ends before it begins.
pub(crate) fn fix_moments(
    kind: BulkKind,
    words: &Map<String, Value>,
    now: Timestamp,
) -> Result<Map<String, Value>, ServiceError> {
    let mut fixed = words.clone();
    if MOMENTS.iter().any(|word| words.contains_key(*word)) {
        let query = read_words(kind, &only_moments(words))?;
        let (since, until) = match kind {
            BulkKind::Occurrences => query.zoneless_range(now)?,
            BulkKind::DeadLetters | BulkKind::Traces => query.range(now)?,
        };
        for (word, instant) in MOMENTS.iter().zip([since, until]) {
            if let Some(instant) = instant {
                fixed.insert((*word).to_owned(), instant.to_string().into());
            }
        }
    }
    Ok(fixed)
}

fn only_moments(words: &Map<String, Value>) -> Map<String, Value> {
    let moments = words.iter().filter(|(word, _)| MOMENTS.contains(&word.as_str()));
    moments.map(|(word, value)| (word.clone(), value.clone())).collect()
}

/// Returns the actions of a kind of rows.
const fn actions_of(kind: BulkKind) -> &'static [BulkAction] {
    match kind {
        BulkKind::DeadLetters => &[BulkAction::Requeue, BulkAction::Purge],
        BulkKind::Occurrences => &[BulkAction::Retry, BulkAction::Cancel],
        BulkKind::Traces => &[BulkAction::Cancel, BulkAction::Rerun],
    }
}

/// Returns the statuses of the rows that an action can change.
const fn statuses_of(kind: BulkKind, action: BulkAction) -> &'static [&'static str] {
    match (kind, action) {
        (BulkKind::Occurrences, BulkAction::Retry) => {
            &["failed", "skipped_misfire", "skipped_singleton", "cancelled"]
        }
        (BulkKind::Occurrences, BulkAction::Cancel) => &["pending", "claimed", "running"],
        (BulkKind::Traces, BulkAction::Cancel) => &["pending", "waiting", "scheduled", "running", "retrying"],
        (BulkKind::Traces, BulkAction::Rerun) => &["completed", "failed", "cancelled"],
        _ => &[],
    }
}

/// Restricts the values of a word to those that allow the action.
fn narrow(word: &str, given: Option<AnyOf>, allowed: &[&str]) -> Result<AnyOf, ServiceError> {
    let Some(given) = given else {
        return Ok(AnyOf::new(allowed.iter().map(|value| (*value).to_owned()).collect()));
    };
    let values: Vec<_> =
        given.values().iter().filter(|value| allowed.contains(&value.as_str())).cloned().collect();
    if values.is_empty() {
        let mut shown: Vec<_> =
            allowed.iter().map(|name| TraceStatus::to_public((*name).to_owned())).collect();
        shown.dedup();
        let message = format!("the action takes rows of {word} {} alone", shown.join(", "));
        return Err(FieldError::invalid(format!("body.filter.{word}"), message).into());
    }
    Ok(AnyOf::new(values))
}

/// Returns the list whose words filter a kind of rows.
const fn list_of(kind: BulkKind) -> &'static str {
    match kind {
        BulkKind::DeadLetters => "/api/v1/admin/trace-dlq",
        BulkKind::Occurrences => "/api/v1/admin/cron/occurrences",
        BulkKind::Traces => "/api/v1/admin/traces",
    }
}

/// Checks the words of a filter against those of the list of such rows.
fn read_words(kind: BulkKind, words: &Map<String, Value>) -> Result<QueryParameters, ServiceError> {
    read_list_words(list_of(kind), words)
}

/// Checks the words of `body.filter` against those of a list, by its path.
///
/// # Errors
/// 400 for words and values that the list does not know.
pub(crate) fn read_list_words(
    list: &str,
    words: &Map<String, Value>,
) -> Result<QueryParameters, ServiceError> {
    let known: &'static [QueryParameter] = endpoints::find("GET", list)
        .map(|endpoint| endpoint.query)
        .ok_or_else(|| ServiceError::internal_error("the list of a filter is not described"))?;
    let filters = known.iter().filter(|parameter| !NO_FILTERS.contains(&parameter.name));
    let names: Vec<_> = filters.clone().map(|parameter| parameter.name).collect();
    let mut errors = unknown_keys(words, "body.filter", &names, &[]);
    let mut values = HashMap::new();
    let mut number = 0_usize;
    for parameter in filters {
        let Some(value) = words.get(parameter.name).filter(|value| !value.is_null()) else { continue };
        let path = format!("body.filter.{}", parameter.name);
        match read_texts(value) {
            // In a list such a word is absent; here it would select every row.
            Some(texts) if texts.iter().all(|text| is_blank(text)) => {
                errors.push(FieldError::invalid(path, "it is empty: name a value, or leave the word out"));
            }
            Some(texts) => {
                let refused = texts.iter().filter_map(|text| unknown_value(parameter, text));
                errors.extend(refused.map(|error| {
                    let message = error.message.replacen("query parameter", "filter word", 1);
                    FieldError { path: path.clone(), message, ..error }
                }));
                number += texts.iter().map(|text| text.split(',').count()).sum::<usize>();
                values.insert(parameter.name.to_owned(), texts);
            }
            None => errors.push(FieldError::type_mismatch(
                path,
                "string, number, boolean or a list of them",
                value,
            )),
        }
    }
    if number > MOST_VALUES {
        let message =
            format!("at most {MOST_VALUES} values, and it has {number}: act on them in several steps");
        errors.push(FieldError::invalid("body.filter", message));
    }
    if errors.is_empty() { Ok(QueryParameters::from_words(values, known)) } else { Err(errors.into()) }
}

/// Returns true for a text without a value in it.
fn is_blank(text: &str) -> bool {
    text.split(',').all(|part| part.trim().is_empty())
}

/// Returns the texts of a value, or of each value of a list.
fn read_texts(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => text(value).map(|text| vec![text]),
    }
}

impl From<DeadLetterRow> for SelectedRow {
    fn from(row: DeadLetterRow) -> Self {
        let error = Some(row.error_message);
        Self {
            id: row.id,
            channel: row.channel,
            channel_id: None,
            status: None,
            error,
            created_at: row.created_at,
        }
    }
}

impl From<OccurrenceRow> for SelectedRow {
    fn from(row: OccurrenceRow) -> Self {
        let (status, created_at) = (Some(row.status), row.created_at);
        let channel_id = Some(row.channel_id);
        Self { id: row.id, channel: row.channel_name, channel_id, status, error: None, created_at }
    }
}

impl From<TraceRow> for SelectedRow {
    fn from(row: TraceRow) -> Self {
        let (status, error) = (Some(TraceStatus::to_public(row.status)), row.error_message);
        let TraceRow { id, channel, channel_id, created_at, .. } = row;
        Self { id, channel, channel_id, status, error, created_at }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(kind: BulkKind, action: BulkAction, words: &Value) -> Result<BulkSelection, ServiceError> {
        let now = Timestamp::parse("2026-01-02T12:00:00Z").unwrap();
        BulkSelection::read(kind, action, words.as_object().unwrap(), now)
    }

    #[test]
    fn words_are_those_of_the_list() {
        let words = json!({"channel": ["orders", "refunds"], "exhausted": true, "since": "-1h"});
        let selection = read(BulkKind::DeadLetters, BulkAction::Requeue, &words).unwrap();
        let BulkSelection::DeadLetters(filter) = selection else { panic!("{selection:?}") };
        assert_eq!(filter.channel.unwrap().values(), ["orders", "refunds"]);
        assert_eq!((filter.exhausted, filter.oldest_first), (Some(true), true));
        assert_eq!(filter.since, Timestamp::parse("2026-01-02T11:00:00Z"));
    }

    #[test]
    fn filter_without_meaning_is_refused() {
        for (kind, action, words, part) in [
            (BulkKind::DeadLetters, BulkAction::Requeue, json!({"chanel": "a"}), "channel"),
            (BulkKind::DeadLetters, BulkAction::Requeue, json!({"limit": 3}), "limit"),
            // The filter of a stored run that cannot be read.
            (BulkKind::DeadLetters, BulkAction::Purge, json!({"unreadable": true}), "unreadable"),
            (BulkKind::DeadLetters, BulkAction::Requeue, json!({"cursor": "x"}), "cursor"),
            (BulkKind::DeadLetters, BulkAction::Requeue, json!({"channel": {"a": 1}}), "channel"),
            (BulkKind::DeadLetters, BulkAction::Purge, json!({"channel": ""}), "empty"),
            (BulkKind::DeadLetters, BulkAction::Purge, json!({"channel": []}), "empty"),
            (BulkKind::DeadLetters, BulkAction::Purge, json!({"error_group": [" ", ","]}), "empty"),
            (BulkKind::DeadLetters, BulkAction::Purge, json!({"tag": " "}), "empty"),
            (
                BulkKind::Traces,
                BulkAction::Rerun,
                json!({"trace_id": vec!["a,b"; 5001]}),
                "at most 10000 values",
            ),
            (BulkKind::DeadLetters, BulkAction::Requeue, json!({"since": "soon"}), "since"),
            (BulkKind::DeadLetters, BulkAction::Requeue, json!({"since": "-1h", "until": "-2h"}), "ends"),
            (BulkKind::Occurrences, BulkAction::Retry, json!({"status": "faild"}), "status"),
            (BulkKind::Occurrences, BulkAction::Retry, json!({"status": "completed"}), "failed"),
            (BulkKind::DeadLetters, BulkAction::Retry, json!({}), "requeue and purge"),
            (BulkKind::Traces, BulkAction::Purge, json!({}), "cancel and rerun"),
            (BulkKind::Occurrences, BulkAction::Backfill, json!({}), "retry and cancel"),
        ] {
            let refused = read(kind, action, &words).unwrap_err();
            let text = format!("{refused:?}");
            assert!(refused.status() == 400 && text.contains(part), "{words}: {text}");
        }
    }

    #[test]
    fn action_takes_rows_that_it_can_change() {
        let selection =
            read(BulkKind::Occurrences, BulkAction::Retry, &json!({"status": "failed,completed"}));
        let Ok(BulkSelection::Occurrences(filter)) = selection else { panic!("{selection:?}") };
        assert_eq!(filter.status.unwrap().values(), ["failed"]);
        let selection = read(BulkKind::Traces, BulkAction::Cancel, &json!({"channel": "orders"}));
        let Ok(BulkSelection::Traces(filter)) = selection else { panic!("{selection:?}") };
        assert_eq!(filter.mode.unwrap().values(), ["async"]);
        assert!(filter.status.unwrap().values().contains(&"retrying".to_owned()));
    }

    #[test]
    fn times_ago_become_instants() {
        let now = Timestamp::parse("2026-01-02T12:00:00Z").unwrap();
        let words = json!({"channel": "a", "since": "-90m", "until": "2026-01-02T11:30:00Z"});
        let fixed = fix_moments(BulkKind::Traces, words.as_object().unwrap(), now).unwrap();
        let instant = |word: &str| Timestamp::parse(fixed[word].as_str().unwrap());
        assert_eq!(instant("since"), Timestamp::parse("2026-01-02T10:30:00Z"));
        assert_eq!(instant("until"), Timestamp::parse("2026-01-02T11:30:00Z"));
        assert_eq!(fixed["channel"], "a");
    }

    #[test]
    fn occurrences_take_instants_without_a_zone() {
        let now = Timestamp::parse("2026-01-02T12:00:00Z").unwrap();
        let words = json!({"since": "2026-01-02T11:00:00"});
        let fix = |kind| fix_moments(kind, words.as_object().unwrap(), now);
        let fixed = fix(BulkKind::Occurrences).unwrap();
        assert_eq!(
            Timestamp::parse(fixed["since"].as_str().unwrap()),
            Timestamp::parse("2026-01-02T11:00:00Z")
        );
        assert_eq!(fix(BulkKind::Traces).unwrap_err().status(), 400);
    }

    #[test]
    fn status_of_rows_is_named_as_in_lists() {
        let refused = read(BulkKind::Traces, BulkAction::Cancel, &json!({"status": "failed"})).unwrap_err();
        assert!(refused.message().contains("pending, scheduled, running, retrying alone"), "{refused:?}");
    }
}
