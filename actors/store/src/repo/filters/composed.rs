//! Statements that are composed of texts and values, for conditions whose number depends on the caller.

use std::marker::PhantomData;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Text, Timestamp};
use svc_model::Page;

use super::AnyOf;
use crate::repo::keyset::KeysetCondition;

/// Sizes of pages that people and tools ask for again and again.
const USUAL_LIMITS: [i64; 9] = [10, 20, 25, 50, 100, 200, 250, 500, 1000];
/// Texts among the values of a statement that is kept prepared, at most: four channels, each with all statuses and modes,
/// have 128.
const MOST_VALUES: usize = 160;

/// A statement in parts, with the types of its columns. A connection keeps it prepared under its text, of which there must
/// be few: one of many parts takes a third of a megabyte.
pub(in crate::repo) struct ComposedQuery<ST> {
    parts: Vec<Part>,
    is_kept: bool,
    columns: PhantomData<fn() -> ST>,
}

/// A part of a statement: text, a value that it binds, or the condition on the place of a row.
enum Part {
    Sql(String),
    Text(String),
    Time(NaiveDateTime),
    Key(KeysetCondition),
}

impl<ST> ComposedQuery<ST> {
    /// Begins a statement.
    pub(in crate::repo) fn new(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Sql(text.into())], is_kept: true, columns: PhantomData }
    }

    /// Has the statement prepared each time: its text has a number that hardly comes again.
    pub(in crate::repo) fn prepare_each_time(&mut self) {
        self.is_kept = false;
    }

    /// Has the statement of a page prepared each time, unless it is the first one of a usual size.
    pub(in crate::repo) fn prepare_for_page(&mut self, page: Page) {
        self.is_kept &= page.offset == 0 && USUAL_LIMITS.contains(&page.limit);
    }

    /// Appends text.
    pub(in crate::repo) fn push(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Sql(text.into()));
    }

    /// Appends a text, as a value.
    pub(in crate::repo) fn push_text(&mut self, value: String) {
        self.parts.push(Part::Text(value));
    }

    /// Appends the condition that rows follow a key.
    pub(in crate::repo) fn push_key(&mut self, condition: KeysetCondition) {
        self.parts.push(Part::Key(condition));
    }

    /// Appends an instant, as a value.
    pub(in crate::repo) fn push_time(&mut self, instant: NaiveDateTime) {
        self.parts.push(Part::Time(instant));
    }

    /// Appends the condition that a column has one of the values.
    pub(in crate::repo) fn push_any_of(&mut self, column: &str, values: &AnyOf) {
        let values = values.storable();
        if values.is_empty() {
            return self.push("1 = 0");
        }
        self.push(format!("{column} IN ("));
        self.push_texts(&values, ", ");
        self.push(")");
    }

    /// Appends texts, as values, with a separator between them.
    pub(in crate::repo) fn push_texts(&mut self, values: &[String], separator: &'static str) {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.push(separator);
            }
            self.parts.push(Part::Text(value.clone()));
        }
    }
}

impl<DB, ST> QueryFragment<DB> for ComposedQuery<ST>
where
    DB: Backend,
    String: ToSql<Text, DB>,
    NaiveDateTime: ToSql<Timestamp, DB>,
    KeysetCondition: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let values = self.parts.iter().filter(|part| matches!(part, Part::Text(_))).count();
        if !self.is_kept || values > MOST_VALUES {
            out.unsafe_to_cache_prepared();
        }
        for part in &self.parts {
            match part {
                Part::Sql(text) => out.push_sql(text),
                Part::Text(value) => out.push_bind_param::<Text, _>(value)?,
                Part::Time(instant) => out.push_bind_param::<Timestamp, _>(instant)?,
                Part::Key(condition) => QueryFragment::<DB>::walk_ast(condition, out.reborrow())?,
            }
        }
        Ok(())
    }
}

/// The text differs from statement to statement.
impl<ST> QueryId for ComposedQuery<ST> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<ST> Query for ComposedQuery<ST> {
    type SqlType = ST;
}

#[cfg(test)]
mod tests {
    use diesel::sqlite::Sqlite;

    use super::*;

    fn is_kept(statement: &ComposedQuery<Text>) -> bool {
        QueryFragment::<Sqlite>::is_safe_to_cache_prepared(statement, &Sqlite).unwrap()
    }

    #[test]
    fn only_statements_with_few_texts_stay_prepared() {
        let page_of = |limit, offset| {
            let mut statement = ComposedQuery::new("SELECT id FROM traces");
            statement.prepare_for_page(Page { limit, offset });
            statement
        };
        assert!(is_kept(&ComposedQuery::new("SELECT id FROM traces")));
        assert!(is_kept(&page_of(50, 0)) && !is_kept(&page_of(50, 100)) && !is_kept(&page_of(51, 0)));
        let mut counted = page_of(50, 0);
        counted.prepare_each_time();
        assert!(!is_kept(&counted));
        for (count, expected) in [(1, true), (MOST_VALUES, true), (MOST_VALUES + 1, false)] {
            let mut statement = page_of(50, 0);
            let values = (0..count).map(|number| number.to_string()).collect();
            statement.push_any_of("id", &AnyOf::new(values));
            assert_eq!(is_kept(&statement), expected, "{count}");
        }
    }
}
